// Package coretest lays out the Python side of an installed ansible-core for
// tests that run real modules. Tests skip where there is none.
package coretest

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Core is an installed ansible-core and an interpreter that can run it.
type Core struct {
	Path   string // the ansible package
	Python string
}

// Find returns the ansible-core named by VOLANT_ANSIBLE_CORE (the package, the
// directory that holds it, or a virtual environment), else that of the
// `ansible` on PATH; it skips the test when there is none.
func Find(t testing.TB) Core {
	t.Helper()
	if dir := os.Getenv("VOLANT_ANSIBLE_CORE"); dir != "" {
		for _, pattern := range []string{".", "ansible", "lib/python3*/site-packages/ansible"} {
			found, _ := filepath.Glob(filepath.Join(dir, pattern))
			for _, f := range found {
				if exists(filepath.Join(f, "module_utils", "basic.py")) {
					return Core{f, python(f)}
				}
			}
		}
		t.Fatalf("VOLANT_ANSIBLE_CORE names %s, where there is no ansible-core", dir)
	}
	script, err := exec.LookPath("ansible")
	if err != nil {
		t.Skip("no ansible-core: set VOLANT_ANSIBLE_CORE or put ansible on PATH")
	}
	b, _ := os.ReadFile(script)
	line, _, _ := strings.Cut(string(b), "\n")
	py := strings.TrimPrefix(strings.TrimSpace(line), "#!")
	out, err := exec.Command(py, "-c", "import ansible; print(ansible.__path__[0])").Output()
	if err != nil {
		t.Skip("the ansible on PATH does not say where its package is")
	}
	return Core{strings.TrimSpace(string(out)), py}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// python is the interpreter the package was installed for, else python3.
func python(pkg string) string {
	if py := filepath.Join(pkg, "..", "..", "..", "..", "bin", "python3"); exists(py) {
		return filepath.Clean(py)
	}
	return "python3"
}

const namespace = "from pkgutil import extend_path\n__path__ = extend_path(__path__, __name__)\n"

// Base lays module_utils out in dir.
func (c Core) Base(t testing.TB, dir string) {
	t.Helper()
	root := filepath.Join(c.Path, "module_utils")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".py") {
			return err
		}
		rel, err := filepath.Rel(c.Path, path)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		write(t, filepath.Join(dir, "ansible", rel), b)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "ansible", "__init__.py"), []byte(namespace+"__version__ = '2.19'\n__author__ = ''\n"))
	write(t, filepath.Join(dir, "ansible", "module_utils", "__init__.py"), []byte(namespace))
}

// Module lays the core's module out in dir and returns its path below it and
// the name it runs under.
func (c Core) Module(t testing.TB, dir, name string) (file, fqn string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(c.Path, "modules", name+".py"))
	if err != nil {
		t.Fatal(err)
	}
	return Source(t, dir, name, string(b))
}

// Source lays a module of the given source out like one of the core's.
func Source(t testing.TB, dir, name, src string) (file, fqn string) {
	t.Helper()
	write(t, filepath.Join(dir, "ansible", "modules", "__init__.py"), nil)
	file = "ansible/modules/" + name + ".py"
	write(t, filepath.Join(dir, file), []byte(src))
	return file, "ansible.modules." + name
}

func write(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
