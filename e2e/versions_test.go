package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// built makes the named commands as another version of this tree: of a release,
// and of a range of protocol versions, 0 being this tree's own.
func built(t *testing.T, lab, release string, oldest, newest int, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	args := []string{"build", "-ldflags", "-X volant/wire.Build=" + release + " -X main.version=" + release}
	if newest != 0 {
		out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "volant/wire").Output()
		if err != nil {
			t.Fatal(err)
		}
		source := filepath.Join(strings.TrimSpace(string(out)), "wire.go")
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		changed := string(text)
		for name, n := range map[string]int{"Version": newest, "MinVersion": oldest} {
			before, rest, ok := strings.Cut(changed, "\nconst "+name+" = ")
			_, after, ok2 := strings.Cut(rest, "\n")
			if !ok || !ok2 {
				t.Fatalf("%s does not say what %s is", source, name)
			}
			changed = fmt.Sprintf("%s\nconst %s = %d\n%s", before, name, n, after)
		}
		replaced := filepath.Join(dir, "wire.go")
		overlay, err := json.Marshal(map[string]map[string]string{"Replace": {source: replaced}})
		if err != nil {
			t.Fatal(err)
		}
		for path, b := range map[string][]byte{replaced: []byte(changed), filepath.Join(dir, "overlay.json"): overlay} {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		args = append(args, "-overlay", filepath.Join(dir, "overlay.json"))
	}
	bin := filepath.Join(dir, "bin")
	packages := []string{}
	for _, name := range names {
		packages = append(packages, "volant/cmd/"+name)
	}
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", append(append(args, "-o", bin+"/"), packages...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(string(out))
	}
	b, err := os.ReadFile(filepath.Join(lab, "volant-lab"))
	if err == nil {
		err = os.WriteFile(filepath.Join(bin, "volant-lab"), b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// together is a directory of a controller, the agent that it installs, and the lab.
func together(t *testing.T, controller, agent string) string {
	t.Helper()
	dir := t.TempDir()
	for name, from := range map[string]string{"volant": controller, "volant-lab": controller, "volant-agent": agent} {
		if err := os.Link(filepath.Join(from, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// with is the same lab and controller, with the commands of another directory.
func (l *lab) with(dir string) *lab {
	other := *l
	other.bin = dir
	return &other
}

// TestProtocols: controllers and agents of neighbouring versions of the protocol
// work together; where there is no common one, the agent is replaced unless it is
// the newer one, which is left alone with a clear word.
func TestProtocols(t *testing.T) {
	if os.Getenv("VOLANT_SYSTEMD_LAB") != "1" {
		t.Skip("set VOLANT_SYSTEMD_LAB=1: the commands are built several times")
	}
	l := newLab(t, "process", "5")
	ours := l.with(built(t, l.bin, "1.0.0", 0, 0, "volant", "volant-agent"))
	next := l.with(built(t, l.bin, "2.0.0", 1, 2, "volant", "volant-agent"))
	// These speak nothing that ours does, whatever their release says.
	newer := l.with(together(t, ours.bin, built(t, l.bin, "3.0.0", 2, 2, "volant-agent")))
	older := l.with(together(t, ours.bin, built(t, l.bin, "0.1.0", 2, 2, "volant-agent")))
	const play = `
- hosts: all
  gather_facts: false
  tasks:
    - shell: cat; echo {{ 6 * 7 }}
      args: {stdin: "it is ", stdin_add_newline: false}
      register: r
    - assert: {that: r.stdout == 'it is 42'}
    - copy: {content: "{{ 'x' * 100000 }}", dest: "/tmp/volant-e2e-{{ inventory_hostname }}"}
    - slurp: {src: "/tmp/volant-e2e-{{ inventory_hostname }}"}
      register: r
    - assert: {that: "(r.content | b64decode | length) == 100000"}
    - file: {path: "/tmp/volant-e2e-{{ inventory_hostname }}", state: absent}
`
	for i, tc := range []struct {
		name          string
		first, second *lab
		shut          bool // SSH is shut when the second comes
		serves        string
		code          int
		text          string
	}{
		{"an older agent is worked with where SSH is shut", ours, next, true, "1.0.0", 0, ""},
		{"an older agent is replaced", ours, next, false, "2.0.0", 0, ""},
		{"a newer agent is worked with and stays", next, ours, false, "2.0.0", 0, ""},
		{"an older agent without a common version is replaced", older, ours, false, "1.0.0", 0, ""},
		{"a newer agent without a common version is left alone", newer, ours, false, "3.0.0", 4,
			"the agent (3.0.0) speaks protocol 2 to 2, this controller 1 to 1"},
	} {
		host := fmt.Sprintf("h%d", i+1)
		t.Run(tc.name, func(t *testing.T) {
			tc.first.t, tc.second.t = t, t
			out, code := tc.first.run(time.Minute, "volant", "agent", "upgrade", "-i", l.inventory(), host)
			tc.first.want(out, code, 0, "running")
			if tc.first == ours || tc.first == next { // the key is pinned, the agent met
				out, code = tc.first.playbook(play, "--limit", host)
				tc.first.want(out, code, 0, "ok=6")
			}
			if tc.shut {
				if out, code := l.run(time.Minute, "volant-lab", "sshd", "stop", "--dir", l.dir, host); code != 0 {
					t.Fatal(out)
				}
			}
			for range 2 {
				out, code = tc.second.playbook(play, "--limit", host)
				if tc.code == 0 {
					tc.second.want(out, code, 0, "ok=6", "unreachable=0")
				} else {
					tc.second.want(out, code, tc.code, tc.text, "unreachable=1")
				}
			}
			if tc.shut {
				if out, code := l.run(time.Minute, "volant-lab", "sshd", "start", "--dir", l.dir, host); code != 0 {
					t.Fatal(out)
				}
			}
			out, code = tc.second.run(time.Minute, "volant", "agent", "status", "-i", l.inventory(), host)
			tc.second.want(out, code, 0, "running", " "+tc.serves+", ")
		})
	}
}

// TestUpgradeWhileRunning: an agent is replaced by a newer one while it runs a
// task for another run: the task runs once, its result arrives, and that run goes
// on with the new agent.
func TestUpgradeWhileRunning(t *testing.T) {
	l := newLab(t, "systemd", "1")
	before := l.with(built(t, l.bin, "0.0.1", 0, 0, "volant", "volant-agent"))
	after := l.with(built(t, l.bin, "0.0.2", 0, 0, "volant", "volant-agent"))
	for name, inv := range map[string]string{"root's unit": "inventory-root.ini", "a user's, no unit": "inventory.ini"} {
		t.Run(name, func(t *testing.T) {
			before.t, after.t = t, t
			inv, mark := filepath.Join(l.dir, inv), "/tmp/"+inv
			before.playbookBackground(t, `
- hosts: all
  gather_facts: false
  tasks:
    - shell: echo started >> `+mark+`; sleep 6; echo finished
      register: r
    - assert: {that: r.stdout == 'finished'}
    - command: echo after
`, func() {
				before.eventually("h1", "grep -c started "+mark, "1", 30*time.Second)
				out, code := after.run(time.Minute, "volant", "agent", "upgrade", "-i", inv)
				after.want(out, code, 0, " 0.0.2, ", "(was 0.0.1)")
			}, func(out string, code int) { before.want(out, code, 0, "ok=3", "failed=0", "unreachable=0") }, "-i", inv)
			if n, _ := l.exec("h1", "grep -c started "+mark); strings.TrimSpace(n) != "1" {
				t.Errorf("the task ran %s times", n)
			}
			out, code := after.run(time.Minute, "volant", "agent", "status", "-i", inv)
			after.want(out, code, 0, "running", " 0.0.2, ")
			l.eventually("h1", "pgrep -cf '[v]olant-agent.* serve' || true", "1", 20*time.Second)
			out, code = after.run(time.Minute, "volant", "agent", "uninstall", "-i", inv)
			after.want(out, code, 0, "removed")
		})
	}
}
