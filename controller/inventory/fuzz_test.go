package inventory

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"volant/controller/fault"
)

// FuzzSource reads any file as an inventory without a panic, and selects from
// it.
func FuzzSource(f *testing.F) {
	f.Add("a x=1\n[g:children]\nh\n[h]\nb[1:3]\n", "g:!a")
	f.Add("all: {hosts: {a: }}", "~a")
	f.Fuzz(func(t *testing.T, text, pattern string) {
		dir := t.TempDir()
		path := filepath.Join(dir, "hosts")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		inv, err := Load(context.Background(), []string{path}, Options{Dir: dir, Sink: fault.Discard, Python: "/py"})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range inv.Hosts() {
			_ = h.SortedGroups()
		}
		_, _ = inv.Select(pattern)
		_, _ = literal(text)
		_, _ = splitWords(text)
	})
}
