package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConstant(t *testing.T) {
	for text, want := range map[string]bool{
		"1": true, "'a' == 'b'": true, "[]": true, "{}": true, "not none": true, "'it''s'": true, "1 in [1, 2]": true,
		"x": false, "'a' | bool": false, "x.y": false, "range(3)": false, "{{ x }}": false, "a1": false,
	} {
		if got := constant(text); got != want {
			t.Errorf("constant(%q) is %v", text, got)
		}
	}
}

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("vars/main.yml", "- hosts: all\n")
	write("group_vars/all.yml", "hosts: 1\n")
	write("roles/web/tasks/main.yml", "- name: a page\n  copy: {content: hello, dest: /srv/index.html}\n  when: page_wanted\n- include_tasks: no.yml\n")
	write("site.yml", "- hosts: web\n  gather_facts: false\n  roles: [web]\n  tasks:\n    - command: /bin/true\n      when: 'yes sir ('\n    - debug: {msg: hi}\n      when: \"'text'\"\n    - nosuch.thing.module: {}\n")
	write("more/other.yml", "- hosts: all\n  gather_facts: false\n  tasks:\n    - ping:\n")
	t.Setenv("HOME", dir)

	out, code := called(t, "check", "--json", dir)
	var r checkReport
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if code != codeParser || r.OK {
		t.Errorf("code %d, ok %v", code, r.OK)
	}
	if len(r.Playbooks) != 2 {
		t.Errorf("playbooks %v", r.Playbooks)
	}
	all := out
	for _, want := range []string{"Syntax error in", "Conditionals must have a boolean result", "no.yml"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	paths := map[string]string{}
	for _, m := range r.Modules {
		paths[m.Name] = m.Path
	}
	for name, want := range map[string]string{
		"ansible.builtin.copy": "native", "ansible.builtin.command": "native", "ansible.builtin.debug": "controller", "ansible.builtin.ping": "native",
	} {
		if paths[name] != want {
			t.Errorf("%s runs by %q", name, paths[name])
		}
	}
	if out, code := called(t, "check", filepath.Join(dir, "more")); code != 0 || !strings.Contains(out, "this will run") {
		t.Errorf("code %d: %s", code, out)
	}
}
