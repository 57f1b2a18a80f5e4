// Package proc starts and ends the processes that modules need: streams read
// into bounded memory, process groups ended as a whole, programs found and
// words quoted as the shell and Python do.
package proc

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// KillGrace is how long a process group has between TERM and KILL.
const KillGrace = 3 * time.Second

// DefaultMaxOutput bounds each of the streams of a process.
const DefaultMaxOutput = 64 << 20

// Capture reads one stream of a process into memory, up to a limit; the rest
// is read and dropped so that the process can go on.
type Capture struct {
	r         *os.File
	buf       []byte
	truncated bool
	max       int64
	piece     func([]byte)
	done      chan struct{}
	last      atomic.Int64 // when data came last, Unix nanoseconds
}

// NewCapture returns a Capture and the end the process writes to, which the
// caller closes once the process has it. max 0 is DefaultMaxOutput; piece, when
// not nil, is called with what is kept as it comes.
func NewCapture(max int64, piece func([]byte)) (*Capture, *os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("making a pipe: %w", err)
	}
	if max == 0 {
		max = DefaultMaxOutput
	}
	return &Capture{r: r, max: max, piece: piece, done: make(chan struct{})}, w, nil
}

func (c *Capture) keep(p []byte) {
	if len(p) == 0 {
		return
	}
	c.last.Store(time.Now().UnixNano())
	if room := c.max - int64(len(c.buf)); int64(len(p)) > room {
		p = p[:room]
		c.truncated = true
	}
	c.buf = append(c.buf, p...)
	if c.piece != nil && len(p) > 0 {
		c.piece(p)
	}
}

// Read copies until the end of the stream, or until Finish gives up waiting;
// it is run in a goroutine of its own.
func (c *Capture) Read() {
	defer close(c.done)
	b := make([]byte, 32<<10)
	for {
		n, err := c.r.Read(b)
		c.keep(b[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.drain(b)
			return
		}
		if err != nil {
			return
		}
	}
}

// drain takes what is there without waiting.
func (c *Capture) drain(b []byte) {
	_ = c.r.SetReadDeadline(time.Time{})
	raw, err := c.r.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Read(func(fd uintptr) bool {
		for {
			n, err := syscall.Read(int(fd), b)
			if err == syscall.EINTR {
				continue
			}
			if n <= 0 || err != nil {
				return true // empty, or the end
			}
			c.keep(b[:n])
		}
	})
}

// Finish waits for the end of the stream of a process that has ended, at most
// until it was quiet for linger: something left behind holds the other end,
// and its output is not waited for. It returns what was read.
func (c *Capture) Finish(linger time.Duration) (data []byte, truncated bool) {
	select {
	case <-c.done: // the usual case
	default:
		end := time.Now().Add(linger)
		for wait := time.Until(end); wait > 0; wait = time.Until(end) {
			select {
			case <-c.done:
				end = time.Now()
			case <-time.After(wait):
				if last := time.Unix(0, c.last.Load()).Add(linger); last.After(end) {
					end = last
				}
			}
		}
		_ = c.r.SetReadDeadline(time.Now())
		<-c.done
	}
	c.r.Close()
	return c.buf, c.truncated
}

// Close gives the stream up unread.
func (c *Capture) Close() { c.r.Close() }

// KillGroup ends a process group: TERM, and KILL after the grace or as soon as
// gone is closed (for members that outlived the leader).
func KillGroup(pgid int, gone <-chan struct{}) {
	_ = syscall.Kill(-pgid, syscall.SIGTERM)
	select {
	case <-gone:
	case <-time.After(KillGrace):
	}
	_ = syscall.Kill(-pgid, syscall.SIGKILL)
}
