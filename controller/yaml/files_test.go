package yaml

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestFilesThatAreNoText: that a file is not UTF-8 is said before what is wrong
// with it, once for what is kept.
func TestFilesThatAreNoText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yml")
	if err := os.WriteFile(path, []byte("a: caf\xe9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &collect{}
	f := &Files{Sink: c}
	for range 2 {
		if _, _, err := f.LoadFile(path); err == nil {
			t.Error("no error")
		}
	}
	want := []string{"DEP File '" + path + "' could not be decoded as 'utf-8'. Invalid content has been escaped.|"}
	if !slices.Equal(c.got, want) {
		t.Errorf("said %q, want %q", c.got, want)
	}
}
