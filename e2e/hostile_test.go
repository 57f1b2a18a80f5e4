package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"lukechampine.com/blake3"

	"volant/controller/fleet"
	"volant/e2e/hostile"
	"volant/wire"
	"volant/wire/value"
)

// evilLab is a controller whose only hosts are hostile agents.
type evilLab struct {
	*lab
	pwned string     // what a template of the host's would make
	begun sync.Mutex // what a test set before a run is seen by answers that come in it
}

// playbook is lab.playbook after which agents see what the test set.
func (l *evilLab) playbook(text string, args ...string) (string, int) {
	l.t.Helper()
	l.begun.Lock()
	l.begun.Unlock() //nolint:staticcheck // what came before is all there is to guard
	return l.lab.playbook(text, args...)
}

// newEvil starts one hostile agent for each answer: evil0, evil1, ...
func newEvil(t *testing.T, answers ...hostile.Answer) (*evilLab, []*hostile.Agent) {
	t.Helper()
	if testing.Short() {
		t.Skip("end-to-end tests are long")
	}
	core := reference(t)
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	l := &evilLab{lab: &lab{t: t, bin: bin, home: t.TempDir()}}
	l.dir = l.home
	state := filepath.Join(l.home, "state")
	l.pwned = filepath.Join(l.home, "pwned")
	l.env = append(os.Environ(), "ANSIBLE_NOCOLOR=1", "VOLANT_ANSIBLE_CORE="+core, "HOME="+l.home, "VOLANT_STATE_DIR="+state,
		"XDG_CACHE_HOME="+filepath.Join(l.home, "cache"), "ANSIBLE_CONFIG="+l.file("ansible.cfg", "[defaults]\ngathering = explicit\n"))
	var agents []*hostile.Agent
	inv := ""
	for i, answer := range answers {
		a, err := hostile.Start(func(tk *hostile.Talk) error {
			l.begun.Lock()
			l.begun.Unlock() //nolint:staticcheck // see playbook
			return answer(tk)
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = a.Close() })
		if err := fleet.SavePin(state, "127.0.0.1", i+1, "evil", a.Key, a.Addr.String()); err != nil {
			t.Fatal(err)
		}
		inv += fmt.Sprintf("evil%d ansible_host=127.0.0.1 ansible_port=%d ansible_user=evil\n", i, i+1)
		agents = append(agents, a)
	}
	l.file("inventory.ini", inv)
	return l, agents
}

// spell is a template that leaves a mark when somebody renders it.
func (l *evilLab) spell() string {
	return "{{ lookup('pipe', 'touch " + l.pwned + "') }}{% set x = lookup('pipe', 'touch " + l.pwned + "') %}"
}

// sane checks what no answer may bring about.
func (l *evilLab) sane(out string, code int) {
	l.t.Helper()
	if _, err := os.Stat(l.pwned); err == nil {
		l.t.Fatalf("a template of the host's was rendered:\n%s", out)
	}
	for _, bad := range []string{"panic:", "goroutine ", "runtime error", "Unexpected failure", "This is a bug"} {
		if strings.Contains(out, bad) {
			l.t.Fatalf("%q in:\n%s", bad, out)
		}
	}
	if code != 0 && code != 2 && code != 4 {
		l.t.Fatalf("exit %d:\n%s", code, out)
	}
}

