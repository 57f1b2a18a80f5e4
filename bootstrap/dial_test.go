package bootstrap

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/sys/unix"
)

const prefix = "Failed to connect to the host via ssh: "

// refused dials and returns the error there must be.
func refused(t *testing.T, o Options) *Error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, err := Dial(ctx, o)
	if err == nil {
		c.Close()
		t.Fatal("connected")
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error is %T: %v", err, err)
	}
	return e
}

func TestHostKeys(t *testing.T) {
	l := newLab(t, "process", 2)
	o := l.options("h1")
	name := fmt.Sprintf("[127.0.0.1]:%d", o.Port)
	other, err := os.ReadFile(l.path("hosts/h2/host_key.pub"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "known_hosts")
	args := func(content, strict string) string {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		s := "-F none -o IdentitiesOnly=yes -o UserKnownHostsFile=" + file + " -o GlobalKnownHostsFile=none"
		if strict != "" {
			s += " -o StrictHostKeyChecking=" + strict
		}
		return s
	}
	changed := name + " " + string(other)
	t.Run("unknown, strict", func(t *testing.T) {
		o.CommonArgs = args("", "yes")
		e := refused(t, o)
		want := prefix + "No ED25519 host key is known for " + name + " and you have requested strict checking.\r\nHost key verification failed."
		if e.Kind != KindHostKey || e.Msg != want {
			t.Errorf("%s: %s", e.Kind, cmp.Diff(want, e.Msg))
		}
	})
	t.Run("unknown, as it comes", func(t *testing.T) {
		o.CommonArgs = args("# nothing\nthis is no known_hosts line\n", "")
		if e := refused(t, o); e.Kind != KindHostKey || e.Msg != prefix+"Host key verification failed." {
			t.Errorf("%s: %q", e.Kind, e.Msg)
		}
	})
	t.Run("changed", func(t *testing.T) {
		for _, strict := range []string{"", "yes", "accept-new"} {
			o.CommonArgs = args(changed, strict)
			e := refused(t, o)
			if e.Kind != KindHostKey || !strings.Contains(e.Msg, "REMOTE HOST IDENTIFICATION HAS CHANGED!") ||
				!strings.Contains(e.Msg, "Offending ED25519 key in "+file+":1") || !strings.HasSuffix(e.Msg, "Host key verification failed.") {
				t.Errorf("%s: %s", strict, e.Msg)
			}
		}
	})
	t.Run("accepted and noted", func(t *testing.T) {
		o.CommonArgs = args("", "accept-new")
		if c := dial(t, o); c.verified {
			t.Error("a new key counts as verified")
		}
		o.CommonArgs = strings.Replace(o.CommonArgs, "accept-new", "yes", 1)
		if c := dial(t, o); !c.verified {
			t.Error("the noted key is not known")
		}
	})
	t.Run("checking off", func(t *testing.T) {
		o.CommonArgs, o.NoHostKeyCheck = args(changed, ""), true
		if c := dial(t, o); c.verified {
			t.Error("a changed key counts as verified")
		}
		if b, _ := os.ReadFile(file); string(b) != changed {
			t.Errorf("a changed key was noted: %s", b)
		}
		o.NoHostKeyCheck = false
	})
}

func TestKeys(t *testing.T) {
	l := newLab(t, "process", 1)
	o := l.options("h1")
	dir := t.TempDir()
	stranger := filepath.Join(dir, "stranger")
	writeKey(t, stranger, "")
	locked := filepath.Join(dir, "locked")
	writeKey(t, locked, "secret")
	open := filepath.Join(dir, "open")
	writeKey(t, open, "")
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	denied := "deploy@127.0.0.1: Permission denied (publickey)."
	for name, tc := range map[string]struct{ file, want string }{
		"not authorised": {stranger, prefix + denied},
		"absent":         {filepath.Join(dir, "none"), prefix + "no such identity: " + filepath.Join(dir, "none") + ": No such file or directory\r\n" + denied},
		"encrypted":      {locked, prefix + "The key " + locked + " needs a passphrase: add it to ssh-agent with ssh-add, it cannot be asked for here.\r\n" + denied},
		"too open":       {open, prefix + "Permissions 0644 for '" + open + "' are too open.\r\nIt is required that your private key files are NOT accessible by others.\r\nThis private key will be ignored.\r\nLoad key \"" + open + "\": bad permissions\r\n" + denied},
	} {
		t.Run(name, func(t *testing.T) {
			o := o
			o.PrivateKeyFile = tc.file
			if e := refused(t, o); e.Kind != KindAuth || e.Msg != tc.want {
				t.Errorf("%s: %s", e.Kind, cmp.Diff(tc.want, e.Msg))
			}
		})
	}
	t.Run("ssh-agent", func(t *testing.T) {
		b, err := os.ReadFile(o.PrivateKeyFile)
		if err != nil {
			t.Fatal(err)
		}
		key, err := ssh.ParseRawPrivateKey(b)
		if err != nil {
			t.Fatal(err)
		}
		ring := agent.NewKeyring()
		if err := ring.Add(agent.AddedKey{PrivateKey: key}); err != nil {
			t.Fatal(err)
		}
		sock := filepath.Join(dir, "agent.sock")
		ln, err := net.Listen("unix", sock)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ln.Close() })
		go func() { // ends with the listener
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				go func() { _ = agent.ServeAgent(ring, c); c.Close() }()
			}
		}()
		o := o
		o.AuthSock, o.PrivateKeyFile = sock, ""
		o.CommonArgs = strings.Replace(o.CommonArgs, "-o IdentitiesOnly=yes", "", 1)
		dial(t, o)
		o.CommonArgs += " -o IdentitiesOnly=yes"
		refused(t, o)
		o.PrivateKeyFile = l.path("keys", "id.pub") // names the key the agent holds
		dial(t, o)
	})
}

