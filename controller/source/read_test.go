package source

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, c := range []struct {
		path  string
		limit int64
		want  int
	}{
		{write("empty", ""), 10, 0},
		{write("short", "12345"), 10, 5},
		{write("whole", "1234567890"), 10, 10},
		{write("long", strings.Repeat("x", 5000)), 10, 11},
		{"/dev/zero", 5000, 5001},
	} {
		data, err := Read(nil, c.path, c.limit)
		if err != nil || len(data) != c.want {
			t.Errorf("%s: %d bytes of %d, %v", c.path, len(data), c.want, err)
		}
	}
	want, err := os.ReadFile("/proc/version")
	if err != nil {
		t.Skip("no /proc")
	}
	if data, err := Read(nil, "/proc/version", 1<<20); err != nil || string(data) != string(want) {
		t.Errorf("a file without a size: %q, %v", data, err)
	}
	if _, err := Read(nil, filepath.Join(dir, "none"), 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := Read(nil, dir, 10); err == nil {
		t.Error("a directory was read")
	}
}

// TestPipe: what is written to a pipe is read; one nobody writes to is waited
// for until done.
func TestPipe(t *testing.T) {
	p := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(p, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { _ = os.WriteFile(p, []byte("text"), 0) }()
	if data, err := Read(t.Context().Done(), p, 10); err != nil || string(data) != "text" {
		t.Errorf("%q, %v", data, err)
	}
	done := make(chan struct{})
	close(done)
	if _, err := Read(done, p, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("a pipe nobody writes to: %v", err)
	}
}