func TestHostileTemplates(t *testing.T) {
	var spell string
	l, _ := newEvil(t, func(tk *hostile.Talk) error {
		deep := value.DictOf(spell, value.ListOf(spell, value.DictOf("k", spell)))
		return tk.Result("msg", spell, "stdout", spell+"\n"+spell, "stderr", spell, spell, spell, "list", value.ListOf(spell, spell), "deep", deep,
			"ansible_facts", value.DictOf("evil", spell, "ansible_evil", deep, spell, spell, "ansible_distribution", spell, "ansible_pkg_mgr", spell),
			"warnings", value.ListOf(spell), "deprecations", value.ListOf(value.DictOf("msg", spell, "version", spell)),
			"diff", value.DictOf("before", spell, "after", spell, "before_header", spell), "invocation", value.DictOf("module_args", spell))
	})
	spell = l.spell()
	out, code := l.playbook(`
- hosts: all
  gather_facts: true
  tasks:
  - {command: id, register: r}
  - debug: {var: r}
  - debug: {msg: "{{ r.stdout }} {{ r.deep }} {{ evil }} {{ ansible_evil }} {{ ansible_facts.evil }}"}
  - debug: {msg: "{{ item }}"}
    loop: "{{ r.list + r.stdout_lines }}"
    loop_control: {label: "{{ item }} {{ r.msg }}"}
  - set_fact: {a: "{{ r.stdout }}", b: "{{ r.deep }}"}
  - set_fact: {"{{ 'c' }}": "{{ a }}"}
  - debug: {msg: "{{ a }} {{ b }} {{ c }} {{ hostvars[inventory_hostname].a }}"}
  - name: "named {{ r.stdout }}"
    debug: {var: a}
  - debug: {var: "{{ r.stdout }}"}
    ignore_errors: true
  - debug: {msg: x}
    when: r.stdout
    ignore_errors: true
  - debug: {msg: x}
    when: "{{ r.stdout }}"
    ignore_errors: true
  - assert: {that: ["{{ r.stdout }}"], fail_msg: "{{ r.msg }}"}
    ignore_errors: true
  - copy: {content: "{{ r.stdout }}", dest: "/x/{{ r.stdout }}"}
    ignore_errors: true
  - include_tasks: "{{ r.stdout }}"
    ignore_errors: true
  - include_vars: "{{ r.stdout }}"
    ignore_errors: true
  - group_by: {key: "{{ r.stdout }}"}
    ignore_errors: true
  - command: id
    environment: {A: "{{ r.stdout }}"}
    vars: {z: "{{ r.stdout }}"}
    delegate_to: "{{ inventory_hostname }}"
    notify: h
    failed_when: r.stdout is search('nothing')
    changed_when: r.msg != ''
  - debug: {msg: "{{ lookup('vars', 'a') }} {{ query('items', r.list) }} {{ r.list | map('upper') | list }} {{ lookup('template', 'no' ~ r.stdout, errors='ignore') }}"}
    ignore_errors: true
  - package: {name: x}
    ignore_errors: true
  - service: {name: x}
    ignore_errors: true
  handlers:
  - {name: h, debug: {msg: "{{ r.stdout }}"}}
`, "-vvv", "--diff")
	l.sane(out, code)
	if !strings.Contains(out, "lookup('pipe'") {
		t.Fatalf("the text itself is not shown:\n%s", out)
	}
}

