package bootstrap

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// TestSystemdLab bootstraps real hosts: OpenSSH's server, login shells, PAM.
func TestSystemdLab(t *testing.T) {
	if os.Getenv("VOLANT_SYSTEMD_LAB") == "" || os.Geteuid() != 0 {
		t.Skip("set VOLANT_SYSTEMD_LAB=1, as root, to start systemd hosts")
	}
	l := newLab(t, "systemd", 2)
	o := l.options("h1")
	l.exec("h1", `useradd -m -s /bin/bash noisy; useradd -m -s /usr/sbin/nologin closed; useradd -m -s /bin/bash shut; `+
		`for u in noisy closed shut; do mkdir -p /home/$u/.ssh; cp /home/deploy/.ssh/authorized_keys /home/$u/.ssh/; chown -R $u:$u /home/$u; chmod 700 /home/$u/.ssh; done; `+
		`printf 'echo "Welcome, $USER"; printf "home /evil no newline"; cat /etc/motd\n' > /home/noisy/.bashrc; `+
		`mkdir -p /home/shut/.local; mount -t tmpfs -o noexec,size=32m,mode=755,uid=$(id -u shut) tmpfs /home/shut/.local; chown shut /home/shut/.local`)

	t.Run("outlives everything of ssh", func(t *testing.T) {
		info, err := ensure(t, o)
		if err != nil {
			t.Fatal(err)
		}
		l.run("sshd", "restart", "h1", "--dir", l.dir)
		again, err := ensure(t, o)
		if err != nil {
			t.Fatal(err)
		}
		if !info.Installed || again.Started || again.PID != info.PID {
			t.Errorf("%+v\n%+v", info, again)
		}
		if !strings.HasPrefix(info.DialAddress, o.Host+":") || info.Home != "/home/deploy/.local/share/volant-agent" {
			t.Errorf("%+v", info)
		}
	})
	t.Run("root", func(t *testing.T) {
		o := o
		o.User = "root"
		info, err := ensure(t, o)
		if err != nil || info.Home != "/var/lib/volant-agent" {
			t.Errorf("%+v, %v", info, err)
		}
	})
	t.Run("noisy login", func(t *testing.T) {
		o := o
		o.User = "noisy"
		info, err := ensure(t, o)
		if err != nil || info.Home != "/home/noisy/.local/share/volant-agent" {
			t.Errorf("%+v, %v", info, err)
		}
	})
	t.Run("home without exec", func(t *testing.T) {
		o := o
		o.User = "shut"
		first, err := ensure(t, o)
		if err != nil || !strings.HasPrefix(first.Home, "/var/tmp/volant-agent-") {
			t.Fatalf("%+v, %v", first, err)
		}
		mode := l.exec("h1", "stat -c %a:%U "+first.Home)
		if strings.TrimSpace(mode) != "700:shut" {
			t.Errorf("home is %s", mode)
		}
		second, err := ensure(t, o)
		if err != nil || second.Home != first.Home || second.Installed {
			t.Errorf("not found again: %+v, %v", second, err)
		}
		l.exec("h1", "chmod 777 "+first.Home) // anybody could have been there
		third, err := ensure(t, o)
		if err != nil || third.Home == first.Home {
			t.Errorf("an open directory is used: %+v, %v", third, err)
		}
	})
	t.Run("no shell", func(t *testing.T) {
		o := o
		o.User = "closed"
		_, err := ensure(t, o)
		var e *Error
		if !errors.As(err, &e) || e.Kind != KindNoise || !strings.Contains(e.Msg, "This account is currently not available.") {
			t.Errorf("%v", err)
		}
	})
	t.Run("nobody we know", func(t *testing.T) {
		o := o
		o.User = "nosuch"
		want := prefix + "nosuch@" + o.Host + ": Permission denied (publickey,password)."
		if e := refused(t, o); e.Kind != KindAuth || e.Msg != want {
			t.Errorf("%s: %q", e.Kind, e.Msg)
		}
	})
	t.Run("password", func(t *testing.T) {
		b, err := os.ReadFile(l.path("ops.password"))
		if err != nil {
			t.Fatal(err)
		}
		o := o
		o.User, o.PrivateKeyFile, o.Password = "ops", "", strings.TrimSpace(string(b))
		if out, err := dial(t, o).Run(t.Context(), "id -un", nil); err != nil || string(out.Stdout) != "ops\n" {
			t.Errorf("%q, %v", out.Stdout, err)
		}
		o.Password = "guess"
		if e := refused(t, o); e.Kind != KindAuth || !strings.Contains(e.Msg, "Permission denied") {
			t.Errorf("%s: %q", e.Kind, e.Msg)
		}
	})
	t.Run("cut cable", func(t *testing.T) {
		o := l.options("h2")
		o.Timeout = time.Second
		c := dial(t, o)
		l.run("shape", "h2", "--down", "--dir", l.dir)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		if _, err := c.EnsureAgent(ctx, selfBinaries(), Enrolment{Controller: make([]byte, 32)}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("through a cut cable: %v", err)
		}
		if d := time.Since(begin); d > 2*time.Second {
			t.Errorf("it took %v to see", d)
		}
		e := refused(t, o)
		if want := prefix + "ssh: connect to host " + o.Host + " port 22: Connection timed out"; e.Kind != KindTimeout || e.Msg != want {
			t.Errorf("%s: %q", e.Kind, e.Msg)
		}
		l.run("shape", "h2", "--up", "--dir", l.dir)
		if _, err := ensure(t, l.options("h2")); err != nil {
			t.Error(err)
		}
	})
	t.Run("reboot", func(t *testing.T) {
		before, err := ensure(t, l.options("h2"))
		if err != nil {
			t.Fatal(err)
		}
		l.run("reboot", "h2", "--dir", l.dir)
		after, err := ensure(t, l.options("h2"))
		if err != nil {
			t.Fatal(err)
		}
		if after.Installed || !after.Started {
			t.Errorf("before %+v\nafter %+v", before, after)
		}
	})
}
