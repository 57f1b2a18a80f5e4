package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// operator is another controller on the same lab, with a key of its own.
func (l *lab) operator(name string) *lab {
	other := *l
	other.home = filepath.Join(l.home, name)
	if err := os.MkdirAll(other.home, 0o755); err != nil {
		l.t.Fatal(err)
	}
	other.env = append(append([]string{}, l.env...), "VOLANT_STATE_DIR="+filepath.Join(other.home, "state"))
	return &other
}

// controllers are the keys that every host of the lab serves.
func (l *lab) controllers(hosts int) (keys []string) {
	l.t.Helper()
	states := l.agentStates("keys")
	if len(states) != hosts {
		l.t.Fatalf("%d hosts: %v", len(states), states)
	}
	for i, s := range states {
		var of []string
		list, _ := s["controllers"].([]any)
		for _, c := range list {
			of = append(of, c.(map[string]any)["key"].(string))
		}
		if i > 0 && strings.Join(of, " ") != strings.Join(keys, " ") {
			l.t.Fatalf("hosts serve different controllers: %v", states)
		}
		keys = of
	}
	return keys
}

// TestKeys: over an inventory the controllers that agents serve are listed; one
// that is revoked is refused, also on a link that is up, until SSH lets it in
// again; a key that was rotated is worth nothing to whoever copied the old one.
func TestKeys(t *testing.T) {
	l := newLab(t, "process", "2")
	a, b := l.operator("a"), l.operator("b")
	const retry = "VOLANT_RECONNECT=3"
	b.env = append(b.env, retry)
	ping := func(who *lab, code int) {
		t.Helper()
		out, got := who.run(2*time.Minute, "volant", "adhoc", "-i", l.inventory(), "-m", "ping", "all")
		if code == 0 {
			who.want(out, got, 0, "pong")
		} else {
			who.want(out, got, code, "UNREACHABLE!")
		}
	}
	sshd := func(do string) {
		t.Helper()
		if out, code := l.run(time.Minute, "volant-lab", "sshd", do, "--dir", l.dir); code != 0 {
			t.Fatal(out)
		}
	}
	ping(a, 0)
	mine := a.controllers(2)
	ping(b, 0)
	both := a.controllers(2)
	if len(mine) != 1 || len(both) != 2 {
		t.Fatalf("%v, then %v", mine, both)
	}
	theirs := strings.TrimSpace(strings.Replace(strings.Join(both, " "), mine[0], "", 1))

	t.Run("revoked", func(t *testing.T) {
		a.t, b.t = t, t
		gone := filepath.Join(l.home, "gone")
		b.playbookBackground(t, `
- hosts: all
  gather_facts: false
  tasks:
    - shell: echo started >> `+filepath.Join(l.home, "started")+`; while [ ! -e `+gone+` ]; do sleep 0.1; done
    - ping:
    - pause: {seconds: 2}
    - ping:
`, func() {
			for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
				text, _ := os.ReadFile(filepath.Join(l.home, "started"))
				if strings.Count(string(text), "started") == 2 {
					break
				}
				if time.Now().After(end) {
					t.Fatal("nothing runs")
				}
			}
			out, code := a.run(time.Minute, "volant", "agent", "keys", "--revoke", theirs, "-i", l.inventory())
			a.want(out, code, 0, mine[0])
			if strings.Contains(out, theirs) {
				t.Errorf("still served: %s", out)
			}
			sshd("stop")
			l.file("gone", "")
		}, func(out string, code int) { b.want(out, code, 4, "unreachable=1") }, "-i", l.inventory())
		ping(b, 4)
		ping(a, 0) // without SSH
		sshd("start")
		ping(b, 0) // whoever can log in is enrolled again
		if now := a.controllers(2); len(now) != 2 {
			t.Errorf("%v are served", now)
		}
	})
	t.Run("rotated", func(t *testing.T) {
		a.t = t
		thief := l.operator("thief")
		thief.t, thief.env = t, append(thief.env, retry)
		if err := os.CopyFS(filepath.Join(thief.home, "state"), os.DirFS(filepath.Join(a.home, "state"))); err != nil {
			t.Fatal(err)
		}
		sshd("stop")
		ping(thief, 0) // it has the key
		sshd("start")
		out, code := a.run(time.Minute, "volant", "agent", "keys", "--rotate", "-i", l.inventory())
		a.want(out, code, 0)
		if strings.Contains(out, mine[0]) {
			t.Errorf("the old key is served: %s", out)
		}
		sshd("stop")
		ping(thief, 4)
		ping(a, 0)
		sshd("start")
	})
}