func TestHostileKeys(t *testing.T) {
	internal := func() *value.Dict {
		host := value.DictOf("host_name", "planted", "groups", value.ListOf("planted"), "host_vars", value.DictOf("ansible_connection", "local"))
		return value.DictOf("rc", 0, "stdout", "x", "add_host", host, "add_group", "planted", "parent_groups", value.ListOf("all"),
			"ansible_included_var_files", value.ListOf("/etc/passwd"), "include", "/etc/passwd", "include_args", value.NewDict(0),
			"_ansible_no_log", true, "_ansible_verbose_always", true, "_ansible_facts_cacheable", true, "_ansible_delegated_vars", value.DictOf("ansible_host", "x"),
			"_ansible_item_result", true, "_ansible_item_label", "x", "_ansible_ignore_errors", true, "skipped", false, "results_file", "/etc/passwd",
			"ansible_facts", value.DictOf("ansible_connection", "local", "ansible_host", "192.0.2.1", "ansible_port", 1, "ansible_user", "x",
				"ansible_python_interpreter", "/bin/false", "ansible_become_exe", "/bin/x", "ansible_become_password", "x", "ansible_ssh_common_args", "-o ProxyCommand=x",
				"ansible_ssh_executable", "/bin/x", "volant_agent", "transient", "ansible_shell_executable", "/bin/x", "ansible_delegated_vars", value.NewDict(0),
				"inventory_hostname", "planted", "groups", value.DictOf("planted", value.ListOf("planted")), "hostvars", value.NewDict(0), "playbook_dir", "/planted",
				"role_path", "/planted", "ansible_play_hosts", value.ListOf("planted"), "omit", "x", "vars", value.NewDict(0), "ansible_check_mode", true))
	}
	l, agents := newEvil(t, func(tk *hostile.Talk) error { return tk.Outcome(internal()) })
	out, code := l.playbook(`
- hosts: all
  gather_facts: true
  tasks:
  - {command: id, register: r}
  - {raw: id, register: w}
  - {script: ` + l.file("s.sh", "#!/bin/sh\n") + `, register: s}
  - {stat: {path: /x}, register: t}
  - setup:
  - command: id
  - debug:
      msg: "conn={{ ansible_connection | default('none') }} host={{ ansible_host }} port={{ ansible_port }} name={{ inventory_hostname }}
        groups={{ groups | list | sort | join(',') }} dir={{ playbook_dir == '/planted' }} exe={{ ansible_become_exe | default('none') }}
        args={{ ansible_ssh_common_args | default('none') }} py={{ ansible_python_interpreter | default('none') }} keys={{ (r.keys() | list + w.keys() | list + s.keys() | list) | select('match', '_ansible|add_') | list }}"
- hosts: planted
  tasks:
  - fail: {msg: planted is a host}
`)
	l.sane(out, code)
	l.want(out, code, 0, "conn=ssh host=127.0.0.1 port=1 name=evil0", "groups=all,ungrouped dir=False exe=none", "args=none py=none keys=[]", "no hosts matched")
	if n := len(agents[0].Tasks()); n < 7 {
		t.Fatalf("only %d sub-tasks reached the agent: %v", n, agents[0].Tasks())
	}
}

// odd are values of every type where a module's result has another.
func odd(i int) any {
	nest := any("x")
	for range 100 {
		nest = value.ListOf(nest)
	}
	all := []any{
		nil, true, int64(-1), math.NaN(), math.Inf(-1), "", "\x00\xff\x1b[31m", []byte("\xff"), value.ListOf(), value.ListOf(nil, int64(1)), value.NewDict(0),
		value.DictOf(int64(1), "x", nil, "y", true, value.ListOf()), value.Tuple{int64(1)}, value.SetOf("a"), new(big.Int).Lsh(big.NewInt(1), 4000),
		nest, strings.Repeat("x", 1<<14), value.ListOf(value.DictOf("failed", "x", "skipped", value.NewDict(0), "add_host", "x")), "../../../etc/passwd", math.MaxInt64,
	}
	return all[i%len(all)]
}

// resultKeys are those that some action or the executor reads.
var resultKeys = strings.Fields(`changed failed skipped unreachable rc msg stdout stderr stdout_lines stderr_lines stat checksum exists isdir islnk isreg
	size mode path dest src state diff results ansible_facts ansible_stats warnings deprecations exception invocation content encoding uid gid owner group
	ansible_job_id finished started results_file cmd start end delta item attempts retries failed_when_result ansible_loop_var _ansible_parsed
	add_host skip_reason boot_id elapsed status url redirected json cookies backup_file gid home home_dir module_stderr module_stdout`)

