package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFilesAreNotedForRunsThatAreKept: only a run that can be resumed needs to
// know what its files were.
func TestFilesAreNotedForRunsThatAreKept(t *testing.T) {
	for line, want := range map[string]bool{
		"p.yml":                                true,
		"--check p.yml":                        true,
		"--syntax-check p.yml":                 false,
		"--list-hosts p.yml":                   false,
		"--list-tasks p.yml":                   false,
		"--list-tags p.yml":                    false,
		"p.yml VOLANT_KEEP_RUNS=0":             false,
		"--list-tags p.yml VOLANT_KEEP_RUNS=3": false,
	} {
		dir := t.TempDir()
		t.Chdir(dir)
		if err := os.WriteFile(filepath.Join(dir, "p.yml"), []byte("- hosts: localhost\n  gather_facts: no\n  tasks: [{debug: }]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		line, setting, _ := strings.Cut(line, " VOLANT_KEEP_RUNS=")
		var out bytes.Buffer
		p := &process{name: "volant playbook", command: "playbook", find: find, stdout: &out, stderr: &out, dir: dir, home: dir,
			getenv: func(n string) (string, bool) {
				switch n {
				case "VOLANT_KEEP_RUNS":
					return setting, setting != ""
				case "VOLANT_UNSUPPORTED":
					return "warn", true
				}
				return "", false
			}}
		var opt playbookOptions
		if err := parse(p, &opt, "", strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
		j, err := configure(p, 0)
		if err != nil {
			t.Fatal(err)
		}
		k := &keeper{}
		if err := j.playbooks(context.Background(), &opt, k); err != nil {
			t.Errorf("%s: %v\n%s", line, err, &out)
		}
		if got := len(k.files) > 0; got != want {
			t.Errorf("%s %s: files are noted: %v, want %v", line, setting, got, want)
		}
	}
}
