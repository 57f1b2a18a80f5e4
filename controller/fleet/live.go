package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"volant/wire"
	"volant/wire/frame"
	"volant/wire/session"
)

const (
	helloTimeout = 5 * time.Second
	ackDelay     = time.Second // an Ack that no Task carried is sent alone
)

// live is one connection that is up.
type live struct {
	f     *Fleet
	conn  session.Conn
	hello *wire.Hello
	owner *hostLink    // set before any sub-task uses it
	udp   *net.UDPAddr // where the agent was called; nil for every other way

	ctlMu sync.Mutex // guards ctl
	ctl   *frame.Writer

	active atomic.Int32 // sub-tasks under way
	// suspected: somebody looks whether the agent is still there.
	suspected atomic.Bool
	// draining: the agent ends soon, nothing new is to start here.
	draining atomic.Bool

	watch watch // over what is sent and not answered

	mu       sync.Mutex // guards what follows
	idle     []*slot
	waiters  []chan *slot
	acks     []wire.TaskID
	ackSince time.Time   // when the first of acks came
	ackTimer *time.Timer // nil: not set
	ended    map[wire.TaskID]chan struct{}
	wasReset chan struct{} // closed by the Pong that answers Reset
	packets  uint64        // received when last looked at
	heard    time.Time     // when that number last grew
	asked    time.Time     // when a Ping went that no Pong answered yet; zero: none is due
	askedN   uint64        // its number
	answered time.Time     // when the last Pong came, or sub-tasks began
}

// slot is a stream over which the agent pulls sub-tasks.
type slot struct {
	s session.Stream
	r *frame.Reader
	w *frame.Writer
}

// goLive shakes hands on a new connection. The link is up only when the
// agent's first frame has come.
// A link beside another goes no further when still says that it is not needed.
func (f *Fleet) goLive(ctx context.Context, conn session.Conn, still func() bool) (*live, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, helloTimeout, errors.New("the agent does not answer"))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close(session.CodeProtocol, "no Hello") })
	defer stop()
	s, err := conn.AcceptStream(ctx)
	if err != nil {
		return nil, fmt.Errorf("waiting for the agent: %w", errors.Join(err, context.Cause(ctx)))
	}
	r := frame.NewReader(s)
	m, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("waiting for the agent: %w", err)
	}
	h, ok := m.(*wire.Hello)
	if !ok {
		return nil, fmt.Errorf("%s where Hello was due", m.Kind())
	}
	lv := &live{f: f, conn: conn, hello: h, ctl: frame.NewWriter(s), ended: map[wire.TaskID]chan struct{}{}, heard: time.Now(), answered: time.Now()}
	if h.Version < wire.MinVersion || h.MinVersion > wire.Version {
		lv.say(&wire.Refused{Code: wire.RefusedVersion, Text: "no common protocol version"})
		return nil, &versionError{agent: h}
	}
	if still != nil && !still() {
		return nil, errors.New("the agent was heard of again")
	}
	w := &wire.Welcome{
		Version: min(h.Version, wire.Version), Controller: f.cfg.Name, Run: f.run, SessionKey: f.key[:],
		Clock: time.Now().UnixNano(), MaxResult: f.cfg.MaxResult, MaxFile: f.cfg.MaxFile,
	}
	lv.say(w)
	if h.Clock != 0 {
		f.cfg.Metrics.Skew(time.Since(time.Unix(0, h.Clock)))
	}
	f.cfg.Metrics.Links(1)
	if !f.spawn(func() { lv.accept(conn.Context()) }) || !f.spawn(func() { lv.control(r) }) { // end with the connection
		return nil, errOver
	}
	return lv, nil
}

// versionError says that the agent speaks another protocol: it is replaced over SSH.
type versionError struct{ agent *wire.Hello }

func (e *versionError) Error() string {
	return fmt.Sprintf("the agent (%s) speaks protocol %d to %d, this controller %d to %d",
		e.agent.Agent, e.agent.MinVersion, e.agent.Version, wire.MinVersion, wire.Version)
}

func (lv *live) alive() bool { return lv != nil && lv.conn.Context().Err() == nil }

