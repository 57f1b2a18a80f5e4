package execute_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"volant/controller/execute"
	"volant/controller/fleet"
	"volant/controller/journal"
	"volant/wire"
	"volant/wire/frame"
	"volant/wire/value"
)

// world is hosts whose agents keep what they did until they may forget it, and
// what a run's journal and they would hold if the controller died at any moment.
type world struct {
	path   string // of the journal
	answer func(host string, t *wire.Task) *value.Dict

	mu      sync.Mutex // guards what follows
	kept    map[wire.TaskID][]byte
	ran     map[string]int // times by host, module and arguments
	moments []moment
	watch   bool
	met     map[string]bool
	floor   int // bytes of the journal that are on the disk for sure
}

// moment is all that is left when the controller dies then.
type moment struct {
	what    string
	journal []byte
	kept    map[wire.TaskID][]byte
	ran     map[string]int
	floor   int
}

func (w *world) Local(context.Context) (execute.Transport, error) {
	return nil, errors.New("no local session")
}
func (w *world) Remote(_ context.Context, t fleet.Target) (execute.Transport, error) {
	return worldLink{w, t.Name}, nil
}
func (w *world) Reset(context.Context, execute.Transport) error { return nil }

// snap notes a moment. mu is held.
func (w *world) snap(format string, args ...any) {
	if !w.watch {
		return
	}
	b, err := os.ReadFile(w.path)
	if err != nil {
		panic(err)
	}
	what := fmt.Sprintf(format, args...)
	if id := args[0].(wire.TaskID); strings.HasSuffix(what, "forgotten") || !w.met[id.Host] {
		w.met[id.Host], w.floor = true, len(b)
	}
	w.moments = append(w.moments, moment{what, b, maps.Clone(w.kept), maps.Clone(w.ran), w.floor})
}

type worldLink struct {
	w    *world
	host string
}

func (l worldLink) Reconnect(context.Context) (string, error) { return "boot", nil }

func (l worldLink) Run(_ context.Context, r *fleet.Request) (*fleet.Answer, error) {
	w, id := l.w, r.Task.ID
	hello := &wire.Hello{BootID: "boot", JournalID: "journal"}
	ans := &fleet.Answer{Collected: r.Before != nil}
	w.mu.Lock()
	_, known := w.kept[id]
	w.mu.Unlock()
	switch {
	case r.Before != nil && known:
	case r.Before != nil && (r.Before.BootID != hello.BootID || r.Before.JournalID != hello.JournalID):
		return nil, fleet.ErrLost
	default:
		ans.Collected = false
		if r.Sending != nil {
			r.Sending(hello, false) // on its way: written down before
		}
		w.mu.Lock()
		w.snap("%v %s is sent", id, r.Task.Module)
		if _, again := w.kept[id]; !again {
			args, _ := wire.EncodeValue(r.Task.Args.Dict)
			w.ran[l.host+" "+r.Task.Module+" "+string(args)]++
			out := &wire.Outcome{Result: wire.Dict{Dict: w.answer(l.host, &r.Task)}, Path: "native"}
			if line, _ := r.Task.Args.Str("_raw_params"); strings.HasPrefix(line, "cannot be run") {
				out = &wire.Outcome{Fault: &wire.Fault{Code: wire.FaultStage, Text: "no room for it"}}
			}
			body, err := frame.Marshal(out)
			if err != nil {
				panic(err)
			}
			w.kept[id] = body
			w.snap("%v %s is done", id, r.Task.Module)
		}
		w.mu.Unlock()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	ans.Body = w.kept[id]
	ans.Outcome = new(wire.Outcome)
	err := frame.Unmarshal(ans.Body, ans.Outcome)
	if err != nil {
		return nil, err
	}
	switch f := ans.Fault; {
	case !r.Hold && f != nil:
		delete(w.kept, id)
		return nil, f
	case !r.Hold:
		delete(w.kept, id)
		return ans, nil
	case f != nil:
		err = f
	}
	ans.Acknowledge = func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.kept, id)
		w.snap("%v %s is forgotten", id, r.Task.Module)
	}
	return ans, err
}

