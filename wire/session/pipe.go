package session

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"sync"
	"time"
)

// pipeBuffer is how much a stream of a pipe holds each way before Write waits.
const pipeBuffer = 64 << 10

// Pipe returns two ends of a connection in memory: no keys, no network. It is
// the local session's connection, and the tests'.
func Pipe() (a, b Conn) {
	ctx, cancel := context.WithCancelCause(context.Background())
	x := &pipeConn{ctx: ctx, cancel: cancel, accept: make(chan Stream, 300)}
	y := &pipeConn{ctx: ctx, cancel: cancel, accept: make(chan Stream, 300)}
	x.other, y.other = y, x
	return x, y
}

type pipeConn struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	accept chan Stream
	other  *pipeConn
}

func (p *pipeConn) OpenStream(ctx context.Context) (Stream, error) {
	if p.ctx.Err() != nil {
		return nil, context.Cause(p.ctx)
	}
	mine, theirs := newPipeStreams(p.ctx)
	select {
	case p.other.accept <- theirs:
		return mine, nil
	case <-p.ctx.Done():
		return nil, context.Cause(p.ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipeConn) AcceptStream(ctx context.Context) (Stream, error) {
	select {
	case s := <-p.accept:
		return s, nil
	case <-p.ctx.Done():
		return nil, context.Cause(p.ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipeConn) Peer() ed25519.PublicKey  { return nil }
func (p *pipeConn) RTT() time.Duration       { return 0 }
func (p *pipeConn) Packets() (_, _ uint64)   { return 0, 0 }
func (p *pipeConn) RemoteAddr() string       { return "local" }
func (p *pipeConn) Context() context.Context { return p.ctx }

func (p *pipeConn) Close(code Code, reason string) error {
	p.cancel(&ClosedError{Code: code, Reason: reason})
	return nil
}

// half is one direction of a stream.
type half struct {
	mu   sync.Mutex // guards what follows
	cond sync.Cond
	buf  []byte
	eof  bool
	err  error
}

func newHalf() *half {
	h := new(half)
	h.cond.L = &h.mu
	return h
}

func (h *half) fail(err error) {
	h.mu.Lock()
	if h.err == nil {
		h.err = err
	}
	h.mu.Unlock()
	h.cond.Broadcast()
}

func (h *half) read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.buf) == 0 && !h.eof && h.err == nil {
		h.cond.Wait()
	}
	switch {
	case h.err != nil:
		return 0, h.err
	case len(h.buf) > 0:
		n := copy(p, h.buf)
		h.buf = h.buf[n:]
		if len(h.buf) == 0 {
			h.buf = nil
		}
		h.cond.Broadcast()
		return n, nil
	}
	return 0, io.EOF
}

func (h *half) write(p []byte) (n int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(p) > 0 {
		for len(h.buf) >= pipeBuffer && h.err == nil && !h.eof {
			h.cond.Wait()
		}
		if h.err != nil {
			return n, h.err
		}
		if h.eof {
			return n, errors.New("stream closed")
		}
		c := min(len(p), pipeBuffer-len(h.buf))
		h.buf = append(h.buf, p[:c]...)
		p, n = p[c:], n+c
		h.cond.Broadcast()
	}
	return n, nil
}

type pipeStream struct {
	in, out *half
	ctx     context.Context
	cancel  context.CancelCauseFunc
	other   *pipeStream
}

func newPipeStreams(conn context.Context) (a, b *pipeStream) {
	x, y := newHalf(), newHalf()
	a, b = &pipeStream{in: x, out: y}, &pipeStream{in: y, out: x}
	a.other, b.other = b, a
	for _, s := range []*pipeStream{a, b} {
		s.ctx, s.cancel = context.WithCancelCause(conn)
	}
	context.AfterFunc(conn, func() { // what was sent before the end may still be read
		for _, h := range []*half{x, y} {
			h.mu.Lock()
			h.eof = true
			if len(h.buf) == 0 && h.err == nil {
				h.err = context.Cause(conn)
			}
			h.mu.Unlock()
			h.cond.Broadcast()
		}
	})
	return a, b
}

func (s *pipeStream) Read(p []byte) (int, error)  { return s.in.read(p) }
func (s *pipeStream) Write(p []byte) (int, error) { return s.out.write(p) }
func (s *pipeStream) Context() context.Context    { return s.ctx }

func (s *pipeStream) Close() error {
	s.out.mu.Lock()
	s.out.eof = true
	s.out.mu.Unlock()
	s.out.cond.Broadcast()
	return nil
}

func (s *pipeStream) Reset() {
	s.other.cancel(ErrReset)
	s.cancel(context.Canceled)
	s.in.fail(ErrReset)
	s.out.fail(ErrReset)
}
