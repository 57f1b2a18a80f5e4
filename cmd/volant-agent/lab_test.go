package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"volant/hostagent"
	"volant/wire"
	"volant/wire/value"
)

// scripted is a Runner whose modules tests choose.
type scripted struct {
	runs  atomic.Int32
	slept atomic.Pointer[func()] // called, once, when a sub-task begins to sleep
}

func (s *scripted) Close() error { return nil }

func (s *scripted) Run(ctx context.Context, env *hostagent.Env, t *wire.Task) (*wire.Outcome, error) {
	ok := func(kv ...any) (*wire.Outcome, error) {
		return &wire.Outcome{Result: wire.Dict{Dict: value.DictOf(kv...)}, Path: "native"}, nil
	}
	switch t.Module {
	case "layout": // a native that hands back first asks for the union
		dir, err := env.Layout(ctx, t.Python.Extra)
		if err != nil {
			return nil, err
		}
		b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(t.Python.File)))
		if err != nil {
			return nil, err
		}
		s.runs.Add(1)
		return &wire.Outcome{Result: wire.Dict{Dict: value.DictOf("text", string(b))}, Path: "python"}, nil
	case "panic":
		panic("boom")
	}
	s.runs.Add(1)
	switch t.Module {
	case "sleep":
		ms, _ := t.Args.Lookup("ms").(int64)
		if began := s.slept.Swap(nil); began != nil {
			(*began)()
		}
		env.Output(1, []byte("it sleeps"))
		select {
		case <-time.After(time.Duration(ms) * time.Millisecond):
			return ok("slept", ms)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	case "cat":
		path, _ := t.Args.Str("src")
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		return ok("path", path, "size", int64(len(b)), "staging", env.Staging())
	case "append":
		path, _ := t.Args.Str("path")
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return nil, err
		}
		_, err = f.WriteString("ran\n")
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		return ok()
	case "big":
		n, _ := t.Args.Lookup("n").(int64)
		return ok("big", string(make([]byte, n)))
	case "output":
		env.Output(1, []byte("hello "))
		env.Output(2, []byte("world"))
		return ok()
	case "fail":
		return nil, errors.New("disk on fire")
	}
	return ok("args", t.Args.Dict)
}

// relay passes datagrams between a controller and an agent until it is cut.
type relay struct {
	front, back *net.UDPConn // the controller's side, the agent's side
	cut         atomic.Bool  // nothing passes
	mute        atomic.Bool  // nothing comes back from the agent
	dials       atomic.Int32 // packets of the controller that begin a connection
	width       atomic.Int64 // bytes of the largest datagram that passes, 0: any
	mu          sync.Mutex   // guards what follows
	peer        *net.UDPAddr
	latest      []byte // datagram of the agent
	wg          sync.WaitGroup
}

func newRelay(t testing.TB, agent *net.UDPAddr) *relay {
	t.Helper()
	front, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	back, err := net.DialUDP("udp4", nil, agent)
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{front: front, back: back}
	r.wg.Go(func() { // ends when front is closed
		buf := make([]byte, 65536)
		for {
			n, from, err := front.ReadFromUDP(buf)
			if err != nil {
				return
			}
			if n > 0 && buf[0]&0x80 != 0 { // a long header
				r.dials.Add(1)
			}
			r.mu.Lock()
			r.peer = from
			r.mu.Unlock()
			if !r.cut.Load() && r.fits(n) {
				_, _ = back.Write(buf[:n])
			}
		}
	})
	r.wg.Go(func() { // ends when back is closed
		buf := make([]byte, 65536)
		for {
			n, err := back.Read(buf)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			r.mu.Lock()
			peer := r.peer
			r.latest = append(r.latest[:0], buf[:n]...)
			r.mu.Unlock()
			if err == nil && peer != nil && !r.cut.Load() && !r.mute.Load() && r.fits(n) {
				_, _ = front.WriteToUDP(buf[:n], peer)
			}
		}
	})
	t.Cleanup(func() {
		front.Close()
		back.Close()
		r.wg.Wait()
	})
	return r
}

// cutUntilDialled cuts the relay until the controller has noticed and dials anew,
// and so long that what it has given up cannot come back.
func (r *relay) cutUntilDialled() {
	before := r.dials.Load()
	r.cut.Store(true)
	r.wg.Go(func() { // ends with the next call, or soon
		for end := time.Now().Add(time.Minute); r.dials.Load() == before && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		r.cut.Store(false)
	})
}

// stray passes on what the agent sent last, again, whatever is cut.
func (r *relay) stray() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = r.front.WriteToUDP(r.latest, r.peer)
}

func (r *relay) fits(n int) bool { w := r.width.Load(); return w == 0 || int64(n) <= w }

func (r *relay) addr() string { return r.front.LocalAddr().String() }