// stateful is a playbook that has every kind of state that a run has.
const stateful = `
- hosts: all
  gather_facts: false
  strategy: %s
  serial: 2
  vars_prompt: [{name: who, default: "{{ 1000 | random }}"}]
  tasks:
    - set_fact: {a: "{{ 100000 | random }}", w: "{{ who }}"}
    - command: "echo {{ a }} {{ w }}"
      register: first
      notify: [once]
    - command: "item {{ item }} {{ mine | default('') }}"
      loop: [1, 2, 3]
      register: loop
      vars: {mine: "{{ first.stdout }}"}
    - command: flaky
      register: flaky
      until: flaky.attempts > 2
      retries: 4
      delay: 0
    - block:
        - command: "breaks {{ inventory_hostname }}"
          failed_when: inventory_hostname == 'b'
        - command: "only where it did not break {{ inventory_hostname }}"
      rescue:
        - command: "rescue {{ ansible_failed_result.stdout }}"
          notify: [rescued]
      always:
        - command: "always {{ inventory_hostname }}"
    - include_tasks: more.yml
      loop: [x, y]
      loop_control: {loop_var: which}
    - command: "ignored {{ inventory_hostname }}"
      failed_when: true
      ignore_errors: true
    - command: "cannot be run on {{ inventory_hostname }}"
      ignore_errors: true
    - meta: end_host
      when: inventory_hostname == 'c'
    - command: "not c {{ inventory_hostname }}"
    - command: "fails on d {{ inventory_hostname }}"
      failed_when: inventory_hostname == 'd'
    - meta: flush_handlers
    - command: "after the handlers {{ inventory_hostname }} {{ a }}"
  handlers:
    - name: once
      command: "handler once {{ a }}"
    - name: rescued
      command: "handler rescued {{ a }}"
- hosts: all
  gather_facts: false
  tasks:
    - command: "for all of them"
      run_once: true
      register: shared
    - group_by: {key: "group_{{ (a | int) %% 2 }}"}
    - name: last
      command: "last {{ a }} {{ shared.stdout }} {{ loop.results | map(attribute='stdout') | join }}"
      register: last
    - assert:
        that:
          - first.stdout == 'did echo ' ~ a ~ ' ' ~ w
          - last.stdout is search(a)
          - shared.stdout == 'did for all of them'
          - inventory_hostname in groups['group_' ~ ((a | int) %% 2)]
`

const moreTasks = "- command: \"more {{ which }} {{ a }}\"\n  register: more\n- command: \"again {{ more.stdout }}\"\n"

var statefulHosts = "a\nb\nc\nd\n"

// what is done of a command: never its result before it.
func did(_ string, t *wire.Task) *value.Dict {
	line, _ := t.Args.Str("_raw_params")
	return value.DictOf("changed", true, "rc", int64(0), "stdout", "did "+line)
}

// TestResumeAtEveryStep: wherever a controller dies, the run that goes on does
// everything that was not done, nothing twice, and ends as it would have.
func TestResumeAtEveryStep(t *testing.T) {
	for _, strategy := range []string{"linear", "free"} {
		site := fmt.Sprintf(stateful, strategy)
		t.Run(strategy, func(t *testing.T) { resumeEverywhere(t, site, true, 2) })
		// Without chance in it, the last half second may be gone, too.
		site = strings.NewReplacer("{{ 100000 | random }}", "{{ 17 }}", "{{ 1000 | random }}", "me").Replace(site)
		t.Run(strategy+" after a power cut", func(t *testing.T) { resumeEverywhere(t, site, false, 5) })
	}
}

