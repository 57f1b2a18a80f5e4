// Package session makes authenticated connections between a controller and an
// agent: QUIC with TLS 1.3, self-signed certificates pinned to Ed25519 keys on
// both sides, and an in-memory pipe of the same shape for the local session.
// What is said over a connection is the business of hostagent and
// controller/fleet; docs/PROTOCOL.md specifies it.
package session

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"time"
)

// Conn is a connection. The agent opens every stream, the first of them the
// control stream; the controller accepts them in that order.
type Conn interface {
	OpenStream(ctx context.Context) (Stream, error)
	AcceptStream(ctx context.Context) (Stream, error)
	// Peer is the other side's proven key; nil on a pipe.
	Peer() ed25519.PublicKey
	// RTT is the smoothed round-trip time; 0 on a pipe or when not known.
	RTT() time.Duration
	// Packets counts packets: those received stand still on a silent link, those
	// sent while all that needs it is acknowledged.
	Packets() (received, sent uint64)
	// RemoteAddr is for messages only.
	RemoteAddr() string
	// Context ends with the connection; its cause says why.
	Context() context.Context
	// Close closes the connection and every stream; the other side sees why.
	Close(code Code, reason string) error
}

// Cause is why a connection ended, *ClosedError where the other side said so;
// nil while it is up.
func Cause(c Conn) error { return mapErr(context.Cause(c.Context())) }

// Stream is an ordered stream of bytes both ways. One goroutine may read while
// another writes.
type Stream interface {
	io.Reader
	io.Writer
	// Close ends the writing side; what was written still arrives.
	Close() error
	// Reset gives the stream up both ways; the other side's Context ends with
	// ErrReset and its reads and writes fail.
	Reset()
	// Context ends when the stream or its connection ends. The cause is
	// ErrReset when the other side gave up this stream alone.
	Context() context.Context
}

// ErrReset says that the other side reset the stream: cancel.
var ErrReset = errors.New("stream reset by the other side")

// Code says why a connection was closed.
type Code uint64

// Codes of Close. Appended, never renumbered.
const (
	CodeDone      Code = 0 // the run is over
	CodeProtocol  Code = 1 // the other side broke the protocol
	CodeReplaced  Code = 2 // a newer link of the same session took over
	CodeSilent    Code = 3 // suspected dead
	CodeShutdown  Code = 4 // the process ends
	CodeRefused   Code = 5 // a Refused frame said why
	CodeReconnect Code = 6 // dropped to be built anew
)

// ClosedError says that the other side closed the connection.
type ClosedError struct {
	Code   Code
	Reason string
}

// Error says why.
func (e *ClosedError) Error() string {
	if e.Reason == "" {
		return "connection closed by the other side"
	}
	return "connection closed by the other side: " + e.Reason
}
