package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"

	"volant/wire/shlex"
)

const (
	maxJumps     = 8
	hurriedTries = 12              // connections that a busy sshd (MaxStartups) closed before it said a word are tried again
	hurriedPause = 2 * time.Second // between the later of them, at most half as much again
)

// Dial connects to the host and logs in, within the connect timeout for each of
// TCP and handshake. Errors are *Error.
func Dial(ctx context.Context, o Options) (*Client, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Shared == nil {
		o.Shared = new(Shared)
	}
	var err error
	for attempt := 0; ; attempt++ {
		var c *Client
		if c, err = dialOnce(ctx, o, 0); err == nil {
			return c, nil
		}
		var e *Error
		if attempt >= o.Retries || ctx.Err() != nil || errors.As(err, &e) && (e.Kind == KindConfig || e.Kind == KindAuth && o.Password != "") {
			return nil, err
		}
		pause := min(time.Duration(1<<min(attempt, 5)-1)*time.Second, 30*time.Second)
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
	}
}

// dialOnce logs in by our own client or by the system's ssh.
func dialOnce(ctx context.Context, o Options, depth int) (*Client, error) {
	if depth > 0 {
		return dialNative(ctx, o, depth)
	}
	if len(o.Command) > 0 {
		return dialPipe(o)
	}
	switch o.SSH {
	case SSHNative:
		return dialNative(ctx, o, depth)
	case SSHOpen:
		return dialOpen(ctx, o)
	}
	why := needsOpen(o, o.Shared)
	if why == "" {
		return dialNative(ctx, o, depth)
	}
	if o.Executable == "" && !openThere() {
		o.Log.Warn("There is no ssh program on this machine; trying without", "host", o.Host, "needed_for", why)
		return dialNative(ctx, o, depth)
	}
	if o.Told != nil {
		o.Told(fmt.Sprintf("<%s> SSH: logging in with the system's ssh, for %s", o.Host, why))
	}
	return dialOpen(ctx, o)
}

// hurriedAfter is the pause behind the try-th hurried connection: it grows, and
// is never the same for two hosts, or jump host and target meet again.
func hurriedAfter(try int) time.Duration {
	pause := min(100*time.Millisecond<<min(try-1, 10), hurriedPause)
	return pause/2 + rand.N(pause)
}

func dialNative(ctx context.Context, o Options, depth int) (*Client, error) {
	s, err := resolve(o, o.Shared)
	if err != nil {
		return nil, viaSSH(KindConfig, err, "%v", err)
	}
	var via *Client
	if len(s.proxyJump) > 0 {
		if via, err = dialJumps(ctx, o, s.proxyJump, depth); err != nil {
			return nil, err
		}
	}
	for try := 1; ; try++ {
		c, hurry, err := login(ctx, o, s, via)
		if err == nil {
			c.via = via
			return c, nil
		}
		if !hurry || try == hurriedTries || ctx.Err() != nil {
			if via != nil {
				via.Close()
			}
			return nil, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(hurriedAfter(try)):
		}
	}
}

// dialJumps reaches the last of the jump hosts, each through the one before.
// Like ssh they are looked up in ssh_config by their own names; options of the
// target do not count for them, but a given configuration file does.
func dialJumps(ctx context.Context, o Options, jumps []string, depth int) (*Client, error) {
	if depth+len(jumps) > maxJumps {
		return nil, viaSSH(KindConfig, nil, "more than %d jump hosts", maxJumps)
	}
	last := jumps[len(jumps)-1]
	user, host, port, err := splitJump(last)
	if err != nil {
		return nil, viaSSH(KindConfig, err, "%v", err)
	}
	hop := Options{Host: host, User: user, Port: port, Timeout: o.Timeout, NoHostKeyCheck: o.NoHostKeyCheck,
		HomeDir: o.HomeDir, LocalUser: o.LocalUser, AuthSock: o.AuthSock, Log: o.Log, Shared: o.Shared}
	var args sshArgs
	for _, text := range []string{o.SSHArgs, o.CommonArgs, o.ExtraArgs} {
		_ = parseArgs(text, &args) // resolve has refused what does not parse
	}
	var words []string
	if args.configFile != "" {
		words = append(words, "-F", shlex.Quote(args.configFile))
	}
	if len(jumps) > 1 {
		words = append(words, "-J", shlex.Quote(strings.Join(jumps[:len(jumps)-1], ",")))
	}
	hop.CommonArgs, hop.Ask = strings.Join(words, " "), o.Ask
	return dialNative(ctx, hop, depth+1)
}

// splitJump reads [user@]host[:port] or an ssh:// URI.
func splitJump(s string) (user, host string, port int, err error) {
	host = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(s), "ssh://"), "/")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		user, host = host[:i], host[i+1:]
	}
	if h, p, serr := net.SplitHostPort(host); serr == nil {
		if port, err = strconv.Atoi(p); err != nil || port < 1 || port > 65535 {
			return "", "", 0, fmt.Errorf("bad port in jump host %q", s)
		}
		host = h
	}
	host = strings.Trim(host, "[]")
	if host == "" {
		return "", "", 0, fmt.Errorf("bad jump host %q", s)
	}
	return user, host, port, nil
}

