package session

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"
	"time"
)

// halfPipe gives bytes and swallows what is written.
type halfPipe struct{ io.Reader }

func (halfPipe) Write(p []byte) (int, error) { return len(p), nil }
func (halfPipe) Close() error                { return nil }

// FuzzTunnel: the datagrams of a tunnel, from whoever has the stream.
func FuzzTunnel(f *testing.F) {
	f.Add([]byte{0, 3, 'a', 'b', 'c', 0, 1, 'x'})
	f.Add([]byte{0xff, 0xff, 1})
	f.Add([]byte{0, 0})
	f.Fuzz(func(t *testing.T, in []byte) {
		tn := &tunnel{rw: halfPipe{bytes.NewReader(in)}, in: make(chan []byte, tunnelDepth), gone: make(chan struct{}), wake: make(chan struct{})}
		go tn.read() // ends with the input
		_ = tn.SetReadDeadline(time.Now().Add(time.Second))
		rest := in
		buf := make([]byte, maxDatagram)
		for {
			n, _, err := tn.ReadFrom(buf)
			if err != nil {
				return
			}
			if len(rest) < 2 || int(binary.BigEndian.Uint16(rest)) != n || !bytes.Equal(rest[2:2+n], buf[:n]) {
				t.Fatalf("%q is no datagram of %q", buf[:n], rest)
			}
			rest = rest[2+n:]
		}
	})
}