const everyAction = `
- hosts: all
  gather_facts: true
  ignore_errors: true
  ignore_unreachable: true
  tasks:
  - {command: id, register: r}
  - debug: {var: r}
  - {shell: id, async: 5, poll: 1}
  - {raw: id}
  - {stat: {path: /x}, register: s}
  - debug: {msg: "{{ s.stat.exists | default(s) }}"}
  - {copy: {content: x, dest: /x}}
  - {copy: {src: files/, dest: /x}}
  - {copy: {src: /x, dest: /y, remote_src: true}}
  - {template: {src: t.j2, dest: /x}}
  - {fetch: {src: /x, dest: fetched/}}
  - {fetch: {src: /x, dest: fetched/, fail_on_missing: false}}
  - {slurp: {src: /x}}
  - {script: s.sh}
  - {unarchive: {src: t.j2, dest: /x}}
  - {assemble: {src: files, dest: /x, remote_src: false}}
  - {assemble: {src: /x, dest: /y}}
  - {package: {name: x}}
  - {service: {name: x, state: started}}
  - {uri: {url: "http://x/", src: t.j2}}
  - {async_status: {jid: "1.1"}}
  - {gather_facts: }
  - {setup: }
  - {command: id, loop: [1, 2], until: false, retries: 1, delay: 0}
  - {reboot: {reboot_timeout: 1, connect_timeout: 1}, timeout: 3}
  - {wait_for_connection: {timeout: 1}, timeout: 3}
  - {command: id, delegate_to: evil0, delegate_facts: true, run_once: true, register: d}
  - debug: {msg: "{{ d }} {{ hostvars }}"}
`

func TestHostileTypes(t *testing.T) {
	answer := func(n int) hostile.Answer {
		return func(tk *hostile.Talk) error {
			d := value.NewDict(len(resultKeys))
			for i, k := range resultKeys {
				d.Set(k, odd(i*7+n))
			}
			if n%2 == 0 { // what gets past the first look
				d.Set("failed", false)
				d.Set("stat", value.DictOf("exists", odd(n), "isdir", odd(n+1), "checksum", odd(n+2), "mode", odd(n+3), "size", odd(n+4), "isreg", true))
			}
			return tk.Outcome(d)
		}
	}
	var answers []hostile.Answer
	for i := range 6 {
		answers = append(answers, answer(i*5))
	}
	l, _ := newEvil(t, answers...)
	l.file("t.j2", "x\n")
	l.file("files/a", "x\n")
	l.file("s.sh", "#!/bin/sh\n")
	for _, v := range []string{"-v", "-vvvv"} {
		out, code := l.playbook(everyAction, v, "--diff")
		l.sane(out, code)
		if len(recap(out)) != len(answers) {
			t.Fatalf("no recap of %d hosts:\n%s", len(answers), tail(out))
		}
	}
}

func tail(s string) string { return s[max(0, len(s)-4000):] }

func TestHostileFrames(t *testing.T) {
	raw := func(p ...byte) hostile.Answer {
		return func(tk *hostile.Talk) error { _, err := tk.Stream.Write(p); return errors.Join(err, wait(tk)) }
	}
	send := func(ms ...wire.Message) hostile.Answer {
		return func(tk *hostile.Talk) error { return errors.Join(tk.W.Send(ms...), wait(tk)) }
	}
	other := wire.TaskID{Host: "other", Step: 9, N: 9}
	for name, answer := range map[string]hostile.Answer{
		"a frame too long":      raw(0xff, 0xff, 0xff, 0xff, 1),
		"an empty frame":        raw(0, 0, 0, 0, 0),
		"an unknown kind":       raw(0, 0, 0, 2, 250, 0xa0),
		"garbage":               raw(0, 0, 0, 9, byte(wire.KindResult), 0xff, 0xff, 0xff, 1, 2, 3, 4, 5),
		"a result that is none": func(tk *hostile.Talk) error { return tk.Body([]byte{0x9f, 1, 2}) },
		"an empty result":       func(tk *hostile.Talk) error { return tk.Body(nil) },
		"a result nested deep": func(tk *hostile.Talk) error {
			return tk.Body(append([]byte{0xa1, 1, 0xa1, 0x61, 'x'}, bytes.Repeat([]byte{0x81}, 1<<20)...))
		},
		"a result of huge counts": func(tk *hostile.Talk) error {
			return tk.Body([]byte{0xa1, 1, 0xbb, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
		},
		"the state of another":   send(&wire.State{ID: other, State: wire.StateDone}),
		"a pull amid a sub-task": send(&wire.Pull{}),
		"a welcome":              send(&wire.Welcome{Version: 1}),
		"a task for us":          send(&wire.Task{Module: "ansible.builtin.command"}),
		"a file nobody asked for": func(tk *hostile.Talk) error {
			return errors.Join(tk.W.Send(&wire.Data{Data: []byte("x"), Last: true}, &wire.FileDone{Size: 1}), tk.Result("rc", 0))
		},
		"a result twice": func(tk *hostile.Talk) error {
			return errors.Join(tk.Result("rc", 0), tk.Result("rc", 1), wait(tk))
		},
		"the end of another": func(tk *hostile.Talk) error {
			return errors.Join(tk.Control(&wire.Ended{ID: other}, &wire.Pong{N: 1}, &wire.Ack{ID: other}, &wire.Hello{}), tk.Result("rc", 0))
		},
		"a refusal": func(tk *hostile.Talk) error {
			return errors.Join(tk.Control(&wire.Refused{Code: 99, Text: strings.Repeat("x", 1000)}), tk.Result("rc", 0))
		},
		"streams without end": func(tk *hostile.Talk) error { return errors.New("and another") },
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := newEvil(t, answer)
			l.file("ansible.cfg", "[defaults]\ngathering = explicit\ntimeout = 2\n[volant]\nreconnect = 2\n")
			out, code := l.run(40*time.Second, "volant", "playbook", "-i", l.inventory(), l.file("site.yml", "- hosts: all\n  tasks:\n  - {command: id}\n  - {command: id}\n"))
			l.sane(out, code)
			if len(recap(out)) != 1 {
				t.Fatalf("no recap:\n%s", tail(out))
			}
		})
	}
}

