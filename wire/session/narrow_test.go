package session

import (
	"crypto/ed25519"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// narrow is a way to an agent on which only datagrams of at most width bytes pass.
type narrow struct {
	net.PacketConn
	agent net.Addr
	width atomic.Int64
}

func (n *narrow) ReadFrom(p []byte) (int, net.Addr, error) {
	for {
		size, from, err := n.PacketConn.ReadFrom(p)
		if err != nil || int64(size) <= n.width.Load() {
			return size, from, err
		}
	}
}

func (n *narrow) WriteTo(p []byte, to net.Addr) (int, error) {
	if int64(len(p)) > n.width.Load() {
		return len(p), nil
	}
	return n.PacketConn.WriteTo(p, to)
}

// TestNarrowPath: IPv6 promises 1280 bytes, 48 of which are headers; tunnels and
// clouds have no more than that.
func TestNarrowPath(t *testing.T) {
	a, c := identity(t), identity(t)
	ea := endpoint(t, a)
	udp, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	way := &narrow{PacketConn: udp, agent: ea.Addr()}
	way.width.Store(1280 - 48)
	ec := newEndpoint(way, c)
	t.Cleanup(func() { _ = ec.Close() })
	l, err := ea.Listen(func(ed25519.PublicKey) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	conn, err := ec.Dial(t.Context(), ea.Addr(), a.Public())
	if err != nil {
		t.Fatal(err)
	}
	other, err := l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const size = 1 << 20
	for i, from := range []Conn{conn, other} {
		to := []Conn{other, conn}[i]
		s, err := from.OpenStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		go func() { // ends with the connection at the latest
			_, _ = s.Write(make([]byte, size))
			_ = s.Close()
		}()
		r, err := to.AcceptStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		stop := time.AfterFunc(time.Minute, r.Reset)
		if n, err := io.Copy(io.Discard, r); n != size || err != nil {
			t.Errorf("way %d: %d bytes, then %v", i, n, err)
		}
		stop.Stop()
	}
}
