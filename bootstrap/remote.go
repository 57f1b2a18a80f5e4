package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"golang.org/x/crypto/ssh"
)

// remote is a logged-in way to run commands on a host: our own SSH connection,
// the system's ssh, or any program with a standard input and output.
type remote interface {
	// open begins a channel for one command. It may wait for the host.
	open() (channel, error)
	// Close ends the connection and every command on it.
	Close() error
	// host is the address that was reached, "" where that is not known.
	host() string
}

// channel runs one command through the login shell of the host.
type channel interface {
	// run runs the command to its end. A command that fails is an *exitError,
	// a connection that fails is any other.
	run(command string, stdin io.Reader, stdout, stderr io.Writer) error
	// start starts the command and returns its standard input and output.
	start(command string, stderr io.Writer) (io.WriteCloser, io.Reader, error)
	// Close ends the command. It may be called at any time, also twice.
	Close() error
}

// exitError is a command that ended with a status other than 0.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("the command ended with status %d", e.code) }

// native is our own SSH connection.
type native struct{ c *ssh.Client }

func (n native) Close() error { return n.c.Close() }

func (n native) host() string {
	host, _, err := net.SplitHostPort(n.c.RemoteAddr().String())
	if err != nil {
		return ""
	}
	return host
}

// sessionTries is how often a session is asked for: the one before may still
// count against MaxSessions. Together they take about five seconds.
const sessionTries = 12

func (n native) open() (channel, error) {
	for try := 1; ; try++ {
		s, err := n.c.NewSession()
		if err == nil {
			return nativeChannel{s}, nil
		}
		var refused *ssh.OpenChannelError
		if !errors.As(err, &refused) || try == sessionTries {
			return nil, err
		}
		time.Sleep(time.Duration(try)*40*time.Millisecond + rand.N(60*time.Millisecond))
	}
}

// dial opens a connection from the host on, for jumps.
func (n native) dial(ctx context.Context, addr string) (net.Conn, error) {
	return n.c.DialContext(ctx, "tcp", addr)
}

type nativeChannel struct{ s *ssh.Session }

func (c nativeChannel) Close() error { return c.s.Close() }

func (c nativeChannel) run(command string, stdin io.Reader, stdout, stderr io.Writer) error {
	c.s.Stdin, c.s.Stdout, c.s.Stderr = stdin, stdout, stderr
	err := c.s.Run(command)
	var exit *ssh.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	if exit.Signal() != "" {
		return &exitError{128 + signals[exit.Signal()]}
	}
	return &exitError{exit.ExitStatus()}
}

func (c nativeChannel) start(command string, stderr io.Writer) (io.WriteCloser, io.Reader, error) {
	in, err1 := c.s.StdinPipe()
	out, err2 := c.s.StdoutPipe()
	c.s.Stderr = stderr
	if err := errors.Join(err1, err2); err != nil {
		return nil, nil, err
	}
	return in, out, c.s.Start(command)
}

var signals = map[string]int{"HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "ABRT": 6, "FPE": 8, "KILL": 9, "SEGV": 11, "PIPE": 13, "ALRM": 14, "TERM": 15}
