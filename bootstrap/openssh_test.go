package bootstrap

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func needSSH(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("ssh"); err != nil {
		t.Skip("there is no ssh program here")
	}
}

// open is o with the system's ssh.
func open(o Options) Options {
	o.SSH = SSHOpen
	return o
}

// TestOpenSSH: the same bootstrap over the system's ssh.
func TestOpenSSH(t *testing.T) {
	needSSH(t)
	l := newLab(t, "process", 3)
	o := open(l.options("h1"))
	t.Run("commands", func(t *testing.T) {
		c := dial(t, o)
		out, err := c.Run(t.Context(), "echo out; echo err >&2; cat; exit 7", strings.NewReader("in"))
		if err != nil || string(out.Stdout) != "out\nin" || !strings.Contains(string(out.Stderr), "err\n") || out.Code != 7 {
			t.Errorf("%q %q %d, %v", out.Stdout, out.Stderr, out.Code, err)
		}
		if out, err = c.Run(t.Context(), "true", strings.NewReader(strings.Repeat("x", 1<<20))); err != nil || out.Code != 0 {
			t.Errorf("unread input: %d, %v", out.Code, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		begin := time.Now()
		if _, err = c.Run(ctx, "sleep 120", nil); err == nil || time.Since(begin) > time.Minute {
			t.Errorf("cancelled: %v after %v", err, time.Since(begin))
		}
		if !c.verified || len(c.hostKey) == 0 || c.dialHost() != "127.0.0.1" {
			t.Errorf("verified %v, key %q, host %q", c.verified, c.hostKey, c.dialHost())
		}
	})
	t.Run("agent", func(t *testing.T) {
		first, err := ensure(t, o)
		if err != nil {
			t.Fatal(err)
		}
		second, err := ensure(t, o)
		if err != nil || !first.Installed || second.Installed || second.PID != first.PID || !second.HostKeyOK {
			t.Errorf("%+v\n%+v, %v", first, second, err)
		}
	})
	t.Run("nothing is left", func(t *testing.T) {
		c, err := Dial(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		dir := c.ssh.(*program).dir
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", dir, err)
		}
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) { // killed, and not yet taken down
			out, _ := exec.Command("pgrep", "-f", filepath.Base(dir)).Output()
			if len(out) == 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("processes: %s", out)
			}
		}
	})
	t.Run("jump hosts", func(t *testing.T) {
		o := open(Options{Host: "h3", CommonArgs: "-F " + l.path("ssh_config") + " -J h1,h2", HomeDir: t.TempDir(), LocalUser: "x"})
		c := dial(t, o)
		out, err := c.Run(t.Context(), `echo "$VOLANT_LAB_HOST"`, nil)
		if err != nil || string(out.Stdout) != "h3\n" || c.direct {
			t.Errorf("%q, %v, direct %v", out.Stdout, err, c.direct)
		}
	})
	stranger := filepath.Join(t.TempDir(), "stranger")
	writeKey(t, stranger, "")
	for name, tc := range map[string]struct {
		change func(*Options)
		kind   Kind
		want   string
	}{
		"wrong key": {func(o *Options) { o.PrivateKeyFile = stranger }, KindAuth, "deploy@127.0.0.1: Permission denied (publickey)."},
		"no host key": {func(o *Options) {
			o.CommonArgs = "-F none -o UserKnownHostsFile=/dev/null -o StrictHostKeyChecking=yes"
		}, KindHostKey, "Host key verification failed."},
		"refused":    {func(o *Options) { o.Port = 1 }, KindConnect, "ssh: connect to host 127.0.0.1 port 1: Connection refused"},
		"no name":    {func(o *Options) { o.Host = "nosuch.invalid" }, KindResolve, "ssh: Could not resolve hostname nosuch.invalid: "},
		"bad option": {func(o *Options) { o.ExtraArgs = "-o NoSuchOption=1" }, KindConfig, "Bad configuration option: nosuchoption"},
		"no program": {func(o *Options) { o.Executable = "/nosuch/ssh" }, KindConfig, "No such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			o := o
			tc.change(&o)
			if e := refused(t, o); e.Kind != tc.kind || !strings.HasPrefix(e.Msg, prefix) || !strings.Contains(e.Msg, tc.want) || strings.Contains(e.Msg, "debug1") {
				t.Errorf("%s: %q", e.Kind, e.Msg)
			}
		})
	}
}