func resumeEverywhere(t *testing.T, site string, random bool, stride int) {
	dir, state := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "more.yml"), []byte(moreTasks), 0o600); err != nil {
		t.Fatal(err)
	}
	_, key, _ := ed25519.GenerateKey(nil)
	path := filepath.Join(state, "whole.run")
	j, err := journal.Create(path, key, &journal.Header{BootID: "controller"})
	if err != nil {
		t.Fatal(err)
	}
	whole := &world{path: path, answer: did, kept: map[wire.TaskID][]byte{}, ran: map[string]int{}, watch: true, met: map[string]bool{}}
	code, want, err := runIn(t.Context(), t, dir, statefulHosts, site, whole, func(o *execute.Options) { o.Journal, o.BootID = j, "controller" })
	if err != nil || code != execute.CodeFailed {
		t.Fatal(code, err, want)
	}
	j.Sync() // what agents are told to forget then is another moment
	if err := j.Err(); err != nil {
		t.Fatal(err)
	}
	if len(whole.moments) < 80 {
		t.Fatalf("only %d moments", len(whole.moments))
	}
	whole.mu.Lock()
	if len(whole.kept) > 0 {
		t.Errorf("agents still keep %d answers", len(whole.kept))
	}
	moments := whole.moments
	whole.mu.Unlock()
	for i := 0; i < len(moments); i += stride {
		m := moments[i]
		torn, boot := 0, "controller"
		if !random {
			torn, boot = min(len(m.journal)-m.floor, 37*i%3000), "another boot"
		}
		path := filepath.Join(state, fmt.Sprintf("%d.run", i))
		if err := os.WriteFile(path, m.journal[:len(m.journal)-torn], 0o600); err != nil {
			t.Fatal(err)
		}
		past, w, err := journal.Resume(path, key, boot, 0)
		if err != nil {
			t.Fatalf("%s: %v", m.what, err)
		}
		then := &world{path: path, answer: did, kept: m.kept, ran: m.ran}
		code, out, err := runIn(t.Context(), t, dir, statefulHosts, site, then, func(o *execute.Options) {
			o.Journal, o.Past, o.BootID = w, past, boot
		})
		if err != nil || code != execute.CodeFailed {
			t.Fatalf("killed when %s: code %d, %v:\n%s", m.what, code, err, out)
		}
		lost := torn > 0 && strings.Contains(out, "it may or may not have completed.")
		for what, n := range then.ran {
			if n != whole.ran[what] && !random && !(lost && n < whole.ran[what]) || n > 1 && n > whole.ran[what] {
				t.Fatalf("killed when %s: ran %d times: %q", m.what, n, what)
			}
		}
		if lost { // nobody knows whether it was sent: said so, and it did not run twice
			_ = w.Close()
			continue
		}
		if diff := cmp.Diff(lines(want[strings.Index(want, "PLAY RECAP"):], "a ", "b ", "c ", "d "), lines(out, "a ", "b ", "c ", "d ")); diff != "" {
			t.Fatalf("killed when %s: %s\n%s", m.what, diff, out)
		}
		if len(then.ran) != len(whole.ran) {
			t.Fatalf("killed when %s: %d commands ran, not %d:\n%s", m.what, len(then.ran), len(whole.ran), out)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// resumable runs a playbook with a journal, which it returns closed.
func resumable(ctx context.Context, t *testing.T, dir, hosts, site string, s execute.Transports, key ed25519.PrivateKey, change ...func(*execute.Options)) (path string, err error) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "one.run")
	j, err := journal.Create(path, key, &journal.Header{BootID: "controller"})
	if err != nil {
		t.Fatal(err)
	}
	set := func(o *execute.Options) { o.Journal, o.BootID = j, "controller" }
	_, _, err = runIn(ctx, t, dir, hosts, site, s, append([]func(*execute.Options){set}, change...)...)
	_ = j.Close()
	return path, err
}

func newWorld() *world {
	return &world{answer: did, kept: map[wire.TaskID][]byte{}, ran: map[string]int{}, met: map[string]bool{}}
}

// interrupted is a world in which the operator presses Ctrl-C while a command
// that says so runs.
type interrupted struct {
	*world
	cancel context.CancelFunc
}

func (w interrupted) Remote(_ context.Context, t fleet.Target) (execute.Transport, error) {
	return interruptedLink{worldLink{w.world, t.Name}, w.cancel}, nil
}

type interruptedLink struct {
	worldLink
	cancel context.CancelFunc
}

func (l interruptedLink) Run(ctx context.Context, r *fleet.Request) (*fleet.Answer, error) {
	line, _ := r.Task.Args.Str("_raw_params")
	if path, _ := r.Task.Args.Str("path"); strings.HasSuffix(line, "unheard") || strings.HasSuffix(path, "unheard") {
		r.Sending(&wire.Hello{BootID: "boot", JournalID: "journal"}, false)
		l.cancel()
		return nil, ctx.Err()
	}
	if strings.HasSuffix(line, "heard") {
		defer l.cancel()
	}
	return l.worldLink.Run(ctx, r)
}

// cutShort is what is known of a run that the operator ended, and the journal of
// the one that goes on.
func cutShort(t *testing.T, dir, site string, key ed25519.PrivateKey) (*journal.Past, *journal.Writer) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	path, err := resumable(ctx, t, dir, "a\n", site, interrupted{newWorld(), cancel}, key)
	cancel()
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	past, w, err := journal.Resume(path, key, "controller", 0)
	if err != nil {
		t.Fatal(err)
	}
	return past, w
}

