package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// killAgent ends the agent of a lab host as a crash would.
const killAgent = `pkill -KILL ^volant-agent || echo none`

// TestAgentKilledBetweenTasks: the agent is started again over SSH and the play
// goes on.
func TestAgentKilledBetweenTasks(t *testing.T) {
	l := newLab(t, "systemd", "1")
	out, code := l.playbook(`
- hosts: all
  gather_facts: false
  tasks:
    - command: echo one
    - name: kill the agent from outside
      command:
        argv: ["{{ lab }}", exec, --dir, "{{ dir }}", "{{ inventory_hostname }}", "{{ kill }}"]
      delegate_to: localhost
      register: killed
      failed_when: "'none' in killed.stdout"
    - set_fact: {before: "{{ now().timestamp() }}"}
    - command: echo two
      register: two
    - assert: {that: two.stdout == 'two'}
    - assert: {that: now().timestamp() - before | float < 2.5}
`, "-e", "lab="+l.bin+"/volant-lab", "-e", "dir="+l.dir, "-e", `{"kill": "`+killAgent+`"}`)
	l.want(out, code, 0, "failed=0", "unreachable=0")
}

// TestHiddenProcesses: an agent is found again, by another controller, where
// /proc hides it from its own user.
func TestHiddenProcesses(t *testing.T) {
	l := newLab(t, "systemd", "1")
	ping := func() {
		t.Helper()
		out, code := l.run(time.Minute, "volant", "adhoc", "-i", filepath.Join(l.dir, "inventory.ini"), "-m", "ping", "all")
		l.want(out, code, 0, "pong")
	}
	ping()
	const pid = "pgrep -f '[v]olant-agent.* serve'"
	before, _ := l.exec("h1", pid)
	if out, code := l.exec("h1", "mount -o remount,hidepid=2 /proc"); code != 0 {
		t.Fatal(out)
	}
	l.env = append(l.env, "VOLANT_STATE_DIR="+filepath.Join(l.home, "another"))
	ping()
	if after, _ := l.exec("h1", pid); after != before {
		t.Errorf("another agent serves: %s after %s", after, before)
	}
}

// TestUnit: root's agent is kept by a unit: it comes back after a crash and a
// reboot without SSH, is replaced without losing what runs, and leaves nothing.
func TestUnit(t *testing.T) {
	l := newLab(t, "systemd", "1")
	root := filepath.Join(l.dir, "inventory-root.ini")
	ping := func() {
		t.Helper()
		out, code := l.run(time.Minute, "volant", "adhoc", "-i", root, "-m", "ping", "all")
		l.want(out, code, 0, "pong")
	}
	ping()
	const pid = "systemctl show -P MainPID volant-agent"
	first, _ := l.exec("h1", pid)
	if out, code := l.exec("h1", "systemctl is-enabled volant-agent && systemctl is-active volant-agent"); code != 0 {
		t.Fatal(out)
	}
	if out, code := l.exec("h1", "kill -KILL $("+pid+") && systemctl stop ssh.socket ssh; sleep 1; "+pid); code != 0 || out == first {
		t.Fatalf("the agent did not come back: %s after %s", out, first)
	}
	ping() // without SSH
	l.exec("h1", "systemctl start ssh")
	t.Run("replaced while a task runs", func(t *testing.T) {
		before, _ := l.exec("h1", pid)
		l.playbookBackground(t, `
- hosts: all
  gather_facts: false
  tasks:
    - shell: echo started >> /root/ran; sleep 5; echo finished
      register: r
    - assert: {that: r.stdout == 'finished'}
`, func() {
			l.eventually("h1", "grep -c started /root/ran", "1", 20*time.Second)
			if out, code := l.exec("h1", "kill -USR2 $("+pid+")"); code != 0 {
				t.Fatal(out)
			}
		}, func(out string, code int) { l.want(out, code, 0, "failed=0", "unreachable=0") }, "-i", root)
		if after, _ := l.exec("h1", pid); after == before {
			t.Error("the agent is the old one")
		}
	})
	t.Run("reboot", func(t *testing.T) {
		if out, code := l.run(2*time.Minute, "volant-lab", "reboot", "--dir", l.dir, "h1"); code != 0 {
			t.Fatal(out)
		}
		l.eventually("h1", "systemctl is-active volant-agent", "active", 30*time.Second)
		ping()
	})
	t.Run("uninstall", func(t *testing.T) {
		out, code := l.run(time.Minute, "volant", "agent", "uninstall", "-i", root)
		l.want(out, code, 0, "removed")
		if out, _ := l.exec("h1", "find / -xdev -name '*volant-agent*' -o -xdev -name 'volant-worker*'; pgrep -l volant; systemctl list-units --all | grep volant"); strings.TrimSpace(out) != "" {
			t.Errorf("left behind: %s", out)
		}
	})
}

