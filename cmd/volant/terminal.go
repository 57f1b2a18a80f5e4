package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"
)

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// terminal reports whether f is a terminal, and its width.
func terminal(f *os.File) (bool, int) {
	if !isTerminal(f) {
		return false, 0
	}
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		w = 0
	}
	return true, w
}

// prompter asks on the terminal, one question at a time.
type prompter struct {
	in  *os.File
	out io.Writer

	before func() // called before a question is shown; may be nil
	asking atomic.Bool
	// foreign says that the terminal need not be the one this process runs in
	// the foreground of.
	foreign bool

	mu    sync.Mutex // a question and its answer
	lines *bufio.Reader
}

// newPrompter returns nil when standard input is no terminal.
func newPrompter(p *process) *prompter {
	if p.stdin == nil || !term.IsTerminal(int(p.stdin.Fd())) {
		return nil
	}
	return &prompter{in: p.stdin, out: p.stdout, lines: bufio.NewReader(p.stdin)}
}

// busy reports whether a question is on the terminal.
func (t *prompter) busy() bool { return t.asking.Load() }

// exclusive runs ask, which shows a question on the terminal and reads the
// answer, while nothing else is asked or shown there.
func (t *prompter) exclusive(ask func() (string, error)) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asking.Store(true)
	defer t.asking.Store(false)
	if t.before != nil {
		t.before()
	}
	return ask()
}

// ask shows text and reads a line, for at most seconds when above 0.
func (t *prompter) ask(ctx context.Context, text string, echo bool, seconds int) (string, error) {
	return t.exclusive(func() (string, error) { return t.line(ctx, text, echo, seconds) })
}

func (t *prompter) line(ctx context.Context, text string, echo bool, seconds int) (string, error) {
	if !echo && seconds <= 0 { // which knows the end of what is typed
		return unseen(ctx, t.in, t.out, text)
	}
	fmt.Fprint(t.out, text)
	before, _ := term.GetState(int(t.in.Fd()))
	restore := func() {
		if before != nil {
			_ = term.Restore(int(t.in.Fd()), before)
		}
	}
	type answer struct {
		line string
		err  error
	}
	got := make(chan answer, 1)
	go func() { // ends with the line; a question given up leaves it to the next one
		if !echo {
			b, err := term.ReadPassword(int(t.in.Fd()))
			fmt.Fprintln(t.out)
			got <- answer{string(b), err}
			return
		}
		line, err := t.lines.ReadString('\n')
		got <- answer{strings.TrimRight(line, "\r\n"), err}
	}()
	var late <-chan time.Time
	if seconds > 0 {
		timer := time.NewTimer(time.Duration(seconds) * time.Second)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case a := <-got:
		return a.line, a.err
	case <-late:
		restore()
		return "", nil
	case <-ctx.Done():
		restore()
		return "", ctx.Err()
	}
}
