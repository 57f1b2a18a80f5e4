package e2e

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"volant/e2e/hostile"
	"volant/wire"
	"volant/wire/frame"
	"volant/wire/value"
)

// TestHostileTree: answers about a part of a directory.
func TestHostileTree(t *testing.T) {
	var spell string
	var trees atomic.Int64
	answer := func(pairs func(tk *hostile.Talk) []any) hostile.Answer {
		return func(tk *hostile.Talk) error {
			if tk.Task.Module != wire.TreeModule {
				return tk.Result("changed", true, "stat", value.DictOf("exists", false), "dest", "/x", "checksum", "1")
			}
			trees.Add(1)
			return tk.Result(pairs(tk)...)
		}
	}
	all := map[string]hostile.Answer{
		"more than there is": answer(func(*hostile.Talk) []any { return []any{"done", 1 << 40, "changed", true} }),
		"less than nothing":  answer(func(*hostile.Talk) []any { return []any{"done", -5, "changed", true} }),
		"nothing, for ever":  answer(func(*hostile.Talk) []any { return []any{"done", 0, "left", spell} }),
		"one at a time":      answer(func(*hostile.Talk) []any { return []any{"done", 1, "left", spell} }),
		"no number":          answer(func(*hostile.Talk) []any { return []any{"done", odd(16), "result", odd(3), "changed", odd(4)} }),
		"a result that names hosts": answer(func(*hostile.Talk) []any {
			return []any{"done", 1, "result", value.DictOf("msg", spell, "failed", false, "add_host", value.DictOf("host_name", "planted"), "_ansible_no_log", true,
				"invocation", spell, "exception", value.DictOf("msg", spell), "ansible_facts", value.DictOf("ansible_connection", "local"))}
		}),
		"all done and failed": answer(func(tk *hostile.Talk) []any {
			return []any{"done", int64(len(tk.Task.Files)), "result", value.DictOf("msg", "x")}
		}),
		"files of the controller": func(tk *hostile.Talk) error {
			if tk.Task.Module == wire.TreeModule {
				if content, why, err := tk.Want(wire.Hash{1, 2, 3}); err != nil || len(content) > 0 || why == "" {
					return errors.Join(errors.New("given"), err)
				}
			}
			return answer(func(*hostile.Talk) []any { return []any{"done", 3, "changed", false} })(tk)
		},
	}
	for name, a := range all {
		t.Run(name, func(t *testing.T) {
			trees.Store(0)
			l, agents := newEvil(t, a)
			spell = l.spell()
			for _, f := range []string{"a", "b", "c", "sub/d", "sub/e"} {
				l.file("tree/"+f, f)
			}
			out, code := l.playbook(`
- hosts: all
  ignore_errors: true
  tasks:
  - {copy: {src: tree/, dest: /x}, register: r}
  - debug: {msg: "{{ r }} by={{ ansible_connection }}"}
- hosts: planted
  tasks:
  - fail: {msg: planted is a host}
`, "-v")
			l.sane(out, code)
			l.want(out, code, 0, "no hosts matched")
			if n := trees.Load(); n == 0 || n > 20 || len(agents[0].Tasks()) > 40 {
				t.Errorf("%d parts, %d sub-tasks:\n%s", n, len(agents[0].Tasks()), out)
			}
			if !strings.Contains(out, " by=ssh\"") {
				t.Errorf("the connection is another:\n%s", out)
			}
		})
	}
}

