package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"volant/controller/config"
)

// shown are settings that tasks can read as variables and nothing else does.
var shown = map[string]bool{"DEFAULT_EXECUTABLE": true, "DEFAULT_MODULE_COMPRESSION": true}

// TestStanding holds what is said of settings to the code: one that is said
// not to be acted on is named nowhere outside the table.
func TestStanding(t *testing.T) {
	var code strings.Builder
	for _, top := range []string{"../../controller", "../../cmd", "../../actions"} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && d.Name() == "config" || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				if err == nil && d.IsDir() && d.Name() == "config" {
					return fs.SkipDir
				}
				return err
			}
			b, err := os.ReadFile(path)
			code.Write(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range config.Settings() {
		if acted, _, warned := config.Standing(s.Name); !acted && !warned && !shown[s.Name] && strings.Contains(code.String(), `"`+s.Name+`"`) {
			t.Errorf("%s is said not to be acted on, and is named in the code", s.Name)
		}
	}
}
