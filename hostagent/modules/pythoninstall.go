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
	packaging  string   // files of the libraries; empty: there is none
	pip        string   // of pip
	path       []string // where it looks for packages
}

const pythonQuestion = `import sys
from importlib.util import find_spec
def at(name):
    try:
        return find_spec(name).origin or ''
    except Exception:
        return ''
print('\n'.join([sys.executable, at('packaging.requirements'), at('pip')] + [p for p in sys.path if p]))`

// pythonInstalls are answers, kept while the files in them are there.
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
	if in != nil && exists(in.packaging) && exists(in.pip) {
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
	if len(lines) < 4 {
		return nil, handBack("%s does not tell of its packages", interpreter)
	}
	in = &pythonInstall{lines[0], lines[1], lines[2], lines[3:]}
	pythonInstalls.Lock()
	defer pythonInstalls.Unlock()
	if pythonInstalls.known == nil || len(pythonInstalls.known) >= maxPythons {
		pythonInstalls.known = map[string]*pythonInstall{}
	}
	pythonInstalls.known[key] = in
	return in, nil
}
