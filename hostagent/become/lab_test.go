package become

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSystemdLab runs this test binary on a real Debian host, as users whose
// sudo asks and does not ask, and lets it become others there.
func TestSystemdLab(t *testing.T) {
	if os.Getenv("VOLANT_SYSTEMD_LAB") == "" || os.Geteuid() != 0 {
		t.Skip("set VOLANT_SYSTEMD_LAB=1, as root, to start a systemd host")
	}
	dir := t.TempDir()
	tool := filepath.Join(dir, "volant-lab")
	if out, err := exec.Command("go", "build", "-o", tool, "volant/cmd/volant-lab").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lab := filepath.Join(dir, "lab")
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(tool, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("volant-lab %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	t.Cleanup(func() { run("down", "--dir", lab) })
	run("systemd", "up", "--hosts", "1", "--dir", lab)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(lab, "hosts/h1/root/usr/local/bin/become.test"), b, 0o755); err != nil {
		t.Fatal(err)
	}
	password, err := os.ReadFile(filepath.Join(lab, "ops.password"))
	if err != nil {
		t.Fatal(err)
	}
	run("exec", "--dir", lab, "h1", `printf 'root:rootsecret\n' | chpasswd; useradd -m other; chmod 700 /home/*; `+
		`apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq opendoas >/dev/null 2>&1; `+
		`printf 'permit nopass deploy as root\npermit ops as root\npermit nopass deploy as other\n' > /etc/doas.conf; chmod 400 /etc/doas.conf`)
	each := func(user string) {
		t.Helper()
		out := run("exec", "--dir", lab, "h1", fmt.Sprintf("su - %s -c 'INNER=%s PASSWORD=%s become.test -test.v -test.run ^TestInner$'",
			user, user, strings.TrimSpace(string(password))))
		if !strings.Contains(out, "--- PASS: TestInner") {
			t.Error(out)
		}
		t.Log(out)
	}
	each("deploy")
	each("ops")
	run("exec", "--dir", lab, "h1", `echo 'Defaults requiretty' > /etc/sudoers.d/tty; chmod 440 /etc/sudoers.d/tty; `+
		`su - deploy -c 'setsid sudo -n true </dev/null' 2>&1 | grep -q 'must have a tty'`)
	each("deploy")
	each("ops")
}

// TestInner is what runs on the host.
func TestInner(t *testing.T) {
	login, password := os.Getenv("INNER"), os.Getenv("PASSWORD")
	if login == "" {
		t.Skip("runs on a lab host")
	}
	cases := map[string]struct {
		p    Params
		who  string
		fail string
	}{
		"deploy sudo":           {Params{}, "root", ""},
		"deploy sudo other":     {Params{User: "other"}, "other", ""},
		"deploy sudo sudo pass": {Params{Password: "not needed"}, "root", ""},
		"deploy su":             {Params{Method: "su", Password: "rootsecret"}, "root", ""},
		"deploy su wrong":       {Params{Method: "su", Password: "guess"}, "", "Incorrect su password"},
		"deploy doas":           {Params{Method: "doas"}, "root", ""},
		"deploy doas other":     {Params{Method: "doas", User: "other"}, "other", ""},
		"deploy sudosu":         {Params{Method: "sudosu", User: "other"}, "other", ""},
		"deploy sudo nosuch":    {Params{User: "nosuch"}, "", "sudo: unknown user nosuch"},
		"ops sudo":              {Params{Password: password}, "root", ""},
		"ops sudo other":        {Params{Password: password, User: "other"}, "other", ""},
		"ops sudo missing":      {Params{}, "", "Missing sudo password"},
		"ops sudo wrong":        {Params{Password: "guess"}, "", "Incorrect sudo password"},
		"ops doas":              {Params{Method: "doas", Password: password}, "root", ""},
		"ops doas wrong":        {Params{Method: "doas", Password: "guess"}, "", "Incorrect doas password"},
		"ops doas missing":      {Params{Method: "doas"}, "", "Missing doas password"},
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "worker")
	if err := os.WriteFile(binary, []byte("#!/bin/sh\nid -un\nexec cat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Binary: binary, Dir: dir, Timeout: 5 * time.Second, Env: os.Environ()}
	defer func() {
		if err := RemoveCopy(cfg); err != nil {
			t.Error(err)
		}
	}()
	for name, tc := range cases {
		if !strings.HasPrefix(name, login+" ") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "ops sudo") {
				_ = exec.Command("sudo", "-K").Run() // forget an earlier password
			}
			begin := time.Now()
			w, err := Start(t.Context(), cfg, tc.p)
			t.Logf("took %v", time.Since(begin).Round(time.Millisecond))
			if tc.fail != "" {
				var e *Error
				if !errors.As(err, &e) || !strings.Contains(e.Msg, tc.fail) {
					t.Fatalf("%#v", err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%#v", err)
			}
			defer w.Close()
			r := bufio.NewReader(w)
			if line, err := r.ReadString('\n'); err != nil || strings.TrimSpace(line) != tc.who {
				t.Fatalf("%q, %v", line, err)
			}
			frame := strings.Repeat("\x00\x03\x04\r\x1a\xff", 10000) // what a terminal would eat
			go fmt.Fprint(w, frame+"\n")
			if line, err := r.ReadString('\n'); err != nil || line != frame+"\n" {
				t.Errorf("%d bytes came back, %v", len(line), err)
			}
			begin = time.Now()
			w.Close()
			select {
			case <-w.Done():
			case <-time.After(100 * time.Millisecond):
				t.Error("runs after Close")
			}
			if d := time.Since(begin); d > time.Second {
				t.Errorf("closing took %v", d)
			}
		})
	}
}