// say sends on the control stream; a failure shows on the connection.
func (lv *live) say(m wire.Message) {
	lv.ctlMu.Lock()
	defer lv.ctlMu.Unlock()
	_ = lv.ctl.Send(m)
}

// accept takes the slots the agent opens.
func (lv *live) accept(ctx context.Context) {
	n := 0
	for {
		s, err := lv.conn.AcceptStream(ctx)
		if err != nil {
			break
		}
		if n++; n > 1<<20 {
			_ = lv.conn.Close(session.CodeProtocol, "too many streams")
			break
		}
		lv.f.cfg.Metrics.Slots(1)
		context.AfterFunc(s.Context(), func() { lv.f.cfg.Metrics.Slots(-1) })
		lv.put(&slot{s: s, r: frame.NewReader(s), w: frame.NewWriter(s)})
	}
	lv.f.cfg.Metrics.Links(-1)
	lv.mu.Lock()
	waiters := lv.waiters
	lv.waiters, lv.idle = nil, nil
	if lv.ackTimer != nil {
		lv.ackTimer.Stop()
	}
	lv.watch.stop()
	ended := lv.ended
	lv.ended = nil
	lv.mu.Unlock()
	for _, w := range waiters {
		close(w)
	}
	for _, c := range ended {
		close(c)
	}
}

// put makes a slot available.
func (lv *live) put(s *slot) {
	lv.mu.Lock()
	defer lv.mu.Unlock()
	if n := len(lv.waiters); n > 0 {
		w := lv.waiters[0]
		lv.waiters = lv.waiters[1:]
		w <- s
		return
	}
	lv.idle = append(lv.idle, s)
}

// errLink says that the connection went away; the sub-task's state is to be asked.
var errLink = errors.New("link lost")

// take returns a slot on which the agent has pulled.
func (lv *live) take(ctx context.Context) (*slot, error) {
	for {
		s, err := lv.next(ctx)
		if err != nil {
			return nil, err
		}
		stop := context.AfterFunc(ctx, s.s.Reset)
		m, err := s.r.Read()
		if !stop() {
			return nil, context.Cause(ctx)
		}
		if err != nil { // the agent had slots enough and closed this one, or all is lost
			s.s.Reset()
			if !lv.alive() {
				return nil, errLink
			}
			continue
		}
		if m.Kind() != wire.KindPull {
			_ = lv.conn.Close(session.CodeProtocol, m.Kind().String()+" where Pull was due")
			return nil, errLink
		}
		return s, nil
	}
}

func (lv *live) next(ctx context.Context) (*slot, error) {
	lv.mu.Lock()
	if n := len(lv.idle); n > 0 {
		s := lv.idle[n-1]
		lv.idle = lv.idle[:n-1]
		lv.mu.Unlock()
		return s, nil
	}
	if !lv.alive() {
		lv.mu.Unlock()
		return nil, errLink
	}
	w := make(chan *slot, 1)
	lv.waiters = append(lv.waiters, w)
	lv.mu.Unlock()
	select {
	case s, ok := <-w:
		if !ok {
			return nil, errLink
		}
		return s, nil
	case <-lv.conn.Context().Done():
		return nil, errLink
	case <-ctx.Done():
		lv.mu.Lock()
		for i, o := range lv.waiters {
			if o == w {
				lv.waiters = append(lv.waiters[:i:i], lv.waiters[i+1:]...)
			}
		}
		lv.mu.Unlock()
		select {
		case s, ok := <-w: // came meanwhile
			if ok {
				lv.put(s)
			}
		default:
		}
		return nil, context.Cause(ctx)
	}
}

// control reads what the agent says on the control stream.
func (lv *live) control(r *frame.Reader) {
	for {
		m, err := r.Read()
		var unknown *frame.UnknownError
		if errors.As(err, &unknown) {
			lv.f.cfg.Metrics.Dropped("control_message")
			continue
		}
		if err != nil {
			_ = lv.conn.Close(session.CodeProtocol, "the control stream ended")
			return
		}
		switch m := m.(type) {
		case *wire.Pong:
			lv.f.cfg.Metrics.RoundTrip(lv.conn.RTT())
			lv.mu.Lock()
			if m.N == 0 && lv.wasReset != nil {
				close(lv.wasReset)
				lv.wasReset = nil
			}
			if m.N == lv.askedN { // not what somebody else asked, which may have fitted where this does not
				lv.asked, lv.answered = time.Time{}, time.Now()
			}
			lv.mu.Unlock()
		case *wire.Ended:
			lv.mu.Lock()
			c := lv.ended[m.ID]
			delete(lv.ended, m.ID)
			lv.mu.Unlock()
			if c != nil {
				close(c)
			}
		case *wire.Drain:
			lv.draining.Store(true)
		case *wire.Refused:
			lv.f.log.Warn("Agent refused the link", "code", int(m.Code), "text", m.Text)
		}
	}
}

