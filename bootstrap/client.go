package bootstrap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
)

// maxOutput bounds what Run keeps of each stream.
const maxOutput = 64 << 20

// Client is a logged-in SSH connection to one host. Close it when the agent
// has been reached; it serves one call at a time.
type Client struct {
	ssh      remote
	via      *Client // the jump host it goes through; nil for none
	s        *settings
	log      *slog.Logger
	hostKey  []byte
	verified bool
	direct   bool // the host's address is reachable from here as it was named
}

// Close ends the connection and those to jump hosts.
func (c *Client) Close() error {
	err := c.ssh.Close()
	if c.via != nil {
		err = errors.Join(err, c.via.Close())
	}
	return err
}

// Run runs command through the login shell of the host, with stdin when it is
// not nil. A command that ends with any status is no error.
func (c *Client) Run(ctx context.Context, command string, stdin io.Reader) (Output, error) {
	return c.run(ctx, command, stdin, maxOutput)
}

func (c *Client) run(ctx context.Context, command string, stdin io.Reader, limit int) (Output, error) {
	var sess channel
	full := make(chan struct{})
	over := sync.OnceFunc(func() { close(full) })
	stdout, stderr := &bounded{limit: limit, full: over}, &bounded{limit: limit, full: over}
	opened, done := make(chan struct{}), make(chan error, 1)
	go func() { // ends with the command, or with the connection
		var err error
		if sess, err = c.ssh.open(); err != nil {
			done <- opening(err)
			return
		}
		close(opened)
		done <- sess.run(command, stdin, stdout, stderr)
	}()
	var err error
	select {
	case err = <-done:
	case <-full:
	case <-ctx.Done(): // a host that does not answer must not hold us
		err = ctx.Err()
	}
	select {
	case <-opened:
		go sess.Close() // what it writes may wait for the network, until the connection is closed
	default:
	}
	out := Output{Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}
	var exit *exitError
	var e *Error
	switch {
	case err != nil && err == ctx.Err(), errors.As(err, &e): //nolint:errorlint // set from ctx.Err above
		return out, err
	case stdout.isOver() || stderr.isOver():
		return out, hostError(KindNoise, nil, "the host printed more than %d bytes", limit)
	case err == nil || errors.Is(err, io.EOF): // EOF: the command ended well before it had read all of stdin
		return out, nil
	case errors.As(err, &exit):
		out.Code = exit.code
		return out, nil
	}
	return out, viaSSH(KindConnect, err, "the connection ended while a command ran: %v", err)
}

// opening is a session that could not be opened.
func opening(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return viaSSH(KindConnect, err, "opening a session: %v", err)
}

// dialHost is the host part of the address to dial over UDP.
func (c *Client) dialHost() string {
	if c.direct {
		if host := c.ssh.host(); host != "" {
			return host
		}
	}
	return c.s.hostName
}

// bounded keeps at most limit bytes; what comes after ends the writer.
type bounded struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	limit int
	over  bool
	full  func() // called when more comes
}

func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over || b.buf.Len()+len(p) > b.limit {
		b.over = true
		b.full()
		return 0, fmt.Errorf("more than %d bytes", b.limit)
	}
	return b.buf.Write(p)
}

func (b *bounded) isOver() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.over
}

// Bytes returns what was kept.
func (b *bounded) Bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.buf.Bytes())
}