// wait keeps a slot open until the controller ends it.
func wait(tk *hostile.Talk) error {
	for {
		if _, _, err := tk.R.ReadRaw(); err != nil {
			return err
		}
	}
}

func TestHostileVolume(t *testing.T) {
	chunk := bytes.Repeat([]byte{'x'}, wire.MaxChunk)
	for name, answer := range map[string]hostile.Answer{
		"a result without end": func(tk *hostile.Talk) error {
			for {
				if err := tk.W.Send(&wire.Result{Data: chunk, More: true}); err != nil {
					return err
				}
			}
		},
		"output for seconds": func(tk *hostile.Talk) error {
			for begin := time.Now(); time.Since(begin) < 3*time.Second; {
				if err := tk.W.Send(&wire.Output{Stream: 1, Data: chunk}); err != nil {
					return err
				}
			}
			return tk.Result("rc", 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := newEvil(t, answer)
			l.file("site.yml", "- hosts: all\n  tasks:\n  - {command: id}\n")
			// The shell says what the most was that a process of its own used.
			out, code := l.run(90*time.Second, "/bin/sh", "-c", `"$0" playbook -i inventory.ini site.yml & p=$!
				while kill -0 $p 2>/dev/null; do sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/HWM \1/p' /proc/$p/status; sleep 0.2; done; wait $p`, filepath.Join(l.bin, "volant"))
			l.sane(out, code)
			most := 0
			for line := range strings.Lines(out) {
				var kb int
				if n, _ := fmt.Sscanf(line, "HWM %d", &kb); n == 1 {
					most = max(most, kb)
				}
			}
			if most == 0 || most > 600<<10 {
				t.Errorf("%d KB of memory:\n%s", most, tail(out))
			}
		})
	}
}

