package become

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	defaultTimeout = 12 * time.Second // the reference's 10 s and 2 more
	localTimeout   = 10 * time.Second // the same of its connection "local"
	maxPreamble    = 64 << 10         // what may come before the mark
	keptStderr     = 8 << 10
	exitGrace      = time.Second // from closed stdin to TERM, and from that to KILL
)

// Start starts a worker as p says; it is a Starter. The become command runs
// through /bin/sh in a session of its own, with the password, when it asks for
// one, written to its standard input (or the terminal it reads from).
//
//	starting --mark--> running
//	starting --prompt--> answered --mark--> running
//	starting, answered --wrong, missing, prompt again, exit, timeout--> failed
func Start(ctx context.Context, cfg Config, p Params) (Worker, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	binary, err := reachable(cfg, p)
	if err != nil {
		cfg.Log.Debug("No place for a copy that others can run; sending it", "error", err)
		public := err
		if binary, err = stream(ctx, cfg, p); err != nil {
			var e *Error
			if errors.As(err, &e) || ctx.Err() != nil {
				return nil, err
			}
			return nil, &Error{Msg: fmt.Sprintf("The agent's program cannot be made available to %s: %v; %v", userOf(p), public, err)}
		}
	}
	args := cfg.Args
	if args == nil {
		args = []string{"worker"}
	}
	pl, err := newPlan(p, append([]string{binary}, args...))
	if err != nil {
		return nil, err
	}
	if cfg.Local {
		pl.fail, pl.missing = nil, nil
	}
	w, err := start(ctx, cfg, p, pl)
	var e *Error
	if errors.As(err, &e) && (e.Exited || cfg.Local) && !pl.tty && wantsTerminal(ctx, cfg, p, pl, e) {
		pl.tty, pl.either = true, true
		w, err = start(ctx, cfg, p, pl)
	}
	if errors.As(err, &e) && e.Exited && !cfg.Local && p.Password == "" && !plain(cfg.Env) {
		return nil, inEnglish(ctx, cfg, p, pl, e)
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

// wantsTerminal tells whether sudo refused for want of one (requiretty), which
// it says in the language of the environment.
func wantsTerminal(ctx context.Context, cfg Config, p Params, pl *plan, e *Error) bool {
	const words = "you must have a tty"
	if strings.Contains(e.Stderr, words) {
		return true
	}
	if pl.method != "sudo" || plain(cfg.Env) {
		return false
	}
	err := again(ctx, cfg, p, pl)
	return errors.As(err, &e) && strings.Contains(e.Stderr, words)
}

// again asks once more, for an answer in English; nil where it was a passing
// trouble, which the next task will see.
func again(ctx context.Context, cfg Config, p Params, pl *plan) error {
	cfg.Env = append(slices.Clone(cfg.Env), "LC_ALL=C", "LANGUAGE=C")
	w, err := start(ctx, cfg, p, pl)
	if err == nil {
		_ = w.Close()
	}
	return err
}

// plain tells whether programs speak English in this environment.
func plain(env []string) bool {
	for _, kv := range env {
		name, v, _ := strings.Cut(kv, "=")
		if (name == "LANG" || name == "LANGUAGE" || strings.HasPrefix(name, "LC_")) && v != "" && v != "C" && v != "POSIX" && !strings.HasPrefix(v, "en") && !strings.HasPrefix(v, "C.") {
			return false
		}
	}
	return true
}

// inEnglish asks once more why there is no way to become the user without a
// password, in words that can be recognized. It returns what e is then.
func inEnglish(ctx context.Context, cfg Config, p Params, pl *plan, e *Error) error {
	var said *Error
	if errors.As(again(ctx, cfg, p, pl), &said) && !said.Exited && !said.Timeout {
		return said
	}
	return e
}

// timeout is how long a method may take to ask or to succeed.
func (p Params) timeout(cfg Config) time.Duration {
	for _, t := range []time.Duration{p.Timeout, cfg.Timeout} {
		if t > 0 {
			return t
		}
	}
	if cfg.Local {
		return localTimeout
	}
	return defaultTimeout
}

func userOf(p Params) string {
	if p.User == "" {
		return "root"
	}
	return p.User
}

// process is a started become command; it becomes the Worker.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	raw    io.Closer // below stdout
	stderr tail
	done   chan struct{} // closed when the command has ended
	said   chan struct{} // closed when standard error is at its end
	once   sync.Once
	tty    *terminal // nil for none
}

// sign is what the outputs tell while the privilege is not there yet.
type sign int

// The signs.
const (
	sawMark sign = iota + 1
	sawPrompt
	sawTerminalPrompt
	sawWrong
	sawMissing
	sawEnd // of standard output
)

func start(ctx context.Context, cfg Config, p Params, pl *plan) (*process, error) {
	w, stderr, err := launch(cfg, pl)
	if err != nil {
		return nil, &Error{Msg: fmt.Sprintf("Starting %s: %v", pl.method, err)}
	}
	// Signs come from up to three readers; each stops at the mark or at its end of file.
	signs := make(chan sign, 64)
	tell := func(s sign) {
		select {
		case signs <- s:
		default: // a host that floods us with prompts needs no more of them
		}
	}
	w.stderr.watch = &watcher{plan: pl, tell: tell}
	go w.reap()
	go func() { // ends when nobody has the command's standard error any more
		_, _ = io.Copy(&w.stderr, stderr)
		stderr.Close()
		close(w.said)
	}()
	var preamble bytes.Buffer
	read := make(chan struct{})
	go func() { // ends at the mark or with standard output; the caller reads on from there
		defer close(read)
		tell(w.readToMark(pl, &preamble, tell))
	}()
	if w.tty != nil {
		go func() { // ends when the last process has closed the terminal
			_, _ = io.Copy(&watcher{plan: pl, tell: func(s sign) {
				if s == sawPrompt {
					s = sawTerminalPrompt
				}
				tell(s)
			}}, w.tty.outer)
		}()
	}
	timeout := p.timeout(cfg)
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	answered := false
	fail := func(e *Error) (*process, error) {
		w.kill()
		<-read
		e.Stdout, e.Stderr = preamble.String(), w.Stderr()
		if cfg.Local {
			e.Msg = localText("Duplicate become password prompt encountered", pl, answered, e)
		}
		return nil, e
	}
	timedOut := func() (*process, error) {
		w.kill()
		<-read
		if cfg.Local {
			e := &Error{Timeout: true, Stdout: preamble.String(), Stderr: w.Stderr()}
			e.Msg = localText("Timed out", pl, answered, e)
			return nil, e
		}
		msg := fmt.Sprintf("Timeout (%ds) waiting for privilege escalation prompt: %s", int(timeout/time.Second), preamble.String())
		return nil, &Error{Msg: strings.TrimRight(msg, " \r\n"), Timeout: true, Stderr: w.Stderr()}
	}
	for {
		select {
		case <-ctx.Done():
			w.kill()
			<-read
			return nil, ctx.Err()
		case <-timer.C:
			return timedOut()
		case s := <-signs:
			switch s {
			case sawMark:
				w.stderr.stopWatching()
				cfg.Log.Debug("Became another user", "method", pl.method, "user", userOf(p), "pid", w.PID())
				return w, nil
			case sawPrompt, sawTerminalPrompt:
				switch {
				case answered:
					return fail(&Error{Msg: "Incorrect " + pl.method + " password"})
				case p.Password == "":
					return timedOut() // it asks and there is no answer: nothing else will come
				}
				answered = true
				if err := w.answer(p.Password, w.tty != nil && (s == sawTerminalPrompt || !pl.either)); err != nil {
					cfg.Log.Debug("Answering the prompt", "error", err) // the end of the command tells more
				}
				timer.Reset(timeout)
			case sawWrong:
				return fail(&Error{Msg: "Incorrect " + pl.method + " password"})
			case sawMissing:
				return fail(&Error{Msg: "Missing " + pl.method + " password"})
			case sawEnd:
				w, err := w.ended(pl, &preamble, signs)
				if e := (*Error)(nil); cfg.Local && errors.As(err, &e) {
					e.Exited, e.Msg = false, localText("Premature end of stream", pl, answered, e)
				}
				return w, err
			}
		}
	}
}

// localText says what the connection "local" of the reference says: it takes
// no word of a method's for a refusal.
func localText(reason string, pl *plan, answered bool, e *Error) string {
	msg := reason + " waiting for become success"
	if pl.password && !answered {
		msg += " or become password prompt"
	}
	msg += "."
	if e.Stdout != "" {
		msg += "\n>>> Standard Output\n" + e.Stdout
	}
	if e.Stderr != "" {
		msg += "\n>>> Standard Error\n" + e.Stderr
	}
	return msg
}

// closed is a clock that has run out.
var closed = func() <-chan time.Time { c := make(chan time.Time); close(c); return c }()

// ended explains a command that ended without the mark.
func (w *process) ended(pl *plan, preamble *bytes.Buffer, signs <-chan sign) (*process, error) {
	code := -1
	late := time.After(exitGrace) // it may have closed its output and run on, out of our reach
	for _, end := range []<-chan struct{}{w.done, w.said} {
		select {
		case <-end:
		case <-late:
			late = closed
		}
	}
	w.kill()
	select {
	case <-w.done:
		code = w.cmd.ProcessState.ExitCode()
	default:
	}
	e := &Error{Exited: true, Code: code, Stdout: preamble.String(), Stderr: w.Stderr()}
	for {
		select {
		case s := <-signs: // standard error may have been read later than standard output
			switch s {
			case sawWrong:
				return nil, &Error{Msg: "Incorrect " + pl.method + " password", Stderr: e.Stderr}
			case sawMissing:
				return nil, &Error{Msg: "Missing " + pl.method + " password", Stderr: e.Stderr}
			}
			continue
		default:
		}
		break
	}
	said := strings.TrimSpace(e.Stderr)
	if said == "" {
		said = strings.TrimSpace(e.Stdout)
	}
	e.Msg = fmt.Sprintf("%s ended with status %d before the task could begin", pl.method, e.Code)
	if said != "" {
		e.Msg += ": " + said
	}
	return nil, e
}

// launch starts the become command with pipes, and a terminal where the method reads from one.
func launch(cfg Config, pl *plan) (*process, io.ReadCloser, error) {
	cmd := exec.Command("/bin/sh", "-c", pl.line)
	cmd.Env = cfg.Env
	cmd.Dir = "/"
	for _, kv := range cfg.Env {
		if home, ok := strings.CutPrefix(kv, "HOME="); ok && home != "" {
			if st, err := os.Stat(home); err == nil && st.IsDir() {
				cmd.Dir = home
			}
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	w := &process{cmd: cmd, done: make(chan struct{}), said: make(chan struct{})}
	if pl.tty {
		t, err := openTerminal()
		if err != nil {
			return nil, nil, err
		}
		w.tty = t
		cmd.ExtraFiles = []*os.File{t.inner}
		cmd.SysProcAttr.Setctty, cmd.SysProcAttr.Ctty = true, 3
	}
	inR, inW, err1 := os.Pipe()
	outR, outW, err2 := os.Pipe()
	errR, errW, err3 := os.Pipe()
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
	err := cmd.Start()
	inR.Close()
	outW.Close()
	errW.Close()
	if w.tty != nil {
		w.tty.inner.Close()
	}
	if err != nil {
		inW.Close()
		outR.Close()
		errR.Close()
		return nil, nil, err
	}
	w.stdin, w.raw, w.stdout = inW, outR, bufio.NewReaderSize(outR, 64<<10)
	return w, errR, nil
}

// readToMark reads standard output up to the line with the mark, and leaves all behind it unread.
func (w *process) readToMark(pl *plan, preamble *bytes.Buffer, tell func(sign)) sign {
	watch := &watcher{plan: pl, tell: tell}
	line := 0 // where the current line begins
	for preamble.Len() < maxPreamble {
		b, err := w.stdout.ReadByte()
		if err != nil {
			return sawEnd
		}
		preamble.WriteByte(b)
		if b == '\n' {
			if bytes.Contains(preamble.Bytes()[line:], []byte(pl.mark)) {
				preamble.Truncate(line)
				return sawMark
			}
			line = preamble.Len()
		}
		if b == '\n' || w.stdout.Buffered() == 0 {
			watch.look(preamble.Bytes()[watch.seen:])
			watch.seen = line
		}
	}
	return sawEnd
}

func (w *process) answer(password string, terminal bool) error {
	to := io.Writer(w.stdin)
	if terminal {
		to = w.tty.outer
	}
	_, err := io.WriteString(to, password+"\n")
	return err
}
