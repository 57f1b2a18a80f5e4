package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"volant/controller/execute"
	"volant/controller/fault"
	"volant/controller/source"
	"volant/controller/vault"
	"volant/wire/value"
)

// passwords asks for what nobody may read along: on the terminal that the
// command belongs to, wherever standard input comes from; without one it reads
// lines of standard input, as Python's getpass does.
type passwords struct {
	p *process

	mu    sync.Mutex // a question and its answer
	lines *bufio.Reader
}

// asking returns the one asker of the process.
func (p *process) asking() *passwords {
	if p.secret == nil {
		p.secret = &passwords{p: p, lines: bufio.NewReader(p.stdin)}
	}
	return p.secret
}

// controlling opens the terminal of the process.
func controlling() (*os.File, error) { return os.OpenFile("/dev/tty", os.O_RDWR, 0) }

// ask shows text and reads an answer that is not shown; io.EOF when there is
// none.
func (a *passwords) ask(ctx context.Context, text string) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.p.out != nil {
		a.p.out.flush()
	}
	if a.p.tty != nil {
		if tty, err := a.p.tty(); err == nil {
			defer tty.Close()
			return unseen(ctx, tty, tty, text)
		}
	}
	if a.p.stdin != nil && term.IsTerminal(int(a.p.stdin.Fd())) {
		return unseen(ctx, a.p.stdin, a.p.stderr, text)
	}
	fmt.Fprintf(a.p.stderr, "Warning: Password input may be echoed.\n%s", text)
	answer, err := a.line(ctx)
	if err == nil {
		fmt.Fprintln(a.p.stderr)
	}
	return answer, err
}

// line reads a line of standard input.
func (a *passwords) line(ctx context.Context) (string, error) {
	return oneLine(ctx, func() (string, error) {
		line, err := a.lines.ReadString('\n')
		if line != "" {
			err = nil
		}
		return strings.TrimSuffix(line, "\n"), err
	})
}

// unseen reads a line of a terminal without echo, which comes back when the
// context ends, too.
func unseen(ctx context.Context, tty *os.File, out io.Writer, text string) (string, error) {
	fd := int(tty.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return "", fmt.Errorf("asking on the terminal: %w", err)
	}
	quiet := *before
	quiet.Lflag &^= unix.ECHO
	if err := unix.IoctlSetTermios(fd, unix.TCSETSF, &quiet); err != nil {
		return "", fmt.Errorf("asking on the terminal: %w", err)
	}
	defer func() { _ = unix.IoctlSetTermios(fd, unix.TCSETS, before) }()
	fmt.Fprint(out, text)
	answer, err := oneLine(ctx, func() (string, error) { return ttyLine(tty) })
	if err == nil {
		fmt.Fprintln(out)
	}
	return answer, err
}

// ttyLine reads the line that the terminal hands out, byte by byte, so that
// nothing of the next one is taken.
func ttyLine(tty *os.File) (string, error) {
	var line []byte
	for b := make([]byte, 1); ; {
		n, err := tty.Read(b)
		switch {
		case n == 1 && b[0] == '\n', n == 0 && len(line) > 0:
			return string(line), nil
		case n == 0:
			return "", cmp.Or(err, io.EOF)
		case len(line) < maxPassword:
			line = append(line, b[0])
		}
	}
}

