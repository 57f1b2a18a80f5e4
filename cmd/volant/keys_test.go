package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"volant/actions"
)

// screen is what a prompt wrote.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// TestKeys: what a pause reads from a terminal, and that the terminal is left
// as it was.
func TestKeys(t *testing.T) {
	line := actions.Keys{Echo: true, End: "\r\n", Seconds: 60}
	wait := actions.Keys{Seconds: 3}
	for name, tc := range map[string]struct {
		type_ string
		keys  actions.Keys
		want  string
		shown string
		err   error
	}{
		"a line":                   {"hello\r", line, "hello", "ask:hello" + clearLine, nil},
		"nothing":                  {"\r", line, "", "ask:" + clearLine, nil},
		"corrected":                {"hex\x7fllo\n", line, "hello", "ask:hex" + clearLine + "hello" + "" + clearLine, nil},
		"too much corrected":       {"\x7f\x08x\r", line, "x", "ask:" + clearLine + clearLine + "x" + clearLine, nil},
		"hidden":                   {"secret\r", actions.Keys{End: "\r\n", Seconds: 60}, "secret", "ask:" + clearLine, nil},
		"Ctrl-C":                   {"he\x03", line, "", "ask:he" + clearLine, actions.ErrInterrupted},
		"Enter does not end waits": {"\rx\n", wait, "\rx\n", "ask:", nil},
		"Ctrl-C in a wait":         {"\x03", actions.Keys{Seconds: 60}, "", "ask:" + clearLine, actions.ErrInterrupted},
		"continue":                 {"xC", actions.Keys{End: "c", Interrupt: "a", Seconds: 60}, "x", "ask:" + clearLine, nil},
		"abort":                    {"A", actions.Keys{End: "c", Interrupt: "a", Seconds: 60}, "", "ask:" + clearLine, actions.ErrInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			outer, inner := pty(t)
			var out screen
			p := &prompter{in: inner, out: &out, lines: bufio.NewReader(inner), foreign: true}
			before, err := term.GetState(int(inner.Fd()))
			if err != nil {
				t.Fatal(err)
			}
			typed := make(chan struct{})
			go func() { // ends soon: somebody types once keys are read one by one
				defer close(typed)
				for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
					if now, err := unix.IoctlGetTermios(int(inner.Fd()), unix.TCGETS); err == nil && now.Lflag&unix.ICANON == 0 {
						break
					}
				}
				_, _ = outer.WriteString(tc.type_)
			}()
			got, interactive, err := p.keys(t.Context(), "ask:", tc.keys)
			if got != tc.want || !interactive || !errors.Is(err, tc.err) || err != nil && tc.err == nil {
				t.Errorf("%q %v %v", got, interactive, err)
			}
			<-typed
			if out.b.String() != tc.shown {
				t.Errorf("shown %q", out.b.String())
			}
			if after, err := term.GetState(int(inner.Fd())); err != nil || *after != *before {
				t.Errorf("the terminal is not as it was: %v", err)
			}
		})
	}
}

// TestKeysEnd: a prompt ends with its context, and is none in the background.
func TestKeysEnd(t *testing.T) {
	_, inner := pty(t)
	var out screen
	p := &prompter{in: inner, out: &out, lines: bufio.NewReader(inner), foreign: true}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := p.keys(ctx, "ask:", actions.Keys{End: "\r"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p = &prompter{in: file, out: &out, lines: bufio.NewReader(file)}
	if _, interactive, err := p.keys(t.Context(), "ask:", actions.Keys{}); interactive || err != nil {
		t.Error(interactive, err)
	}
}