// TestAgentKilledDuringTask: what ran may or may not have completed; it is said
// so and never run again.
func TestAgentKilledDuringTask(t *testing.T) {
	l := newLab(t, "systemd", "1")
	l.playbookBackground(t, `
- hosts: all
  gather_facts: false
  tasks:
    - shell: echo started >> /tmp/ran; sleep 20
`, func() {
		l.eventually("h1", "grep -c started /tmp/ran", "1", 20*time.Second)
		if out, code := l.exec("h1", killAgent); code != 0 || strings.Contains(out, "none") {
			t.Fatalf("the agent was not killed: %s", out)
		}
	}, func(out string, code int) {
		l.want(out, code, 2, "The agent on this host stopped while the task ran; it may or may not have completed.")
		if n, _ := l.exec("h1", "grep -c started /tmp/ran"); strings.TrimSpace(n) != "1" {
			t.Errorf("the task ran %s times", n)
		}
	})
}

// TestCutLink: the cable is out for three seconds in the middle of a command;
// its result arrives, and it ran once.
func TestCutLink(t *testing.T) {
	l := newLab(t, "systemd", "1")
	l.playbookBackground(t, `
- hosts: all
  gather_facts: false
  tasks:
    - shell: echo started >> /tmp/ran; sleep 5; echo finished
      register: r
    - assert: {that: r.stdout == 'finished'}
`, func() {
		l.eventually("h1", "grep -c started /tmp/ran", "1", 20*time.Second)
		for _, way := range []string{"--down", "--up"} {
			if out, code := l.run(time.Minute, "volant-lab", "shape", "--dir", l.dir, "h1", way); code != 0 {
				t.Fatal(out)
			}
			if way == "--down" {
				time.Sleep(7 * time.Second) // the command ends while the cable is out
			}
		}
	}, func(out string, code int) {
		l.want(out, code, 0, "failed=0")
		if n, _ := l.exec("h1", "grep -c started /tmp/ran"); strings.TrimSpace(n) != "1" {
			t.Errorf("the task ran %s times", n)
		}
	})
}

// TestRestartSSHD: the link does not depend on the SSH that made it.
func TestRestartSSHD(t *testing.T) {
	l := newLab(t, "systemd", "1")
	l.playbookBackground(t, `
- hosts: all
  gather_facts: false
  tasks:
    - shell: echo started >> /tmp/ran; sleep 4
    - command: echo after
`, func() {
		l.eventually("h1", "grep -c started /tmp/ran", "1", 20*time.Second)
		if out, code := l.exec("h1", "systemctl restart ssh"); code != 0 {
			t.Fatal(out)
		}
	}, func(out string, code int) { l.want(out, code, 0, "failed=0", "unreachable=0") })
}

// playbookBackground runs a playbook, meanwhile during, then checks its end.
func (l *lab) playbookBackground(t *testing.T, text string, during func(), after func(out string, code int), args ...string) {
	t.Helper()
	type end struct {
		out  string
		code int
	}
	done := make(chan end, 1)
	go func() { // ends with the playbook, which run bounds
		out, code := l.playbook(text, args...)
		done <- end{out, code}
	}()
	during()
	select {
	case e := <-done:
		after(e.out, e.code)
	case <-time.After(2 * patience * 3 * time.Minute):
		t.Fatal("the playbook does not end")
	}
}

