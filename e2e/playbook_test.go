package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func demo(t *testing.T) string {
	t.Helper()
	p, err := filepath.Abs("../demo/site.yml")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestDemoPlaybook is the whole road: bootstrap over SSH, a role over QUIC, a
// second pass that changes nothing and makes no SSH connection, and the same
// recaps as the reference gives on the same hosts.
func TestDemoPlaybook(t *testing.T) {
	l := newLab(t, "process", "3")
	metrics := filepath.Join(l.home, "m.prom")
	first, code := l.run(3*time.Minute, "volant", "playbook", "-i", l.inventory(), demo(t))
	l.want(first, code, 0)
	second, code := l.run(3*time.Minute, "volant", "playbook", "-i", l.inventory(), demo(t), "--metrics-file", metrics)
	l.want(second, code, 0)
	got := recap(second)
	if len(got) != 3 {
		t.Fatalf("recap of %d hosts:\n%s", len(got), second)
	}
	for host, r := range got {
		if !strings.Contains(r, "changed=0 ") || strings.Contains(recap(first)[host], "changed=0 ") {
			t.Errorf("%s: first %s, second %s", host, recap(first)[host], r)
		}
	}
	text, err := os.ReadFile(metrics)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`volant_connects_total{outcome="ok",way="call"} 3`, `volant_run_exit_code{playbook=`, `volant_tasks_total{action=`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	if strings.Contains(string(text), `way="bootstrap"`) {
		t.Error("the second pass went over SSH")
	}
	core := reference(t)
	theirs, code := l.run(5*time.Minute, filepath.Join(core, "bin", "ansible-playbook"), "-i", l.inventory(), demo(t))
	l.want(theirs, code, 0)
	if !maps.Equal(recap(theirs), got) {
		t.Errorf("recaps differ\nours   %v\ntheirs %v", got, recap(theirs))
	}
}

// TestVersions: every binary says what it is.
func TestVersions(t *testing.T) {
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, bin: bin, home: t.TempDir(), env: os.Environ()}
	out, code := l.run(time.Minute, "volant", "--version")
	l.want(out, code, 0, "protocol 1", "2.19.12")
	out, code = l.run(time.Minute, "volant-agent", "version")
	l.want(out, code, 0, "protocol 1")
}
