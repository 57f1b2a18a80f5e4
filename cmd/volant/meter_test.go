package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMetricsThatCannotBeWritten: the operator is told before the run, not only
// when there is nothing left to measure.
func TestMetricsThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile(filepath.Join(dir, "p.yml"), []byte("- hosts: localhost\n  gather_facts: no\n  tasks: [{debug: }]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const early = "The metrics of this run cannot be written: "
	for file, want := range map[string]bool{"nosuch/x.prom": true, "x.prom": false} {
		_, got, _ := own(t, dir, "playbook", "--unsupported=warn", "--metrics-file="+file, "p.yml")
		if strings.Contains(got, early) != want {
			t.Errorf("%s: %s", file, got)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".x.prom*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}
