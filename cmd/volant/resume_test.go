package main

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"volant/controller/journal"
)

// TestFindRun: a run is found by its name or what its name begins with, without
// a look into any file; the last that was broken off is known by what they hold.
func TestFindRun(t *testing.T) {
	state := t.TempDir()
	p := &process{stdout: new(bytes.Buffer), stderr: new(bytes.Buffer), dir: t.TempDir(), home: t.TempDir(), getenv: func(name string) (string, bool) {
		return state, name == "VOLANT_STATE_DIR"
	}}
	j, err := configure(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	find := func(want map[string]string) {
		t.Helper()
		for name, run := range want {
			if got, err := j.findRun(name); got != run || (err == nil) != (run != "") {
				t.Errorf("%q: found %q, %v", name, got, err)
			}
		}
	}
	find(map[string]string{"last": "", "2026": ""})
	key, err := j.identity()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(j.runsDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, run := range []struct {
		name string
		key  ed25519.PrivateKey
		over bool
	}{{"20260101-1", key, false}, {"20260102-1", key, false}, {"20260102-12", key, true}, {"20260103-1", ed25519.NewKeyFromSeed(make([]byte, 32)), false}} {
		w, err := journal.Create(j.runPath(run.name), run.key, &journal.Header{})
		if err == nil && run.over {
			err = w.End(&journal.End{})
		} else if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	find(map[string]string{"last": "20260102-1", "20260102-1": "20260102-1", "20260102-12": "20260102-12", "20260101": "20260101-1", "2026": "", "3": ""})
	if err := os.WriteFile(filepath.Join(state, "controller.key"), []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	find(map[string]string{"last": "", "20260102-1": "20260102-1", "20260103": "20260103-1"})
}

// TestRunsThatNeverBeganAreOver: what died before any host did anything is no
// run to go on with.
func TestRunsThatNeverBeganAreOver(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		state string
	}{
		"no YAML":      {"- hosts: localhost\n  tasks: [\n", "ended with code 4"},
		"no module":    {"- hosts: localhost\n  tasks: [{nosuchmodule: }]\n", "ended with code"},
		"no such role": {"- hosts: localhost\n  roles: [nosuch]\n", "ended with code"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			if err := os.WriteFile(filepath.Join(dir, "p.yml"), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			p := &process{name: "volant playbook", command: "playbook", find: find, stdout: &out, stderr: &out, dir: dir, home: dir,
				getenv: func(string) (string, bool) { return "", false }}
			var opt playbookOptions
			if err := parse(p, &opt, "", []string{"p.yml"}); err != nil {
				t.Fatal(err)
			}
			j, err := configure(p, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := j.playbooks(t.Context(), &opt, &keeper{}); err == nil {
				t.Fatalf("no error\n%s", &out)
			}
			if run, err := j.lastBroken(); err == nil {
				t.Errorf("%s could be resumed", run)
			}
			out.Reset()
			if err := j.listRuns(); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); strings.Contains(got, "p.yml") && !strings.Contains(got, c.state) {
				t.Errorf("listed as\n%s", got)
			}
		})
	}
}
