package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"volant/e2e/hostile"
)

// TestOwnWord: what the controller found out about itself is not a managed
// host's word, whatever host the task was for, so that it can name files of
// the controller.
func TestOwnWord(t *testing.T) {
	l, agents := newEvil(t, func(tk *hostile.Talk) error {
		for _, f := range tk.Task.Files {
			if _, _, err := tk.Want(f.Hash); err != nil {
				return err
			}
		}
		return tk.Result("rc", 0, "changed", true, "stdout", "/etc/passwd", "dest", "/x", "checksum", "1")
	})
	l.file("found/one.txt", "found\n")
	l.file("t.j2", "{{ inventory_hostname }}\n")
	out, code := l.playbook(`
- hosts: all
  tasks:
  - {tempfile: {suffix: .own}, delegate_to: localhost, register: tmp}
  - {copy: {content: "made here\n", dest: "{{ tmp.path }}"}, delegate_to: localhost, register: made}
  - {copy: {src: "{{ tmp.path }}", dest: /x}}
  - {copy: {src: "{{ made.dest }}", dest: /x}}
  - {template: {src: t.j2, dest: "{{ tmp.path }}"}, delegate_to: localhost, register: rendered}
  - {copy: {src: "{{ rendered.dest }}", dest: /x}}
  - {debug: {msg: "read {{ lookup('file', tmp.path) }}"}}
  - {command: "echo {{ playbook_dir }}/found/one.txt", delegate_to: localhost, run_once: true, register: said}
  - {copy: {src: "{{ said.stdout }}", dest: /x}}
  - {shell: 'echo "$P"', environment: {P: "{{ playbook_dir }}/found/one.txt"}, connection: local, register: said}
  - {copy: {src: "{{ said.stdout_lines[0] }}", dest: /x}}
  - {find: {paths: "{{ playbook_dir }}/found"}, delegate_to: localhost, register: files}
  - {copy: {src: "{{ item.path }}", dest: /x}, loop: "{{ files.files }}"}
  - {stat: {path: "{{ item }}"}, loop: ["{{ playbook_dir }}/found/one.txt", /none], delegate_to: localhost, register: there}
  - {copy: {src: "{{ item.stat.path }}", dest: /x}, loop: "{{ there.results }}", when: item.stat.exists}
  - {command: "true", delegate_to: localhost, when: false, register: skipped}
  - {set_fact: {kept: "{{ said.stdout }}"}}
  - {copy: {src: "{{ kept }}", dest: /x}}
  - {command: echo set, register: unused}
  - {set_fact: {once: "{{ playbook_dir }}/found/one.txt"}, loop: "{{ unused.stdout_lines | default(['x']) }}"}
  - {copy: {src: "{{ once }}", dest: /x}}
  - {file: {path: "{{ tmp.path }}", state: absent}, delegate_to: localhost}
- hosts: localhost
  gather_facts: true
  tasks:
  - {copy: {content: home, dest: "{{ ansible_env.HOME }}/own"}}
  - {copy: {src: "{{ ansible_facts.env.HOME }}/own", dest: "{{ ansible_user_dir }}/own2"}, when: ansible_facts.env.HOME == ansible_env.HOME}
  - {command: "echo {{ ansible_env.HOME }}/own", register: echoed}
  - {copy: {src: "{{ echoed.stdout }}", dest: "{{ playbook_dir }}/own2"}}
  - {add_host: {name: evil0, home: "{{ ansible_env.HOME }}"}}
- hosts: all
  tasks:
  - {copy: {src: "{{ hostvars.localhost.ansible_env.HOME }}/own", dest: /x}}
  - {copy: {src: "{{ hostvars.localhost.echoed.stdout }}", dest: /x}}
`)
	l.want(out, code, 0, `"msg": "read evil0"`)
	for _, name := range []string{"own2"} {
		if b, err := os.ReadFile(filepath.Join(l.home, name)); err != nil || string(b) != "home" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	got := map[string]int{}
	for _, b := range agents[0].Blobs() {
		got[strings.TrimSpace(string(b))]++
	}
	for _, content := range []string{"made here", "evil0", "found", "home"} {
		if got[content] == 0 {
			t.Errorf("%q was not sent: %v\n%s", content, got, out)
		}
	}
}
