package modules

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// ask has into hold what apt knows of packages by name; what it does not know is left out.
func (m *aptTask) ask(names []string, into map[string]*aptPackage) error {
	release := opted(m.a.DefaultRelease)
	state := m.aptState()
	var todo []string
	for _, n := range names {
		if k, ok := aptKnown.get(state, release, n); !ok {
			todo = append(todo, n)
		} else if k != nil {
			into[n] = k
		}
	}
	if len(todo) == 0 {
		return nil
	}
	args := []string{"policy"}
	if release != "" {
		args = append(args, "-o", "APT::Default-Release="+release)
	}
	out, err := m.aptCache(append(args, todo...)...)
	if err != nil {
		return err
	}
	found, ok := parseAptPolicy(out)
	if !ok {
		return handBack("an odd answer of apt-cache")
	}
	for _, n := range todo {
		if found[n] != nil {
			into[n] = found[n]
		} else {
			for other := range found {
				if strings.HasPrefix(other, n+":") {
					return handBack("%s is there for another architecture", n)
				}
			}
		}
		aptKnown.put(state, release, n, found[n])
	}
	return nil
}

// aptKnown is what apt-cache told, for as long as nothing changes that it told that from.
var aptKnown aptAnswers

type aptAnswers struct {
	mu    sync.Mutex
	state string // of what the answers are from
	known map[[2]string]*aptPackage
}

// maxAptAnswers bounds how many answers are kept.
const maxAptAnswers = 4096

func (a *aptAnswers) get(state, release, name string) (*aptPackage, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if state == "" || state != a.state {
		return nil, false
	}
	p, ok := a.known[[2]string{release, name}]
	return p, ok
}

func (a *aptAnswers) put(state, release, name string, p *aptPackage) {
	if state == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state != state || len(a.known) >= maxAptAnswers {
		a.state, a.known = state, map[[2]string]*aptPackage{}
	}
	a.known[[2]string{release, name}] = p
}

// maxAptFiles bounds how many files are looked at to see whether apt would
// still tell the same.
const maxAptFiles = 1000

// aptState is what apt-cache tells from: apt's configuration and lists, and
// dpkg's status, by name, size and times. Empty: that is not known.
func (m *aptTask) aptState() string {
	if m.ownAptDirs() {
		return ""
	}
	var b strings.Builder
	n := 0
	for _, top := range []string{"/etc/apt", "/var/lib/apt/lists", dpkgStatus, "/var/lib/dpkg/arch"} {
		err := filepath.WalkDir(top, func(path string, e os.DirEntry, err error) error {
			if errors.Is(err, os.ErrNotExist) && path == top {
				return nil
			}
			if err != nil {
				return err
			}
			if n++; n > maxAptFiles {
				return fs.SkipAll
			}
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			b.WriteString(path + " " + identity(info) + "\n")
			return nil
		})
		if err != nil || n > maxAptFiles {
			return ""
		}
	}
	sum := sha256.Sum256([]byte(b.String()))
	return string(sum[:])
}
