package become

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakeSudo is a sudo as far as the command line and the prompts go, for what
// cannot be provoked on every machine: ASK, HANG, NOISE and TTY change its ways.
const fakeSudo = `#!/bin/sh
prompt=; n=
while [ $# -gt 0 ]; do case $1 in
  -n) n=1;; -p) prompt=$2; shift;; -u) user=$2; shift;; -*) ;; *) break;; esac; shift; done
if [ -n "$TTY" ] && ! (: </dev/tty) 2>/dev/null; then
  case $LC_ALL$LANG in de*) echo "sudo: Entschuldigung, Sie benötigen ein Terminal, um sudo auszuführen" >&2;; *) echo "sudo: sorry, you must have a tty to run sudo" >&2;; esac
  exit 1
fi
[ -z "$NOISE" ] || echo "$NOISE"
if [ -n "$ASK" ]; then
  [ -z "$n" ] || { case $LC_ALL$LANG in de*) echo "sudo: Ein Passwort ist notwendig" >&2;; *) echo "sudo: a password is required" >&2;; esac; exit 1; }
  for i in 1 2 3; do
    printf '%s' "$prompt" >&2; IFS= read -r pw || exit 1
    [ "$pw" = "$ASK" ] && break
    echo "Sorry, try again." >&2
    [ $i = 3 ] && { echo "sudo: 3 incorrect password attempts" >&2; exit 1; }
  done
fi
[ "$user" != nosuch ] || { echo "sudo: unknown user nosuch" >&2; exit 1; }
[ -z "$HANG" ] || exec sleep 300
export AS=$user
exec "$@"
`

// worker is what runs behind the mark.
const worker = `#!/bin/sh
echo "as $AS $1"; echo words >&2; exec cat
`

func setup(t *testing.T) (Config, Params) {
	t.Helper()
	dir := t.TempDir()
	// What another test starts just now would hold the file open for writing, and nobody could run it.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	for name, text := range map[string]string{"sudo": fakeSudo, "worker": worker} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := RemoveCopy(Config{Dir: dir}); err != nil {
			t.Error(err)
		}
	})
	return Config{Binary: filepath.Join(dir, "worker"), Dir: dir, Timeout: time.Minute, Env: []string{"PATH=/usr/bin:/bin", "HOME=" + dir}},
		Params{Exe: filepath.Join(dir, "sudo")}
}

