package bootstrap

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"volant/wire/rx"
	"volant/wire/shlex"
)

// dialOpen logs in with the system's ssh.
//
//	ssh -v OPTIONS HOST :    logs in, says whom it met, leaves a connection in the background
//	ssh OPTIONS HOST COMMAND uses that connection, or makes its own
//	ssh -O exit              ends it
func dialOpen(ctx context.Context, o Options) (*Client, error) {
	s, err := resolveOpen(ctx, o)
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
	program := o.program()
	options, err := openArgs(o, filepath.Join(p.dir, "%C"))
	if err != nil {
		return nil, viaSSH(KindConfig, err, "%v", err)
	}
	p.args = append(append([]string{program}, options...), s.alias)
	p.ending = append(append([]string{program, "-O", "exit"}, options...), s.alias)
	within := 2 * s.timeout
	if o.Ask != nil {
		within += askWithin
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	said, err := p.login(ctx, append(append([]string{program, "-v"}, options...), s.alias, ":"))
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

// login is the first use of ssh: args log in. It returns what ssh said on
// standard error.
func (p *program) login(ctx context.Context, args []string) (string, error) {
	cmd := inSession(ctx, args)
	cmd.Env = p.env
	var said tailBuffer
	out := &bounded{limit: maxChatter, full: sync.OnceFunc(func() { _ = cmd.Cancel() })}
	cmd.Stdout, cmd.Stderr = out, &said
	err := cmd.Run()
	text := said.String()
	switch {
	case out.isOver():
		return "", hostError(KindNoise, nil, "the host printed more than %d bytes", maxChatter)
	case ctx.Err() != nil && err != nil:
		return "", brokenOff(ctx, text)
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return text, nil
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return "", viaSSH(KindConfig, err, "%s: %s", args[0], plain(err))
	}
	if err := sshRefusal(exit.ExitCode(), text); err != nil {
		return "", err
	}
	return text, nil // the login shell is none of ours to judge yet
}

// brokenOff is the failure of an ssh that ended with the context; stderr is
// what it had said.
func brokenOff(ctx context.Context, stderr string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return viaSSH(KindTimeout, ctx.Err(), "%s", plainWords(stderr, "Connection timed out"))
	}
	return ctx.Err()
}

// refusals tell by ssh's words why it gave up; the first that fits counts. A
// changed host key is a warning alone where it is not checked, and a login may
// be refused behind it.
var refusals = []struct {
	kind  Kind
	words []string
}{
	{KindHostKey, []string{"Host key verification failed", "REVOKED HOST KEY"}},
	{KindAuth, []string{"Permission denied (", "Too many authentication failures", "No supported authentication methods"}},
	{KindHostKey, []string{"REMOTE HOST IDENTIFICATION HAS CHANGED"}},
	{KindResolve, []string{"Could not resolve hostname"}},
	{KindTimeout, []string{"timed out"}},
	{KindConfig, []string{"Bad configuration option", "no argument after keyword", "Can't open user config file", "unknown option"}},
}

// sshRefusal is ssh's own failure, which it tells by the status 255.
func sshRefusal(code int, stderr string) error {
	if code != 255 {
		return nil
	}
	text := plainWords(stderr, "ssh ended with status 255")
	for _, r := range refusals {
		if slices.ContainsFunc(r.words, func(w string) bool { return strings.Contains(text, w) }) {
			return viaSSH(r.kind, nil, "%s", text)
		}
	}
	return viaSSH(KindConnect, nil, "%s", text)
}

var debugLine = rx.Lazy(`^(debug[123]: |OpenSSH_|Authenticated to |Transferred: |Bytes per second: )`)

// plainWords is what ssh said without what it says to those who look for faults.
func plainWords(stderr, or string) string {
	var kept []string
	for line := range strings.SplitSeq(strings.ReplaceAll(stderr, "\r\n", "\n"), "\n") {
		if line = strings.TrimRight(line, "\r"); line != "" && !debugLine.MatchString(line) {
			kept = append(kept, line)
		}
	}
	if text := clip(strings.Join(kept, "\r\n"), 4000); text != "" {
		return text
	}
	return or // nothing that can be shown
}

// met is whom ssh met, as it tells with -v.
type met struct {
	hostKey []byte // the fingerprint it names, as it stands there
	known   bool
	address string // IP address
}

var (
	metKey  = rx.Lazy(`(?m)^debug1: Server host (?:key|certificate): (\S+ SHA256:[A-Za-z0-9+/]+)`)
	metHost = rx.Lazy(`(?m)^(?:debug1: )?Authenticated to \S+ \(\[([^\]]+)\]:\d+\)`)
	metYes  = rx.Lazy(`(?m)^debug1: Host '[^']*' is known and matches the \S+ host (?:key|certificate)`)
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

// program is the ssh to run.
func (o Options) program() string { return cmp.Or(o.Executable, "ssh") }

// resolveOpen asks ssh itself how it would reach the host.
func resolveOpen(ctx context.Context, o Options) (*settings, error) {
	options, err := openArgs(o, "")
	if err != nil {
		return nil, viaSSH(KindConfig, err, "%v", err)
	}
	s := &settings{alias: o.Host, hostName: o.Host, user: cmp.Or(o.User, o.LocalUser), port: cmp.Or(o.Port, 22), timeout: o.Timeout, password: o.Password}
	if s.timeout <= 0 {
		s.timeout = 10 * time.Second
	}
	var out, stderr bytes.Buffer
	ctx, cancel := context.WithTimeout(ctx, s.timeout) // a Match exec may hang
	defer cancel()
	cmd := inSession(ctx, append(append([]string{o.program(), "-G"}, options...), o.Host))
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, brokenOff(ctx, stderr.String())
		}
		if errors.Is(err, exec.ErrNotFound) {
			return nil, viaSSH(KindConfig, err, "%s: No such file or directory", o.program())
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
	args, err := shlex.Split(o.SSHArgs)
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
		add("IdentityFile", `"`+o.fromHome(o.PrivateKeyFile)+`"`)
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
		words, err := shlex.Split(more[1])
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
