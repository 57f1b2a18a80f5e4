package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// program is a command of this machine that runs commands on the host: the
// system's ssh, or whatever else has a standard input and output there.
type program struct {
	args    []string // of the program itself; the command for the host follows
	env     []string
	ending  []string // a command to run at the end; nil for none
	dir     string   // of the control socket and of secrets' socket; removed at the end
	secrets *secrets // answers what ssh asks; nil for none
	// refusal says that a status is the program's own failure, not the command's.
	refusal func(code int, stderr string) error
	address string

	mu     sync.Mutex // guards what follows
	closed bool
	live   map[*programChannel]bool
}

func (p *program) host() string { return p.address }

func (p *program) open() (channel, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errors.New("the connection is closed")
	}
	c := &programChannel{p: p}
	if p.live == nil {
		p.live = map[*programChannel]bool{}
	}
	p.live[c] = true
	return c, nil
}

// Close ends every command, and the connection that they shared.
func (p *program) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	live := make([]*programChannel, 0, len(p.live))
	for c := range p.live {
		live = append(live, c)
	}
	p.mu.Unlock()
	for _, c := range live {
		_ = c.Close()
	}
	if p.secrets != nil {
		p.secrets.close()
	}
	if p.ending != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = exec.CommandContext(ctx, p.ending[0], p.ending[1:]...).Run()
	}
	if p.dir != "" {
		_ = os.RemoveAll(p.dir)
	}
	return nil
}

// programChannel is one command on the host: one process here.
type programChannel struct {
	p    *program
	mu   sync.Mutex // guards what follows
	cmd  *exec.Cmd
	done bool
}

// lateOutput is how long the program's output may stay open behind its end: a
// connection that lives on in the background can hold it.
const lateOutput = 300 * time.Millisecond

// inSession is a process that ends with the context, and what it started with
// it. It is a session of its own, as those of prepare.
func inSession(ctx context.Context, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = lateOutput
	return cmd
}

// prepare makes the process. It is a session of its own: what it asks, it asks
// through us, never on a terminal.
func (c *programChannel) prepare(command string) *exec.Cmd {
	args := c.p.args
	if command != "" {
		args = append(args[:len(args):len(args)], command)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = c.p.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = lateOutput
	return cmd
}

func (c *programChannel) begin(cmd *exec.Cmd) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done {
		return errors.New("closed")
	}
	if err := cmd.Start(); err != nil {
		return viaSSH(KindConnect, err, "%s: %v", cmd.Args[0], plain(err))
	}
	c.cmd = cmd
	return nil
}

func (c *programChannel) run(command string, stdin io.Reader, stdout, stderr io.Writer) error {
	cmd := c.prepare(command)
	var said tailBuffer
	// The command may end well before it has read all of its input: what feeds
	// it must not hold us up, so the pipe is ours and closed with the process.
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = stdout, io.MultiWriter(stderr, &said)
	if err := c.begin(cmd); err != nil {
		return err
	}
	go func() { // ends when the process has read it all, or is gone
		if stdin != nil {
			_, _ = io.Copy(in, stdin)
		}
		in.Close()
	}()
	err = cmd.Wait()
	c.end()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	return c.p.judge(err, said.String())
}

func (c *programChannel) start(command string, stderr io.Writer) (io.WriteCloser, io.Reader, error) {
	cmd := c.prepare(command)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	cmd.Stdout, cmd.Stderr = w, stderr
	err = c.begin(cmd)
	w.Close()
	if err != nil {
		out.Close()
		return nil, nil, err
	}
	go func() { // ends with the process
		_ = cmd.Wait()
		c.end()
	}()
	return in, out, nil
}

func (c *programChannel) end() {
	c.mu.Lock()
	c.done, c.cmd = true, nil
	c.mu.Unlock()
	c.p.mu.Lock()
	delete(c.p.live, c)
	c.p.mu.Unlock()
}

// Close ends the process and what it started.
func (c *programChannel) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = true
	if c.cmd != nil && c.cmd.Process != nil {
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGTERM)
	}
	return nil
}

// judge tells a command's failure from the program's own.
func (p *program) judge(err error, stderr string) error {
	if err == nil {
		return nil
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	code := exit.ExitCode()
	if code < 0 {
		return errors.New("the program that connects was ended")
	}
	if p.refusal != nil {
		if err := p.refusal(code, stderr); err != nil {
			return err
		}
	}
	return &exitError{code}
}

// tailBuffer keeps the last bytes that were written.
type tailBuffer struct {
	mu sync.Mutex
	b  []byte
}

func (t *tailBuffer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if n := len(t.b) - 32<<10; n > 0 {
		t.b = append(t.b[:0], t.b[n:]...)
	}
	return len(p), nil
}

func (t *tailBuffer) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}

// dialPipe makes a connection of a program that runs commands at the target:
// of a container engine, chroot, or anything like it. Whether that works is
// seen with the first command.
func dialPipe(o Options) (*Client, error) {
	if _, err := exec.LookPath(o.Command[0]); err != nil {
		return nil, hostError(KindConfig, err, "%s: %s", o.Command[0], "No such file or directory")
	}
	s := &settings{alias: o.Host, hostName: o.Host, user: cmp.Or(o.User, "the user"), timeout: o.Timeout}
	return &Client{ssh: &program{args: o.Command, env: os.Environ()}, s: s, log: o.Log, verified: true}, nil
}
