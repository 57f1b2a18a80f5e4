package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

// TestEndOfWhatIsTyped: whoever ends the input answers nothing, seen or not.
func TestEndOfWhatIsTyped(t *testing.T) {
	near, far := pty(t)
	prompt := &prompter{in: far, out: far, lines: bufio.NewReader(far)}
	for text, echo := range map[string]bool{"seen: ": true, "unseen: ": false} {
		got := make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		go func() { // ends with the input, or with ctx
			_, err := prompt.ask(ctx, text, echo, 0)
			got <- err
		}()
		onTerminal(t, near, text)
		if _, err := near.WriteString("\x04"); err != nil {
			t.Fatal(err)
		}
		if err := <-got; !errors.Is(err, io.EOF) {
			t.Errorf("%q ends with %v", text, err)
		}
		cancel()
	}
}

// TestErrorsAsConfigured: the error that ends a command has the colours and the
// log of everything else.
func TestErrorsAsConfigured(t *testing.T) {
	for setting, want := range map[string]string{"0": "\x1b[0;31m[ERROR]: the playbook: nosuch.yml could not be found\x1b[0m\n", "1": "[ERROR]: the playbook: nosuch.yml could not be found\n"} {
		dir := t.TempDir()
		var errs bytes.Buffer
		p := &process{name: "ansible-playbook", command: "playbook", find: find, stdout: &bytes.Buffer{}, stderr: &errs, dir: dir, home: dir, color: true,
			getenv: func(n string) (string, bool) {
				v, ok := map[string]string{"ANSIBLE_NOCOLOR": setting, "ANSIBLE_LOG_PATH": filepath.Join(dir, "log")}[n]
				return v, ok
			}}
		p.code(t.Context(), playbookMain(t.Context(), p, []string{"nosuch.yml"}))
		if errs.String() != want {
			t.Errorf("shown %q, want %q", errs.String(), want)
		}
		if log, err := os.ReadFile(filepath.Join(dir, "log")); err != nil || !bytes.Contains(log, []byte("could not be found")) {
			t.Errorf("logged %q, %v", log, err)
		}
	}
}