// TestItemCutByCtrlC: an item of a loop that ended because the run was to end is
// none that is done: what is known of it is what its agent said.
func TestItemCutByCtrlC(t *testing.T) {
	_, key, _ := ed25519.GenerateKey(nil)
	for last, want := range map[string]string{"heard": "changed: [a] => (item=heard)", "unheard": "it may or may not have completed."} {
		site := "- hosts: all\n  gather_facts: false\n  tasks:\n    - command: \"say {{ item }}\"\n      loop: [one, " + last + ", three]\n"
		dir := t.TempDir()
		past, w := cutShort(t, dir, site, key)
		if n := len(past.Items("a", 1)); n != 1 {
			t.Errorf("%s: %d items are taken for done", last, n)
		}
		then := newWorld()
		_, out, err := runIn(t.Context(), t, dir, "a\n", site, then, func(o *execute.Options) { o.Journal, o.Past, o.BootID = w, past, "controller" })
		if err != nil || !strings.Contains(out, want) || !strings.Contains(out, "changed: [a] => (item=three)") || len(then.ran) != 1 {
			t.Errorf("%s: %v, ran %v:\n%s", last, err, then.ran, out)
		}
		_ = w.Close()
	}
}

// TestUnheardChange: of a stat that nobody heard of nothing is lost, it is done
// again; where something follows it in the same sub-task, it is not.
func TestUnheardChange(t *testing.T) {
	_, key, _ := ed25519.GenerateKey(nil)
	for task, again := range map[string]bool{
		"stat: {path: /unheard}":             true,
		"copy: {content: x, dest: /unheard}": false,
		// Nothing can follow at once.
		"copy: {content: x, dest: /unheard, follow: true}\n      diff: true": true,
	} {
		site := "- hosts: all\n  gather_facts: false\n  tasks:\n    - " + task + "\n"
		dir := t.TempDir()
		past, w := cutShort(t, dir, site, key)
		then := newWorld()
		then.answer = func(string, *wire.Task) *value.Dict { return value.DictOf("stat", value.DictOf("exists", false)) }
		_, out, err := runIn(t.Context(), t, dir, "a\n", site, then, func(o *execute.Options) { o.Journal, o.Past, o.BootID = w, past, "controller" })
		if lost := strings.Contains(out, "it may or may not have completed."); err != nil || lost == again || len(then.ran) > 0 != again {
			t.Errorf("%s: %v, ran %v:\n%s", task, err, then.ran, out)
		}
		_ = w.Close()
	}
}

// TestAnswerAfterTheJournalFailed: an agent keeps nothing for a controller that
// keeps nothing.
func TestAnswerAfterTheJournalFailed(t *testing.T) {
	_, key, _ := ed25519.GenerateKey(nil)
	w := newWorld()
	var j *journal.Writer // set before anything runs
	w.answer = func(host string, task *wire.Task) *value.Dict {
		if line, _ := task.Args.Str("_raw_params"); line == "fills the disk" {
			j.Fail(errors.New("the disk is full"))
		}
		return did(host, task)
	}
	site := "- hosts: all\n  gather_facts: false\n  tasks: [{command: one}, {command: fills the disk}, {command: three}]\n"
	if _, err := resumable(t.Context(), t, t.TempDir(), "a\n", site, w, key, func(o *execute.Options) { j = o.Journal }); err != nil {
		t.Fatal(err)
	}
	if len(w.kept) > 0 {
		t.Errorf("the agent still keeps %v", w.kept)
	}
}

// TestAnotherWayWithoutFacts: a run that cannot be done again says so, in a play
// whose tags leave nothing of its own.
func TestAnotherWayWithoutFacts(t *testing.T) {
	_, key, _ := ed25519.GenerateKey(nil)
	dir := t.TempDir()
	site := "- hosts: all\n  gather_facts: false\n  strategy: free\n  tasks:\n    - include_tasks: \"{{ inventory_hostname }}.yml\"\n"
	for name, text := range map[string]string{"a.yml": "- command: one\n- command: two\n", "b.yml": "- command: one\n- command: two\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	skip := func(o *execute.Options) { o.Compile.SkipTags = []string{"always"} }
	path, err := resumable(t.Context(), t, dir, "a\nb\n", site, newWorld(), key, skip)
	if err != nil {
		t.Fatal(err)
	}
	past, w, err := journal.Resume(path, key, "controller", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := os.WriteFile(filepath.Join(dir, "a.yml"), []byte("[]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, out, err := runIn(t.Context(), t, dir, "a\nb\n", site, newWorld(), skip, func(o *execute.Options) { o.Journal, o.Past, o.BootID = w, past, "controller" })
	if err == nil || !strings.Contains(err.Error(), "on a it takes another way than before") {
		t.Errorf("%v\n%s", err, out)
	}
}