func TestStart(t *testing.T) {
	for name, tc := range map[string]struct {
		env    string
		params Params
		as     string
	}{
		"no password":         {"", Params{}, "as root worker"},
		"password not needed": {"", Params{Password: "secret"}, "as root worker"},
		"password":            {"ASK=secret", Params{Password: "secret"}, "as root worker"},
		"noise before":        {"NOISE=Welcome to this host", Params{}, "as root worker"},
		"odd password":        {`ASK=a b'"$\`, Params{Password: `a b'"$\`}, "as root worker"},
		"requiretty":          {"TTY=1", Params{}, "as root worker"},
		"requiretty, asks":    {"TTY=1\x00ASK=secret", Params{Password: "secret"}, "as root worker"},
		"requiretty, German":  {"TTY=1\x00LANG=de_DE.UTF-8", Params{}, "as root worker"},
		"sudosu flags":        {"", Params{Flags: new("-Hn -i")}, "as root worker"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, p := setup(t)
			cfg.Env = append(cfg.Env, strings.Split(tc.env, "\x00")...)
			tc.params.Exe = p.Exe
			w, err := Start(t.Context(), cfg, tc.params)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			r := bufio.NewReader(w)
			line, err := r.ReadString('\n')
			if err != nil || strings.TrimSpace(line) != tc.as {
				t.Fatalf("%q, %v", line, err)
			}
			fmt.Fprintln(w, "ping")
			if line, err = r.ReadString('\n'); err != nil || line != "ping\n" {
				t.Errorf("the worker's pipe gives %q, %v", line, err)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			select {
			case <-w.Done():
			default:
				t.Error("still running after Close")
			}
			if rest, _ := io.ReadAll(r); len(rest) != 0 {
				t.Errorf("left over: %q", rest)
			}
			if tc.params.Password != "" && strings.Contains(w.Stderr(), tc.params.Password) {
				t.Error("the password is on standard error")
			}
		})
	}
}

func TestStartFails(t *testing.T) {
	for name, tc := range map[string]struct {
		env     string
		params  Params
		want    string
		timeout bool
		exited  bool
	}{
		"missing":      {"ASK=secret", Params{}, "Missing sudo password", false, false},
		"wrong":        {"ASK=secret", Params{Password: "guess"}, "Incorrect sudo password", false, false},
		"silent":       {"HANG=1", Params{}, "Timeout (3s) waiting for privilege escalation prompt:", true, false},
		"noisy silent": {"HANG=1\x00NOISE=hello", Params{}, "Timeout (3s) waiting for privilege escalation prompt: hello", true, false},
		"no terminal":  {"TTY=1\x00ASK=secret", Params{Password: "guess"}, "Incorrect sudo password", false, false},
		"unknown user": {"", Params{User: "nosuch"}, "sudo ended with status 1 before the task could begin: sudo: unknown user nosuch", false, true},
		"no program":   {"", Params{Exe: "/nosudo"}, "/nosudo: not found", false, true},
		"no method":    {"", Params{Method: "magic"}, "Invalid become method specified, could not find matching plugin: 'magic'. Use `ansible-doc -t become -l` to list available plugins.", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, p := setup(t)
			if tc.timeout {
				cfg.Timeout = 3 * time.Second // for a busy machine to get as far as the noise
			}
			cfg.Env = append(cfg.Env, strings.Split(tc.env, "\x00")...)
			if tc.params.Exe == "" {
				tc.params.Exe = p.Exe
			}
			w, err := Start(t.Context(), cfg, tc.params)
			if err == nil {
				w.Close()
				t.Fatal("started")
			}
			var e *Error
			if !errors.As(err, &e) || e.Timeout != tc.timeout || e.Exited != tc.exited {
				t.Fatalf("%#v", err)
			}
			if e.Msg != tc.want && !(tc.exited && strings.Contains(e.Msg, tc.want)) {
				t.Errorf("%q", e.Msg)
			}
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		cfg, p := setup(t)
		cfg.Env = append(cfg.Env, "HANG=1")
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := Start(ctx, cfg, p); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

func TestReachable(t *testing.T) {
	cfg, _ := setup(t) // below a directory of mode 0700
	if err := os.Chmod(filepath.Dir(cfg.Binary), 0o700); err != nil {
		t.Fatal(err)
	}
	path, err := reachable(cfg, Params{User: "nobody"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(filepath.Dir(path)) })
	if path == cfg.Binary || !openToAll(path) {
		t.Fatalf("%s cannot be reached", path)
	}
	if again, err := reachable(cfg, Params{User: "nobody"}); err != nil || again != path {
		t.Errorf("a second copy: %s, %v", again, err)
	}
	if err := os.Chmod(path, 0o777); err != nil { // somebody could have changed it
		t.Fatal(err)
	}
	other, err := reachable(cfg, Params{User: "nobody"})
	if err != nil || other == path {
		t.Errorf("a copy open to writers is used: %s, %v", other, err)
	}
	if err := RemoveCopy(cfg); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(other); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the copy is still there: %v", err)
	}
	if direct, err := reachable(cfg, Params{}); err != nil || direct != cfg.Binary {
		t.Errorf("root gets %s, %v", direct, err)
	}
}

// Where no directory will do, the user gets the program through the become command.
func TestStream(t *testing.T) {
	cfg, p := setup(t)
	if err := os.Chmod(filepath.Dir(cfg.Binary), 0o700); err != nil {
		t.Fatal(err)
	}
	cfg.public = []string{"/nosuch"}
	p.User = "nobody"
	for range 2 {
		w, err := Start(t.Context(), cfg, p)
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(w).ReadString('\n'); err != nil || strings.TrimSpace(line) != "as nobody worker" {
			t.Errorf("%q, %v", line, err)
		}
		w.Close()
	}
	copies, err := filepath.Glob(filepath.Join(cfg.Dir, ".local/share/volant-agent/bin/*"))
	if err != nil || len(copies) != 1 || !strings.HasPrefix(filepath.Base(copies[0]), "worker-") {
		t.Errorf("copies: %v, %v", copies, err)
	}
	cfg.Env = append(cfg.Env, "HOME=/proc/nosuch")
	if w, err := Start(t.Context(), cfg, p); err == nil {
		w.Close()
		t.Error("started without a home")
	}
}

// With the machine's own su, as root: no prompt, another user.
func TestRealSu(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if _, err := exec.LookPath("su"); err != nil {
		t.Skip(err)
	}
	cfg, _ := setup(t)
	if err := os.WriteFile(cfg.Binary, []byte("#!/bin/sh\nid -un\nexec cat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := Start(t.Context(), cfg, Params{Method: "su", User: "nobody", Flags: new("-s /bin/sh")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.Close()
		if err := RemoveCopy(cfg); err != nil {
			t.Error(err)
		}
	})
	if line, err := bufio.NewReader(w).ReadString('\n'); err != nil || line != "nobody\n" {
		t.Errorf("%q, %v", line, err)
	}
}

// TestOtherLanguages: that a password is missing is recognized in any language.
func TestOtherLanguages(t *testing.T) {
	cfg, p := setup(t)
	cfg.Env = append(cfg.Env, "ASK=secret", "LANG=de_DE.UTF-8")
	_, err := Start(t.Context(), cfg, p)
	var e *Error
	if !errors.As(err, &e) || e.Msg != "Missing sudo password" {
		t.Errorf("got %v", err)
	}
	p.User = "nosuch"
	cfg.Env = append(cfg.Env, "ASK=")
	if _, err = Start(t.Context(), cfg, p); !errors.As(err, &e) || !e.Exited || e.Code != 1 {
		t.Errorf("got %v", err)
	}
}
