package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAliases: ten names of one machine in an inventory have one agent and one
// link; tasks of each run, side by side.
func TestAliases(t *testing.T) {
	l := newLab(t, "process", "1")
	text, err := os.ReadFile(l.inventory())
	if err != nil {
		t.Fatal(err)
	}
	var inv strings.Builder
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "h1 ") {
			inv.WriteString(line)
			continue
		}
		for i := range 10 {
			fmt.Fprintf(&inv, "a%d %s", i, strings.TrimPrefix(line, "h1 "))
		}
	}
	file := l.file("aliases.ini", inv.String())
	ran := filepath.Join(l.home, "ran")
	out, code := l.run(3*time.Minute, "volant", "playbook", "-i", file, l.file("site.yml", `
- hosts: all
  gather_facts: false
  strategy: free
  tasks:
    - shell: echo {{ inventory_hostname }} >> `+ran+`; echo {{ inventory_hostname }}
      register: r
    - assert: {that: r.stdout == inventory_hostname}
    - copy: {content: "{{ inventory_hostname }}", dest: "`+l.home+`/{{ inventory_hostname }}"}
`))
	l.want(out, code, 0, "failed=0")
	if n := len(recap(out)); n != 10 {
		t.Errorf("%d hosts in the recap", n)
	}
	b, _ := os.ReadFile(ran)
	for i := range 10 {
		name := fmt.Sprintf("a%d", i)
		if n := strings.Count(string(b), name+"\n"); n != 1 {
			t.Errorf("%s ran %d times", name, n)
		}
		if got, _ := os.ReadFile(filepath.Join(l.home, name)); string(got) != name {
			t.Errorf("%s copied %q", name, got)
		}
	}
	if n, _ := l.exec("h1", `for p in /proc/[0-9]*; do cat $p/cmdline 2>/dev/null | tr '\0' ' ' | grep -q "serve --home $VOLANT_AGENT_HOME " && echo $p; done | wc -l`); strings.TrimSpace(n) != "1" {
		t.Errorf("%s agents serve", n)
	}
}

// terminalPair is a pseudo terminal: the user's side and the program's.
func terminalPair(t *testing.T) (user, program *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = user.Close() })
	n := 0
	if n, err = unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN); err == nil {
		err = unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return user, program
}

