package become

import (
	"bytes"
	"strings"
	"sync"
	"syscall"
	"time"
)

// watcher looks for prompts and refusals in what a become command prints.
type watcher struct {
	plan *plan
	tell func(sign)
	seen int    // for the reader of standard output
	text []byte // for Write: the line that is not complete yet
}

// Write looks at the next piece of a stream; a prompt has no newline behind it.
func (w *watcher) Write(p []byte) (int, error) {
	w.text = append(w.text, p...)
	w.look(w.text)
	if i := bytes.LastIndexByte(w.text, '\n'); i >= 0 {
		w.text = append(w.text[:0], w.text[i+1:]...)
	}
	if len(w.text) > maxPreamble {
		w.text = w.text[:0]
	}
	return len(p), nil
}

// look tells what is in text; a prompt that was told is cut out of it.
func (w *watcher) look(text []byte) {
	for _, s := range w.plan.fail {
		if bytes.Contains(text, []byte(s)) {
			w.tell(sawWrong)
			return
		}
	}
	for _, s := range w.plan.missing {
		if bytes.Contains(text, []byte(s)) {
			w.tell(sawMissing)
			return
		}
	}
	if w.plan.prompt == nil {
		return
	}
	if at := w.plan.prompt.FindIndex(text); at != nil {
		for i := at[0]; i < at[1]; i++ {
			text[i] = ' ' // told once
		}
		w.tell(sawPrompt)
	}
}

// tail keeps the last bytes of a stream, and lets a watcher see them all while there is one.
type tail struct {
	mu    sync.Mutex // guards all
	buf   []byte
	watch *watcher
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if n := len(t.buf) - keptStderr; n > 0 {
		t.buf = append(t.buf[:0], t.buf[n:]...)
	}
	if t.watch != nil {
		_, _ = t.watch.Write(p)
	}
	return len(p), nil
}

func (t *tail) stopWatching() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watch = nil
	t.buf = t.buf[:0] // prompts are no words of the worker's
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.buf), "?")
}

// Read gives what follows the mark.
func (w *process) Read(p []byte) (int, error) { return w.stdout.Read(p) }

// Write goes to the worker.
func (w *process) Write(p []byte) (int, error) { return w.stdin.Write(p) }

// Stderr returns the end of standard error.
func (w *process) Stderr() string { return w.stderr.String() }

// Command is what /bin/sh was given.
func (w *process) Command() string { return w.cmd.Args[len(w.cmd.Args)-1] }

// PID is that of the shell or what it became; it leads the process group.
func (w *process) PID() int { return w.cmd.Process.Pid }

// Done is closed when the become command has ended.
func (w *process) Done() <-chan struct{} { return w.done }

// reap waits for the command.
func (w *process) reap() {
	_ = w.cmd.Wait()
	if w.tty != nil {
		w.tty.outer.Close()
	}
	close(w.done)
}

// Close ends the worker: end of file, TERM, KILL, a second apart.
func (w *process) Close() error {
	w.once.Do(func() {
		w.stdin.Close()
		for _, sig := range []syscall.Signal{0, syscall.SIGTERM, syscall.SIGKILL} {
			if sig != 0 {
				w.signal(sig)
			}
			select {
			case <-w.done:
			case <-time.After(exitGrace):
				continue
			}
			break
		}
		w.raw.Close()
	})
	return nil
}

// kill ends a command that did not get as far as a worker.
func (w *process) kill() {
	w.once.Do(func() {
		w.stdin.Close()
		w.signal(syscall.SIGTERM) // sudo passes it on to what it started as another user
		select {
		case <-w.done:
		case <-time.After(exitGrace / 5):
			w.signal(syscall.SIGKILL)
		}
		w.raw.Close()
	})
}

// signal reaches the whole process group, as far as we may.
func (w *process) signal(sig syscall.Signal) {
	select {
	case <-w.done: // its pid may be another's by now
	default:
		_ = syscall.Kill(-w.cmd.Process.Pid, sig)
	}
}
