package hostagent

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"volant/stage/disktest"
	"volant/wire"
)

// TestJournalOnAFullDisk: what cannot be written down does not begin, what ended
// is not lost, and all is well once there is room.
func TestJournalOnAFullDisk(t *testing.T) {
	disk := disktest.New(t, 256)
	path := filepath.Join(disk.Dir, "j")
	j := testJournal(t, path, 1)
	begin(t, j, 1)
	j.finish(id(1), []byte("one"))
	begin(t, j, 2)
	begin(t, j, 3)
	disk.Fill()
	n := uint32(4) // there is room in the last block
	for ; n < 1000; n++ {
		known, err := j.begin(id(n))
		if known {
			t.Fatalf("%d is known", n)
		}
		if err == nil {
			continue
		}
		if !strings.Contains(err.Error(), "no space left on device") || !strings.Contains(err.Error(), path) {
			t.Errorf("refused with %v", err)
		}
		break
	}
	if s := j.state(id(n)); s != wire.StateUnknown {
		t.Errorf("what was refused is %s", s)
	}
	large := bytes.Repeat([]byte("two"), 10_000)
	j.finish(id(2), large)
	j.withdraw(id(3))
	check := func() {
		t.Helper()
		for n, want := range map[uint32]string{1: "one", 2: string(large)} {
			if b, err := j.result(id(n)); err != nil || string(b) != want {
				t.Errorf("result %d: %d bytes, %v", n, len(b), err)
			}
		}
	}
	check()
	if s := j.state(id(3)); s != wire.StateUnknown {
		t.Errorf("what did nothing and was withdrawn is %s", s)
	}

	t.Run("opened", func(t *testing.T) { // by an agent that starts now
		j := testJournal(t, path, 1)
		if got := states(j, 2); got != "done running" {
			t.Errorf("it knows %q", got)
		}
		if known, err := j.begin(id(n)); known || !full(err) {
			t.Errorf("begins: %v, %v", known, err)
		}
		fresh := testJournal(t, filepath.Join(disk.Dir, "fresh"), 1)
		if known, err := fresh.begin(id(1)); known || !full(err) {
			t.Errorf("a new one begins: %v, %v", known, err)
		}
		disk.Empty()
		begin(t, fresh, 1)
		fresh.finish(id(1), []byte("x"))
		fresh.close(false)
		fresh = testJournal(t, filepath.Join(disk.Dir, "fresh"), 1)
		if fresh.damaged || states(fresh, 1) != "done" || fresh.ownerPID != os.Getpid() {
			t.Errorf("damaged %v, %s, written by %d", fresh.damaged, states(fresh, 1), fresh.ownerPID)
		}
		fresh.close(true)
	})
	begin(t, j, n)
	j.finish(id(n), []byte("n"))
	check()
}

// TestTornOnAFullDisk: that something is missing in a journal is not forgotten
// where there is no room to write it down.
func TestTornOnAFullDisk(t *testing.T) {
	disk := disktest.New(t, 256)
	path := filepath.Join(disk.Dir, "j")
	j := testJournal(t, path, 1)
	begin(t, j, 1)
	before := j.size
	j.finish(id(1), make([]byte, 300))
	more := j.size - before - 300 // of a result besides itself
	begin(t, j, 2)
	j.finish(id(2), make([]byte, 4096-8-j.size-more)) // no mark fits into this block
	if j.size != 4096-8 {
		t.Fatalf("%d bytes", j.size)
	}
	j.close(false)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte{0xff, 0, 0xff}); err != nil {
		t.Fatal(err)
	}
	f.Close()
	disk.Fill()
	look := func() {
		t.Helper()
		j := testJournal(t, path, 1)
		if got := states(j, 3); got != "done done lost" {
			t.Errorf("it knows %q", got)
		}
		j.close(false)
	}
	for range 3 {
		look()
	}
	disk.Empty()
	look()
	look()
}