// TestInterruptedBootstrap: Ctrl-C at a question, while SSH is dialled and while
// the agent is uploaded ends the run with the reference's code at once; the
// terminal is as it was, and on the host nothing is left of what was begun.
func TestInterruptedBootstrap(t *testing.T) {
	t.Run("at a question", func(t *testing.T) {
		l := newLab(t, "process", "1")
		user, program := terminalPair(t)
		before, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(filepath.Join(l.bin, "volant"), "adhoc", "-k", "-i", l.inventory(), "-m", "ping", "all")
		cmd.Env, cmd.Dir = l.env, l.home
		cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(patience*time.Minute, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		var shown bytes.Buffer
		b := make([]byte, 4096)
		for !strings.Contains(shown.String(), "password:") {
			n, err := user.Read(b)
			if err != nil {
				t.Fatalf("%v after %q", err, shown.String())
			}
			shown.Write(b[:n])
		}
		if _, err := user.Write([]byte{3}); err != nil { // Ctrl-C
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 99 {
			n, _ := user.Read(b)
			t.Errorf("exit %d: %s%s", code, shown.String(), b[:n])
		}
		after, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		if *before != *after {
			t.Errorf("the terminal is not as it was: %+v after %+v", after, before)
		}
	})
	t.Run("while SSH is dialled", func(t *testing.T) {
		l := newLab(t, "process", "1")
		mark := filepath.Join(l.home, "dialling")
		proxy := l.file("proxy", "#!/bin/sh\necho $$ > "+mark+".new\nmv "+mark+".new "+mark+"\nexec sleep 600\n")
		if err := os.Chmod(proxy, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, ssh := range []string{"native", "openssh"} {
			_ = os.Remove(mark)
			begin := time.Time{}
			out, code := l.interrupted(func() bool {
				begin = time.Now()
				_, err := os.Stat(mark)
				return err == nil
			}, 1, "adhoc", "-i", l.inventory(), "-m", "ping", "-e", "volant_ssh="+ssh, "-e", "ansible_ssh_extra_args='-o ProxyCommand="+proxy+"'", "all")
			if code != 99 || time.Since(begin) > 40*time.Second {
				t.Errorf("%s: exit %d after %v:\n%s", ssh, code, time.Since(begin), out)
			}
			pid, _ := os.ReadFile(mark)
			for end := time.Now().Add(patience * 5 * time.Second); ; time.Sleep(50 * time.Millisecond) {
				stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
				if err != nil || bytes.Contains(stat, []byte(") Z ")) { // gone, whoever is to take note of it
					break
				}
				if time.Now().After(end) {
					t.Errorf("%s: the proxy command runs on", ssh)
					break
				}
			}
		}
	})
	t.Run("while the agent is uploaded", func(t *testing.T) {
		l := newLab(t, "systemd", "1")
		was, _ := l.exec("h1", tree)
		for _, ssh := range []string{"native", "openssh"} {
			if out, code := l.run(time.Minute, "volant-lab", "shape", "--dir", l.dir, "h1", "--delay", "300"); code != 0 {
				t.Fatal(out)
			}
			out, code := l.interrupted(func() bool {
				n, _ := l.exec("h1", "ls -A /home/deploy/.local/share/volant-agent/bin 2>/dev/null | grep -c '^.new' || true")
				return strings.TrimSpace(n) == "1"
			}, 1, "adhoc", "-i", l.inventory(), "-m", "ping", "-e", "volant_ssh="+ssh, "all")
			if code != 99 {
				t.Errorf("%s: exit %d:\n%s", ssh, code, out)
			}
			if out, code := l.run(time.Minute, "volant-lab", "shape", "--dir", l.dir, "h1"); code != 0 {
				t.Fatal(out)
			}
			l.exec("h1", "pkill -KILL -x sshd-session; true") // what persists of ssh's own connection
			l.eventually("h1", "find /home/deploy/.local/share/volant-agent /var/tmp /tmp /dev/shm -name '*volant*' -o -name '.new*' 2>/dev/null; pgrep -l volant", "", 20*time.Second)
		}
		is, _ := l.exec("h1", tree)
		for _, line := range strings.Split(is, "\n") {
			if !strings.Contains(was, line) && !strings.Contains(line, "/home/deploy/.local") && !strings.Contains(line, "/home/deploy/.cache") {
				t.Errorf("new: %s", line)
			}
		}
	})
}

// TestPipeTargets: anything that runs a command with standard input and output is
// a target: a chroot and a container of systemd, through their programs.
func TestPipeTargets(t *testing.T) {
	l := newLab(t, "systemd", "1")
	root := filepath.Join(l.dir, "hosts", "h1", "root")
	// A tree of its own that nobody else runs in.
	tree := filepath.Join(t.TempDir(), "tree")
	for _, d := range []string{"upper", "work", "root"} {
		if err := os.MkdirAll(filepath.Join(tree, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	target := filepath.Join(tree, "root")
	if out, err := exec.Command("cp", "-a", "--one-file-system", root+"/.", target).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, vars := range map[string]string{
		"chroot": "ansible_connection=community.general.chroot ansible_host=" + target,
		"nspawn": "ansible_connection=volant.command volant_command='systemd-nspawn --quiet --pipe --register=no --keep-unit -D " + target + " /bin/sh -c'",
	} {
		t.Run(name, func(t *testing.T) {
			l := *l
			l.t = t
			program := map[string]string{"chroot": "chroot", "nspawn": "systemd-nspawn"}[name]
			if _, err := exec.LookPath(program); err != nil {
				t.Skip(err)
			}
			inv := l.file(name+".ini", "target "+vars+" ansible_python_interpreter=/usr/bin/python3\n")
			out, code := l.run(3*time.Minute, "volant", "playbook", "-i", inv, l.file("site.yml", `
- hosts: all
  tasks:
    - assert: {that: ansible_facts.distribution == 'Debian'}
    - command: cat /etc/volant-lab-mark
      failed_when: false
      register: before
    - copy: {content: "{{ inventory_hostname }} `+name+`\n", dest: /etc/volant-lab-mark}
    - command: cat /etc/volant-lab-mark
      register: r
    - assert: {that: r.stdout == 'target `+name+`'}
    - file: {path: /srv/of-`+name+`, state: directory, mode: "0750"}
    - command: id -un
      become: true
      become_user: deploy
      become_method: su
      register: who
    - assert: {that: who.stdout == 'deploy'}
    - lineinfile: {path: /etc/volant-lab-mark, line: second}
`))
			l.want(out, code, 0, "failed=0", "unreachable=0")
			b, err := os.ReadFile(filepath.Join(target, "etc/volant-lab-mark"))
			if err != nil || string(b) != "target "+name+"\nsecond\n" {
				t.Errorf("%q, %v", b, err)
			}
			if _, err := os.Stat("/srv/of-" + name); err == nil {
				t.Error("it was done to this machine")
			}
			// The agent was there for the run only.
			ctx, cancel := context.WithTimeout(t.Context(), patience*20*time.Second)
			defer cancel()
			for {
				out, _ := exec.CommandContext(ctx, "pgrep", "-f", "volant-agent.*"+target).CombinedOutput()
				if len(bytes.TrimSpace(out)) == 0 || ctx.Err() != nil {
					break
				}
				time.Sleep(100 * time.Millisecond)
			}
			if ctx.Err() != nil {
				t.Error("the agent lives on")
			}
		})
	}
}

// TestFewDescriptors: with a limit of 256 descriptors 320 agents are served in
// one run.
func TestFewDescriptors(t *testing.T) {
	l := newLab(t, "process", "1")
	const agents = 320
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir := filepath.Join(l.home, "sim")
	sim := exec.CommandContext(ctx, filepath.Join(l.bin, "volant-lab"), "simulate", "--agents", fmt.Sprint(agents), "--memory", "--dir", dir)
	pipe, err := sim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	sim.Stderr = sim.Stdout
	if err := sim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = sim.Wait() }()
	b := make([]byte, 4096)
	for said := ""; !strings.Contains(said, "simulated"); {
		n, err := pipe.Read(b)
		if err != nil {
			t.Fatalf("%v after %q", err, said)
		}
		said += string(b[:n])
	}
	env := append(append([]string{}, l.env...), "VOLANT_STATE_DIR="+filepath.Join(dir, "state"))
	site := l.file("site.yml", "- hosts: all\n  gather_facts: false\n  tasks:\n  - ping:\n  - command: 'true'\n  - ping:\n")
	out, code := l.runEnv(env, 3*time.Minute, "/bin/sh", "-c", `ulimit -n 256 && exec "$0" "$@"`, filepath.Join(l.bin, "volant"),
		"playbook", "-i", filepath.Join(dir, "inventory.ini"), site)
	if code != 0 || len(recap(out)) != agents {
		t.Fatalf("exit %d, %d hosts:\n%.3000s", code, len(recap(out)), out[max(0, len(out)-3000):])
	}
	for host, counts := range recap(out) {
		if !strings.HasPrefix(counts, "ok=3 ") {
			t.Errorf("%s: %s", host, counts)
		}
	}
}
