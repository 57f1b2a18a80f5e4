package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"volant/actions"
)

// pty is a terminal of the test's own: what is written to near is typed on far,
// what a program shows there can be read from near.
func pty(t *testing.T) (near, far *os.File) {
	t.Helper()
	near, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { near.Close() })
	if err := unix.IoctlSetPointerInt(int(near.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(near.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	far, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	return near, far
}

// TestOneQuestionAtATime: whoever asks on the terminal has it alone until the
// answer, and the line of progress is cleared first.
func TestOneQuestionAtATime(t *testing.T) {
	near, far := pty(t)
	p := &process{stderr: &bytes.Buffer{}, getenv: func(string) (string, bool) { return "", false },
		tty: func() (*os.File, error) { return os.OpenFile(far.Name(), os.O_RDWR|unix.O_NOCTTY, 0) }}
	var mu sync.Mutex
	cleared := 0
	prompt := &prompter{in: far, out: far, lines: bufio.NewReader(far), foreign: true, before: func() {
		mu.Lock()
		defer mu.Unlock()
		cleared++
	}}
	j := &project{process: p, prompt: prompt}
	passphrase := j.passphrases()
	asks := map[string]func(ctx context.Context) (string, error){
		"line: ":       func(ctx context.Context) (string, error) { return prompt.ask(ctx, "line: ", true, 0) },
		"passphrase: ": func(ctx context.Context) (string, error) { return passphrase(ctx, "passphrase: ") },
		"keys: ": func(ctx context.Context) (string, error) {
			typed, _, err := prompt.keys(ctx, "keys: ", actions.Keys{End: "\r\n", Echo: true})
			return typed, err
		},
	}
	asked := 0
	for one, first := range asks {
		for other, second := range asks {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			answers := make(chan string, 2)
			answer := func(ask func(context.Context) (string, error)) {
				got, err := ask(ctx)
				if err != nil {
					got = err.Error()
				}
				answers <- got
			}
			go answer(first) // both end with their answers, or with ctx
			onTerminal(t, near, one)
			if !prompt.busy() {
				t.Errorf("%q is not seen to be on the terminal", one)
			}
			go answer(second)
			time.Sleep(100 * time.Millisecond)
			if _, err := near.WriteString("1\n"); err != nil {
				t.Fatal(err)
			}
			if got := <-answers; got != "1" {
				t.Errorf("%q, then %q: %q answers the first", one, other, got)
			}
			onTerminal(t, near, other)
			if _, err := near.WriteString("2\n"); err != nil {
				t.Fatal(err)
			}
			if got := <-answers; got != "2" {
				t.Errorf("%q, then %q: %q answers the second", one, other, got)
			}
			cancel()
			asked += 2
			mu.Lock()
			if cleared != asked {
				t.Errorf("%q, then %q: the line of progress was cleared %d times in %d questions", one, other, cleared, asked)
			}
			mu.Unlock()
		}
	}
	if prompt.busy() {
		t.Error("a question is still on the terminal")
	}
}
