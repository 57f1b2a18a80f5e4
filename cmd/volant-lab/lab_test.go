package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary be volant-lab: its background processes are itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		main()
	}
	os.Exit(m.Run())
}

// lab runs this binary as volant-lab and returns its output.
func runLab(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), os.Args[0], args...).CombinedOutput()
	return string(out), err
}

func mustLab(t *testing.T, args ...string) string {
	t.Helper()
	out, err := runLab(t, args...)
	if err != nil {
		t.Fatalf("volant-lab %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func TestProcessLabs(t *testing.T) {
	a, b := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	for _, dir := range []string{a, b} { // side by side
		t.Cleanup(func() { _, _ = exec.Command(os.Args[0], "down", "--dir", dir).CombinedOutput() })
		mustLab(t, "process", "up", "--hosts", "2", "--dir", dir)
	}
	before, err := loadLab(a)
	if err != nil {
		t.Fatal(err)
	}
	mustLab(t, "process", "up", "--hosts", "2", "--dir", a)
	again, err := loadLab(a)
	if err != nil {
		t.Fatal(err)
	}
	if *again.Server != *before.Server {
		t.Error("a second up started the servers anew")
	}
	mustLab(t, "process", "up", "--hosts", "4", "--dir", a)
	more, err := loadLab(a)
	if err != nil {
		t.Fatal(err)
	}
	if len(more.Hosts) != 4 || more.Hosts[0] != before.Hosts[0] {
		t.Errorf("hosts after growing: %+v", more.Hosts)
	}
	if out := mustLab(t, "status", "--dir", a); strings.Count(out, "  up") != 4 {
		t.Error(out)
	}
	if out := mustLab(t, "exec", "--dir", b, "h2", "echo $VOLANT_LAB_HOST in $HOME"); out != "h2 in "+b+"/hosts/h2/home\n" {
		t.Errorf("%q", out)
	}
	if _, err := runLab(t, "exec", "--dir", b, "h1", "exit 7"); err == nil || err.(*exec.ExitError).ExitCode() != 7 {
		t.Errorf("status of a command: %v", err)
	}
	if _, err := exec.LookPath("ssh"); err == nil {
		out, err := exec.Command("ssh", "-F", filepath.Join(a, "ssh_config"), "h3", "sleep 300 > /dev/null 2>&1 & echo $!").Output()
		if err != nil {
			t.Fatalf("ssh: %v %s", err, out)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
		if err != nil {
			t.Fatal(err)
		}
		left, err := identify(pid)
		if err != nil {
			t.Fatalf("what a session left behind is gone already: %v", err)
		}
		mustLab(t, "down", "--dir", a)
		if left.alive() {
			t.Error("what a session left behind outlives the lab")
		}
	}
	mustLab(t, "down", "--dir", a)
	if exists(a) {
		t.Errorf("%s is left", a)
	}
	if other, err := loadLab(b); err != nil || !other.Server.alive() {
		t.Errorf("the other lab went too: %v", err)
	}
	if out, err := runLab(t, "systemd", "up", "--dir", b); err == nil || os.Geteuid() == 0 && !strings.Contains(out, "already holds a process lab") {
		t.Errorf("another kind in the same directory: %v %s", err, out)
	}
}

func TestMirror(t *testing.T) {
	for name, tc := range map[string]struct{ file, text, want string }{
		"one line": {"sources.list", "# deb http://old/debian x main\ndeb [signed-by=/k] http://m.example/debian/ trixie main\n", "http://m.example/debian"},
		"deb822":   {"sources.list.d/debian.sources", "Types: deb\n# comment\nURIs: https://m.example/debian\nSuites: trixie\n", "https://m.example/debian"},
		"security": {"sources.list.d/debian.sources", "Types: deb\nURIs: http://m.example/debian-security\n", defaultMirror},
		"none":     {"other", "", defaultMirror},
	} {
		dir := t.TempDir()
		if err := writeFile(filepath.Join(dir, tc.file), tc.text, 0o644); err != nil {
			t.Fatal(err)
		}
		if got := findMirror(dir); got != tc.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestProcessIdentity(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, err := identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	stranger := process{PID: p.PID, Start: p.Start + 1} // its pid was given to another
	if stranger.alive() {
		t.Error("another process is taken for the recorded one")
	}
	stranger.end(time.Second)
	if !p.alive() {
		t.Fatal("a process that is not the recorded one was ended")
	}
	go func() { _ = cmd.Wait() }()
	p.end(time.Minute)
	if p.alive() {
		t.Error("not ended")
	}
}

// TestSystemdLabs needs root and some minutes the first time.
func TestSystemdLabs(t *testing.T) {
	if os.Getenv("VOLANT_SYSTEMD_LAB") == "" || os.Geteuid() != 0 {
		t.Skip("set VOLANT_SYSTEMD_LAB=1, as root, to start systemd hosts")
	}
	a, b := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	for _, dir := range []string{a, b} {
		t.Cleanup(func() { _, _ = exec.Command(os.Args[0], "down", "--dir", dir).CombinedOutput() })
		mustLab(t, "systemd", "up", "--hosts", "1", "--dir", dir)
	}
	boot := func(dir string) string {
		return mustLab(t, "exec", "--dir", dir, "h1", "cat", "/proc/sys/kernel/random/boot_id")
	}
	first, other := boot(a), boot(b)
	mustLab(t, "exec", "--dir", a, "h1", "echo kept > /root/file")
	mustLab(t, "reboot", "--dir", a, "h1")
	if boot(a) == first || boot(b) != other {
		t.Error("the wrong host, or none, has rebooted")
	}
	if out := mustLab(t, "exec", "--dir", a, "h1", "cat /root/file; ps -p 1 -o comm="); out != "kept\nsystemd\n" {
		t.Errorf("%q", out)
	}
	for _, c := range []string{
		"su - deploy -c 'sudo -n true'", "! su - ops -c 'sudo -n true' 2>/dev/null", "python3 -c 'import apt'",
		"! ip route get 1.1.1.1 2>/dev/null", "apt-get update -qq && apt-get install -y -qq hello >/dev/null 2>&1 && hello >/dev/null",
	} {
		if out, err := runLab(t, "exec", "--dir", a, "h1", c); err != nil {
			t.Errorf("%s: %v %s", c, err, out)
		}
	}
	l, err := loadLab(a)
	if err != nil {
		t.Fatal(err)
	}
	// A new connection and its first answer: two round trips of which one way each is shaped.
	answer := func() time.Duration {
		begin := time.Now()
		if !sshAnswers(&l.Hosts[0]) {
			return time.Hour
		}
		return time.Since(begin)
	}
	mustLab(t, "shape", "--dir", a, "h1", "--delay", "150", "--loss", "1")
	if d := answer(); d < 150*time.Millisecond || d > 3*time.Second {
		t.Errorf("with a delay of 150 ms an answer takes %v", d)
	}
	mustLab(t, "shape", "--dir", a, "h1", "--down")
	if d := answer(); d < time.Hour {
		t.Errorf("an answer through a cut cable after %v", d)
	}
	mustLab(t, "shape", "--dir", a, "h1", "--up")
	mustLab(t, "shape", "--dir", a, "h1")
	for try := 0; answer() > 100*time.Millisecond; try++ { // the bridge may need a moment
		if try == 20 {
			t.Fatal("still slow without shaping")
		}
		time.Sleep(50 * time.Millisecond)
	}
	mustLab(t, "shape", "--dir", a, "h1", "--delay", "20") // down ends this one too
	mustLab(t, "down", "--dir", a)
	if exists(a) || exists("/sys/class/net/"+l.Bridge) || mounted(filepath.Join(a, "hosts/h1/root")) {
		t.Error("something of the lab is left")
	}
	for _, cg := range cgroupRoots() {
		if exists(filepath.Join(cg, "volant-lab", l.Hosts[0].Machine)) {
			t.Errorf("its group in %s is left", cg)
		}
	}
	boot(b)
}

// TestSimulate: agents that one process may not have the descriptors for are
// simulated by several, with one inventory, which end together.
func TestSimulate(t *testing.T) {
	for name, end := range map[string]syscall.Signal{"ended": syscall.SIGTERM, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.Command("/bin/sh", "-c", `ulimit -Sn 200 && ulimit -Hn 200 && exec "$@"`, "sh", // 50 each
				os.Args[0], "simulate", "--agents", "120", "--dir", dir)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stderr = os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil || !strings.Contains(line, "120 agents simulated") {
				t.Fatalf("%q, %v", line, err)
			}
			b, err := os.ReadFile(filepath.Join(dir, "inventory.ini"))
			if err != nil {
				t.Fatal(err)
			}
			var ports []string
			for i, host := range strings.Split(strings.TrimSpace(string(b)), "\n")[1:] {
				var number, port int
				if _, err := fmt.Sscanf(host, "s%05d ansible_host=127.0.0.1 ansible_port=%d ansible_user=sim", &number, &port); err != nil || number != i+1 {
					t.Fatalf("host %d is %q, %v", i+1, host, err)
				}
				ports = append(ports, fmt.Sprintf("127.0.0.1:%d", port))
			}
			if pins, _ := filepath.Glob(filepath.Join(dir, "state", "*", "*")); len(ports) != 120 || len(pins) < 120 {
				t.Fatalf("%d hosts, %d pins", len(ports), len(pins))
			}
			taken := func() (n int) {
				for _, addr := range ports {
					if l, err := net.ListenPacket("udp4", addr); err != nil {
						n++
					} else {
						_ = l.Close()
					}
				}
				return n
			}
			if n := taken(); n != 120 {
				t.Errorf("%d of 120 agents are up", n)
			}
			if len(childrenOf(dir)) < 2 {
				t.Error("one process simulates them all")
			}
			_ = cmd.Process.Signal(end)
			err = cmd.Wait()
			if end == syscall.SIGTERM && err != nil {
				t.Error(err)
			}
			for i := 0; ; i++ {
				left := childrenOf(dir) // by now somebody else may have a port of theirs
				if len(left) == 0 {
					break
				}
				if i == 3000 || end == syscall.SIGTERM {
					t.Fatalf("processes %v outlive the first", left)
				}
				time.Sleep(20 * time.Millisecond)
			}
			if _, err := os.Stat(filepath.Join(dir, "agents")); end == syscall.SIGTERM && !os.IsNotExist(err) {
				t.Errorf("the agents' directory: %v", err)
			}
		})
	}
}

// childrenOf are the processes that simulate agents in a directory.
func childrenOf(dir string) (pids []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), "\x00simulate\x00") && strings.Contains(string(b), "\x00"+dir+"\x00") {
			pids = append(pids, filepath.Base(filepath.Dir(f)))
		}
	}
	return pids
}
