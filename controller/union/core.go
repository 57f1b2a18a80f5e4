package union

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"volant/wire/rx"
)

// CoreVersion is the ansible-core that Volant follows and installs.
const CoreVersion = "2.19.12"

// Places say where to look for ansible-core, in this order.
type Places struct {
	Env    string   // VOLANT_ANSIBLE_CORE: an `ansible` package directory, its parent, or a virtual environment
	Config string   // `[volant] ansible_core` of ansible.cfg, likewise
	PATH   []string // directories that may hold `ansible` and `python3`
	Venvs  []string // where `volant setup` puts one
}

// MissingError says that no ansible-core was found, and how to get one.
type MissingError struct{ Looked []string }

// Error is fit to be shown to the user.
func (e *MissingError) Error() string {
	return "ansible-core was not found (looked at " + strings.Join(e.Looked, ", ") + "). " +
		"Run `volant setup` to install ansible-core " + CoreVersion + " for Volant alone, " +
		"or name an installed one with VOLANT_ANSIBLE_CORE or `ansible_core` in the [volant] section of ansible.cfg."
}

var versionLine = rx.Lazy(`(?m)^__version__ = ['"]([^'"]+)['"]`)

// FindCore returns the first ansible-core of the places. A place that was named
// by the user but holds none is an error of its own.
func FindCore(p Places) (*Core, error) {
	var looked []string
	for _, named := range []struct{ dir, from string }{{p.Env, "VOLANT_ANSIBLE_CORE"}, {p.Config, "ansible_core in ansible.cfg"}} {
		if named.dir == "" {
			looked = append(looked, named.from+": not set")
			continue
		}
		c := coreAt(named.dir, named.from)
		if c == nil {
			return nil, fmt.Errorf("%s names %s, where there is no ansible-core", named.from, named.dir)
		}
		return c, nil
	}
	for _, dir := range p.PATH {
		if py := scriptPython(filepath.Join(dir, "ansible")); py != "" {
			if c := coreOfPython(py, "ansible on PATH"); c != nil {
				return c, nil
			}
		}
	}
	looked = append(looked, "ansible on PATH")
	python := ""
	for _, dir := range p.PATH {
		py := filepath.Join(dir, "python3")
		if _, err := os.Stat(py); err == nil {
			python = py
			break // only the first python3 is the user's
		}
	}
	if python != "" {
		if c := besidePython(python, "python3"); c != nil {
			return c, nil
		}
	}
	looked = append(looked, "python3's packages")
	for _, dir := range p.Venvs {
		if c := coreAt(dir, "volant setup"); c != nil {
			return c, nil
		}
		looked = append(looked, dir)
	}
	// Asking the interpreter takes as long as the rest of a start: it comes last.
	if python != "" {
		if c := askPython(python, "python3"); c != nil {
			return c, nil
		}
	}
	return nil, &MissingError{looked}
}

// coreAt accepts the package directory itself, the directory that holds it,
// and a virtual environment.
func coreAt(dir, from string) *Core {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if c := coreIn(dir, from); c != nil {
		return c
	}
	if c := coreIn(filepath.Join(dir, "ansible"), from); c != nil {
		return c
	}
	for _, lib := range []string{"lib", "lib64"} {
		found, _ := filepath.Glob(filepath.Join(dir, lib, "python3*", "site-packages", "ansible"))
		for _, f := range found {
			if c := coreIn(f, from); c != nil {
				c.Python = filepath.Join(dir, "bin", "python3")
				return c
			}
		}
	}
	return nil
}

func coreIn(pkg, from string) *Core {
	b, err := os.ReadFile(filepath.Join(pkg, "release.py"))
	if err != nil {
		return nil
	}
	m := versionLine.FindSubmatch(b)
	if m == nil {
		return nil
	}
	if _, err := os.Stat(filepath.Join(pkg, "module_utils", "basic.py")); err != nil {
		return nil
	}
	return &Core{Path: pkg, Version: string(m[1]), From: from}
}

// scriptPython is the interpreter named in the first line of an installed script.
func scriptPython(script string) string {
	f, err := os.Open(script)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, err := bufio.NewReaderSize(f, 512).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "#!") {
		return ""
	}
	words := strings.Fields(line[2:])
	if len(words) == 0 || !filepath.IsAbs(words[0]) || strings.HasSuffix(words[0], "/env") {
		return ""
	}
	return words[0]
}

// coreOfPython looks where that interpreter's packages usually are, and asks
// it only when they are not there.
func coreOfPython(python, from string) *Core {
	if c := besidePython(python, from); c != nil {
		return c
	}
	return askPython(python, from)
}

// besidePython looks where an interpreter's packages usually are.
func besidePython(python, from string) *Core {
	prefix := filepath.Dir(filepath.Dir(python))
	for _, pattern := range []string{
		filepath.Join(prefix, "lib", "python3*", "site-packages", "ansible"),
		filepath.Join(prefix, "lib", "python3", "dist-packages", "ansible"),
		filepath.Join(prefix, "local", "lib", "python3*", "dist-packages", "ansible"),
	} {
		found, _ := filepath.Glob(pattern)
		for _, f := range found {
			if c := coreIn(f, from); c != nil {
				c.Python = python
				return c
			}
		}
	}
	return nil
}

// askPython asks an interpreter where its ansible package is.
func askPython(python, from string) *Core {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, python, "-c",
		"import importlib.util as u; s = u.find_spec('ansible'); print(list(s.submodule_search_locations)[0] if s else '')").Output()
	if err != nil {
		return nil
	}
	if c := coreIn(strings.TrimSpace(string(out)), from); c != nil {
		c.Python = python
		return c
	}
	return nil
}

// Setup makes a private virtual environment in dir and installs ansible-core
// there with pip, unless it is there already; what the tools say goes to out.
func Setup(ctx context.Context, dir, python string, out io.Writer) (*Core, error) {
	if python == "" {
		python = "python3"
	}
	if c := coreAt(dir, "volant setup"); c != nil && c.Version == CoreVersion {
		return c, nil
	}
	run := func(name string, args ...string) error {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Stdout, cmd.Stderr = out, out
		return cmd.Run()
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, fmt.Errorf("making %s: %w", filepath.Dir(dir), err)
	}
	if err := run(python, "-m", "venv", "--clear", dir); err != nil {
		return nil, fmt.Errorf("making a virtual environment with %s (Debian and Ubuntu have it in python3-venv): %w", python, err)
	}
	err := run(filepath.Join(dir, "bin", "python3"), "-m", "pip", "install", "--disable-pip-version-check", "ansible-core=="+CoreVersion)
	if err != nil {
		return nil, fmt.Errorf("installing ansible-core %s (it needs Python 3.11 to 3.13 and a package index): %w", CoreVersion, err)
	}
	c := coreAt(dir, "volant setup")
	if c == nil {
		return nil, errors.New("pip ended well but ansible-core is not there")
	}
	return c, nil
}
