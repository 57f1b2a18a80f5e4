package template

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestPipeNobodyWritesTo: reading one ends with the run or the task's limit.
func TestPipeNobodyWritesTo(t *testing.T) {
	p := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(p, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	s := &Scope{ctx: ctx}
	if _, err := s.readFile(p); err != context.DeadlineExceeded {
		t.Errorf("reading it ended with %v", err)
	}
}
