package hostagent

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"volant/wire/session"
)

// socketName is the agent's local socket in its home: over it `bridge` passes
// on the datagrams of a controller that comes through SSH.
const socketName = "link"

const (
	tunnelIdle    = time.Minute // a tunnel without a link is closed
	maxTunnels    = 256         // at once
	maxSocketPath = 100         // sun_path has room for 107 bytes
)

// socketPath is the name to bind or connect to by: a long one is shortened
// through an open directory, which the caller closes.
func (h Home) socketPath() (path string, dir *os.File, err error) {
	if path = h.path(socketName); len(path) <= maxSocketPath {
		return path, nil, nil
	}
	if dir, err = os.Open(string(h)); err != nil {
		return "", nil, err
	}
	return filepath.Join("/proc/self/fd", fmt.Sprint(dir.Fd()), socketName), dir, nil
}

// listenLocal binds the local socket, reachable for this user alone.
func (h Home) listenLocal() (*net.UnixListener, error) {
	path, dir, err := h.socketPath()
	if err != nil {
		return nil, fmt.Errorf("opening the local socket: %w", err)
	}
	if dir != nil {
		defer dir.Close()
	}
	_ = os.Remove(h.path(socketName)) // of an agent before us
	old := unix.Umask(0o177)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: path})
	unix.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("opening the local socket: %w", err)
	}
	l.SetUnlinkOnClose(false) // by then it may be the successor's
	return l, nil
}

// Bridge connects standard input and output of `volant-agent bridge` with the
// agent that serves the home, until either ends.
func (h Home) Bridge(in io.Reader, out io.Writer, ready func() error) error {
	path, dir, err := h.socketPath()
	if err != nil {
		return fmt.Errorf("connecting to the agent: %w", err)
	}
	if dir != nil {
		defer dir.Close()
	}
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: path})
	if err != nil {
		return fmt.Errorf("connecting to the agent: %w", err)
	}
	defer c.Close()
	if err := ready(); err != nil {
		return err
	}
	end := make(chan struct{}, 2)
	go func() { // ends with in, or with the process
		_, _ = io.Copy(c, in)
		end <- struct{}{}
	}()
	go func() { // ends with c
		_, _ = io.Copy(out, c)
		end <- struct{}{}
	}()
	<-end
	return nil
}

// acceptLocal serves tunnels that come over the local socket until it is closed.
func (a *Agent) acceptLocal(ctx context.Context, l *net.UnixListener, id *session.Identity, g *gate, conns *sync.WaitGroup) {
	tokens := make(chan struct{}, maxTunnels)
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				a.log.Error("Local socket ended", "err", err)
			}
			return
		}
		if !ownPeer(c) || len(tokens) == cap(tokens) {
			c.Close()
			continue
		}
		tokens <- struct{}{}
		conns.Go(func() { // ends with the tunnel
			defer func() { <-tokens }()
			a.serveTunnel(ctx, c, id, g.allow)
		})
	}
}

// ownPeer tells whether the other end of a local connection is of this user, or root.
func ownPeer(c *net.UnixConn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	ok := false
	_ = raw.Control(func(fd uintptr) {
		cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		ok = err == nil && (int(cred.Uid) == os.Getuid() || cred.Uid == 0)
	})
	return ok
}

// serveTunnel serves the links that come over one stream, until that ends, ctx
// ends, or there is no link for a while.
func (a *Agent) serveTunnel(ctx context.Context, rw io.ReadWriteCloser, id *session.Identity, allow func(ed25519.PublicKey) error) {
	ep := session.NewTunnel(rw, id)
	defer ep.Close()
	l, err := ep.Listen(allow)
	if err != nil {
		a.log.Warn("Tunnel cannot be used", "err", err)
		return
	}
	var conns sync.WaitGroup
	defer conns.Wait()
	links := make(chan struct{}, maxTunnels)
	for {
		wait, cancel := context.WithTimeout(ctx, tunnelIdle)
		conn, err := l.Accept(wait)
		late := wait.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case err == nil && len(links) < cap(links):
			links <- struct{}{}
			conns.Go(func() { // ends with the connection and its sub-tasks
				defer func() { <-links }()
				if err := a.ServeConn(ctx, conn); err != nil {
					a.log.Info("Link refused", "remote", conn.RemoteAddr(), "err", err)
				}
			})
		case err == nil:
			_ = conn.Close(session.CodeRefused, "too many links")
		case late && len(links) > 0:
		default:
			_ = ep.Close() // the links end, their sub-tasks go on
			return
		}
	}
}
