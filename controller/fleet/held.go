package fleet

import (
	"sync"

	"volant/bootstrap"
)

// heldLogin is the SSH connection that is kept because the agent it started ends
// with it. One that started a later agent takes its place.
type heldLogin struct {
	mu   sync.Mutex // guards what follows
	ssh  bootstrap.Session
	over bool
}

// keep keeps a connection until another is kept, or the run ends.
func (h *heldLogin) keep(ssh bootstrap.Session) {
	h.mu.Lock()
	old := ssh
	if !h.over {
		old, h.ssh = h.ssh, ssh
	}
	h.mu.Unlock()
	if old != nil {
		_ = old.Close()
	}
}

// end closes what is kept.
func (h *heldLogin) end() {
	h.mu.Lock()
	old := h.ssh
	h.ssh, h.over = nil, true
	h.mu.Unlock()
	if old != nil {
		_ = old.Close()
	}
}