// ack remembers that the agent may forget id; the next Task carries it.
func (lv *live) ack(id wire.TaskID) {
	lv.mu.Lock()
	defer lv.mu.Unlock()
	if lv.acks = append(lv.acks, id); len(lv.acks) == 1 {
		lv.ackSince = time.Now()
	}
	if lv.ackTimer == nil { // as it is while Tasks carry them: setting a timer wakes a thread
		lv.ackTimer = time.AfterFunc(ackDelay, lv.flushAcks)
	}
}

func (lv *live) takeAcks() []wire.TaskID {
	lv.mu.Lock()
	defer lv.mu.Unlock()
	acks := lv.acks
	lv.acks = nil
	return acks
}

// flushAcks sends what no Task carried for so long. It is ackTimer's.
func (lv *live) flushAcks() {
	lv.mu.Lock()
	acks, rest := lv.acks, ackDelay-time.Since(lv.ackSince)
	if len(acks) > 0 && rest > 0 {
		lv.ackTimer.Reset(rest)
		lv.mu.Unlock()
		return
	}
	lv.acks, lv.ackTimer = nil, nil
	lv.mu.Unlock()
	if len(acks) == 0 {
		return
	}
	lv.ctlMu.Lock()
	defer lv.ctlMu.Unlock()
	for _, id := range acks {
		if lv.ctl.Put(&wire.Ack{ID: id}) != nil {
			return
		}
	}
	_ = lv.ctl.Flush()
}

// expectEnded returns a channel that is closed when the agent says Ended of id
// or the connection goes.
func (lv *live) expectEnded(id wire.TaskID) <-chan struct{} {
	c := make(chan struct{})
	lv.mu.Lock()
	defer lv.mu.Unlock()
	if lv.ended == nil {
		close(c)
		return c
	}
	lv.ended[id] = c
	return c
}

// probe looks whether a link with sub-tasks under way is still heard of, and
// whether whole datagrams arrive, in both directions: where the path became
// narrower than it was, small packets still pass, small answers among them, while
// all that carry more are lost.
func (lv *live) probe(now time.Time) {
	if lv.active.Load() == 0 || lv.conn.Peer() == nil || !lv.alive() {
		lv.mu.Lock()
		lv.heard, lv.answered, lv.asked = now, now, time.Time{}
		lv.mu.Unlock()
		return
	}
	silence := lv.f.cfg.Silence
	n, _ := lv.conn.Packets()
	lv.mu.Lock()
	if n != lv.packets {
		lv.packets, lv.heard = n, now
	}
	silent := now.Sub(lv.heard)
	due := lv.asked.IsZero() && (silent > silence*2/5 || now.Sub(lv.answered) > silence)
	unanswered := !lv.asked.IsZero() && now.Sub(lv.asked) > 2*silence
	if due {
		lv.asked, lv.askedN = now, uint64(now.UnixNano())
	}
	asked := lv.askedN
	lv.mu.Unlock()
	switch {
	case silent > silence:
		lv.f.log.Info("Link is silent, dialling again", "remote", lv.conn.RemoteAddr())
		_ = lv.conn.Close(session.CodeSilent, "silent")
	case unanswered:
		lv.f.log.Info("Link passes packets but nothing in them, dialling again", "remote", lv.conn.RemoteAddr())
		_ = lv.conn.Close(session.CodeSilent, "what is sent does not arrive")
	case due:
		lv.f.spawn(func() { // ends when written, or with the connection
			lv.expect() // never met: it looks until something came
			lv.say(&wire.Ping{N: asked, Fill: make([]byte, wire.Fill)})
		})
	}
}
