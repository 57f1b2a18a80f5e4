package e2e

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// harsh makes a host end whatever a user left running when they log out.
const harsh = `mkdir -p /etc/systemd/logind.conf.d && printf '[Login]\nKillUserProcesses=yes\nUserStopDelaySec=0\n' > /etc/systemd/logind.conf.d/harsh.conf && systemctl restart systemd-logind`

// lingers lets deploy's services run without a login, as loginctl would.
const lingers = `mkdir -p /var/lib/systemd/linger && touch /var/lib/systemd/linger/deploy`

// tree lists every file of a host that outlives a boot, but for what the system
// itself notes of logins and services.
const tree = `find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /var/log -o -path /var/lib/systemd -o -path /var/cache \) -prune ` +
	`-o -printf '%p %y %m %u\n' | sort; ls -A /tmp /var/tmp /dev/shm | grep -i volant; ls -A /var/lib/systemd/linger 2>/dev/null`

// agentStates are what volant agent says of hosts.
func (l *lab) agentStates(action string, args ...string) []map[string]any {
	l.t.Helper()
	out, code := l.run(time.Minute, "volant", append([]string{"agent", action, "--json", "-i", l.inventory()}, args...)...)
	l.want(out, code, 0)
	var states []map[string]any
	if err := json.Unmarshal([]byte(out[strings.Index(out, "["):]), &states); err != nil {
		l.t.Fatalf("%v in:\n%s", err, out)
	}
	return states
}

// TestLogout: an agent that systemd ends with its login has that kept open for
// the run; a command that runs on is not ended, and nothing is run twice.
func TestLogout(t *testing.T) {
	l := newLab(t, "systemd", "1")
	if out, code := l.exec("h1", harsh); code != 0 {
		t.Fatal(out)
	}
	for _, ssh := range []string{"native", "openssh"} {
		t.Run(ssh, func(t *testing.T) {
			out, code := l.playbook(`
- hosts: all
  gather_facts: false
  tasks:
    - shell: echo started >> /tmp/ran-`+ssh+`; sleep 4; echo finished
      register: r
    - assert: {that: r.stdout == 'finished'}
    - shell: tr '\0' '\n' < /proc/self/cgroup; loginctl --no-legend list-sessions
`, "-e", "volant_ssh="+ssh)
			l.want(out, code, 0, "failed=0", "unreachable=0")
			if n, _ := l.exec("h1", "grep -c started /tmp/ran-"+ssh); strings.TrimSpace(n) != "1" {
				t.Errorf("the task ran %s times", n)
			}
			if ssh == "openssh" {
				return // its connection persists a minute, as ssh_args say
			}
			// The login is over with the run, and the agent with it.
			l.eventually("h1", "pgrep -c ^volant-agent || true", "0", 20*time.Second)
		})
	}
}

// TestLingering: where a user's services may run on, the agent is one of them:
// it outlives logout, sshd, the network and a boot, and is met without SSH.
func TestLingering(t *testing.T) {
	l := newLab(t, "systemd", "1")
	if out, code := l.exec("h1", lingers+" && "+harsh); code != 0 {
		t.Fatal(out)
	}
	ping := func() {
		t.Helper()
		out, code := l.run(time.Minute, "volant", "adhoc", "-i", l.inventory(), "-m", "ping", "all")
		l.want(out, code, 0, "pong")
	}
	ping()
	state := l.agentStates("status")[0]
	if state["state"] != "running" || state["unit"] != "user" {
		t.Fatalf("the agent is %v", state)
	}
	time.Sleep(2 * time.Second) // everything is logged out
	l.exec("h1", "systemctl stop ssh.socket ssh")
	ping()
	for name, during := range map[string]string{
		"the network is restarted":     "systemctl restart systemd-networkd",
		"the interface goes and comes": "i=$(ip -o route get 10.77.0.1 2>/dev/null | sed 's/.* dev \\([^ ]*\\).*/\\1/'); i=${i:-host0}; ip link set $i down; sleep 2; ip link set $i up; systemctl restart systemd-networkd",
	} {
		t.Run(name, func(t *testing.T) {
			mark := strings.ReplaceAll(name, " ", "-")
			l.playbookBackground(t, `
- hosts: all
  gather_facts: false
  tasks:
    - shell: echo started >> /tmp/`+mark+`; sleep 5; echo finished
      register: r
    - assert: {that: r.stdout == 'finished'}
`, func() {
				l.eventually("h1", "grep -c started /tmp/"+mark, "1", 20*time.Second)
				if out, code := l.exec("h1", during); code != 0 {
					t.Fatal(out)
				}
			}, func(out string, code int) { l.want(out, code, 0, "failed=0", "unreachable=0") })
			if n, _ := l.exec("h1", "grep -c started /tmp/"+mark); strings.TrimSpace(n) != "1" {
				t.Errorf("the task ran %s times", n)
			}
		})
	}
	t.Run("reboot", func(t *testing.T) {
		if out, code := l.run(2*time.Minute, "volant-lab", "reboot", "--dir", l.dir, "h1"); code != 0 {
			t.Fatal(out)
		}
		l.eventually("h1", "pgrep -c -u deploy ^volant-agent || true", "1", 30*time.Second)
		l.exec("h1", "systemctl stop ssh.socket ssh")
		ping()
	})
}