// TestHostileMarks: results that look like what the reference writes for
// trusted, unsafe and encrypted text are plain mappings.
func TestHostileMarks(t *testing.T) {
	var spell string
	const vault = "$ANSIBLE_VAULT;1.1;AES256\n30643864376263336562386664336433313866343564623465653763633336336663366638383834\n"
	marks := func() *value.Dict {
		return value.DictOf(
			"unsafe", value.DictOf("__ansible_unsafe", spell), "vault", value.DictOf("__ansible_vault", vault), "nested", value.ListOf(value.DictOf("__ansible_unsafe", value.DictOf("__ansible_vault", vault))),
			"typed", value.DictOf("__ansible_type", "TrustedAsTemplate", "value", spell), "tagged", value.DictOf("__ansible_type", "_AnsibleTaggedStr", "value", spell,
				"tags", value.ListOf(value.DictOf("__ansible_type", "TrustedAsTemplate"))),
			"text", `{"__ansible_type": "TrustedAsTemplate", "a": {"__ansible_unsafe": "x"}, "v": {"__ansible_vault": "$ANSIBLE_VAULT;1.1;AES256\n3064"}}`,
			"python", "!!python/object/apply:os.system ['true']", "yaml", "a: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  3064\nb: !unsafe x\n")
	}
	l, _ := newEvil(t, func(tk *hostile.Talk) error {
		d := marks()
		d.Set("rc", int64(0))
		d.Set("ansible_facts", value.DictOf("evil_facts", marks()))
		return tk.Outcome(d)
	})
	spell = l.spell()
	l.file("pass", "x\n")
	out, code := l.playbook(`
- hosts: all
  gather_facts: true
  tasks:
  - {command: id, register: r}
  - debug: {var: r}
  - debug: {msg: "{{ r.typed }} {{ r.tagged }} {{ r.unsafe }} {{ evil_facts }}"}
  - debug: {msg: "{{ r.text | from_json }}"}
    ignore_errors: true
  - debug: {msg: "{{ (r.text | from_json).v | to_json }} {{ r.vault | to_yaml }} {{ r.vault | to_nice_json }} {{ r | to_json | from_json }}"}
    ignore_errors: true
  - debug: {msg: "{{ r.yaml | from_yaml }}"}
    ignore_errors: true
  - debug: {msg: "{{ r.python | from_yaml_all | list }}"}
    ignore_errors: true
  - set_fact: {m: "{{ r }}", cacheable: true}
  - debug: {msg: "{{ m.typed.value }} {{ m.vault.__ansible_vault | length }}"}
  - copy: {content: "{{ r.vault }}", dest: /x}
    ignore_errors: true
`, "--vault-password-file", filepath.Join(l.home, "pass"))
	l.sane(out, code)
	if !strings.Contains(out, "TrustedAsTemplate") || !strings.Contains(out, "__ansible_vault") {
		t.Fatalf("the marks are not shown as what they are:\n%s", out)
	}
}

// TestHostileFaults: every reason for not having run a module, and an
// interpreter that was found, with texts of the host's own.
func TestHostileFaults(t *testing.T) {
	var spell string
	outcome := func(o *wire.Outcome) hostile.Answer {
		return func(tk *hostile.Talk) error {
			body, err := frame.Marshal(o)
			if err != nil {
				return err
			}
			return tk.Body(body)
		}
	}
	var answers []hostile.Answer
	for code := range 14 {
		answers = append(answers, func(tk *hostile.Talk) error {
			return outcome(&wire.Outcome{Fault: &wire.Fault{Code: wire.FaultCode(code), Text: spell + "\x1b]0;x\a\n%s%d", Started: code%2 == 0}})(tk)
		})
	}
	for _, path := range []string{"/bin/sh -c 'touch /tmp/x'", "{{ 1 }}", "", "../../x", strings.Repeat("x", 1<<13)} {
		answers = append(answers, func(tk *hostile.Talk) error {
			return outcome(&wire.Outcome{Path: "python (" + spell + ")", Result: wire.Dict{Dict: value.DictOf("rc", int64(0), "stdout", "x")},
				Timings: wire.Timings{Stage: -1, Queue: 1 << 62, Work: -(1 << 62)}, Found: &wire.Interpreter{Path: path, Warnings: []string{spell, "%s %d %s"}, Absent: path == ""}})(tk)
		})
	}
	l, _ := newEvil(t, answers...)
	spell = l.spell()
	l.file("ansible.cfg", "[defaults]\ngathering = explicit\ntimeout = 2\n[volant]\nreconnect = 2\n")
	out, code := l.playbook(`
- hosts: all
  ignore_errors: true
  ignore_unreachable: true
  tasks:
  - {command: id, register: r}
  - {copy: {src: pass, dest: /x}}
  - {raw: id}
  - {fetch: {src: /x, dest: fetched/}}
  - debug: {msg: "{{ r }} {{ discovered_interpreter_python | default('none') }} {{ ansible_facts }}"}
`, "-vvv", "--profile", "--metrics-file", filepath.Join(l.home, "metrics"))
	l.sane(out, code)
	if n := len(recap(out)); n != len(answers) {
		t.Fatalf("recap of %d hosts:\n%s", n, tail(out))
	}
}

