package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// binaries builds the commands once and returns their directory.
var binaries = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv("VOLANT_BIN"); dir != "" {
		if _, err := os.Stat(filepath.Join(dir, "volant")); err == nil {
			return filepath.Abs(dir)
		}
	}
	dir, err := os.MkdirTemp("", "volant-e2e-bin-")
	if err != nil {
		return "", err
	}
	for _, name := range []string{"volant", "volant-agent", "volant-lab"} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(dir, name), "volant/cmd/"+name)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", errors.New(string(out))
		}
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := binaries(); err == nil && strings.Contains(filepath.Base(dir), "volant-e2e-bin-") {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// lab is a set of hosts and a controller's own state.
type lab struct {
	t    *testing.T
	kind string
	bin  string
	dir  string // of the lab: inventory.ini, keys
	home string // of the controller: state, cache
	env  []string
}

// reference is the virtual environment of ansible-core; tests that run Python
// modules are skipped without it.
func reference(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("VOLANT_ANSIBLE_CORE"); dir != "" {
		if _, err := os.Stat(filepath.Join(dir, "bin", "ansible-playbook")); err == nil {
			return dir
		}
	}
	path, err := exec.LookPath("ansible-playbook")
	if err != nil {
		t.Skip("ansible-core is not installed")
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		t.Skip(err)
	}
	return filepath.Dir(filepath.Dir(path))
}

// newLab starts n hosts of the kind and takes them down with the test.
func newLab(t *testing.T, kind string, n string) *lab {
	t.Helper()
	if testing.Short() {
		t.Skip("end-to-end tests are long")
	}
	if kind == "systemd" && (os.Getenv("VOLANT_SYSTEMD_LAB") != "1" || os.Getuid() != 0) {
		t.Skip("hosts with systemd need root and VOLANT_SYSTEMD_LAB=1")
	}
	core := reference(t)
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, kind: kind, bin: bin, dir: filepath.Join(t.TempDir(), "lab"), home: t.TempDir()}
	l.env = append(os.Environ(), "ANSIBLE_NOCOLOR=1", "VOLANT_ANSIBLE_CORE="+core, "HOME="+l.home,
		"VOLANT_STATE_DIR="+filepath.Join(l.home, "state"), "XDG_CACHE_HOME="+filepath.Join(l.home, "cache"), "XDG_STATE_HOME="+filepath.Join(l.home, "xdg"),
		"ANSIBLE_CONFIG="+filepath.Join(l.home, "ansible.cfg"))
	l.file("ansible.cfg", "[defaults]\n")
	t.Cleanup(func() {
		if out, code := l.run(time.Minute, "volant-lab", "down", "--dir", l.dir); code != 0 {
			t.Errorf("taking the lab down: %s", out)
		}
	})
	if out, code := l.runEnv(os.Environ(), 10*time.Minute, "volant-lab", kind, "up", "--hosts", n, "--dir", l.dir); code != 0 {
		t.Fatalf("starting the lab: %s", out)
	}
	return l
}

// patience is how many times longer than on a machine that does nothing else a
// command may take.
const patience = 3

// run runs one of our commands and returns everything it printed and its exit code.
func (l *lab) run(limit time.Duration, name string, args ...string) (string, int) {
	l.t.Helper()
	return l.runEnv(l.env, limit, name, args...)
}

func (l *lab) runEnv(env []string, limit time.Duration, name string, args ...string) (string, int) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience*limit)
	defer cancel()
	if !strings.Contains(name, "/") {
		name = filepath.Join(l.bin, name)
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = env
	cmd.Dir = l.home
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		l.t.Fatalf("%s %v: %v\n%s", name, args, err, out.String())
	}
	if ctx.Err() != nil {
		l.t.Fatalf("%s %v took longer than %v:\n%s", name, args, patience*limit, out.String())
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// interrupted runs volant and, once ready says so, interrupts it as Ctrl-C
// does: times times, a second apart.
func (l *lab) interrupted(ready func() bool, times int, args ...string) (string, int) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(l.bin, "volant"), args...)
	cmd.Env, cmd.Dir = l.env, l.home
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	for !ready() && ctx.Err() == nil {
		time.Sleep(20 * time.Millisecond)
	}
	for i := range times {
		if i > 0 {
			time.Sleep(time.Second)
		}
		_ = cmd.Process.Signal(os.Interrupt)
	}
	_ = cmd.Wait()
	if ctx.Err() != nil {
		l.t.Fatalf("still running minutes after it began:\n%s", out.String())
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// playbook writes text to a file and runs it on the lab.
func (l *lab) playbook(text string, args ...string) (string, int) {
	l.t.Helper()
	return l.run(3*time.Minute, "volant", append([]string{"playbook", "-i", l.inventory(), l.file("site.yml", text)}, args...)...)
}

func (l *lab) inventory() string { return filepath.Join(l.dir, "inventory.ini") }

func (l *lab) file(name, text string) string {
	l.t.Helper()
	path := filepath.Join(l.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		l.t.Fatal(err)
	}
	return path
}

// exec runs a command on a host, outside of SSH and of our agent.
func (l *lab) exec(host, cmd string) (string, int) {
	l.t.Helper()
	return l.run(time.Minute, "volant-lab", "exec", "--dir", l.dir, host, cmd)
}

var recapLine = regexp.MustCompile(`(?m)^(\S+)\s+: (ok=.*)$`)

// recap maps hosts to their counts.
func recap(out string) map[string]string {
	m := map[string]string{}
	for _, r := range recapLine.FindAllStringSubmatch(out, -1) {
		m[r[1]] = strings.Join(strings.Fields(r[2]), " ")
	}
	return m
}

func (l *lab) want(out string, code, wantCode int, texts ...string) {
	l.t.Helper()
	if code != wantCode {
		l.t.Fatalf("exit %d, want %d:\n%s", code, wantCode, out)
	}
	for _, text := range texts {
		if !strings.Contains(out, text) {
			l.t.Fatalf("missing %q in:\n%s", text, out)
		}
	}
}