// TestDetachedReboot: an agent that nothing keeps is started again over SSH.
func TestDetachedReboot(t *testing.T) {
	l := newLab(t, "systemd", "1")
	for range 2 {
		out, code := l.run(time.Minute, "volant", "adhoc", "-i", l.inventory(), "-m", "ping", "all")
		l.want(out, code, 0, "pong")
		if s := l.agentStates("status")[0]; s["state"] != "running" || s["unit"] != nil {
			t.Fatalf("the agent is %v", s)
		}
		if out, code := l.run(2*time.Minute, "volant-lab", "reboot", "--dir", l.dir, "h1"); code != 0 {
			t.Fatal(out)
		}
	}
}

// TestUninstallLeavesNothing: after uninstall a host has the files it had before
// the agent ever came, whoever the agent belonged to and became.
func TestUninstallLeavesNothing(t *testing.T) {
	l := newLab(t, "systemd", "1")
	for name, c := range map[string]struct{ inventory, before string }{
		"root's":            {"inventory-root.ini", "true"},
		"a user's, a unit":  {"inventory.ini", lingers + "; loginctl enable-linger deploy"},
		"a user's, no unit": {"inventory.ini", "loginctl disable-linger deploy; loginctl terminate-user deploy; true"},
	} {
		t.Run(name, func(t *testing.T) {
			l.exec("h1", c.before)
			time.Sleep(time.Second)
			inv := filepath.Join(l.dir, c.inventory)
			was, _ := l.exec("h1", tree)
			out, code := l.run(3*time.Minute, "volant", "playbook", "-i", inv, l.file("all.yml", `
- hosts: all
  tasks:
    - shell: "true"
    - copy: {content: x, dest: /tmp/x}
    - stat: {path: /tmp/x}
    - command: id -un
      become: true
      become_user: nobody
    - command: id -un
      become: true
    - debconf: {name: tzdata}
      ignore_errors: true
    - file: {path: /tmp/x, state: absent}
`))
			l.want(out, code, 0, "unreachable=0")
			out, code = l.run(time.Minute, "volant", "agent", "uninstall", "-i", inv)
			l.want(out, code, 0, "removed")
			time.Sleep(2 * time.Second) // for logins to end
			is, _ := l.exec("h1", tree)
			before, after := strings.Split(was, "\n"), strings.Split(is, "\n")
			for _, line := range after {
				if !slices.Contains(before, line) && !strings.Contains(line, "/__pycache__") {
					t.Errorf("new: %s", line)
				}
			}
			for _, line := range before {
				if !slices.Contains(after, line) {
					t.Errorf("gone: %s", line)
				}
			}
			if out, _ := l.exec("h1", "pgrep -al volant; systemctl list-units --all | grep -i volant; systemctl list-unit-files | grep -i volant"); strings.TrimSpace(out) != "" {
				t.Errorf("left: %s", out)
			}
		})
	}
}
