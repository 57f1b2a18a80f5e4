package e2e

import (
	"crypto/sha1" //nolint:gosec // what the modules compare
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lukechampine.com/blake3"

	"volant/e2e/hostile"
	"volant/wire"
	"volant/wire/value"
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

// TestFetchedAgain: a file that fetch brought may be named by the result that
// says so, as data and for the host it came from only.
func TestFetchedAgain(t *testing.T) {
	const content = "of the host\n"
	sum := hex.EncodeToString(sha1Sum(content))
	answer := func(tk *hostile.Talk) error {
		if tk.Task.Module == wire.GetModule {
			return fileOf(tk, content)
		}
		for _, f := range tk.Task.Files {
			if _, _, err := tk.Want(f.Hash); err != nil {
				return err
			}
		}
		there := sum
		if path, _ := tk.Task.Args.Dict.Str("path"); path == "/x" {
			there = "other"
		}
		return tk.Result("changed", true, "checksum", sum, "stat", value.DictOf("exists", true, "isdir", false, "isreg", true, "checksum", there, "size", int64(len(content))))
	}
	l, agents := newEvil(t, answer, answer)
	out, code := l.playbook(`
- hosts: all
  ignore_errors: true
  tasks:
  - {fetch: {src: /etc/x, dest: fetched}, register: f}
  - {fetch: {src: "{{ item }}", dest: fetched}, loop: [/etc/y], register: g}
  - {debug: {msg: "read {{ lookup('file', f.dest) | trim }}/{{ lookup('file', g.results[0].dest) | trim }}"}}
  - {copy: {src: "{{ f.dest }}", dest: /x}, register: again}
  - {debug: {msg: "again={{ again is failed }}"}}
  - {template: {src: "{{ f.dest }}", dest: /x}, register: no1}
  - {script: "{{ f.dest }}", register: no2}
  - {include_vars: "{{ f.dest }}", register: no3}
  - {debug: {msg: "{{ lookup('template', f.dest) }}"}, register: no4}
  - {copy: {src: "{{ hostvars[item].f.dest }}", dest: /x}, loop: "{{ groups.all | difference([inventory_hostname]) }}", register: no5}
  - {debug: {msg: "{{ lookup('file', hostvars[groups.all | difference([inventory_hostname]) | first].f.dest) }}"}, register: no6}
  - {debug: {msg: "refused={{ [no1, no2, no3, no4, no5, no6] | select('failed') | length }}"}}
`)
	l.sane(out, code)
	for _, want := range []string{"read of the host/of the host", "again=False", "refused=6"} {
		if strings.Count(out, want) != 2 {
			t.Errorf("no %q twice:\n%s", want, out)
		}
	}
	if n := strings.Count(out, "was named by a managed host"); n < 12 {
		t.Errorf("refused %d times only:\n%s", n, out)
	}
	sent := 0
	for _, b := range agents[0].Blobs() {
		if string(b) == content {
			sent++
		}
	}
	if sent == 0 {
		t.Errorf("the file did not go back:\n%s", out)
	}
}

// fileOf answers that a file is brought with its content.
func fileOf(tk *hostile.Talk, content string) error {
	done := &wire.FileDone{Size: int64(len(content)), Hash: blake3.Sum256([]byte(content))}
	if err := errors.Join(tk.W.Send(&wire.Data{Data: []byte(content)}), tk.W.Send(done)); err != nil {
		return err
	}
	return tk.Result("changed", false, "size", int64(len(content)))
}

func sha1Sum(s string) []byte {
	sum := sha1.Sum([]byte(s)) //nolint:gosec // what the modules compare
	return sum[:]
}
