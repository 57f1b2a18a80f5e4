package session

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/quic-go/quic-go"

	"volant/wire"
)

// Times of a connection. The heartbeat is QUIC's own, from the side that dialled.
const (
	Heartbeat        = 15 * time.Second
	idleTimeout      = 40 * time.Second // above two heartbeats
	handshakeTimeout = 5 * time.Second
	wantBuffer       = 7 << 20 // bytes of socket buffer asked for; the kernel may give less
	// firstPacket is what passes wherever QUIC may be spoken: IPv6 carries 1280
	// bytes everywhere, 48 of them headers.
	firstPacket = 1200
)

// Endpoint is a socket that dials and accepts connections: one UDP socket per
// process and address family, or a tunnel.
type Endpoint struct {
	id     *Identity
	conn   net.PacketConn
	tr     *quic.Transport
	packet uint16 // bytes of the first packets; larger ones are tried while the connection is up
	door   door
	// buffer is the receive buffer the kernel gave, in bytes; 0: not known.
	buffer int
}

// NewEndpoint takes over udp.
func NewEndpoint(udp *net.UDPConn, id *Identity) *Endpoint {
	_ = udp.SetReadBuffer(wantBuffer) // best effort: less only costs speed
	_ = udp.SetWriteBuffer(wantBuffer)
	e := newEndpoint(socket{udp}, id)
	e.buffer = receiveBuffer(udp)
	return e
}

func newEndpoint(conn net.PacketConn, id *Identity) *Endpoint {
	rk := quic.StatelessResetKey(id.resetKey())
	e := &Endpoint{id: id, conn: conn, tr: &quic.Transport{Conn: conn, StatelessResetKey: &rk}, packet: firstPacket}
	e.tr.VerifySourceAddress, e.tr.ConnContext = e.door.doubtful, e.door.enter
	return e
}

// Addr is the local address; nil for a tunnel.
func (e *Endpoint) Addr() *net.UDPAddr {
	a, _ := e.conn.LocalAddr().(*net.UDPAddr)
	return a
}

// BufferShortfall is how many bytes of receive buffer the kernel refused; 0
// when it gave what was asked for, or nothing is known of it.
func (e *Endpoint) BufferShortfall() int {
	if e.buffer == 0 {
		return 0
	}
	return max(0, wantBuffer-e.buffer)
}

// Close ends every connection and the socket.
func (e *Endpoint) Close() error {
	err := errors.Join(e.tr.Close(), e.conn.Close())
	if errors.Is(err, net.ErrClosed) { // a tunnel whose stream ended first
		return nil
	}
	return err
}

func (e *Endpoint) quicConfig(dialler bool) *quic.Config {
	c := &quic.Config{
		InitialPacketSize:     e.packet,
		HandshakeIdleTimeout:  handshakeTimeout,
		MaxIdleTimeout:        idleTimeout,
		MaxIncomingStreams:    wire.MaxSlots + 16,
		MaxIncomingUniStreams: -1,
	}
	if dialler {
		c.KeepAlivePeriod = Heartbeat
	}
	return c
}

// Dial connects to addr and checks that the peer owns the pinned key: ErrPin
// when it owns another. The connection is up only when its first frame has
// come: until then the other side may still refuse.
func (e *Endpoint) Dial(ctx context.Context, addr net.Addr, pin ed25519.PublicKey) (Conn, error) {
	c, err := e.tr.Dial(ctx, addr, e.id.tlsConfig(func(k ed25519.PublicKey) error {
		if !pin.Equal(k) {
			return ErrPin
		}
		return nil
	}), e.quicConfig(true))
	if err != nil {
		return nil, fmt.Errorf("dialling %s: %w", addr, mapErr(err))
	}
	return newQUIC(c)
}

// Listener accepts connections on an endpoint.
type Listener struct{ l *quic.Listener }

// Listen accepts peers whose key allow accepts; allow must not block for long.
func (e *Endpoint) Listen(allow func(ed25519.PublicKey) error) (*Listener, error) {
	l, err := e.tr.Listen(e.id.tlsConfig(allow), e.quicConfig(false))
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", e.conn.LocalAddr(), err)
	}
	return &Listener{l: l}, nil
}

// Accept returns the next connection.
func (l *Listener) Accept(ctx context.Context) (Conn, error) {
	for {
		c, err := l.l.Accept(ctx)
		if err != nil {
			return nil, err
		}
		passed(c.Context())
		q, err := newQUIC(c)
		if err != nil {
			continue // gone again already
		}
		return q, nil
	}
}

// Close stops accepting; connections stay.
func (l *Listener) Close() error { return l.l.Close() }

type quicConn struct {
	c    *quic.Conn
	peer ed25519.PublicKey
}

func newQUIC(c *quic.Conn) (Conn, error) {
	k, err := peerKey(c.ConnectionState().TLS)
	if err != nil {
		_ = c.CloseWithError(quic.ApplicationErrorCode(CodeProtocol), err.Error())
		return nil, err
	}
	return &quicConn{c: c, peer: k}, nil
}

func (q *quicConn) OpenStream(ctx context.Context) (Stream, error) {
	s, err := q.c.OpenStreamSync(ctx)
	if err != nil {
		return nil, mapErr(err)
	}
	return newQUICStream(s), nil
}

func (q *quicConn) AcceptStream(ctx context.Context) (Stream, error) {
	s, err := q.c.AcceptStream(ctx)
	if err != nil {
		return nil, mapErr(err)
	}
	return newQUICStream(s), nil
}

func (q *quicConn) Peer() ed25519.PublicKey  { return q.peer }
func (q *quicConn) RTT() time.Duration       { return q.c.ConnectionStats().SmoothedRTT }
func (q *quicConn) RemoteAddr() string       { return q.c.RemoteAddr().String() }
func (q *quicConn) Context() context.Context { return q.c.Context() }

func (q *quicConn) Packets() (received, sent uint64) {
	s := q.c.ConnectionStats()
	return s.PacketsReceived, s.PacketsSent
}

func (q *quicConn) Close(code Code, reason string) error {
	return q.c.CloseWithError(quic.ApplicationErrorCode(code), reason)
}

type quicStream struct {
	*quic.Stream
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func newQUICStream(s *quic.Stream) *quicStream {
	q := &quicStream{Stream: s}
	q.ctx, q.cancel = context.WithCancelCause(context.Background())
	context.AfterFunc(s.Context(), func() { q.cancel(mapErr(context.Cause(s.Context()))) })
	return q
}

func (q *quicStream) Context() context.Context { return q.ctx }

func (q *quicStream) Read(p []byte) (int, error) {
	n, err := q.Stream.Read(p)
	return n, mapErr(err)
}

func (q *quicStream) Write(p []byte) (int, error) {
	n, err := q.Stream.Write(p)
	return n, mapErr(err)
}

func (q *quicStream) Reset() {
	q.CancelRead(0)
	q.CancelWrite(0)
}

// mapErr turns quic-go's errors into this package's where a caller branches.
func mapErr(err error) error {
	var stream *quic.StreamError
	var app *quic.ApplicationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &stream) && stream.Remote:
		return ErrReset
	case errors.As(err, &app) && app.Remote:
		return &ClosedError{Code: Code(app.ErrorCode), Reason: app.ErrorMessage}
	}
	var tr *quic.TransportError
	switch {
	case !errors.As(err, &tr):
	case errors.Is(err, ErrPin):
		return ErrPin
	case tr.Remote && tr.ErrorCode.IsCryptoError():
		return fmt.Errorf("%w: %w", ErrNotServed, err)
	}
	return err
}
