package union

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCacheSurvives holds that what one run learned is there for the next, also
// what that run did not ask for, and that a damaged file is no cache.
func TestCacheSurvives(t *testing.T) {
	dir := t.TempDir()
	files(t, dir, map[string]string{"a.py": "import os\n", "b.py": "#!/bin/sh\n"})
	a, b := filepath.Join(dir, "a.py"), filepath.Join(dir, "b.py")
	c := openCache(dir)
	for _, path := range []string{a, b} {
		if _, err := c.file(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.save(); err != nil {
		t.Fatal(err)
	}
	second := openCache(dir)
	if _, err := second.imports(a, "x.a", false); err != nil {
		t.Fatal(err)
	}
	if err := second.save(); err != nil {
		t.Fatal(err)
	}
	third := openCache(dir)
	if got := third.known(b); got == nil || got.Shebang != "/bin/sh" {
		t.Errorf("b.py: %+v", got)
	}
	if got := third.known(a); got == nil || got.Scanned["x.a"] == nil {
		t.Errorf("a.py: %+v", got)
	}
	whole, err := os.ReadFile(c.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, damaged := range [][]byte{nil, whole[:len(whole)-1], whole[:len(cacheHead)+3], []byte("{}"), append([]byte(cacheHead), 0xff, 0xff, 0xff, 0xff, 0xff)} {
		if err := os.WriteFile(c.path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		again := openCache(dir)
		if f, err := again.file(b); err != nil || f.Shebang != "/bin/sh" {
			t.Errorf("with %d bytes of cache: %+v, %v", len(damaged), f, err)
		}
	}
}