func TestHostileWants(t *testing.T) {
	secret := []byte("the controller's secret\n")
	hashes := []wire.Hash{wire.Hash(blake3.Sum256(secret))}
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		t.Skip(err)
	}
	hashes = append(hashes, wire.Hash(blake3.Sum256(passwd)))
	refused := make(chan string, 100)
	thief := func(tk *hostile.Talk) error {
		for _, h := range hashes {
			_, why, err := tk.Want(h)
			if err != nil {
				return err
			}
			refused <- why
		}
		return tk.Result("rc", 0, "changed", false)
	}
	honest := func(tk *hostile.Talk) error { // gets what it is offered
		for _, f := range tk.Task.Files {
			if _, _, err := tk.Want(f.Hash); err != nil {
				return err
			}
		}
		return tk.Result("rc", 0, "changed", true, "stat", value.DictOf("exists", false))
	}
	l, agents := newEvil(t, honest, thief)
	src := l.file("secret", string(secret))
	out, code := l.playbook(`
- hosts: evil0
  tasks:
  - copy: {src: ` + src + `, dest: /x}
- hosts: evil1
  tasks:
  - command: id
  - copy: {content: another, dest: /x}
    ignore_errors: true
`)
	l.sane(out, code)
	offered := false
	for _, b := range agents[0].Blobs() {
		offered = offered || bytes.Equal(b, secret)
	}
	if !offered || len(refused) == 0 {
		t.Fatalf("the test does not test: offered %v, refused %d\n%s", offered, len(refused), out)
	}
	if got := agents[1].Blobs(); len(got) > 0 {
		t.Fatalf("the thief got %q", got)
	}
}

func TestHostileFetch(t *testing.T) {
	content := []byte("bytes of the host\n")
	stat := func(sum string) []any {
		return []any{"changed", false, "stat", value.DictOf("exists", true, "isreg", true, "isdir", false, "size", 3, "checksum", sum, "mode", "0644")}
	}
	file := func(tk *hostile.Talk, times int) error {
		sum := blake3.New(32, nil)
		for range times {
			sum.Write(content)
			if err := tk.W.Send(&wire.Data{Data: content}); err != nil {
				return err
			}
		}
		done := &wire.FileDone{Size: int64(times * len(content))}
		sum.Sum(done.Hash[:0])
		return errors.Join(tk.W.Send(done), tk.Result("changed", false, "size", 3))
	}
	l, _ := newEvil(t, func(tk *hostile.Talk) error {
		switch {
		case strings.HasSuffix(tk.Task.Module, "stat"):
			return tk.Result(stat("0123456789012345678901234567890123456789")...)
		case tk.Task.Module == wire.GetModule:
			return file(tk, 5000)
		}
		return tk.Result("rc", 0, "stdout", "/../evil1/stolen", "stdout_lines", value.ListOf("../../outside", "/../../outside", "/../evil1/x"))
	})
	out := filepath.Join(l.home, "out")
	link := filepath.Join(out, "evil0")
	if err := errors.Join(os.MkdirAll(out, 0o755), os.Mkdir(filepath.Join(l.home, "elsewhere"), 0o755), os.Symlink(filepath.Join(l.home, "elsewhere"), link)); err != nil {
		t.Fatal(err)
	}
	text, code := l.playbook(`
- hosts: evil0
  ignore_errors: true
  tasks:
  - {command: id, register: r}
  - fetch: {src: /wrong/checksum, dest: ` + l.home + `/sum/}
  - fetch: {src: /through/link, dest: ` + out + `/, validate_checksum: false}
  - fetch: {src: "{{ item }}", dest: ` + l.home + `/named/, validate_checksum: false}
    loop: "{{ r.stdout_lines + [r.stdout] }}"
  - fetch: {src: /x, dest: "{{ r.stdout }}", validate_checksum: false}
`)
	l.sane(text, code)
	err := filepath.WalkDir(l.home, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if b, err := os.ReadFile(path); err == nil && bytes.HasPrefix(b, content) && !strings.HasPrefix(path, filepath.Join(l.home, "named", "evil0")+"/") {
			t.Errorf("written: %s", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestHostileSilence(t *testing.T) {
	l, agents := newEvil(t, func(tk *hostile.Talk) error { return wait(tk) })
	out, code := l.interrupted(func() bool { return len(agents[0].Tasks()) > 0 }, 1,
		"playbook", "-i", l.inventory(), l.file("site.yml", "- hosts: all\n  tasks:\n  - command: id\n"))
	l.want(out, code, 99)
}
