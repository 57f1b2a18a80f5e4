package session

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// maxDatagram is the longest datagram of a tunnel; QUIC's are shorter.
const maxDatagram = 4096

// tunnelDepth is how many datagrams may wait to be read before the stream is
// no longer read.
const tunnelDepth = 256

// NewTunnel makes an endpoint that sends its datagrams over a stream of bytes,
// such as the channel of an SSH session: each is its length, two bytes, big
// endian, and its content. It dials and accepts as any endpoint; addresses mean
// nothing. It takes over rw; when that ends, so do the connections.
func NewTunnel(rw io.ReadWriteCloser, id *Identity) *Endpoint {
	t := &tunnel{rw: rw, in: make(chan []byte, tunnelDepth), gone: make(chan struct{}), wake: make(chan struct{})}
	go t.read() // ends with rw
	e := newEndpoint(t, id)
	e.packet = 1452 // no path bounds it; the most that quic-go sends
	return e
}

// TunnelAddr is the address to dial over a tunnel.
var TunnelAddr net.Addr = tunnelAddr{}

type tunnelAddr struct{}

func (tunnelAddr) Network() string { return "tunnel" }
func (tunnelAddr) String() string  { return "ssh" }

// tunnel is a net.PacketConn over a stream.
type tunnel struct {
	rw   io.ReadWriteCloser
	in   chan []byte
	gone chan struct{} // closed with rw
	once sync.Once

	wmu sync.Mutex // guards writes to rw and buf
	buf []byte

	mu       sync.Mutex // guards what follows
	deadline time.Time
	wake     chan struct{} // closed when the deadline changes
}

// read hands datagrams on until the stream ends or is not what it should be.
func (t *tunnel) read() {
	defer t.Close()
	r := bufio.NewReaderSize(t.rw, 64<<10)
	var head [2]byte
	for {
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return
		}
		n := int(binary.BigEndian.Uint16(head[:]))
		if n == 0 || n > maxDatagram {
			return
		}
		p := make([]byte, n)
		if _, err := io.ReadFull(r, p); err != nil {
			return
		}
		select {
		case t.in <- p:
		case <-t.gone:
			return
		}
	}
}

// ReadFrom implements net.PacketConn.
func (t *tunnel) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		t.mu.Lock()
		deadline, wake := t.deadline, t.wake
		t.mu.Unlock()
		var late <-chan time.Time
		if !deadline.IsZero() {
			left := time.Until(deadline)
			if left <= 0 {
				return 0, nil, os.ErrDeadlineExceeded
			}
			timer := time.NewTimer(left)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case p := <-t.in:
			return copy(b, p), TunnelAddr, nil
		default:
		}
		select {
		case p := <-t.in:
			return copy(b, p), TunnelAddr, nil
		case <-t.gone:
			return 0, nil, net.ErrClosed
		case <-late:
			return 0, nil, os.ErrDeadlineExceeded
		case <-wake:
		}
	}
}

// WriteTo implements net.PacketConn. It waits while the stream is full, which
// is all the congestion control that a tunnel needs.
func (t *tunnel) WriteTo(p []byte, _ net.Addr) (int, error) {
	if len(p) == 0 || len(p) > maxDatagram {
		return len(p), nil // lost, as on a network that cannot carry it
	}
	t.wmu.Lock()
	defer t.wmu.Unlock()
	t.buf = binary.BigEndian.AppendUint16(t.buf[:0], uint16(len(p)))
	t.buf = append(t.buf, p...)
	if _, err := t.rw.Write(t.buf); err != nil {
		_ = t.Close()
		return 0, net.ErrClosed
	}
	return len(p), nil
}

// Close implements net.PacketConn.
func (t *tunnel) Close() (err error) {
	t.once.Do(func() {
		close(t.gone)
		err = t.rw.Close()
	})
	return err
}

// LocalAddr implements net.PacketConn.
func (t *tunnel) LocalAddr() net.Addr { return TunnelAddr }

// SetDeadline implements net.PacketConn.
func (t *tunnel) SetDeadline(d time.Time) error { return t.SetReadDeadline(d) }

// SetReadDeadline implements net.PacketConn.
func (t *tunnel) SetReadDeadline(d time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.deadline = d
	close(t.wake)
	t.wake = make(chan struct{})
	return nil
}

// SetWriteDeadline implements net.PacketConn; writes have none.
func (t *tunnel) SetWriteDeadline(time.Time) error { return nil }

// SetReadBuffer keeps quic-go from asking for a socket's buffer.
func (t *tunnel) SetReadBuffer(int) error { return nil }

// SetWriteBuffer is as SetReadBuffer.
func (t *tunnel) SetWriteBuffer(int) error { return nil }
