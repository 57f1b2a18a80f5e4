package modules

import (
	"context"
	"os"
	"strings"
	"sync"
)

// pythonInstall is what is asked of an interpreter.
type pythonInstall struct {
	executable string   // as it names itself
	prefix     string   // sys.prefix
	packaging  string   // files of the libraries; empty: there is none
	pip        string   // of pip
	path       []string // where it looks for packages
	seen       string   // what the directories of path were when it was asked
}

const pythonQuestion = `import site, sys
from importlib.util import find_spec
def at(name):
    try:
        return find_spec(name).origin or ''
    except Exception:
        return ''
print('\n'.join([sys.executable, sys.prefix, at('packaging.requirements'), at('pip')] + [p for p in sys.path if p] + [site.getusersitepackages()] * bool(site.ENABLE_USER_SITE)))`

// pythonInstalls are answers, kept while the directories in them stay as they are.
var pythonInstalls struct {
	sync.Mutex
	known map[string]*pythonInstall
}

// maxPythons bounds how many answers are kept.
const maxPythons = 32

// pythonInstall asks an interpreter where its packages are.
func (c *call) pythonInstall(ctx context.Context, interpreter string) (*pythonInstall, error) {
	info, err := os.Stat(interpreter)
	if err != nil || !strings.HasPrefix(interpreter, "/") {
		return nil, handBack("no interpreter found")
	}
	key := interpreter + "\n" + identity(info)
	for _, kv := range c.Environ {
		if strings.HasPrefix(kv, "PYTHON") || strings.HasPrefix(kv, "HOME=") {
			key += "\n" + kv
		}
	}
	pythonInstalls.Lock()
	in := pythonInstalls.known[key]
	pythonInstalls.Unlock()
	if in != nil && in.seen == identities(in.path) {
		return in, nil
	}
	r, err := c.run(ctx, &command{argv: []string{interpreter, "-c", pythonQuestion}})
	if ctx.Err() != nil {
		return nil, err
	}
	if err != nil || r.rc != 0 {
		return nil, handBack("%s does not tell of its packages", interpreter)
	}
	lines := strings.Split(strings.TrimSuffix(string(r.stdout), "\n"), "\n")
	if len(lines) < 5 {
		return nil, handBack("%s does not tell of its packages", interpreter)
	}
	in = &pythonInstall{lines[0], lines[1], lines[2], lines[3], lines[4:], identities(lines[4:])}
	pythonInstalls.Lock()
	defer pythonInstalls.Unlock()
	if pythonInstalls.known == nil || len(pythonInstalls.known) >= maxPythons {
		pythonInstalls.known = map[string]*pythonInstall{}
	}
	pythonInstalls.known[key] = in
	return in, nil
}

// identities is what files, and those that are missing, are like.
func identities(paths []string) string {
	var b strings.Builder
	for _, p := range paths {
		b.WriteString(p)
		if info, err := os.Stat(p); err == nil {
			b.WriteString(" " + identity(info))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
