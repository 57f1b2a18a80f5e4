package facts

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRememberedOnDisk(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "bin")
	write := func(s string) {
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	r := &run{host: &Host{Cache: dir}}
	asked := 0
	get := func() string {
		t.Helper()
		remembered.Lock()
		clear(remembered.entries) // as in a new process
		remembered.Unlock()
		s, err := r.remember("test", []string{file}, func() (string, error) {
			asked++
			b, err := os.ReadFile(file)
			return string(b) + "\nsaid", err
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for range 3 {
		if s := get(); s != "one\nsaid" {
			t.Errorf("got %q", s)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times of the same file", asked)
	}
	write("other")
	if s := get(); s != "other\nsaid" || asked != 2 {
		t.Errorf("after a change: %q, asked %d times", s, asked)
	}
	entries, _ := filepath.Glob(filepath.Join(dir, "facts", "*"))
	if len(entries) != 1 {
		t.Fatalf("files: %v", entries)
	}
	if err := os.WriteFile(entries[0], []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s := get(); s != "other\nsaid" || asked != 3 {
		t.Errorf("after garbage: %q, asked %d times", s, asked)
	}
}