func writeKey(t *testing.T, file, passphrase string) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
}

// taken is a TCP port at which nobody listens and that nobody else can have.
func taken(t *testing.T) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return at.(*unix.SockaddrInet4).Port
}

func TestNoServer(t *testing.T) {
	listen := func(serve func(net.Conn)) int {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ln.Close() })
		go func() { // ends with the listener
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				go serve(c)
			}
		}()
		return ln.Addr().(*net.TCPAddr).Port
	}
	closed := listen(func(c net.Conn) { c.Close() })
	garbage := listen(func(c net.Conn) { fmt.Fprintf(c, "hello\x00 world\r\n"); time.Sleep(100 * time.Millisecond); c.Close() })
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	silent := listen(func(c net.Conn) { <-over; c.Close() })
	none := taken(t)
	for name, tc := range map[string]struct {
		host string
		port int
		kind Kind
		want string
	}{
		"refused": {"127.0.0.1", none, KindConnect, fmt.Sprintf("ssh: connect to host 127.0.0.1 port %d: Connection refused", none)},
		"no name": {"nosuch.invalid", 22, KindResolve, "ssh: Could not resolve hostname nosuch.invalid: "},
		"closed":  {"127.0.0.1", closed, KindConnect, "kex_exchange_identification: "},
		"garbage": {"127.0.0.1", garbage, KindConnect, "kex_exchange_identification: "},
		"silent":  {"127.0.0.1", silent, KindTimeout, fmt.Sprintf("Connection timed out during banner exchange\r\nConnection to 127.0.0.1 port %d timed out", silent)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			patience := time.Minute
			if tc.kind == KindTimeout {
				patience = 1500 * time.Millisecond
			}
			e := refused(t, Options{Host: tc.host, Port: tc.port, User: "u", CommonArgs: "-F none", Timeout: patience, HomeDir: t.TempDir()})
			if e.Kind != tc.kind || !strings.HasPrefix(e.Msg, prefix+tc.want) {
				t.Errorf("%s: %q", e.Kind, e.Msg)
			}
		})
	}
}

// TestCrowded: a server that has no place, in the words of old and new OpenSSH,
// is asked again.
func TestCrowded(t *testing.T) {
	for name, words := range map[string]string{"silent": "", "new": "Exceeded MaxStartups\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			var tries atomic.Int32
			go func() { // ends with the listener
				for {
					c, err := ln.Accept()
					if err != nil {
						return
					}
					if tries.Add(1) > 2 {
						_, _ = io.WriteString(c, "SSH-1.0-old\r\n") // what no retry helps against
					} else {
						_, _ = io.WriteString(c, words)
					}
					c.Close()
				}
			}()
			refused(t, Options{Host: "127.0.0.1", Port: ln.Addr().(*net.TCPAddr).Port, User: "u", CommonArgs: "-F none", Timeout: time.Minute, HomeDir: t.TempDir()})
			if n := tries.Load(); n != 3 {
				t.Errorf("%d connections, want 3", n)
			}
		})
	}
}

func TestJumpHosts(t *testing.T) {
	l := newLab(t, "process", 3)
	where := func(o Options) string {
		out, err := dial(t, o).Run(t.Context(), `echo "$VOLANT_LAB_HOST"; cat`, strings.NewReader("in"))
		if err != nil {
			t.Fatal(err)
		}
		return string(out.Stdout)
	}
	o := Options{Host: "h3", CommonArgs: "-F " + l.path("ssh_config"), HomeDir: t.TempDir(), LocalUser: "x"}
	o.ExtraArgs = "-J h1,h2"
	if got := where(o); got != "h3\nin" {
		t.Errorf("through two jump hosts: %q", got)
	}
	if _, err := exec.LookPath("ssh"); err == nil {
		o.ExtraArgs = `-o ProxyCommand="ssh -F ` + l.path("ssh_config") + ` -W %h:%p h2"`
		if got := where(o); got != "h3\nin" {
			t.Errorf("through a command: %q", got)
		}
	}
	o.ExtraArgs = "-J h1,nosuch.invalid"
	if e := refused(t, o); e.Kind != KindConnect {
		t.Errorf("%s: %q", e.Kind, e.Msg)
	}
}

func TestRun(t *testing.T) {
	l := newLab(t, "process", 1)
	c := dial(t, l.options("h1"))
	out, err := c.Run(t.Context(), "echo out; echo err >&2; exit 7", nil)
	if err != nil || string(out.Stdout) != "out\n" || string(out.Stderr) != "err\n" || out.Code != 7 {
		t.Errorf("%q %q %d, %v", out.Stdout, out.Stderr, out.Code, err)
	}
	if out, err = c.Run(t.Context(), "kill -9 $$", nil); err != nil || out.Code != 137 {
		t.Errorf("killed: %d, %v", out.Code, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err = c.Run(ctx, "sleep 20", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err = c.run(t.Context(), "yes", nil, 1000); err == nil {
		t.Error("endless output is no error")
	}
}