// login makes one attempt. hurry says that the host closed the connection
// before the SSH handshake began, as a busy sshd does: worth another try.
func login(ctx context.Context, o Options, s *settings, via *Client) (c *Client, hurry bool, err error) {
	check, err := newHostKeyCheck(s, o.Shared)
	if err != nil {
		return nil, false, viaSSH(KindConfig, err, "%v", err)
	}
	conn, err := connect(ctx, s, via)
	if err != nil {
		return nil, false, err
	}
	auth := &authenticator{s: s, ctx: ctx, shared: o.Shared}
	defer auth.close()
	deadline := time.Now().Add(s.timeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	timer := time.AfterFunc(time.Until(deadline), func() { conn.Close() }) // channels of a jump host know no deadlines
	defer timer.Stop()
	if s.ask != nil {
		auth.ask = func(ctx context.Context, prompt string) (string, error) {
			timer.Stop()
			defer timer.Reset(s.timeout)
			ctx, cancel := context.WithTimeout(ctx, askWithin)
			defer cancel()
			return s.ask(ctx, prompt)
		}
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	config := &ssh.ClientConfig{User: s.user, Auth: auth.methods(), HostKeyCallback: check.callback, HostKeyAlgorithms: check.algorithms(),
		ClientVersion: "SSH-2.0-volant"}
	began := &firstByte{Conn: conn}
	sc, channels, requests, err := ssh.NewClientConn(began, check.address(), config)
	if err != nil {
		conn.Close()
		var e *Error
		switch {
		case errors.As(err, &e):
			return nil, false, e
		case ctx.Err() != nil:
			return nil, false, viaSSH(KindConnect, ctx.Err(), "%v", ctx.Err())
		case len(auth.offered) > 0:
			return nil, false, auth.denied(err)
		}
		return nil, began.crowded() && time.Now().Before(deadline), s.handshakeError(err, began.got.Load(), !time.Now().Before(deadline))
	}
	if check.changed {
		o.Log.Warn("The SSH host key is not the known one; accepted because host key checking is off", "address", check.address())
	}
	return &Client{ssh: native{ssh.NewClient(sc, channels, requests)}, s: s, log: o.Log, hostKey: check.seen.Marshal(), verified: check.verified,
		direct: via == nil && s.proxyCommand == ""}, false, nil
}

// connect opens the byte stream to the host's SSH server.
func connect(ctx context.Context, s *settings, via *Client) (net.Conn, error) {
	addr := net.JoinHostPort(s.hostName, strconv.Itoa(s.port))
	if s.proxyCommand != "" {
		return dialCommand(s.proxyCommand)
	}
	tctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	if via != nil {
		hop, ok := via.ssh.(native)
		if !ok {
			return nil, viaSSH(KindConfig, nil, "a jump host that is not reached by our own client")
		}
		conn, err := hop.dial(tctx, addr)
		if err != nil {
			return nil, viaSSH(KindConnect, err, "channel 0: open failed: connect failed: %v\r\nstdio forwarding failed", err)
		}
		return conn, nil
	}
	var local net.Addr
	if ip := net.ParseIP(s.bind); ip != nil {
		local = &net.TCPAddr{IP: ip}
	}
	conn, err := (&net.Dialer{LocalAddr: local}).DialContext(tctx, s.family, addr)
	if err == nil {
		return conn, nil
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		text := "Name or service not known"
		if dns.IsTemporary && !dns.IsNotFound {
			text = "Temporary failure in name resolution"
		}
		return nil, viaSSH(KindResolve, err, "ssh: Could not resolve hostname %s: %s", s.hostName, text)
	}
	kind, text := KindConnect, plain(err)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.ETIMEDOUT) {
		kind, text = KindTimeout, "Connection timed out"
	}
	return nil, viaSSH(kind, err, "ssh: connect to host %s port %d: %s", s.hostName, s.port, text)
}

// handshakeError says what went wrong before the login, as ssh does.
func (s *settings) handshakeError(err error, spoke, late bool) *Error {
	switch {
	case late && !spoke:
		return viaSSH(KindTimeout, err, "Connection timed out during banner exchange\r\nConnection to %s port %d timed out", s.hostName, s.port)
	case late:
		return viaSSH(KindTimeout, err, "Connection to %s port %d timed out", s.hostName, s.port)
	case errors.Is(err, syscall.ECONNRESET):
		return viaSSH(KindConnect, err, "kex_exchange_identification: read: Connection reset by peer\r\nConnection reset by %s port %d", s.hostName, s.port)
	case errors.Is(err, io.EOF) || !spoke:
		return viaSSH(KindConnect, err, "kex_exchange_identification: Connection closed by remote host\r\nConnection closed by %s port %d", s.hostName, s.port)
	case strings.Contains(err.Error(), "version"): // x/crypto has no error value for a banner that is none
		return viaSSH(KindConnect, err, "kex_exchange_identification: banner line contains invalid characters\r\nbanner exchange: Connection to %s port %d: invalid format", s.hostName, s.port)
	}
	return viaSSH(KindConnect, err, "%s port %d: %s", s.hostName, s.port, strings.TrimPrefix(err.Error(), "ssh: handshake failed: ssh: "))
}

// plain is the system's own text of an error, as C programs print it.
func plain(err error) string {
	var no syscall.Errno
	if errors.As(err, &no) {
		t := no.Error()
		return strings.ToUpper(t[:1]) + t[1:]
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "No such file or directory"
	}
	return err.Error()
}
