package bootstrap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
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
	s := &settings{alias: o.Host, hostName: o.Host, user: o.User, timeout: o.Timeout}
	if s.user == "" {
		s.user = "the user"
	}
	return &Client{ssh: &program{args: o.Command, env: os.Environ()}, s: s, log: o.Log, verified: true}, nil
}

// dialOpen logs in with the system's ssh.
//
//	ssh -v OPTIONS HOST :    logs in, says whom it met, leaves a connection in the background
//	ssh OPTIONS HOST COMMAND uses that connection, or makes its own
//	ssh -O exit              ends it
func dialOpen(ctx context.Context, o Options) (*Client, error) {
	s, err := resolveOpen(o)
	if err != nil {
		return nil, err
	}
	p := &program{env: os.Environ(), refusal: sshRefusal}
	if p.dir, err = os.MkdirTemp("", "volant-ssh-"); err != nil {
		return nil, viaSSH(KindConfig, err, "%v", err)
	}
	ready := false
	defer func() {
		if !ready {
			_ = p.Close()
		}
	}()
	if o.Askpass != "" {
		if p.secrets, err = newSecrets(o, filepath.Join(p.dir, "ask")); err != nil {
			return nil, viaSSH(KindConfig, err, "%v", err)
		}
		p.env = p.secrets.environ(p.env, o.Askpass)
	}
	program := o.Executable
	if program == "" {
		program = "ssh"
	}
	options, err := openArgs(o, filepath.Join(p.dir, "%C"))
	if err != nil {
		return nil, viaSSH(KindConfig, err, "%v", err)
	}
	p.args = append(append([]string{program}, options...), s.alias)
	p.ending = append(append([]string{program, "-O", "exit"}, options...), s.alias)
	first := &program1{p: p, args: append(append([]string{program, "-v"}, options...), s.alias, ":")}
	ctx, cancel := context.WithTimeout(ctx, 2*s.timeout+askWithin*btoi(o.Ask != nil))
	defer cancel()
	said, err := first.run(ctx)
	if err != nil {
		return nil, err
	}
	met := parseMet(said)
	if met.address != "" {
		p.address = met.address
	}
	c := &Client{ssh: p, s: s, log: o.Log, hostKey: met.hostKey, verified: met.known, direct: met.address != "" && len(s.proxyJump) == 0 && s.proxyCommand == ""}
	ready = true
	return c, nil
}

func btoi(b bool) time.Duration {
	if b {
		return 1
	}
	return 0
}

// program1 is the first use of a program: it logs in.
type program1 struct {
	p    *program
	args []string
}

// run returns what the program said on standard error.
func (f *program1) run(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, f.args[0], f.args[1:]...)
	cmd.Env = f.p.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = lateOutput
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	var said tailBuffer
	out := &bounded{limit: maxChatter, full: sync.OnceFunc(func() { _ = cmd.Cancel() })}
	cmd.Stdout, cmd.Stderr = out, &said
	err := cmd.Run()
	text := said.String()
	switch {
	case out.isOver():
		return "", hostError(KindNoise, nil, "the host printed more than %d bytes", maxChatter)
	case ctx.Err() != nil && err != nil:
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return "", viaSSH(KindTimeout, ctx.Err(), "%s", plainWords(text, "Connection timed out"))
		}
		return "", ctx.Err()
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return text, nil
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return "", viaSSH(KindConfig, err, "%s: %s", f.args[0], plain(err))
	}
	if err := sshRefusal(exit.ExitCode(), text); err != nil {
		return "", err
	}
	return text, nil // the login shell is none of ours to judge yet
}

// sshRefusal is ssh's own failure, which it tells by the status 255.
func sshRefusal(code int, stderr string) error {
	if code != 255 {
		return nil
	}
	text := plainWords(stderr, "ssh ended with status 255")
	kind := KindConnect
	for k, words := range map[Kind][]string{
		KindHostKey: {"Host key verification failed", "REMOTE HOST IDENTIFICATION HAS CHANGED", "REVOKED HOST KEY"},
		KindAuth:    {"Permission denied (", "Too many authentication failures", "No supported authentication methods"},
		KindResolve: {"Could not resolve hostname"},
		KindTimeout: {"timed out"},
		KindConfig:  {"Bad configuration option", "no argument after keyword", "Can't open user config file", "unknown option"},
	} {
		for _, w := range words {
			if strings.Contains(text, w) {
				kind = k
			}
		}
	}
	return viaSSH(kind, nil, "%s", text)
}

var debugLine = regexp.MustCompile(`^(debug[123]: |OpenSSH_|Authenticated to |Transferred: |Bytes per second: )`)

