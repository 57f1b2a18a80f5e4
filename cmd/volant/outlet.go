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

	mu  sync.Mutex // guards err
	err error      // of the first write that failed
}

// Write implements io.Writer. It never fails.
func (o *outlet) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return len(p), nil
	}
	if _, err := o.f.Write(p); err != nil {
		o.err = err
		if !errors.Is(err, syscall.EPIPE) {
			o.cancel()
		}
	}
	return len(p), nil
}

// failed is why standard output could not be written, nil when it could or
// nobody wanted it.
func (o *outlet) failed() error {
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
		return p.out.f
	}
	return p.stdout
}
