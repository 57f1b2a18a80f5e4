package bootstrap

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// firstByte is a connection that remembers whether the other side said
// anything, and how that began.
type firstByte struct {
	net.Conn
	got  atomic.Bool
	mu   sync.Mutex // guards head
	head []byte
}

// crowdedWords are how a server that has too many logins going on begins.
var crowdedWords = [][]byte{[]byte("Exceeded MaxStartups"), []byte("Not allowed at this time")}

func (f *firstByte) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	if n > 0 {
		f.got.Store(true)
		f.mu.Lock()
		if room := 64 - len(f.head); room > 0 {
			f.head = append(f.head, p[:min(n, room)]...)
		}
		f.mu.Unlock()
	}
	return n, err
}

// crowded tells that the server had no place for us, which passes.
func (f *firstByte) crowded() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range crowdedWords {
		if bytes.HasPrefix(f.head, w) {
			return true
		}
	}
	return !f.got.Load()
}

// commandConn is a ProxyCommand's standard input and output as a connection.
type commandConn struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  io.ReadCloser
	once sync.Once
}

func dialCommand(command string) (net.Conn, error) {
	cmd := exec.Command("/bin/sh", "-c", "exec "+command)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, viaSSH(KindConnect, err, "%v", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, viaSSH(KindConnect, err, "ProxyCommand: %v", err)
	}
	return &commandConn{cmd: cmd, in: in, out: out}, nil
}

func (c *commandConn) Read(p []byte) (int, error)  { return c.out.Read(p) }
func (c *commandConn) Write(p []byte) (int, error) { return c.in.Write(p) }

// Close ends the command.
func (c *commandConn) Close() error {
	c.once.Do(func() {
		c.in.Close()
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	})
	return nil
}

func (c *commandConn) LocalAddr() net.Addr              { return proxied{} }
func (c *commandConn) RemoteAddr() net.Addr             { return proxied{} }
func (c *commandConn) SetDeadline(time.Time) error      { return nil }
func (c *commandConn) SetReadDeadline(time.Time) error  { return nil }
func (c *commandConn) SetWriteDeadline(time.Time) error { return nil }

// proxied is the address of what lies behind a command: known_hosts needs one that parses.
type proxied struct{}

func (proxied) Network() string { return "tcp" }
func (proxied) String() string  { return "0.0.0.0:0" }
