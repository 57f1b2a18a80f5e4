package fleet

import (
	"testing"

	"volant/bootstrap"
)

// counted is a login that counts how often it is closed.
type counted struct {
	bootstrap.Session
	closed int
}

func (c *counted) Close() error { c.closed++; return nil }

// TestHeldLogin: each that is kept is closed once: when another takes its place,
// at the end, or at once when it comes too late.
func TestHeldLogin(t *testing.T) {
	var h heldLogin
	first, second, late := new(counted), new(counted), new(counted)
	h.keep(first)
	h.keep(second)
	if first.closed != 1 || second.closed != 0 {
		t.Errorf("replaced: %d, %d", first.closed, second.closed)
	}
	h.end()
	h.end()
	h.keep(late)
	if first.closed != 1 || second.closed != 1 || late.closed != 1 {
		t.Errorf("in the end: %d, %d, %d", first.closed, second.closed, late.closed)
	}
}
