package proc

import (
	"errors"
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

const safe = "_@%+=:,./-"

// Quote is shlex.quote.
func Quote(s string) string {
	if s == "" {
		return "''"
	}
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(safe, c) >= 0 {
			continue
		}
		return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'"
	}
	return s
}

// Split errors, in shlex's words.
var (
	ErrQuotation = errors.New("No closing quotation") //nolint:staticcheck // Python's text
	ErrEscape    = errors.New("No escaped character") //nolint:staticcheck // Python's text
)

// Split is shlex.split.
func Split(s string) ([]string, error) {
	words := []string{}
	var b []byte
	inWord := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case ' ', '\t', '\r', '\n':
			if inWord {
				words, b, inWord = append(words, string(b)), b[:0], false
			}
		case '\\':
			if i++; i >= len(s) {
				return nil, ErrEscape
			}
			b, inWord = append(b, s[i]), true
		case '\'':
			end := strings.IndexByte(s[i+1:], '\'')
			if end < 0 {
				return nil, ErrQuotation
			}
			b, inWord = append(b, s[i+1:i+1+end]...), true
			i += end + 1
		case '"':
			inWord = true
			for i++; ; i++ {
				if i >= len(s) {
					return nil, ErrQuotation
				}
				if s[i] == '"' {
					break
				}
				if s[i] == '\\' {
					if i++; i >= len(s) {
						return nil, ErrEscape
					}
					if s[i] != '"' && s[i] != '\\' {
						b = append(b, '\\')
					}
				}
				b = append(b, s[i])
			}
		default:
			b, inWord = append(b, c), true
		}
	}
	if inWord {
		words = append(words, string(b))
	}
	return words, nil
}
