package fleet

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"volant/bootstrap"
	"volant/wire"
	"volant/wire/session"
)

// builder makes connections to one agent.
type builder interface {
	// build returns a connection that is up. attempt counts from 0 since the
	// link was last up, or ever.
	build(ctx context.Context, attempt int) (*live, error)
	// beside dials again while the connection that is up is suspected, as long
	// as still says so.
	beside(ctx context.Context, still func() bool) (*live, error)
	// nobody says that nothing listens where the agent was.
	nobody()
	// anew makes the next build go back to SSH and replace an agent that cannot
	// renew what a login gives.
	anew(lv *live)
	// lent is a socket on the host behind which the user's ssh-agent is, "" for none.
	lent(ctx context.Context) string
	// end lets go of what was kept for the run.
	end()
}

// hostLink is the link to one agent, over whatever connection is up.
type hostLink struct {
	f      *Fleet
	name   string
	build  builder
	window time.Duration // how long a lost link is tried again

	mu      sync.Mutex // guards what follows
	live    *live
	last    *wire.Hello
	attempt *attempt                 // under way
	cancels map[wire.TaskID]struct{} // to be said again on the next connection
	union   map[wire.Hash]bool       // union blobs sent
	laid    map[wire.Hash]bool       // manifests counted by unionUsed
}

// attempt is one try to connect that any number of callers wait for.
type attempt struct {
	done chan struct{}
	live *live
	err  error
	// spare: it was made beside a connection that was up; that it failed says
	// nothing of a link that went since.
	spare bool
}

// Info implements Link.
func (l *hostLink) Info() wire.Hello {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		return wire.Hello{}
	}
	return *l.last
}

// current is the connection when it is up, else nil.
func (l *hostLink) current() *live {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.live.alive() {
		return l.live
	}
	return nil
}

// get returns the connection, made when there is none. A link that was up
// before is tried until the window since the given time is over.
func (l *hostLink) get(ctx context.Context, since time.Time) (*live, error) {
	for n := 0; ; n++ {
		l.mu.Lock()
		if l.live.alive() && !l.live.draining.Load() {
			lv := l.live
			l.mu.Unlock()
			return lv, nil
		}
		again := l.last != nil
		a := l.attempt
		if a == nil {
			bound := time.Duration(0)
			if again && !since.IsZero() {
				bound = max(l.window-time.Since(since), callTimeout)
			}
			a = &attempt{done: make(chan struct{})}
			if !l.f.spawn(func() { l.try(a, n, bound) }) { // ends with the attempt, bounded by f.ctx
				l.mu.Unlock()
				return nil, &Unreachable{Host: l.name, Err: errOver}
			}
			l.attempt = a
		}
		l.mu.Unlock()
		select {
		case <-a.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if a.err == nil {
			return a.live, nil
		}
		if a.spare {
			n--
			continue
		}
		if !again || final(a.err) || time.Since(since) > l.window || l.f.ctx.Err() != nil {
			return nil, &Unreachable{Host: l.name, Err: a.err}
		}
		pause := min(100*time.Millisecond<<min(n, 6), 5*time.Second)
		select { // full jitter
		case <-time.After(pause/4 + rand.N(pause)):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// final tells errors that trying again does not mend.
func final(err error) bool {
	var be *bootstrap.Error
	if !errors.As(err, &be) {
		return false
	}
	switch be.Kind {
	case bootstrap.KindConnect, bootstrap.KindTimeout, bootstrap.KindStart, bootstrap.KindUpload:
		return false
	}
	return true
}

// try makes one attempt, within bound when that is not zero.
func (l *hostLink) try(a *attempt, n int, bound time.Duration) {
	ctx := l.f.ctx
	if bound > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, bound, errors.New("the link did not come back in time"))
		defer cancel()
	}
	a.live, a.err = l.build.build(ctx, n)
	l.finish(a)
}

// finish takes over what an attempt gave.
func (l *hostLink) finish(a *attempt) {
	if a.err == nil {
		a.live.owner = l
	}
	l.mu.Lock()
	l.attempt = nil
	var cancels []wire.TaskID
	if a.err == nil {
		if l.last != nil {
			l.f.cfg.Metrics.Reconnected()
		}
		l.live, l.last = a.live, a.live.hello
		for id := range l.cancels {
			cancels = append(cancels, id)
		}
		l.cancels = nil
	}
	l.mu.Unlock()
	for _, id := range cancels {
		a.live.say(&wire.Cancel{ID: id})
	}
	close(a.done)
}

// Reconnect implements Link.
func (l *hostLink) Reconnect(ctx context.Context) (string, error) {
	if lv := l.current(); lv != nil {
		_ = lv.conn.Close(session.CodeReconnect, "asked to reconnect")
	}
	lv, err := l.get(ctx, time.Time{}) // no window: one attempt
	if err != nil {
		return "", err
	}
	return lv.hello.BootID, nil
}

// Reset implements Link.
func (l *hostLink) Reset(ctx context.Context) error {
	lv := l.current()
	if lv != nil {
		lv.reset(ctx)
	}
	l.build.anew(lv)
	if lv != nil {
		_ = lv.conn.Close(session.CodeReconnect, "reset")
	}
	_, err := l.get(ctx, time.Time{})
	return err
}

// goodbye ends the session on the agent.
func (l *hostLink) goodbye() {
	lv := l.current()
	if lv == nil {
		return
	}
	lv.say(&wire.Goodbye{})
	select {
	case <-lv.conn.Context().Done():
	case <-time.After(2 * time.Second):
	}
	_ = lv.conn.Close(session.CodeDone, "")
}
