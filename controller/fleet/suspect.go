package fleet

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"volant/wire"
	"volant/wire/session"
)

// QUIC acknowledges what was sent within a round trip and 25 ms, whatever the
// agent is busy with. When nothing at all comes back the agent is looked after:
//
//	sent --250 ms or 10 RTT--> Ping, and ask whether anything listens there
//	     --1.5 s-----------> dial beside; what is up first counts
//	     --Silence---------> given up
//
// Something that came but was no answer may be the acknowledgement of what was
// sent, and then nothing more is owed. It may also have been on its way before;
// then QUIC goes on sending, and the agent is looked after twice as long later.
const (
	knockAfter = 250 * time.Millisecond
	dialAfter  = time.Second
	listenStep = 20 * time.Millisecond
	maxLooks   = 4 // of one wait: from then on Silence decides
)

// wait is something sent that the agent owes an answer to.
type wait struct {
	due            time.Time   // when the agent is looked after
	received, sent uint64      // packets before
	looks          int         // done so far
	met            atomic.Bool // it answered
}

// watch is over what a link waits for. One timer serves all of it, and is left as
// it is while answers come: to set one for each sub-task wakes a thread each time.
type watch struct {
	mu    sync.Mutex // guards what follows
	waits []*wait
	timer *time.Timer // nil: not set
	over  bool
}

// expect is called before something is sent; whoever sees an answer says that it
// is met. Else the agent is looked after.
func (lv *live) expect() *wait {
	if lv.conn.Peer() == nil {
		return nil
	}
	w, after := new(wait), lv.patience()
	w.due = time.Now().Add(after)
	w.received, w.sent = lv.conn.Packets()
	lv.watch.mu.Lock()
	defer lv.watch.mu.Unlock()
	if lv.watch.over {
		return w
	}
	if len(lv.watch.waits) == cap(lv.watch.waits) {
		lv.watch.tidy()
	}
	lv.watch.waits = append(lv.watch.waits, w)
	if lv.watch.timer == nil {
		lv.watch.timer = time.AfterFunc(after, lv.look)
	}
	return w
}

// patience is how long an acknowledgement may take.
func (lv *live) patience() time.Duration { return max(knockAfter, 10*lv.conn.RTT()) }

// tidy forgets what is met. mu is held.
func (w *watch) tidy() {
	w.waits = slices.DeleteFunc(w.waits, func(e *wait) bool { return e.met.Load() })
}

func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over, w.waits = true, nil
	if w.timer != nil {
		w.timer.Stop()
	}
}

// look looks after the agent if an answer is overdue. It is the watch's timer's.
func (lv *live) look() {
	w, now := &lv.watch, time.Now()
	w.mu.Lock()
	w.tidy()
	var late []*wait
	var next time.Time
	w.waits = slices.DeleteFunc(w.waits, func(e *wait) bool {
		if !e.due.After(now) {
			late = append(late, e)
			return true
		}
		if next.IsZero() || e.due.Before(next) {
			next = e.due
		}
		return false
	})
	var n uint64
	silent := false
	if len(late) > 0 { // what came since the last of them came since all of them
		last := late[len(late)-1]
		received, sent := lv.conn.Packets()
		owed := sent != last.sent
		n, silent = received, owed && received == last.received
		if last.looks++; owed && !silent && last.looks < maxLooks {
			last.received, last.sent, last.due = received, sent, now.Add(2*lv.patience())
			w.waits = append(w.waits, last)
			if next.IsZero() || last.due.Before(next) {
				next = last.due
			}
		}
	}
	if w.over || next.IsZero() {
		w.timer = nil
	} else {
		w.timer.Reset(next.Sub(now))
	}
	w.mu.Unlock()
	if silent {
		lv.suspect(n)
	}
}

// suspect looks after an agent from which nothing has come since n packets.
func (lv *live) suspect(n uint64) {
	if !lv.alive() || !lv.suspected.CompareAndSwap(false, true) {
		return
	}
	defer lv.suspected.Store(false)
	ctx, cancel := context.WithCancel(lv.f.ctx)
	defer cancel()
	defer context.AfterFunc(lv.conn.Context(), cancel)()
	still := func() bool {
		received, _ := lv.conn.Packets()
		return lv.alive() && received == n
	}
	lv.f.log.Debug("Agent does not answer", "remote", lv.conn.RemoteAddr())
	go lv.say(&wire.Ping{N: uint64(time.Now().UnixNano())}) // ends when written, or with the connection
	begin := time.Now()
	if lv.udp != nil && knock(ctx, lv.udp) && still() {
		lv.f.log.Info("Agent is gone, dialling again", "remote", lv.conn.RemoteAddr())
		lv.owner.build.nobody()
		_ = lv.conn.Close(session.CodeSilent, "nothing listens there any more")
		return
	}
	for ; time.Since(begin) < dialAfter-knockAfter; time.Sleep(listenStep) {
		if !still() || ctx.Err() != nil {
			return
		}
	}
	lv.owner.beside(lv, still)
}

// beside dials the agent of a silent connection anew, and takes the new one
// when it is up first.
func (l *hostLink) beside(old *live, still func() bool) {
	l.mu.Lock()
	if l.attempt != nil || l.live != old || l.f.ctx.Err() != nil {
		l.mu.Unlock()
		return
	}
	a := &attempt{done: make(chan struct{}), spare: true}
	l.attempt = a
	l.mu.Unlock()
	a.live, a.err = l.build.beside(l.f.ctx, still)
	l.finish(a)
	if a.err == nil {
		l.f.log.Info("Link is silent, another took over", "remote", old.conn.RemoteAddr())
		_ = old.conn.Close(session.CodeSilent, "silent; another link took over")
	}
}

// reset ends what is warm on the agent, waiting for that a little.
func (lv *live) reset(ctx context.Context) {
	c := make(chan struct{})
	lv.mu.Lock()
	lv.wasReset = c
	lv.mu.Unlock()
	lv.say(&wire.Reset{})
	select {
	case <-c:
	case <-ctx.Done():
	case <-lv.conn.Context().Done():
	case <-time.After(resetTimeout):
	}
}

// resetTimeout bounds the wait for warm processes to end.
const resetTimeout = 5 * time.Second