// TestAuto: what decides who logs in.
func TestAuto(t *testing.T) {
	home := t.TempDir()
	config := func(text string) string {
		f := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(f, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return "-F " + f
	}
	for name, tc := range map[string]struct {
		o    Options
		want string // what is said; "" for our own client
	}{
		"reference's defaults":   {Options{SSHArgs: "-C -o ControlMaster=auto -o ControlPersist=60s -F none"}, ""},
		"keepalives, jumps":      {Options{CommonArgs: "-F none -o ServerAliveInterval=5 -J a,b -4 -A -o ForwardAgent=yes", ExtraArgs: "-vvv -q"}, ""},
		"gssapi without ticket":  {Options{CommonArgs: config("Host *\n GSSAPIAuthentication yes\n SendEnv LANG\n HashKnownHosts yes\n")}, ""},
		"gssapi with ticket":     {Options{Kerberos: true, CommonArgs: config("Host *\n GSSAPIAuthentication yes\n")}, "GSSAPIAuthentication"},
		"gssapi argument":        {Options{CommonArgs: "-F none -o GSSAPIAuthentication=yes"}, "gssapiauthentication"},
		"gssapi off":             {Options{CommonArgs: "-F none -o GSSAPIAuthentication=no"}, ""},
		"-K":                     {Options{ExtraArgs: "-F none -K"}, "-K"},
		"pkcs11":                 {Options{ExtraArgs: "-F none -o PKCS11Provider=/lib/x.so"}, "pkcs11provider"},
		"pkcs11 variable":        {Options{PKCS11Provider: "/lib/x.so"}, "PKCS11Provider"},
		"-I":                     {Options{ExtraArgs: "-F none -I /lib/x.so"}, "-I"},
		"match exec":             {Options{CommonArgs: config("Match exec \"true\"\n User x\n")}, "Match exec"},
		"match user":             {Options{CommonArgs: config("Match originalhost web user x\n Port 2\n")}, "Match originalhost"},
		"match all":              {Options{CommonArgs: config("Match all\n User x\n")}, ""},
		"match host":             {Options{CommonArgs: config("Match host web*\n User x\n")}, ""},
		"match host, renamed":    {Options{CommonArgs: config("Host web\n HostName web.example\nMatch host *.example\n User x\n")}, "Match host"},
		"algorithms, this host":  {Options{CommonArgs: config("Host web\n KexAlgorithms +diffie-hellman-group1-sha1\n")}, "KexAlgorithms"},
		"algorithms, other host": {Options{CommonArgs: config("Host other\n KexAlgorithms +diffie-hellman-group1-sha1\n")}, ""},
		"included":               {Options{CommonArgs: config("Include " + strings.TrimPrefix(config("Match exec x\n"), "-F ") + "\n")}, "Match exec"},
		"executable":             {Options{Executable: "/opt/wrapper", CommonArgs: "-F none"}, "ansible_ssh_executable"},
		"own executable":         {Options{Executable: "ssh", CommonArgs: "-F none"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tc.o.Host, tc.o.HomeDir = "web", home
			got := needsOpen(tc.o, new(Shared))
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestMatchExec: what only the system's ssh evaluates takes effect by itself.
func TestMatchExec(t *testing.T) {
	needSSH(t)
	l := newLab(t, "process", 2)
	b, err := os.ReadFile(l.path("ssh_config"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "config")
	text := "Match originalhost chosen exec \"test %n = chosen\"\n  HostName h2\n  HostKeyAlias h2\n  ProxyCommand ssh -F " + l.path("ssh_config") + " -W 127.0.0.1:PORT h1\n" + string(b)
	o := l.options("h2")
	text = strings.ReplaceAll(text, "PORT", strings.Fields(strings.SplitAfter(string(b), "Host h2")[1][strings.Index(strings.SplitAfter(string(b), "Host h2")[1], "Port"):])[1])
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := dial(t, Options{Host: "chosen", User: "deploy", PrivateKeyFile: o.PrivateKeyFile, HomeDir: t.TempDir(), LocalUser: "x",
		CommonArgs: "-F " + file + " -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"})
	out, err := c.Run(t.Context(), `echo "$VOLANT_LAB_HOST"`, nil)
	if err != nil || string(out.Stdout) != "h2\n" {
		t.Errorf("%q, %v", out.Stdout, err)
	}
}
