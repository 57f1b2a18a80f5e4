package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// outlet is standard output. A reader that went away is no error, as with the
// reference: a run that was begun is ended. Any other failed write cancels the
// command, which then ends with an error instead of having been silent.
type outlet struct {
	f      *os.File
	cancel func()
	// later: what is written is passed on in the background, as a run of tasks is not
	// to wait for who reads what it says: to wake him takes 50 µs.
	later bool

	mu    sync.Mutex // guards what follows
	err   error      // of the first write that failed
	buf   []byte     // waits to be passed on
	spare []byte
	busy  bool      // the goroutine that passes it on has not ended
	idle  sync.Cond // busy may have ended; its lock is mu
}

// outletBuffer is how much may wait; who writes more waits for the reader.
const outletBuffer = 256 << 10

func newOutlet(f *os.File, cancel func()) *outlet {
	o := &outlet{f: f, cancel: cancel}
	o.idle.L = &o.mu
	return o
}

// Write implements io.Writer. It never fails.
func (o *outlet) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.busy && len(o.buf) > outletBuffer {
		o.idle.Wait()
	}
	switch {
	case o.err != nil:
	case !o.later && !o.busy:
		_, err := o.f.Write(p)
		o.wrote(err)
	default:
		o.buf = append(o.buf, p...)
		if !o.busy {
			o.busy = true
			go o.pass() // ends when nothing waits
		}
	}
	return len(p), nil
}

// pass writes what waits until nothing does.
func (o *outlet) pass() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.buf) > 0 && o.err == nil {
		b := o.buf
		o.buf = o.spare[:0]
		o.mu.Unlock()
		_, err := o.f.Write(b)
		o.mu.Lock()
		o.spare = b
		o.wrote(err)
		o.idle.Broadcast()
	}
	o.buf, o.busy = nil, false
	o.idle.Broadcast()
}

// wrote takes note of how a write ended. mu is held.
func (o *outlet) wrote(err error) {
	if err == nil || o.err != nil {
		return
	}
	o.err = err
	if !errors.Is(err, syscall.EPIPE) {
		o.cancel()
	}
}

// flush returns once everything was passed on.
func (o *outlet) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.busy {
		o.idle.Wait()
	}
}

// beside is standard error: what is written to it comes after what was written to
// standard output before, also where both are the same file.
type beside struct {
	f   *os.File
	out *outlet
}

// Write implements io.Writer.
func (b beside) Write(p []byte) (int, error) {
	b.out.flush()
	return b.f.Write(p)
}

// fileOf is the file that is written to, nil where there is none.
func fileOf(w io.Writer) *os.File {
	switch w := w.(type) {
	case *os.File:
		return w
	case beside:
		return w.f
	}
	return nil
}

// failed is why standard output could not be written, nil when it could or
// nobody wanted it.
func (o *outlet) failed() error {
	o.flush()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil || errors.Is(o.err, syscall.EPIPE) {
		return nil
	}
	err := o.err
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("standard output cannot be written: %w", err)
}

// direct is standard output for a program that is run and may want a terminal.
func (p *process) direct() io.Writer {
	if p.out != nil {
		p.out.flush()
		return p.out.f
	}
	return p.stdout
}

// directError is the same of standard error.
func (p *process) directError() io.Writer {
	if f := fileOf(p.stderr); f != nil {
		return f
	}
	return p.stderr
}
