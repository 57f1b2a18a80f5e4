// Package volant holds nothing but the rules that the tree is kept to.
package volant

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// may lists, for each top-level folder, the folders of ours it may import.
var may = map[string]string{
	"wire":       "",
	"metrics":    "",
	"cores":      "",
	"stage":      "wire",
	"actions":    "stage wire",
	"bootstrap":  "stage wire",
	"hostagent":  "cores stage wire metrics",
	"controller": "cores stage wire metrics actions bootstrap",
	"cmd":        "cores stage wire metrics actions bootstrap controller hostagent",
	"e2e":        "stage wire metrics actions bootstrap controller hostagent",
}

func top(path string) string {
	path = strings.TrimPrefix(path, "volant/")
	first, _, _ := strings.Cut(path, "/")
	return first
}

// TestImports holds every import between our folders to the arrows of
// docs/ARCHITECTURE.md, tests included.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-f",
		`{{.ImportPath}} {{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}`, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		fields := strings.Fields(line)
		from := top(fields[0])
		if fields[0] == "volant" {
			continue
		}
		allowed, known := may[from]
		if !known {
			t.Errorf("%s: no such top-level folder in the design", fields[0])
			continue
		}
		for _, imp := range fields[1:] {
			to := top(imp)
			if !strings.HasPrefix(imp, "volant/") || to == from {
				continue
			}
			if !strings.Contains(" "+allowed+" ", " "+to+" ") {
				t.Errorf("%s imports %s: %s may import only [%s]", fields[0], imp, from, allowed)
			}
		}
	}
}

// TestPackageComments asks every package to say what it is for.
func TestPackageComments(t *testing.T) {
	packages := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "bin" || d.Name() == "dist" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		dir := filepath.Dir(path)
		packages[dir] = packages[dir] || f.Doc != nil && len(f.Doc.Text()) > 20
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, ok := range packages {
		if !ok {
			t.Errorf("%s has no package comment", dir)
		}
	}
}

// TestNoInit keeps wiring visible: tables are literals, main wires.
func TestNoInit(t *testing.T) {
	out, err := exec.Command("git", "grep", "-nE", `^func init\(\)`, "--", "*.go").CombinedOutput()
	if err == nil {
		t.Errorf("init functions:\n%s", out)
	}
}
