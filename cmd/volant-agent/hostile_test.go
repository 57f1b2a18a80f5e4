package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"volant/controller/fleet"
	"volant/wire"
	"volant/wire/frame"
	"volant/wire/session"
)

// hostileLink is a link to an agent that does what agent says.
func hostileLink(t *testing.T, agent func(c session.Conn)) (fleet.Link, error) {
	t.Helper()
	f := newFleet(t, sshTo{}, quick, func(c *fleet.Config) {
		c.Reconnect, c.MaxResult = time.Millisecond, 4<<20
		c.Local = func(context.Context) (session.Conn, error) {
			mine, theirs := session.Pipe()
			go agent(theirs) // ends with the connection
			return mine, nil
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return f.Local(ctx)
}

// open opens a stream and writes raw bytes.
func open(c session.Conn, raw string) session.Stream {
	s, err := c.OpenStream(context.Background())
	if err == nil {
		_, _ = io.WriteString(s, raw)
	}
	return s
}

// hello says Hello and closes the connection after Goodbye, as any agent.
func hello(c session.Conn) {
	s, err := c.OpenStream(context.Background())
	if err != nil || frame.NewWriter(s).Send(&wire.Hello{Version: 1, MinVersion: 1, BootID: "b", JournalID: "j"}) != nil {
		return
	}
	go func() { // ends with the connection
		for r := frame.NewReader(s); ; {
			if m, err := r.Read(); err != nil || m.Kind() == wire.KindGoodbye {
				_ = c.Close(session.CodeDone, "")
				return
			}
		}
	}()
}

func TestHostileHello(t *testing.T) {
	for name, agent := range map[string]func(c session.Conn){
		"garbage":     func(c session.Conn) { open(c, "GET / HTTP/1.1\r\n\r\n") },
		"too long":    func(c session.Conn) { open(c, "\xff\xff\xff\xff\x01") },
		"not Hello":   func(c session.Conn) { open(c, "\x00\x00\x00\x02\x10\xa0") },
		"closes":      func(c session.Conn) { _ = c.Close(session.CodeRefused, "go away") },
		"old version": func(c session.Conn) { open(c, "\x00\x00\x00\x06\x01\xa2\x01\x00\x02\x00") },
		"new version": func(c session.Conn) { open(c, "\x00\x00\x00\x08\x01\xa2\x01\x18\x63\x02\x18\x63") },
	} {
		t.Run(name, func(t *testing.T) {
			var u *fleet.Unreachable
			if _, err := hostileLink(t, agent); !errors.As(err, &u) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestHostileSlot(t *testing.T) {
	put := func(ms ...wire.Message) func(w *frame.Writer) {
		return func(w *frame.Writer) { _ = w.Send(ms...) }
	}
	many := make([]wire.Hash, wire.MaxWant+1)
	for name, say := range map[string]func(w *frame.Writer){
		"unknown kind":        func(w *frame.Writer) { _ = w.PutRaw(200, []byte{0xa0}); _ = w.Flush() },
		"not for a slot":      put(&wire.Ping{}),
		"garbage outcome":     put(&wire.Result{Data: []byte("garbage")}),
		"empty outcome":       put(&wire.Result{Data: []byte{0xa0}}),
		"outcome is a list":   put(&wire.Result{Data: []byte{0xa1, 0x01, 0x80}}),
		"too many blobs":      put(&wire.Want{Hashes: many}),
		"a file nobody wants": put(&wire.Data{Data: []byte("x")}, &wire.FileDone{Size: 1}, &wire.Result{Data: []byte{0xa1, 0x01, 0xa0}}),
		"no end": func(w *frame.Writer) {
			for range 200 {
				if w.Send(&wire.Result{Data: make([]byte, wire.MaxChunk), More: true}) != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := hostileLink(t, func(c session.Conn) {
				hello(c)
				for {
					s, err := c.OpenStream(context.Background())
					if err != nil {
						return
					}
					w, r := frame.NewWriter(s), frame.NewReader(s)
					if w.Send(&wire.Pull{}) != nil {
						return
					}
					for m, err := r.Read(); err == nil; m, err = r.Read() {
						switch m.(type) {
						case *wire.Task:
							say(w)
						case *wire.Collect:
							_ = w.Send(&wire.State{ID: m.(*wire.Collect).ID, State: wire.StateRunning})
							say(w)
						}
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			a, err := l.Run(ctx, task("echo"))
			if err == nil || ctx.Err() != nil {
				t.Errorf("got %v, %v", a, err)
			}
		})
	}
	t.Run("blobs not named", func(t *testing.T) { // controller files are not for the asking
		got := make(chan wire.Message, 1)
		l, err := hostileLink(t, func(c session.Conn) {
			hello(c)
			s, err := c.OpenStream(context.Background())
			if err != nil {
				return
			}
			w, r := frame.NewWriter(s), frame.NewReader(s)
			_ = w.Send(&wire.Pull{})
			_, _ = r.Read()
			_ = w.Send(&wire.Want{Hashes: []wire.Hash{{1, 2, 3}}})
			m, _ := r.Read()
			got <- m
			_ = w.Send(&wire.Result{Data: []byte{0xa1, 0x01, 0xa0}})
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Run(t.Context(), task("echo")); err != nil {
			t.Error(err)
		}
		if m, ok := (<-got).(*wire.NoBlob); !ok || !strings.Contains(m.Text, "not part") {
			t.Errorf("answered %#v", m)
		}
	})
}

// TestFlappingAgent: one that is met and goes as soon as it is given something to
// do, again and again, is dialled with pauses and given up.
func TestFlappingAgent(t *testing.T) {
	for code, want := range map[session.Code]string{
		session.CodeShutdown: "lost again and again",
		session.CodeRefused:  "the agent refuses the link: no more",
	} {
		t.Run(want, func(t *testing.T) { flap(t, code, want) })
	}
}

func flap(t *testing.T, code session.Code, want string) {
	dials := 0
	f := newFleet(t, sshTo{}, quick, func(c *fleet.Config) {
		c.Reconnect = 2 * time.Second
		c.Local = func(context.Context) (session.Conn, error) {
			dials++
			ours, theirs := session.Pipe()
			go func() { // ends with the connection
				hello(theirs)
				s, err := theirs.OpenStream(context.Background())
				if err != nil {
					return
				}
				w := frame.NewWriter(s)
				if w.Send(&wire.Pull{}) == nil {
					_, _ = frame.NewReader(s).Read()
				}
				_ = theirs.Close(code, "no more")
			}()
			return ours, nil
		}
	})
	l, err := f.Local(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var u *fleet.Unreachable
	begin := time.Now()
	if _, err := l.Run(t.Context(), task("echo")); !errors.As(err, &u) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begin); dials > 40 || took > time.Minute {
		t.Errorf("dialled %d times in %v", dials, took)
	}
}
