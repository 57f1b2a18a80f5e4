// Package disktest gives tests a small disk that can be filled and emptied.
package disktest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Disk is a file system of its own.
type Disk struct {
	Dir string // where it is
	t   testing.TB
}

// New mounts one of so many kibibytes, for the test. It needs root; without, the
// test is skipped.
func New(t testing.TB, kib int) *Disk {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dk,mode=0755", kib)); err != nil {
		t.Skip("no disk of our own: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return &Disk{Dir: dir, t: t}
}

// Fill leaves no room: not for a byte that needs another block.
func (d *Disk) Fill() {
	d.t.Helper()
	f, err := os.OpenFile(d.filler(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for n := 64 << 10; n > 0; {
		if _, err := f.Write(bytes.Repeat([]byte{1}, n)); err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				d.t.Fatal(err)
			}
			n /= 2
		}
	}
}

// Empty makes room again.
func (d *Disk) Empty() {
	d.t.Helper()
	if err := os.Remove(d.filler()); err != nil {
		d.t.Fatal(err)
	}
}

func (d *Disk) filler() string { return filepath.Join(d.Dir, "filler") }