// eventually waits until a command on a host prints want.
func (l *lab) eventually(host, cmd, want string, limit time.Duration) {
	l.t.Helper()
	for end := time.Now().Add(patience * limit); ; time.Sleep(100 * time.Millisecond) {
		out, _ := l.exec(host, cmd)
		if strings.TrimSpace(out) == want {
			return
		}
		if time.Now().After(end) {
			l.t.Fatalf("%s on %s still prints %q", cmd, host, out)
		}
	}
}

// TestResume: a controller that is killed in the middle of a run goes on where
// it stood; nothing runs twice. What changed since is named, and a run that
// ended says so.
func TestResume(t *testing.T) {
	l := newLab(t, "process", "2")
	ran, killed := filepath.Join(l.home, "ran"), filepath.Join(l.home, "killed")
	site := l.file("site.yml", `
- hosts: all
  gather_facts: false
  vars_files: [vars.yml]
  tasks:
    - set_fact: {token: "{{ 100000 | random }}"}
    - shell: echo "{{ inventory_hostname }} {{ item }}" >> `+ran+`; sleep 0.4; echo {{ item }} {{ token }}
      loop: [1, 2, 3, 4]
      register: loop
      notify: said
    - command: echo {{ secret }}
      no_log: true
    - assert: {that: "(loop.results | map(attribute='stdout'))[0] == '1 ' ~ token"}
  handlers:
    - name: said
      shell: echo "{{ inventory_hostname }} handler {{ token }}" >> `+ran+`; while [ ! -e `+killed+` ]; do sleep 0.1; done
`)
	vars := l.file("vars.yml", "secret: sesame\n")
	kill := func(lines int) {
		t.Helper()
		cmd := exec.Command(filepath.Join(l.bin, "volant"), "playbook", "-i", l.inventory(), site)
		cmd.Env, cmd.Dir = l.env, l.home
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			b, _ := os.ReadFile(ran)
			if strings.Count(string(b), "\n") >= lines {
				break
			}
			if time.Now().After(end) {
				t.Fatal("nothing runs")
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		l.file("killed", "")
	}
	for _, lines := range []int{1, 4, 7, 8, 9} {
		_, _ = os.Remove(ran), os.Remove(killed)
		kill(lines)
		if out, code := l.run(time.Minute, "volant", "runs"); code != 0 || !strings.Contains(out, "broken off") {
			t.Fatalf("%d: %s", code, out)
		}
		l.file("vars.yml", "secret: other\n")
		out, code := l.run(time.Minute, "volant", "playbook", "--resume", "last")
		l.want(out, code, 1, vars+" is not what it was")
		l.file("vars.yml", "secret: sesame\n")
		out, code = l.run(2*time.Minute, "volant", "playbook", "--resume", "last")
		l.want(out, code, 0, "failed=0", "unreachable=0")
		for host, counts := range recap(out) {
			if !strings.HasPrefix(counts, "ok=5 changed=3") {
				t.Errorf("killed after %d: %s counts %s", lines, host, counts)
			}
		}
		b, err := os.ReadFile(ran)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		for line := range strings.Lines(string(b)) {
			seen[strings.Join(strings.Fields(line)[:2], " ")]++
		}
		for what, n := range seen {
			if n != 1 {
				t.Errorf("killed after %d: %q ran %d times", lines, what, n)
			}
		}
		if len(seen) != 10 {
			t.Errorf("killed after %d: %v", lines, seen)
		}
		out, code = l.run(time.Minute, "volant", "playbook", "--resume", "last")
		l.want(out, code, 1, "There is no run that was broken off.")
	}
	found, err := filepath.Glob(filepath.Join(l.home, "state", "runs", "*"))
	if err != nil || len(found) != 5 {
		t.Fatal(found, err)
	}
	out, code := l.run(time.Minute, "volant", "playbook", "--resume", strings.TrimSuffix(filepath.Base(found[0]), ".run"))
	l.want(out, code, 0, "there is nothing to resume")
	for _, f := range found {
		if b, _ := os.ReadFile(f); strings.Contains(string(b), "sesame") {
			t.Errorf("%s has a secret in the clear", f)
		}
	}
}
