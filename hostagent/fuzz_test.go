package hostagent

import (
	"os"
	"path/filepath"
	"testing"

	"volant/wire"
)

// FuzzJournal: a journal that a power cut or a full disk left is read as far as
// it goes, and can be written on.
func FuzzJournal(f *testing.F) {
	path := filepath.Join(f.TempDir(), "journal")
	j, err := openJournal(path)
	if err != nil {
		f.Fatal(err)
	}
	for i := range 3 {
		id := wire.TaskID{Step: uint32(i + 1)}
		if _, err := j.begin(id); err != nil {
			f.Fatal(err)
		}
		j.forked(id, os.Getpid())
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, in []byte) {
		path := filepath.Join(t.TempDir(), "journal")
		if err := os.WriteFile(path, in, 0o600); err != nil {
			t.Fatal(err)
		}
		lastHeader(path)
		j, err := openJournal(path)
		if err != nil {
			return
		}
		id := wire.TaskID{Step: 4000000000}
		if known, err := j.begin(id); err == nil && !known && j.state(id) != wire.StateRunning {
			t.Errorf("what was begun is %v", j.state(id))
		}
		_ = j.f.Close()
	})
}
