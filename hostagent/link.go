package hostagent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"volant/wire"
	"volant/wire/frame"
	"volant/wire/session"
)

// welcomeTimeout bounds the wait for Welcome on a new connection.
const welcomeTimeout = 15 * time.Second

// link is one connection of a session.
type link struct {
	agent *Agent
	sess  *agentSession
	conn  session.Conn

	ctl   *frame.Writer
	ctlMu sync.Mutex // guards ctl

	mu      sync.Mutex // guards what follows
	waiting int        // slots that pull
	open    int        // slots
	drain   bool
	allowed time.Time // when the controller was last seen to be served
	slots   sync.WaitGroup
}

// ServeConn serves one connection until it ends: it opens the control stream,
// says Hello, and pulls sub-tasks on its slots. ctx ending drains the link.
func (a *Agent) ServeConn(ctx context.Context, conn session.Conn) error {
	s, err := conn.OpenStream(ctx)
	if err != nil {
		return fmt.Errorf("opening the control stream: %w", err)
	}
	l := &link{agent: a, conn: conn, ctl: frame.NewWriter(s)}
	if err := l.ctl.Send(a.hello()); err != nil {
		return fmt.Errorf("saying hello: %w", err)
	}
	r := frame.NewReader(s)
	w, err := l.welcome(ctx, r)
	if err != nil {
		_ = conn.Close(session.CodeProtocol, err.Error())
		return err
	}
	sess, err := a.session(sessionKey{controller: string(conn.Peer()), run: w.Run}, w, l)
	if err != nil {
		l.say(&wire.Refused{Code: wire.RefusedBusy, Text: err.Error()})
		_ = conn.Close(session.CodeRefused, err.Error())
		return err
	}
	l.sess = sess
	stop := context.AfterFunc(ctx, func() {
		l.say(&wire.Drain{Reason: "the agent ends"})
		l.mu.Lock()
		l.drain = true
		l.mu.Unlock()
	})
	defer stop()
	l.refill()
	goodbye := l.control(r)
	if goodbye {
		a.end(sess, true)
		_ = conn.Close(session.CodeDone, "")
	} else {
		_ = conn.Close(session.CodeProtocol, "the control stream ended")
		sess.detach(l)
	}
	l.slots.Wait() // their sub-tasks end first, also without a link
	return nil
}

func (l *link) welcome(ctx context.Context, r *frame.Reader) (*wire.Welcome, error) {
	timer := time.AfterFunc(welcomeTimeout, func() { _ = l.conn.Close(session.CodeProtocol, "no Welcome") })
	defer timer.Stop()
	stop := context.AfterFunc(ctx, func() { _ = l.conn.Close(session.CodeShutdown, "the agent ends") })
	defer stop()
	m, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("waiting for Welcome: %w", err)
	}
	switch m := m.(type) {
	case *wire.Welcome:
		if m.Version < wire.MinVersion || m.Version > wire.Version {
			return nil, fmt.Errorf("the controller chose protocol %d, this agent speaks %d to %d", m.Version, wire.MinVersion, wire.Version)
		}
		return m, nil
	case *wire.Refused:
		return nil, fmt.Errorf("refused by the controller: %s", m.Text)
	}
	return nil, fmt.Errorf("%s where Welcome was due", m.Kind())
}

// maxAsides bounds what the control stream asked for and is still going on: more
// than a link has slots. Whoever asks for more is not read until one is done.
const maxAsides = 2 * wire.MaxSlots

// control reads the control stream until it ends; true after Goodbye.
func (l *link) control(r *frame.Reader) bool {
	tokens := make(chan struct{}, maxAsides)
	aside := func(do func()) {
		tokens <- struct{}{} // given back at the latest when the connection ends and what was running with it
		l.slots.Go(func() {
			defer func() { <-tokens }()
			do()
		})
	}
	for {
		m, err := r.Read()
		var unknown *frame.UnknownError
		if errors.As(err, &unknown) {
			l.agent.skipped.Add(1)
			continue
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				l.sess.log.Debug("Link ended", "err", err)
			}
			return false
		}
		switch m := m.(type) {
		case *wire.Ping:
			l.say(&wire.Pong{N: m.N, Fill: m.Fill[:min(len(m.Fill), wire.MaxFill)]})
		case *wire.Ack:
			l.sess.journal.ack(m.ID)
		case *wire.Cancel:
			aside(func() { // ends when the sub-task's processes are gone
				l.sess.cancelTask(m.ID)
				l.say(&wire.Ended{ID: m.ID})
			})
		case *wire.Drain:
			l.mu.Lock()
			l.drain = true
			l.mu.Unlock()
		case *wire.Reset:
			aside(func() { // ends when what was warm has ended
				l.agent.reset(l.sess.key.controller)
				l.say(&wire.Pong{})
			})
		case *wire.Goodbye:
			return true
		default:
			l.agent.skipped.Add(1)
		}
	}
}

// say sends on the control stream; a failure ends the link by itself.
func (l *link) say(m wire.Message) {
	l.ctlMu.Lock()
	defer l.ctlMu.Unlock()
	_ = l.ctl.Send(m)
}

// replaced closes a link whose session has a newer one.
func (l *link) replaced() { _ = l.conn.Close(session.CodeReplaced, "a newer link took over") }

// refill opens slots until wire.IdleSlots wait.
func (l *link) refill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.waiting < wire.IdleSlots && l.open < wire.MaxSlots && !l.drain && l.conn.Context().Err() == nil {
		l.waiting++
		l.open++
		l.slots.Add(1)
		go l.slot() // ends with its stream, or when too many wait
	}
}

// taken says that a waiting slot got work.
func (l *link) taken() {
	l.mu.Lock()
	l.waiting--
	few := l.waiting < wire.IdleSlots
	l.mu.Unlock()
	if few {
		l.refill()
	}
}

// waits says that a slot is to pull again; false: enough do.
func (l *link) waits() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting >= 4*wire.IdleSlots || l.drain {
		return false
	}
	l.waiting++
	return true
}

func (l *link) gone(waiting bool) {
	l.mu.Lock()
	l.open--
	if waiting {
		l.waiting--
	}
	l.mu.Unlock()
	l.refill()
	l.slots.Done()
}

func (a *Agent) hello() *wire.Hello {
	host, _ := os.Hostname()
	var m runtime.MemStats
	if a.cfg.JournalDir != "" { // not worth it for a local session
		runtime.ReadMemStats(&m)
	}
	return &wire.Hello{
		Version: wire.Version, MinVersion: wire.MinVersion, Agent: a.cfg.Version,
		BootID: a.bootID, JournalID: a.vouches(), Clock: time.Now().UnixNano(),
		Hostname: host, User: a.user, UID: int64(os.Getuid()),
		System: runtime.GOOS, Arch: runtime.GOARCH, PID: int64(os.Getpid()),
		Slots: wire.MaxSlots, Memory: m.Sys - m.HeapReleased, Digest: a.cfg.Digest, Transient: a.cfg.Transient,
	}
}
