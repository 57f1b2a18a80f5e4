package volant

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// parsed is every Go file of ours that is no test, by its path.
func parsed(t *testing.T) (*token.FileSet, map[string]*ast.File) {
	t.Helper()
	set, files := token.NewFileSet(), map[string]*ast.File{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "bin" || d.Name() == "dist" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files[path], err = parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return set, files
}

// called names what a call calls, as pkg.Func; "" for all else.
func called(n ast.Node) (name string, args []ast.Expr) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return "", nil
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", nil
	}
	pkg, ok := sel.X.(*ast.Ident)
	if !ok {
		return "", nil
	}
	return pkg.Name + "." + sel.Sel.Name, call.Args
}

// text is the value of a constant expression over a package's constants.
func text(e ast.Expr, consts map[string]ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil && e.Kind == token.STRING
	case *ast.ParenExpr:
		return text(e.X, consts)
	case *ast.Ident:
		if value, ok := consts[e.Name]; ok {
			return text(value, consts)
		}
	case *ast.BinaryExpr:
		a, aok := text(e.X, consts)
		b, bok := text(e.Y, consts)
		return a + b, aok && bok && e.Op == token.ADD
	}
	return "", false
}

// TestPatternsCompile compiles every constant pattern of the source: package
// rx compiles one only when a user comes to need it.
func TestPatternsCompile(t *testing.T) {
	set, files := parsed(t)
	consts := map[string]map[string]ast.Expr{} // by folder
	for path, f := range files {
		dir := filepath.Dir(path)
		if consts[dir] == nil {
			consts[dir] = map[string]ast.Expr{}
		}
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
				for _, s := range g.Specs {
					for i, value := range s.(*ast.ValueSpec).Values {
						consts[dir][s.(*ast.ValueSpec).Names[i].Name] = value
					}
				}
			}
		}
	}
	found := 0
	for path, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			name, args := called(n)
			if name != "rx.Lazy" && name != "regexp.MustCompile" || len(args) != 1 {
				return true
			}
			expr, ok := text(args[0], consts[filepath.Dir(path)])
			if !ok {
				if name == "rx.Lazy" {
					t.Errorf("%s: a lazy pattern must be a constant of its package, or no test can compile it", set.Position(n.Pos()))
				}
				return true
			}
			found++
			if _, err := regexp.Compile(expr); err != nil {
				t.Errorf("%s: %v", set.Position(n.Pos()), err)
			}
			return true
		})
	}
	if found < 100 {
		t.Errorf("only %d patterns found", found)
	}
}

// TestNoPatternAtStart wants patterns of packages to be rx.Lazy: what compiles
// at package level is paid for by every start of every command.
func TestNoPatternAtStart(t *testing.T) {
	set, files := parsed(t)
	for _, f := range files {
		for _, d := range f.Decls {
			if _, ok := d.(*ast.GenDecl); !ok {
				continue
			}
			now := map[*ast.FuncLit]bool{} // functions that are called where they stand
			ast.Inspect(d, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					if f, ok := call.Fun.(*ast.FuncLit); ok {
						now[f] = true
					}
				}
				if f, ok := n.(*ast.FuncLit); ok && !now[f] {
					return false
				}
				if name, _ := called(n); strings.HasPrefix(name, "regexp.") && strings.Contains(name, "Compile") {
					t.Errorf("%s: %s at package level: use rx.Lazy", set.Position(n.Pos()), name)
				}
				return true
			})
		}
	}
}
