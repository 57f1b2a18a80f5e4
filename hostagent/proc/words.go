package proc

import (
	"strings"
	"syscall"
)

// Getenv returns a variable of an environment of KEY=VALUE; a later one wins.
func Getenv(environ []string, key string) (string, bool) {
	for i := len(environ) - 1; i >= 0; i-- {
		if kv := environ[i]; len(kv) > len(key) && kv[len(key)] == '=' && kv[:len(key)] == key {
			return kv[len(key)+1:], true
		}
	}
	return "", false
}

// DefaultPath is where programs are looked for when PATH is not set.
const DefaultPath = "/bin:/usr/bin"

// Find looks a program up as execvp does with the given PATH; a name with a
// slash is taken as it is. The error is the errno that running it would give.
func Find(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	if name == "" {
		return "", syscall.ENOENT
	}
	denied := false
	for _, dir := range strings.Split(path, ":") {
		if dir == "" {
			dir = "."
		}
		p := strings.TrimRight(dir, "/") + "/" + name
		var st syscall.Stat_t
		if syscall.Stat(p, &st) != nil || st.Mode&syscall.S_IFMT == syscall.S_IFDIR {
			continue
		}
		if syscall.Access(p, 1) == nil {
			return p, nil
		}
		denied = true
	}
	if denied {
		return "", syscall.EACCES
	}
	return "", syscall.ENOENT
}