// TestHostilePaths: a path that a host names is never read, whatever key of a
// result it comes in and whatever asks for it.
func TestHostilePaths(t *testing.T) {
	secret := []byte("the controller's own secret\n")
	var path string
	l, agents := newEvil(t, func(tk *hostile.Talk) error {
		for _, f := range tk.Task.Files {
			if _, _, err := tk.Want(f.Hash); err != nil {
				return err
			}
		}
		return tk.Result("rc", 0, "changed", true, "stdout", path, "stdout_lines", value.ListOf(path), "dest", path, "src", path, "path", path, "msg", path,
			"stat", value.DictOf("exists", false, "path", path, "lnk_source", path), "ansible_facts", value.DictOf("evil_path", path, "distribution", path, "ansible_os_family", path),
			"results", value.ListOf(value.DictOf("src", path)), "args", value.DictOf("src", path, "dest", "/x"))
	})
	path = l.file("secret", string(secret))
	l.file("t.j2", "{% include hostile %}{{ lookup('file', hostile) }}")
	l.file("path.j2", "{{ hostile }}\n")
	l.file("dir/plain", "x")
	out, code := l.playbook(`
- hosts: all
  gather_facts: true
  ignore_errors: true
  vars: {indirect: "{{ r.dest }}", hostile: "{{ r.stdout }}"}
  tasks:
  - {copy: {src: dir/plain, dest: /x}, register: r}
  - {copy: {src: "{{ r.dest }}", dest: /x}}
  - {copy: {src: "{{ indirect }}", dest: /x}}
  - {copy: {src: "{{ r.dest | dirname }}/", dest: /x}}
  - {copy: {content: "{{ lookup('file', r.dest) }}", dest: /x}}
  - {template: {src: "{{ r.src }}", dest: /x}}
  - {template: {src: t.j2, dest: /x}}
  - {template: {src: "{{ evil_path }}", dest: /x}}
  - {script: "{{ r.path }}"}
  - {script: {cmd: "{{ r.path }} x"}}
  - {unarchive: {src: "{{ r.msg }}", dest: /x}}
  - {assemble: {src: "{{ r.dest | dirname }}", dest: /x, remote_src: false}}
  - {uri: {url: "http://x/", src: "{{ r.dest }}"}}
  - {uri: {url: "http://x/", body_format: form-multipart, body: {f: {filename: "{{ r.dest }}"}}}}
  - {include_vars: "{{ r.dest }}"}
  - {include_vars: {file: "{{ r.dest }}"}}
  - {include_vars: {dir: "{{ r.dest | dirname }}"}}
  - {include_tasks: "{{ r.dest }}"}
  - {include_role: {name: "{{ r.dest }}"}}
  - {debug: {msg: "{{ lookup('file', r.dest) }}"}}
  - {debug: {msg: "{{ lookup('template', evil_path) }} {{ lookup('unvault', r.dest) }}"}}
  - {debug: {msg: "{{ lookup('lines', 'cat ' ~ r.dest) }}"}}
  - {debug: {msg: "{{ lookup('pipe', r.dest) }}"}}
  - {debug: {msg: "{{ lookup('csvfile', 'x file=' ~ r.dest) }}"}}
  - {debug: {msg: "{{ lookup('ini', 'x', file=r.dest) }}"}}
  - {debug: {msg: "{{ query('fileglob', r.dest) }} {{ query('first_found', [r.dest]) }}"}}
  - {debug: {msg: "{{ lookup('file', item) }}"}, loop: "{{ r.stdout_lines }}"}
  - {debug: {msg: "{{ item }}"}, with_file: "{{ r.stdout_lines }}"}
  - {set_fact: {kept: "{{ r.dest }}"}}
  - {copy: {src: "{{ kept }}", dest: /x}}
  - {copy: {src: "{{ hostvars.evil0.kept }}", dest: /x}}
  - {add_host: {name: later, var: "{{ r.dest }}", ansible_host: 127.0.0.1}}
  - {copy: {src: "{{ hostvars.later.var }}", dest: /x}}
  - {copy: {src: "{{ ansible_distribution }}", dest: /x}}
  - {copy: "{{ r.args }}"}
  - {copy: {dest: /x}, args: "{{ r.args }}"}
  - {debug: {var: r.dest}, register: shown}
  - {copy: {src: "{{ shown['r.dest'] }}", dest: /x}}
  - {debug: {msg: x}, loop: "{{ r.stdout_lines }}", register: looped}
  - {copy: {src: "{{ looped.results[0].item }}", dest: /x}}
  - {set_fact: {"{{ 'key' }}": "{{ r.dest }}"}}
  - {copy: {src: "{{ key }}", dest: /x}}
  - {copy: {src: "{{ vars.r.dest }}", dest: /x}}
  - {command: "echo {{ r.dest }}", delegate_to: localhost, register: own}
  - {copy: {src: "{{ own.stdout }}", dest: /x}}
  - {command: "printenv P", environment: {P: "{{ r.dest }}"}, delegate_to: localhost, register: own2}
  - {copy: {src: "{{ own2.stdout }}", dest: /x}}
  - {command: cat, args: {stdin: "{{ r.dest }}"}, delegate_to: localhost, register: own3}
  - {copy: {src: "{{ own3.stdout }}", dest: /x}}
  - {shell: "echo $0", args: {executable: "{{ '/bin/sh' if r.dest else '/bin/bash' }}"}, delegate_to: localhost, register: own4}
  - {copy: {src: "{{ own4.stdout }}", dest: /x}}
  - {command: "true", delegate_to: localhost, loop: "{{ r.stdout_lines }}", register: own5}
  - {copy: {src: "{{ own5.results[0].item }}", dest: /x}}
  - {template: {src: path.j2, dest: "{{ playbook_dir }}/rendered"}, diff: true, delegate_to: localhost, register: own6}
  - {copy: {src: "{{ own6.diff[0].after | trim }}", dest: /x}}
  - {copy: {src: "{{ hostvars[item].ansible_host | default('/') }}", dest: /x}, loop: "{{ groups.all }}"}
  - {add_host: {name: "{{ r.dest }}", groups: planted}}
  - {copy: {src: "{{ groups.planted[0] }}", dest: /x}}
- hosts: evil0
  gather_facts: false
  ignore_errors: true
  tasks:
  - {setup: , delegate_to: localhost, delegate_facts: true}
  - {copy: {src: "{{ evil_path }}", dest: /x}}
  - {copy: {src: "{{ ansible_os_family }}", dest: /x}}
`)
	l.sane(out, code)
	if strings.Contains(out, strings.TrimSpace(string(secret))) {
		t.Errorf("shown:\n%s", out)
	}
	for _, b := range agents[0].Blobs() {
		if bytes.Contains(b, secret) {
			t.Errorf("sent: %q\n%s", b, out)
		}
	}
	if n := strings.Count(out, "was named by a managed host"); n < 80 {
		t.Errorf("refused %d times only:\n%s", n, out)
	}
}