// plainWords is what ssh said without what it says to those who look for faults.
func plainWords(stderr, or string) string {
	var kept []string
	for line := range strings.SplitSeq(strings.ReplaceAll(stderr, "\r\n", "\n"), "\n") {
		if line = strings.TrimRight(line, "\r"); line != "" && !debugLine.MatchString(line) {
			kept = append(kept, line)
		}
	}
	if len(kept) == 0 {
		return or
	}
	return clip(strings.Join(kept, "\r\n"), 4000)
}

// met is whom ssh met, as it tells with -v.
type met struct {
	hostKey []byte // the fingerprint it names, as it stands there
	known   bool
	address string // IP address
}

var (
	metKey  = regexp.MustCompile(`(?m)^debug1: Server host (?:key|certificate): (\S+ SHA256:[A-Za-z0-9+/]+)`)
	metHost = regexp.MustCompile(`(?m)^(?:debug1: )?Authenticated to \S+ \(\[([^\]]+)\]:\d+\)`)
	metYes  = regexp.MustCompile(`(?m)^debug1: Host '[^']*' is known and matches the \S+ host (?:key|certificate)`)
)

func parseMet(said string) met {
	said = strings.ReplaceAll(said, "\r", "")
	var m met
	// Behind a jump host the last is the target's.
	if all := metKey.FindAllStringSubmatch(said, 8); len(all) > 0 {
		m.hostKey = []byte(all[len(all)-1][1])
	}
	if all := metHost.FindAllStringSubmatch(said, 8); len(all) > 0 {
		m.address = all[len(all)-1][1]
	}
	m.known = metYes.MatchString(said)
	return m
}

// resolveOpen asks ssh itself how it would reach the host.
func resolveOpen(o Options) (*settings, error) {
	program := o.Executable
	if program == "" {
		program = "ssh"
	}
	options, err := openArgs(o, "")
	if err != nil {
		return nil, viaSSH(KindConfig, err, "%v", err)
	}
	s := &settings{alias: o.Host, hostName: o.Host, user: o.User, port: o.Port, timeout: o.Timeout, password: o.Password}
	if s.user == "" {
		s.user = o.LocalUser
	}
	if s.timeout <= 0 {
		s.timeout = 10 * time.Second
	}
	if s.port == 0 {
		s.port = 22
	}
	var out, stderr bytes.Buffer
	cmd := exec.Command(program, append(append([]string{"-G"}, options...), o.Host)...)
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, viaSSH(KindConfig, err, "%s: No such file or directory", program)
		}
		if strings.Contains(stderr.String(), "onfiguration option") || strings.Contains(stderr.String(), "config file") {
			return nil, viaSSH(KindConfig, err, "%s", plainWords(stderr.String(), err.Error()))
		}
		return s, nil // a program that is like ssh, but does not tell
	}
	for line := range strings.Lines(out.String()) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch k {
		case "user":
			s.user = v
		case "hostname":
			s.hostName = v
		case "port":
			_, _ = fmt.Sscan(v, &s.port)
		case "proxyjump":
			s.proxyJump = []string{v}
		case "proxycommand":
			s.proxyCommand = v
		}
	}
	return s, nil
}

// openArgs are the options of ssh as the reference would put them; the first
// value of an option wins. control is where the shared connection's socket
// lies, "" for none.
func openArgs(o Options, control string) ([]string, error) {
	args, err := splitWords(o.SSHArgs)
	if err != nil {
		return nil, fmt.Errorf("ansible_ssh_args: %w", err)
	}
	add := func(k, v string) { args = append(args, "-o", k+"="+v) }
	if o.PKCS11Provider != "" {
		add("PKCS11Provider", o.PKCS11Provider)
	}
	if o.NoHostKeyCheck {
		add("StrictHostKeyChecking", "no")
	}
	if o.Port != 0 {
		add("Port", fmt.Sprint(o.Port))
	}
	if o.PrivateKeyFile != "" {
		file := o.PrivateKeyFile
		if strings.HasPrefix(file, "~/") {
			file = o.HomeDir + file[1:]
		}
		add("IdentityFile", `"`+file+`"`)
	}
	if o.Password == "" && o.PKCS11Provider == "" {
		add("KbdInteractiveAuthentication", "no")
		add("PreferredAuthentications", "gssapi-with-mic,gssapi-keyex,hostbased,publickey")
		add("PasswordAuthentication", "no")
	}
	if o.User != "" {
		add("User", `"`+o.User+`"`)
	}
	timeout := 10
	if o.Timeout > 0 {
		timeout = max(1, int(o.Timeout/time.Second))
	}
	add("ConnectTimeout", fmt.Sprint(timeout))
	for _, more := range [][2]string{{"ansible_ssh_common_args", o.CommonArgs}, {"ansible_ssh_extra_args", o.ExtraArgs}} {
		words, err := splitWords(more[1])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", more[0], err)
		}
		args = append(args, words...)
	}
	if control != "" {
		add("ControlPath", control)
		add("ControlMaster", "auto")
		add("ControlPersist", "60")
	}
	return append(args, "-T"), nil
}
