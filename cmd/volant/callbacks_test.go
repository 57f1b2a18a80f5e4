package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCallbacksInPython: a callback that is installed and cannot run is named as
// such, one that is nowhere in the reference's words, and one that asks to be
// enabled and is not goes without a word.
func TestCallbacksInPython(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"site.yml":                   "- {hosts: localhost, gather_facts: false, tasks: []}\n",
		"callback_plugins/speaks.py": "class CallbackModule: CALLBACK_TYPE = 'notification'\n",
		"callback_plugins/waits.py":  "class CallbackModule:\n    CALLBACK_NEEDS_ENABLED = True\n",
		"callback_plugins/shows.py":  "class CallbackModule:\n    CALLBACK_TYPE = 'stdout'\n",
		"c/ansible_collections/ns/coll/plugins/callback/inside.py": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const notLoaded = ": it is written in Python, and such callbacks are not loaded"
	for _, c := range []struct {
		env        map[string]string
		want, not  string
		wantFailed bool
	}{
		{want: "Skipping callback plugin 'speaks'" + notLoaded, not: "waits"},
		{env: map[string]string{"ANSIBLE_CALLBACKS_ENABLED": "waits"}, want: "Skipping callback plugin 'waits'" + notLoaded, not: "unable to load"},
		{env: map[string]string{"ANSIBLE_CALLBACKS_ENABLED": "ns.coll.inside"}, want: "Skipping callback plugin 'ns.coll.inside'" + notLoaded, not: "No module named"},
		{env: map[string]string{"ANSIBLE_CALLBACKS_ENABLED": "nowhere"}, want: "Skipping callback plugin 'nowhere', unable to load", not: "'nowhere'" + notLoaded},
		{env: map[string]string{"ANSIBLE_STDOUT_CALLBACK": "ns.coll.inside"}, want: "such callbacks are not loaded. There are: default, ", wantFailed: true},
		{env: map[string]string{"ANSIBLE_STDOUT_CALLBACK": "shows"}, want: "such callbacks are not loaded. There are: default, ", wantFailed: true},
		{env: map[string]string{"ANSIBLE_STDOUT_CALLBACK": "tree", "ANSIBLE_CALLBACK_TREE_DIR": filepath.Join(dir, "tree")}, not: "Could not load"},
		{env: map[string]string{"ANSIBLE_STDOUT_CALLBACK": "junit", "JUNIT_OUTPUT_DIR": filepath.Join(dir, "junit")}, not: "Could not load"},
		{env: map[string]string{"ANSIBLE_STDOUT_CALLBACK": "nowhere"}, want: "Could not load 'nowhere' callback plugin.", not: "There are", wantFailed: true},
	} {
		env := map[string]string{"HOME": dir, "XDG_CACHE_HOME": dir, "XDG_STATE_HOME": dir, "ANSIBLE_COLLECTIONS_PATH": filepath.Join(dir, "c")}
		for k, v := range c.env {
			env[k] = v
		}
		var errs bytes.Buffer
		p := &process{name: "ansible-playbook", command: "playbook", find: find, stdout: &bytes.Buffer{}, stderr: &errs, dir: dir, home: dir,
			getenv: func(n string) (string, bool) { v, ok := env[n]; return v, ok }}
		code := p.code(context.Background(), playbookMain(context.Background(), p, []string{"-i", "localhost,", "-c", "local", filepath.Join(dir, "site.yml")}))
		if got := errs.String(); !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) || (code != 0) != c.wantFailed {
			t.Errorf("%v: %d %s", c.env, code, got)
		}
	}
}
