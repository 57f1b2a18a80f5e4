package session

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"volant/wire/leaktest"
)

func TestMain(m *testing.M) {
	leaktest.Main(m)
}

func identity(t *testing.T) *Identity {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	id, err := NewIdentity(key)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func endpoint(t *testing.T, id *Identity) *Endpoint {
	t.Helper()
	udp, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	e := NewEndpoint(udp, id)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// pairs make the two ends of a connection: the agent's and the controller's.
var pairs = map[string]func(t *testing.T) (agent, controller Conn){
	"pipe": func(*testing.T) (Conn, Conn) { return Pipe() },
	"tunnel": func(t *testing.T) (Conn, Conn) {
		a, c := identity(t), identity(t)
		x, y := net.Pipe()
		ea, ec := NewTunnel(x, a), NewTunnel(y, c)
		t.Cleanup(func() {
			for _, e := range []*Endpoint{ea, ec} {
				if err := e.Close(); err != nil {
					t.Error(err)
				}
			}
		})
		l, err := ea.Listen(func(ed25519.PublicKey) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		cc, err := ec.Dial(t.Context(), TunnelAddr, a.Public())
		if err != nil {
			t.Fatal(err)
		}
		ac, err := l.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return ac, cc
	},
	"quic": func(t *testing.T) (Conn, Conn) {
		a, c := identity(t), identity(t)
		ea, ec := endpoint(t, a), endpoint(t, c)
		l, err := ea.Listen(func(k ed25519.PublicKey) error {
			if !k.Equal(c.Public()) {
				return errors.New("another key")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		cc, err := ec.Dial(t.Context(), ea.Addr(), a.Public())
		if err != nil {
			t.Fatal(err)
		}
		ac, err := l.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !ac.Peer().Equal(c.Public()) || !cc.Peer().Equal(a.Public()) {
			t.Error("the peers' keys are not who they are")
		}
		return ac, cc
	},
}

// TestTunnelEnds: the end of the stream is the end of the connection, at once.
func TestTunnelEnds(t *testing.T) {
	a, c := identity(t), identity(t)
	x, y := net.Pipe()
	ea, ec := NewTunnel(x, a), NewTunnel(y, c)
	defer ea.Close()
	defer ec.Close()
	if _, err := ea.Listen(func(ed25519.PublicKey) error { return nil }); err != nil {
		t.Fatal(err)
	}
	cc, err := ec.Dial(t.Context(), TunnelAddr, a.Public())
	if err != nil {
		t.Fatal(err)
	}
	x.Close()
	select {
	case <-cc.Context().Done():
	case <-time.After(15 * time.Second): // long before an idle connection is over
		t.Error("the connection outlives its stream")
	}
}

func both(t *testing.T, test func(t *testing.T, agent, controller Conn)) {
	for name, pair := range pairs {
		t.Run(name, func(t *testing.T) {
			a, c := pair(t)
			defer a.Close(CodeDone, "")
			test(t, a, c)
		})
	}
}

func TestStreams(t *testing.T) {
	both(t, func(t *testing.T, a, c Conn) {
		big := strings.Repeat("0123456789", 1<<18)
		var wg sync.WaitGroup
		defer wg.Wait()
		for range 3 {
			s, err := a.OpenStream(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				if _, err := io.WriteString(s, big); err != nil {
					t.Error(err)
				}
				_ = s.Close()
			})
			r, err := c.AcceptStream(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if err != nil || string(got) != big {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		}
	})
}

func TestReset(t *testing.T) {
	both(t, func(t *testing.T, a, c Conn) {
		s, err := a.OpenStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(s, "x"); err != nil {
			t.Fatal(err)
		}
		r, err := c.AcceptStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r.Reset()
		select {
		case <-s.Context().Done():
			if err := context.Cause(s.Context()); !errors.Is(err, ErrReset) {
				t.Errorf("the stream ended with %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("a reset was not noticed")
		}
		if _, err := s.Read(make([]byte, 1)); err == nil {
			t.Error("read from a stream that was reset")
		}
		if a.Context().Err() != nil {
			t.Error("the connection ended with the stream")
		}
	})
}

func TestClose(t *testing.T) {
	both(t, func(t *testing.T, a, c Conn) {
		s, err := a.OpenStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(s, "x"); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(CodeReplaced, "a newer link"); err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(s)
		var closed *ClosedError
		if !errors.As(err, &closed) || closed.Code != CodeReplaced || closed.Reason != "a newer link" {
			t.Errorf("read ended with %v", err)
		}
		select {
		case <-s.Context().Done():
		case <-time.After(time.Minute):
		}
		if cause := context.Cause(s.Context()); errors.Is(cause, ErrReset) || cause == nil {
			t.Errorf("a lost connection looks like %v", cause)
		}
		if _, err := a.OpenStream(t.Context()); err == nil {
			t.Error("a stream opened on a closed connection")
		}
	})
}

func TestPins(t *testing.T) {
	a, c, other := identity(t), identity(t), identity(t)
	ea := endpoint(t, a)
	l, err := ea.Listen(func(k ed25519.PublicKey) error {
		if !k.Equal(c.Public()) {
			return errors.New("not served")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := endpoint(t, c).Dial(t.Context(), ea.Addr(), other.Public()); !errors.Is(err, ErrPin) {
		t.Errorf("wrong agent key: %v", err)
	}
	// A controller whose key is not served may see the handshake end well; it
	// learns better before the first frame.
	conn, err := endpoint(t, other).Dial(t.Context(), ea.Addr(), a.Public())
	if err == nil {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = conn.AcceptStream(ctx)
	}
	if !errors.Is(err, ErrNotServed) {
		t.Errorf("wrong controller key: %v", err)
	}
}
