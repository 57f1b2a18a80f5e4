package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"volant/stage"
	"volant/wire"
	"volant/wire/frame"
	"volant/wire/session"
	"volant/wire/value"
)

// controllerPeer is a controller that an agent serves and that says what it likes.
type controllerPeer struct {
	t     *testing.T
	conn  session.Conn
	ctl   *frame.Writer
	hello *wire.Hello
	slots chan peerSlot
}

type peerSlot struct {
	s session.Stream
	r *frame.Reader
	w *frame.Writer
}

// peer links to the agent of a process with a controller's key.
func (p *process) peer(t *testing.T, key ed25519.PrivateKey, run wire.RunID) *controllerPeer {
	t.Helper()
	rep := p.enrol(key.Public().(ed25519.PublicKey))
	id, err := session.NewIdentity(key)
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	e := session.NewEndpoint(udp, id)
	t.Cleanup(func() { _ = e.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := &controllerPeer{t: t, slots: make(chan peerSlot, wire.MaxSlots)}
	if c.conn, err = e.Dial(ctx, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: rep.Port}, rep.Agent); err != nil {
		t.Fatal(err)
	}
	s, err := c.conn.AcceptStream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m, err := frame.NewReader(s).Read()
	if err != nil {
		t.Fatal(err)
	}
	c.hello, c.ctl = m.(*wire.Hello), frame.NewWriter(s)
	if err := c.ctl.Send(&wire.Welcome{Version: wire.Version, Controller: "peer", Run: run, SessionKey: make([]byte, wire.SessionKeyLen)}); err != nil {
		t.Fatal(err)
	}
	go func() { // ends with the connection
		for {
			s, err := c.conn.AcceptStream(context.Background())
			if err != nil {
				return
			}
			c.slots <- peerSlot{s, frame.NewReader(s), frame.NewWriter(s)}
		}
	}()
	return c
}

// slot is one on which the agent has pulled.
func (c *controllerPeer) slot() peerSlot {
	c.t.Helper()
	select {
	case s := <-c.slots:
		m, err := s.r.Read()
		if err != nil || m.Kind() != wire.KindPull {
			c.t.Fatalf("%v, %v where Pull was due", m, err)
		}
		return s
	case <-time.After(time.Minute):
		c.t.Fatal("the agent opens no slot")
	}
	return peerSlot{}
}

// ask sends messages on a slot, serves what is wanted from blobs, and returns
// the outcome; nil when the agent ended the slot instead.
func (c *controllerPeer) ask(blobs map[wire.Hash][]byte, m wire.Message) (*wire.Outcome, wire.TaskState) {
	c.t.Helper()
	s := c.slot()
	stop := time.AfterFunc(time.Minute, s.s.Reset)
	defer stop.Stop()
	if err := s.w.Send(m); err != nil {
		c.t.Fatal(err)
	}
	var body []byte
	for {
		m, err := s.r.Read()
		if err != nil {
			return nil, 0
		}
		switch m := m.(type) {
		case *wire.Want:
			for _, h := range m.Hashes {
				b := blobs[h]
				_ = s.w.Put(&wire.Blob{Hash: h, Size: int64(len(b))})
				_ = s.w.Send(&wire.Data{Data: b, Last: true})
			}
		case *wire.State:
			if m.State != wire.StateDone && m.State != wire.StateRunning {
				c.slots <- s // it pulls again
				return nil, m.State
			}
		case *wire.Result:
			if body = append(body, m.Data...); !m.More {
				c.slots <- s
				out := new(wire.Outcome)
				if err := frame.Unmarshal(body, out); err != nil {
					c.t.Fatal(err)
				}
				return out, wire.StateDone
			}
		}
	}
}

func peerTask(n uint32, module string, args ...any) *wire.Task {
	return &wire.Task{ID: wire.TaskID{Host: "h", Step: 1, N: n}, Module: module, Native: true, Args: wire.Dict{Dict: value.DictOf(args...)}}
}

func controllerKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestHostileController: what a controller with a key says has effects within
// its own session and its own directories only, and the agent goes on serving
// others.
func TestHostileController(t *testing.T) {
	p := startProcess(t)
	victimRun := wire.NewRunID()
	victim, evil := p.peer(t, controllerKey(t), victimRun), (*controllerPeer)(nil)
	evilKey := controllerKey(t)
	serves := func(t *testing.T, n uint32) {
		t.Helper()
		victim.t = t
		if out, _ := victim.ask(nil, peerTask(n, "echo", "n", int64(n))); out == nil || out.Fault != nil {
			t.Fatalf("the agent serves nobody else any more: %+v\n%s", out, p.log())
		}
	}
	serves(t, 1)
	fresh := func(t *testing.T) {
		t.Helper()
		evil = p.peer(t, evilKey, wire.NewRunID())
	}

	t.Run("names of staged files", func(t *testing.T) {
		fresh(t)
		outside := filepath.Join(filepath.Dir(p.home), "outside")
		content := []byte("staged")
		h := stage.HashBytes(content)
		up := strings.Repeat("../", 20) + strings.TrimPrefix(outside, "/")
		for i, suffix := range []string{"/" + up, up, "/" + outside, "/..", "/.", "/", "\x00", ".." + up, strings.Repeat("a", 5000), "/../outside"} {
			task := peerTask(uint32(100+i), "cat")
			task.Files = []wire.TaskFile{{Arg: "src", Suffix: suffix, Hash: h, Size: int64(len(content))}}
			out, _ := evil.ask(map[wire.Hash][]byte{h: content}, task)
			if out == nil || out.Fault != nil {
				continue // refused: as good
			}
			path, _ := out.Result.Str("path")
			if real := filepath.Clean(path); !strings.HasPrefix(real, filepath.Join(p.home, "staging")+"/") {
				t.Errorf("%.40q was staged at %s", suffix, path)
			}
		}
		if _, err := os.Lstat(outside); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was made", outside)
		}
		serves(t, 2)
	})
	t.Run("content that is not what its name says", func(t *testing.T) {
		fresh(t)
		h := stage.HashBytes([]byte("right"))
		for i, b := range [][]byte{[]byte("wrong"), nil, bytes.Repeat([]byte("long"), 1<<18)} {
			task := peerTask(uint32(200+i), "cat")
			task.Files = []wire.TaskFile{{Arg: "src", Hash: h, Size: 5}}
			if out, _ := evil.ask(map[wire.Hash][]byte{h: b}, task); out != nil && out.Fault == nil {
				t.Errorf("%d bytes of another blob were staged: %v", len(b), out.Result.Dict)
			}
		}
		serves(t, 3)
	})
	t.Run("layouts", func(t *testing.T) {
		fresh(t)
		outside := filepath.Join(filepath.Dir(p.home), "laid")
		content := []byte("code")
		up := strings.Repeat("../", 20) + strings.TrimPrefix(outside, "/")
		for i, path := range []string{up, outside, "a/../../" + up, ".", "..", "a//b", "a/\x00"} {
			m := &stage.Manifest{Files: []stage.ManifestFile{{Path: path, Hash: stage.HashBytes(content), Size: int64(len(content))}}}
			b := m.Encode()
			task := peerTask(uint32(300+i), "layout")
			task.Python = &wire.Python{Extra: stage.HashBytes(b), File: path}
			if out, _ := evil.ask(map[wire.Hash][]byte{stage.HashBytes(b): b, stage.HashBytes(content): content}, task); out != nil && out.Fault == nil {
				t.Errorf("%q was laid out", path)
			}
		}
		if _, err := os.Lstat(outside); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was made", outside)
		}
		serves(t, 4)
	})
	t.Run("sub-tasks of another controller", func(t *testing.T) {
		fresh(t)
		victim.t = t
		id := peerTask(5, "echo").ID
		if out, _ := victim.ask(nil, peerTask(5, "echo", "secret", "sesame")); out == nil || out.Fault != nil {
			t.Fatalf("%+v", out)
		}
		if out, st := evil.ask(nil, &wire.Collect{ID: id}); out != nil || st != wire.StateUnknown {
			t.Errorf("another's result: %+v, %v", out, st)
		}
		// Nor when it takes the other's run for its own.
		evil = p.peer(t, evilKey, victimRun)
		if out, st := evil.ask(nil, &wire.Collect{ID: id}); out != nil || st != wire.StateUnknown {
			t.Errorf("another's result, by its run: %+v, %v", out, st)
		}
		ended := make(chan *wire.Outcome, 1)
		go func() { // ends with the sub-task
			out, _ := victim.ask(nil, peerTask(6, "sleep", "ms", int64(1500)))
			ended <- out
		}()
		time.Sleep(300 * time.Millisecond)
		_ = evil.ctl.Send(&wire.Cancel{ID: peerTask(6, "").ID})
		_ = evil.ctl.Send(&wire.Reset{})
		_ = evil.ctl.Send(&wire.Ack{ID: peerTask(6, "").ID})
		_ = evil.ctl.Send(&wire.Goodbye{})
		if out := <-ended; out == nil || out.Fault != nil || out.Result.Lookup("slept") != int64(1500) {
			t.Errorf("another controller ended it: %+v", out)
		}
	})
	t.Run("the same id again and again", func(t *testing.T) {
		fresh(t)
		ran := filepath.Join(t.TempDir(), "ran")
		task := peerTask(7, "append", "path", ran)
		for range 5 {
			if out, _ := evil.ask(nil, task); out == nil || out.Fault != nil {
				t.Fatalf("%+v", out)
			}
		}
		if b, _ := os.ReadFile(ran); string(b) != "ran\n" {
			t.Errorf("ran: %q", b)
		}
	})
	t.Run("garbage", func(t *testing.T) {
		for i, raw := range []string{"GET / HTTP/1.1\r\n\r\n", "\xff\xff\xff\xff\x01", "\x00\x00\x00\x02\x11\xa0", "\x00\x00\x00\x00", "\x00\x00\x00\x06\x11\xbf\xff\xff\xff\xff",
			"\x00\x00\x00\x05\x11" + strings.Repeat("\x9f", 4)} {
			fresh(t)
			s := evil.slot()
			_, _ = s.s.Write([]byte(raw))
			_ = s.s.Close()
			serves(t, uint32(10+2*i))
			fresh(t)
			if st, err := evil.conn.OpenStream(t.Context()); err == nil { // streams are the agent's to open
				_, _ = st.Write([]byte(raw))
			}
			serves(t, uint32(11+2*i))
		}
	})
	t.Run("cancels without end", func(t *testing.T) {
		fresh(t)
		before := residentKiB(t, p.last().PID)
		over := make(chan uint32)
		go func() { // ends when the agent takes no more, or with the connection
			n := uint32(0)
			for ; n < 400_000; n++ {
				if evil.ctl.Put(&wire.Cancel{ID: wire.TaskID{Host: fmt.Sprintf("%0100d", n), N: n}}) != nil || n%100 == 0 && evil.ctl.Flush() != nil {
					break
				}
			}
			over <- n
		}()
		time.Sleep(3 * time.Second) // what it answers is never read
		serves(t, 30)
		if after := residentKiB(t, p.last().PID); after > before+64<<10 {
			t.Errorf("memory went from %d to %d KiB", before, after)
		}
		_ = evil.conn.Close(session.CodeDone, "")
		t.Logf("%d were taken", <-over)
	})
}

// residentKiB is the resident memory of a process.
func residentKiB(t *testing.T, pid int) (n int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatalf("the agent is gone: %v", err)
	}
	_, rest, _ := strings.Cut(string(b), "VmRSS:")
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