// oneLine waits for a line, or for the context to end.
func oneLine(ctx context.Context, read func() (string, error)) (string, error) {
	type answer struct {
		line string
		err  error
	}
	got := make(chan answer, 1)
	go func() { // ends with the line, or with the process
		line, err := read()
		got <- answer{line, err}
	}()
	select {
	case g := <-got:
		return g.line, g.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// asker is passwords for one context, as the vault asks.
type asker struct {
	*passwords
	ctx context.Context //nolint:containedctx // of the one call that it is made for
}

var _ vault.Terminal = asker{}

// Prompt implements vault.Terminal.
func (a asker) Prompt(msg string, secret bool) (string, error) {
	if secret {
		return a.ask(a.ctx, msg)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Fprint(a.p.stdout, msg)
	return a.line(a.ctx)
}

// rest is what is left on standard input.
func (a *passwords) rest() ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return io.ReadAll(io.LimitReader(a.lines, maxPassword))
}

// askPasswords are the passwords of a run, from questions and files. Whoever
// ends the input has said all.
func (j *project) askPasswords(ctx context.Context, l *execute.Login, c connectOptions, b becomeOptions) error {
	cfg := j.config
	var err error
	ask := c.AskPass || cfg.Bool("DEFAULT_ASK_PASS")
	method := "BECOME"
	if !cfg.Bool("AGNOSTIC_BECOME_PROMPT") {
		method = strings.ToUpper(l.BecomeMethod)
	}
	text := method + " password: "
	file := cmp.Or(c.ConnectionPasswordFile, cfg.String("CONNECTION_PASSWORD_FILE"))
	switch {
	case ask:
		text = method + " password[defaults to SSH password]: "
		l.Password, err = j.asking().ask(ctx, "SSH password: ")
	case file != "":
		l.Password, err = j.passwordFile(ctx, file)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	file = cmp.Or(b.BecomePasswordFile, cfg.String("BECOME_PASSWORD_FILE"))
	switch {
	case b.AskBecomePass || cfg.Bool("DEFAULT_BECOME_ASK_PASS"):
		l.BecomePassword, err = j.asking().ask(ctx, text)
		if err == nil && ask && l.BecomePassword == "" {
			l.BecomePassword = l.Password
		}
	case file != "":
		l.BecomePassword, err = j.passwordFile(ctx, file)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// maxPassword bounds a password file.
const maxPassword = 64 << 10

// passwordFile reads a password from a file, from what a program prints, or
// from standard input.
func (j *project) passwordFile(ctx context.Context, path string) (string, error) {
	var secret []byte
	var err error
	if path == "-" {
		if secret, err = j.asking().rest(); err != nil {
			return "", fmt.Errorf("reading the password: %w", err)
		}
	} else {
		path = j.unfrack(path)
		st, err := os.Stat(path)
		switch {
		case err != nil:
			return "", plainError("The password file %s was not found", path)
		case st.Mode()&0o111 != 0:
			if secret, err = j.passwordScript(ctx, path); err != nil {
				return "", err
			}
		default:
			if secret, err = source.Read(ctx.Done(), path, maxPassword); err != nil {
				f := fault.New(fault.Generic, value.Pos{}, "Could not read password file %s.", value.Repr(path))
				f.Cause = errors.New(strings.Replace(pythonError(err, path), ": '", ": b'", 1))
				return "", f
			}
			if len(secret) > maxPassword {
				return "", plainError("The password file %s is too large", path)
			}
			secret = bytes.TrimSpace(secret)
		}
	}
	secret = bytes.Trim(secret, "\r\n")
	if len(secret) == 0 {
		return "", plainError("Empty password was provided from file (%s)", path)
	}
	return string(secret), nil
}

func (j *project) passwordScript(ctx context.Context, path string) ([]byte, error) {
	j.display.Verbose(4, "The password file "+path+" is a script.")
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, path)
	cmd.WaitDelay = time.Second // for what the program started
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = j.stdin, &out, &errs, j.dir
	err := cmd.Run()
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed):
		return nil, plainError("The password script %s returned an error (rc=%d): %s", path, failed.ExitCode(), errs.String())
	case err != nil:
		return nil, plainError("Problem occurred when trying to run the password script %s (%s). If this is not a script, remove the executable bit from the file.",
			path, strings.Replace(pythonError(err, path), ": '", ": b'", 1))
	}
	return out.Bytes(), nil
}

// unfrack is an absolute path without links, as options that name files have
// it.
func (j *project) unfrack(path string) string {
	path = j.absolute(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
