// Package hostile is an agent that keeps to the handshake and then answers
// whatever a test tells it to: what a managed host in the wrong hands could
// send. It speaks the real protocol over real QUIC.
package hostile

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"volant/wire"
	"volant/wire/frame"
	"volant/wire/session"
	"volant/wire/value"
)

// slots is how many streams the agent pulls on.
const slots = 3

// Answer gives the agent's side of one sub-task. What it returns ends the slot.
type Answer func(*Talk) error

// Agent is a hostile agent that serves every controller.
type Agent struct {
	Key  ed25519.PublicKey
	Addr *net.UDPAddr

	answer Answer
	ep     *session.Endpoint
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu    sync.Mutex // guards what follows
	tasks []string
	blobs [][]byte
}

// Start starts an agent on loopback. Close ends it.
func Start(answer Answer) (*Agent, error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	id, err := session.NewIdentity(key)
	if err != nil {
		return nil, err
	}
	udp, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	ep := session.NewEndpoint(udp, id)
	l, err := ep.Listen(func(ed25519.PublicKey) error { return nil })
	if err != nil {
		return nil, errors.Join(err, ep.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	a := &Agent{Key: id.Public(), Addr: ep.Addr(), answer: answer, ep: ep, cancel: cancel}
	a.wg.Go(func() { // ends with ctx
		for {
			conn, err := l.Accept(ctx)
			if err != nil {
				return
			}
			a.wg.Go(func() { a.serve(ctx, conn) }) // ends with the connection
		}
	})
	return a, nil
}

// Close ends the agent.
func (a *Agent) Close() error {
	a.cancel()
	err := a.ep.Close()
	a.wg.Wait()
	return err
}

// Tasks are the names of the modules the agent was asked to run.
func (a *Agent) Tasks() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.tasks)
}

// Blobs are the contents the controller sent.
func (a *Agent) Blobs() [][]byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.blobs)
}

func (a *Agent) serve(ctx context.Context, conn session.Conn) {
	defer context.AfterFunc(ctx, func() { _ = conn.Close(session.CodeShutdown, "") })()
	s, err := conn.OpenStream(ctx)
	if err != nil {
		return
	}
	ctl := frame.NewWriter(s)
	hello := &wire.Hello{Version: wire.Version, MinVersion: wire.MinVersion, Agent: "999.0.0", BootID: "boot", JournalID: "journal",
		Clock: time.Now().UnixNano(), Hostname: "evil", User: "root", System: "linux", Arch: "amd64", Slots: wire.MaxSlots}
	if ctl.Send(hello) != nil {
		return
	}
	r := frame.NewReader(s)
	if m, err := r.Read(); err != nil || m.Kind() != wire.KindWelcome {
		return
	}
	say := &sync.Mutex{}
	for range slots {
		a.wg.Go(func() { // ends with the connection
			for conn.Context().Err() == nil {
				a.slot(ctx, conn, ctl, say)
			}
		})
	}
	for {
		m, err := r.Read()
		if err != nil {
			return
		}
		switch m := m.(type) {
		case *wire.Cancel:
			say.Lock()
			_ = ctl.Send(&wire.Ended{ID: m.ID})
			say.Unlock()
		case *wire.Goodbye:
			_ = conn.Close(session.CodeDone, "")
			return
		}
	}
}

func (a *Agent) slot(ctx context.Context, conn session.Conn, ctl *frame.Writer, say *sync.Mutex) {
	s, err := conn.OpenStream(ctx)
	if err != nil {
		return
	}
	defer s.Reset()
	t := &Talk{Stream: s, R: frame.NewReader(s), W: frame.NewWriter(s), agent: a, ctl: ctl, say: say}
	if t.W.Send(&wire.Pull{}) != nil {
		return
	}
	for {
		m, err := t.R.Read()
		if err != nil {
			return
		}
		switch m := m.(type) {
		case *wire.Task:
			t.Task = m
		case *wire.Collect: // it never came, says a liar
			if t.W.Send(&wire.State{ID: m.ID, State: wire.StateLost}, &wire.Pull{}) != nil {
				return
			}
			continue
		default:
			continue
		}
		a.mu.Lock()
		a.tasks = append(a.tasks, t.Task.Module)
		a.mu.Unlock()
		if err := a.answer(t); err != nil {
			return
		}
		if t.W.Send(&wire.Pull{}) != nil {
			return
		}
	}
}

// Talk is the conversation about one sub-task.
type Talk struct {
	Task   *wire.Task
	Stream session.Stream
	R      *frame.Reader
	W      *frame.Writer

	agent *Agent
	ctl   *frame.Writer
	say   *sync.Mutex
}

// Result answers with a module result of these keys and values.
func (t *Talk) Result(pairs ...any) error { return t.Outcome(value.DictOf(pairs...)) }

// Outcome answers with a module result.
func (t *Talk) Outcome(d *value.Dict) error {
	body, err := frame.Marshal(&wire.Outcome{Result: wire.Dict{Dict: d}, Path: "native"})
	if err != nil {
		return fmt.Errorf("encoding the answer: %w", err)
	}
	return t.Body(body)
}

// Body answers with bytes in place of an encoded outcome.
func (t *Talk) Body(body []byte) error {
	if err := t.W.Put(&wire.Started{}); err != nil {
		return err
	}
	for {
		n := min(len(body), wire.MaxChunk)
		if err := t.W.Send(&wire.Result{Data: body[:n], More: n < len(body)}); err != nil {
			return err
		}
		if body = body[n:]; len(body) == 0 {
			return nil
		}
	}
}

// Control sends on the control stream.
func (t *Talk) Control(ms ...wire.Message) error {
	t.say.Lock()
	defer t.say.Unlock()
	return t.ctl.Send(ms...)
}

// Want asks for a blob and returns what came of it, and why not.
func (t *Talk) Want(h wire.Hash) (content []byte, refused string, err error) {
	if err := t.W.Send(&wire.Want{Hashes: []wire.Hash{h}}); err != nil {
		return nil, "", err
	}
	for {
		m, err := t.R.Read()
		if err != nil {
			return content, "", err
		}
		switch m := m.(type) {
		case *wire.NoBlob:
			return content, m.Text, nil
		case *wire.Data:
			if content = append(content, m.Data...); m.Last {
				t.agent.mu.Lock()
				t.agent.blobs = append(t.agent.blobs, content)
				t.agent.mu.Unlock()
				return content, "", nil
			}
		case *wire.Blob:
		default:
			return content, "", fmt.Errorf("%s in answer to Want: %w", m.Kind(), io.ErrUnexpectedEOF)
		}
	}
}
