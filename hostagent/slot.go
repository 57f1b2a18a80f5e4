package hostagent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"volant/wire"
	"volant/wire/frame"
	"volant/wire/session"
)

func isReset(err error) bool { return errors.Is(err, session.ErrReset) }

// slot pulls sub-tasks on a stream of its own until that ends.
func (l *link) slot() {
	waiting := true
	defer func() { l.gone(waiting) }()
	s, err := l.conn.OpenStream(l.conn.Context())
	if err != nil {
		return
	}
	r := frame.NewReader(s)
	w := frame.NewWriter(s)
	t := &talk{next: r.Read, w: w}
	if err := t.send(&wire.Pull{}); err != nil {
		return
	}
	for {
		m, err := r.Read()
		if err != nil {
			if l.conn.Context().Err() == nil && !isReset(err) {
				l.sess.log.Debug("Slot ended", "err", err)
				s.Reset()
			}
			return
		}
		if ack, ok := m.(*wire.Ack); ok {
			l.sess.journal.ack(ack.ID)
			continue
		}
		if err := l.served(); err != nil { // since the handshake its key was revoked, or its lease ended
			l.sess.log.Info("Link ended", "err", err)
			_ = l.conn.Close(session.CodeRefused, err.Error())
			return
		}
		switch m := m.(type) {
		case *wire.Task:
			waiting = false
			l.taken()
			t.task = r.Body()
			err = l.task(s, t, m)
		case *wire.Collect:
			waiting = false
			l.taken()
			err = l.collect(s, t, m.ID)
		default:
			l.sess.log.Warn("Unexpected message on a slot", "kind", m.Kind().String())
			s.Reset()
			return
		}
		if err != nil {
			if !isReset(err) {
				s.Reset()
			}
			return
		}
		if waiting = l.waits(); !waiting {
			t.flush()
			_ = s.Close()
			return
		}
		if err := t.send(&wire.Pull{}); err != nil {
			return
		}
	}
}

// servedFor is how long the controller's permission is not looked at again: it is
// three files, and a link takes a thousand sub-tasks in a second.
const servedFor = 50 * time.Millisecond

// served tells whether the controller may still have work done.
func (l *link) served() error {
	if l.agent.allow == nil {
		return nil
	}
	l.mu.Lock()
	fresh := time.Since(l.allowed) < servedFor
	l.mu.Unlock()
	if fresh {
		return nil
	}
	now := time.Now()
	if err := l.agent.allow(l.conn.Peer()); err != nil {
		return err
	}
	l.mu.Lock()
	l.allowed = now
	l.mu.Unlock()
	return nil
}

// task runs one sub-task; its result is put but not yet flushed.
func (l *link) task(s session.Stream, t *talk, m *wire.Task) error {
	body, err := l.sess.run(t, m, s.Context())
	if errors.Is(err, errKnown) { // never twice: what it gave the first time
		body, err = l.outcome(s.Context(), m.ID)
	}
	if err != nil {
		return err
	}
	return t.putResult(body)
}

// collect answers for a sub-task of an earlier link.
func (l *link) collect(s session.Stream, t *talk, id wire.TaskID) error {
	st := l.sess.state(id)
	if err := t.send(&wire.State{ID: id, State: st}); err != nil {
		return err
	}
	if st != wire.StateRunning && st != wire.StateDone {
		return nil
	}
	body, err := l.outcome(s.Context(), id)
	if err != nil {
		return err
	}
	return t.putResult(body)
}

// outcome waits for the encoded outcome of a known id; lost is an outcome too.
func (l *link) outcome(ctx context.Context, id wire.TaskID) ([]byte, error) {
	body, err := l.sess.await(ctx, id)
	switch {
	case errors.Is(err, errLost):
		return frame.Marshal(fault(wire.FaultLost, true, err))
	case errors.Is(err, errWithdrawn): // it was still being staged: to be sent again
		return frame.Marshal(fault(wire.FaultWithdrawn, false, err))
	}
	if err != nil {
		return nil, fmt.Errorf("collecting %s: %w", id, err)
	}
	return body, nil
}
