package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// onTerminal reads what the terminal shows until it ends with text.
func onTerminal(t *testing.T, near *os.File, text string) string {
	t.Helper()
	var all string
	b := make([]byte, 256)
	for !strings.HasSuffix(all, text) {
		n, err := near.Read(b)
		if err != nil {
			t.Fatalf("%v after %q", err, all)
		}
		all += string(b[:n])
	}
	return all
}

func TestPasswordsOnTheTerminal(t *testing.T) {
	near, far := pty(t)
	p := &process{stdin: nil, stderr: &bytes.Buffer{}, tty: func() (*os.File, error) { return os.OpenFile(far.Name(), os.O_RDWR|unix.O_NOCTTY, 0) }}
	type answer struct {
		text string
		err  error
	}
	got := make(chan answer, 1)
	ask := func(ctx context.Context) {
		go func() { // ends with the answer
			text, err := p.asking().ask(ctx, "Word: ")
			got <- answer{text, err}
		}()
		onTerminal(t, near, "Word: ")
	}
	ask(t.Context())
	fmt.Fprint(near, "secret\n")
	if a := <-got; a.text != "secret" || a.err != nil {
		t.Errorf("%q, %v", a.text, a.err)
	}
	if s := onTerminal(t, near, "\n"); strings.Contains(s, "secret") {
		t.Errorf("the password was shown: %q", s)
	}

	ask(t.Context())
	fmt.Fprint(near, "\x04") // end of input
	if a := <-got; !errors.Is(a.err, io.EOF) {
		t.Errorf("%q, %v", a.text, a.err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	ask(ctx)
	cancel()
	select {
	case a := <-got:
		if !errors.Is(a.err, context.Canceled) {
			t.Errorf("%q, %v", a.text, a.err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("an interrupted question does not end")
	}
	state, err := unix.IoctlGetTermios(int(far.Fd()), unix.TCGETS)
	if err != nil || state.Lflag&unix.ECHO == 0 {
		t.Errorf("the terminal does not show what is typed any more: %v", err)
	}
}

// Without a terminal, questions are answered by lines of standard input, in the
// order asked; whoever ends it has said all.
func TestPasswordsFromStandardInput(t *testing.T) {
	for _, c := range []struct {
		name, input string
		args        []string
		env         map[string]string
		err         string
		conn, conf  string
	}{
		{"both", "one\ntwo\n", []string{"-k", "-K"}, nil, "Warning: Password input may be echoed.\nSSH password: \nWarning: Password input may be echoed.\nBECOME password[defaults to SSH password]: \n", "one", "two"},
		{"the first stands for the second", "one\n\n", []string{"-k", "-K"}, nil, "", "one", "one"},
		{"nothing", "", []string{"-k", "-K"}, nil, "Warning: Password input may be echoed.\nSSH password: ", "", ""},
		{"as configured", "one\n", nil, map[string]string{"ANSIBLE_ASK_PASS": "1"}, "Warning: Password input may be echoed.\nSSH password: \n", "one", ""},
		{"named by the method", "one\n", []string{"-K", "--become-method", "su"}, map[string]string{"ANSIBLE_AGNOSTIC_BECOME_PROMPT": "0"}, "Warning: Password input may be echoed.\nSU password: \n", "", "one"},
		{"a file that is standard input", " one \r\n", []string{"--connection-password-file", "-"}, nil, "", " one ", ""},
		{"a file", "", []string{"--become-password-file", "pw"}, nil, "", "", "of the file"},
		{"a program", "", []string{"--become-password-file", "pw.sh"}, nil, "", "", " printed"},
		{"a program that fails", "", []string{"--become-password-file", "bad.sh"}, nil, "[ERROR]: The password script DIR/bad.sh returned an error (rc=3): why\n", "", ""},
		{"no program", "", []string{"--become-password-file", "no.sh"}, nil, "[ERROR]: Problem occurred when trying to run the password script DIR/no.sh ([Errno 8] Exec format error: b'DIR/no.sh'). If this is not a script, remove the executable bit from the file.\n", "", ""},
		{"an empty file", "", []string{"--become-password-file", "empty"}, nil, "[ERROR]: Empty password was provided from file (DIR/empty)\n", "", ""},
		{"no file", "", []string{"--become-password-file", "gone"}, nil, "[ERROR]: The password file DIR/gone was not found\n", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{
				"in": c.input, "pw": " of the file\n", "empty": "\n", "pw.sh": "#!/bin/sh\necho ' printed'\n",
				"bad.sh": "#!/bin/sh\necho why >&2; exit 3\n", "no.sh": "text",
			} {
				mode := os.FileMode(0o600)
				if strings.HasSuffix(name, ".sh") {
					mode = 0o700
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
					t.Fatal(err)
				}
			}
			in, err := os.Open(filepath.Join(dir, "in"))
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			var errs bytes.Buffer
			p := &process{name: "ansible", command: "adhoc", find: find, stdin: in, stdout: io.Discard, stderr: &errs, dir: dir, home: dir,
				getenv: func(n string) (string, bool) { v, ok := c.env[n]; return v, ok }}
			var opt adhocOptions
			if err := parse(p, &opt, "", append(c.args, "all")); err != nil {
				t.Fatal(err)
			}
			j, err := configure(p, 0)
			if err != nil {
				t.Fatal(err)
			}
			l := j.login(opt.connectOptions, opt.becomeOptions)
			if err := j.askPasswords(t.Context(), l, opt.connectOptions, opt.becomeOptions); err != nil {
				p.code(t.Context(), err)
			}
			if l.Password != c.conn || l.BecomePassword != c.conf {
				t.Errorf("%q, %q", l.Password, l.BecomePassword)
			}
			if got := strings.ReplaceAll(errs.String(), dir, "DIR"); c.err != "" && got != c.err {
				t.Errorf("%q\nwant %q", got, c.err)
			}
		})
	}
}
