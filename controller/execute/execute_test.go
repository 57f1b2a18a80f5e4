package execute_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"volant/controller/compile"
	"volant/controller/config"
	"volant/controller/events"
	"volant/controller/execute"
	"volant/controller/fleet"
	"volant/controller/inventory"
	"volant/controller/playbook"
	"volant/controller/template"
	"volant/controller/vars"
	"volant/controller/yaml"
	"volant/wire"
	"volant/wire/value"
)

// scripted answers sub-tasks as a test says; host is the inventory name.
type scripted struct {
	answer func(ctx context.Context, host string, t *wire.Task) (*value.Dict, error)

	running, most atomic.Int32
	mu            sync.Mutex
	sent          []string
	target        fleet.Target // the last that was asked for
}

func (s *scripted) Local(context.Context) (execute.Transport, error) {
	return link{s, "localhost"}, nil
}

func (s *scripted) Remote(_ context.Context, t fleet.Target) (execute.Transport, error) {
	s.mu.Lock()
	s.target = t
	s.mu.Unlock()
	return link{s, t.Name}, nil
}

func (s *scripted) Reset(context.Context, execute.Transport) error { return nil }

type link struct {
	s    *scripted
	host string
}

func (l link) Run(ctx context.Context, r *fleet.Request) (*fleet.Answer, error) {
	n := l.s.running.Add(1)
	defer l.s.running.Add(-1)
	for m := l.s.most.Load(); n > m && !l.s.most.CompareAndSwap(m, n); m = l.s.most.Load() {
	}
	l.s.mu.Lock()
	l.s.sent = append(l.s.sent, l.host+" "+r.Task.Module)
	l.s.mu.Unlock()
	d, err := l.s.answer(ctx, l.host, &r.Task)
	if err != nil {
		return nil, err
	}
	return &fleet.Answer{Outcome: &wire.Outcome{Result: wire.Dict{Dict: d}, Path: "native"}}, nil
}

func (l link) Reconnect(context.Context) (string, error) { return "boot", nil }

// run runs a playbook on hosts and returns the code, what was shown and the error.
func run(ctx context.Context, t *testing.T, hosts, site string, s *scripted, change ...func(*execute.Options)) (int, string, error) {
	t.Helper()
	return runIn(ctx, t, t.TempDir(), hosts, site, s, change...)
}

// runIn is run in a directory of the caller's.
func runIn(ctx context.Context, t *testing.T, dir, hosts, site string, s execute.Transports, change ...func(*execute.Options)) (int, string, error) {
	t.Helper()
	for name, text := range map[string]string{"hosts": hosts, "site.yml": site, "ansible.cfg": "[defaults]\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Load(config.Source{Getenv: func(string) (string, bool) { return "", false }, Dir: dir, Home: dir, File: filepath.Join(dir, "ansible.cfg")})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	display := events.NewDisplay(&out, &out, nil)
	files := &yaml.Files{Sink: display}
	opt := inventory.Options{Config: cfg, Files: files, Sink: display, Dir: dir}
	inv, err := inventory.Load(ctx, []string{filepath.Join(dir, "hosts")}, opt)
	if err != nil {
		t.Fatal(err)
	}
	engine := template.New(template.Options{Sink: display})
	store := vars.New(vars.Options{Config: cfg, Inventory: inv, Dirs: inventory.NewVarsDirs(opt), Files: files, Engine: engine, Sink: display, Basedir: dir})
	names := &execute.Names{Files: files, Lookups: engine.HasLookup}
	loader := &playbook.Loader{Files: files, Render: execute.NewRenderer(ctx, store, engine), Plugins: names, Sink: display}
	o := execute.Options{
		Config: cfg, Inventory: inv, Store: store, Engine: engine, Loader: loader, Names: names, Files: files, Display: display,
		Bus:       events.NewBus(events.NewDefault(display, events.DefaultOptions{ShowOK: true, ShowSkipped: true})),
		Transport: s, Compile: compile.Options{}, Login: execute.Login{Connection: "ssh"},
	}
	for _, c := range change {
		c(&o)
	}
	r := execute.New(o)
	code, err := r.Run(ctx, func(int) (*playbook.Playbook, error) { return loader.Load(filepath.Join(dir, "site.yml")) }, 1)
	return code, strings.ReplaceAll(out.String(), dir, "DIR"), err
}

// lines are those of out that begin with one of the prefixes.
func lines(out string, prefixes ...string) []string {
	var got []string
	for l := range strings.SplitSeq(out, "\n") {
		for _, p := range prefixes {
			if strings.HasPrefix(l, p) {
				got = append(got, strings.TrimRight(l, " *"))
			}
		}
	}
	return got
}

const pings = "- hosts: all\n  gather_facts: false\n  tasks:\n    - ping:\n    - ping:\n"

func good(context.Context, string, *wire.Task) (*value.Dict, error) {
	return value.DictOf("ping", "pong", "changed", false), nil
}

func TestResultsInHostOrder(t *testing.T) {
	others := make(chan bool, 4) // of two tasks
	s := &scripted{answer: func(_ context.Context, host string, _ *wire.Task) (*value.Dict, error) {
		if host == "a" { // the last
			for range 2 {
				<-others
			}
			time.Sleep(20 * time.Millisecond)
		} else {
			others <- true
		}
		return value.DictOf("changed", false), nil
	}}
	code, out, err := run(t.Context(), t, "a\nb\nc\n", pings, s)
	if err != nil || code != 0 {
		t.Fatal(code, err, out)
	}
	want := []string{"TASK [ping]", "ok: [a]", "ok: [b]", "ok: [c]", "TASK [ping]", "ok: [a]", "ok: [b]", "ok: [c]"}
	if diff := cmp.Diff(want, lines(out, "TASK", "ok")); diff != "" {
		t.Error(diff)
	}
}

func TestLateHostHoldsNobodyForLong(t *testing.T) {
	s := &scripted{answer: func(_ context.Context, host string, _ *wire.Task) (*value.Dict, error) {
		if host == "a" {
			time.Sleep(4 * time.Second)
		}
		return value.DictOf("changed", false), nil
	}}
	_, out, err := run(t.Context(), t, "a\nb\nc\n", "- hosts: all\n  gather_facts: false\n  tasks:\n    - ping:\n", s)
	if err != nil {
		t.Fatal(err)
	}
	got := lines(out, "ok")
	if len(got) != 3 || got[2] != "ok: [a]" {
		t.Errorf("shown in the order %v", got)
	}
}

func TestForksBound(t *testing.T) {
	s := new(scripted)
	s.answer = func(_ context.Context, _ string, _ *wire.Task) (*value.Dict, error) {
		for end := time.Now().Add(5 * time.Second); s.most.Load() < 2 && time.Now().Before(end); {
			time.Sleep(5 * time.Millisecond) // until there is another beside it
		}
		time.Sleep(5 * time.Millisecond)
		return value.DictOf("changed", false), nil
	}
	for _, strategy := range []string{"linear", "free", "host_pinned"} {
		s.most.Store(0)
		site := strings.Replace(pings, "  tasks:", "  strategy: "+strategy+"\n  tasks:", 1)
		code, out, err := run(t.Context(), t, "h[1:8]\n", site, s, func(o *execute.Options) { o.Forks = 3 })
		if err != nil || code != 0 {
			t.Fatal(strategy, code, err, out)
		}
		if n := s.most.Load(); n > 3 || n < 2 {
			t.Errorf("%s: %d hosts at once", strategy, n)
		}
		if n := len(lines(out, "ok: ")); n != 16 {
			t.Errorf("%s: %d results\n%s", strategy, n, out)
		}
	}
}

// TestTurns: whose turn it is where fewer hosts may work than there are.
func TestTurns(t *testing.T) {
	s := &scripted{answer: func(_ context.Context, _ string, _ *wire.Task) (*value.Dict, error) {
		return value.DictOf("changed", false), nil
	}}
	for _, c := range []struct{ strategy, keywords, want string }{
		{"free", "", "a1 b1 c1 a2 b2 c2"},
		{"free", "throttle: 1", "a1 b1 c1 a2 b2 c2"},
		{"host_pinned", "", "a1 a2 b1 b2 c1 c2"},
		{"host_pinned", "throttle: 1", "a1 a2 b1 b2 c1 c2"},
	} {
		s.sent = nil
		site := "- hosts: all\n  gather_facts: false\n  strategy: " + c.strategy + "\n  " + c.keywords +
			"\n  tasks:\n    - ping: {data: 1}\n    - meta: noop\n    - stat: {path: /}\n"
		code, out, err := run(t.Context(), t, "a\nb\nc\n", site, s, func(o *execute.Options) { o.Forks = 1 })
		if err != nil || code != 0 {
			t.Fatal(c, code, err, out)
		}
		var got []string
		for _, sent := range s.sent {
			host, module, _ := strings.Cut(sent, " ")
			got = append(got, host+map[bool]string{true: "1", false: "2"}[strings.HasSuffix(module, "ping")])
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.strategy, c.keywords, got, c.want)
		}
	}
}

// TestFreeNamesTasksFirst: the name of a task is rendered before anything is said
// of its keywords, and that of a meta task, too.
func TestFreeNamesTasksFirst(t *testing.T) {
	s := &scripted{answer: func(_ context.Context, _ string, _ *wire.Task) (*value.Dict, error) {
		return value.DictOf("changed", false), nil
	}}
	site := "- hosts: all\n  gather_facts: false\n  strategy: free\n  tasks:\n    - name: x{{ nosuch }}\n      ping:\n      run_once: true\n" +
		"    - name: y{{ nosuch }}\n      meta: noop\n"
	code, out, err := run(t.Context(), t, "a\n", site, s)
	if err != nil || code != 0 {
		t.Fatal(code, err, out)
	}
	first, second := strings.Index(out, "Encountered 1 template error"), strings.Index(out, "Using run_once with the free strategy")
	if first < 0 || second < first {
		t.Errorf("the name comes at %d, run_once at %d:\n%s", first, second, out)
	}
	if n := strings.Count(out, "Encountered 1 template error"); n != 2 {
		t.Errorf("%d names could not be rendered, want 2:\n%s", n, out)
	}
}

func TestUnreachableAndLost(t *testing.T) {
	s := &scripted{answer: func(_ context.Context, host string, _ *wire.Task) (*value.Dict, error) {
		switch host {
		case "a":
			return nil, &fleet.Unreachable{Host: host, Err: errors.New("no route")}
		case "b":
			return nil, fleet.ErrLost
		}
		return value.DictOf("changed", true), nil
	}}
	code, out, err := run(t.Context(), t, "a\nb\nc\n", pings, s)
	if err != nil || code != execute.CodeUnreachable {
		t.Fatal(code, err)
	}
	want := []string{
		`fatal: [a]: UNREACHABLE! => {"changed": false, "msg": "Task failed: no route", "unreachable": true}`,
		`fatal: [b]: FAILED! => {"changed": false, "msg": "Task failed: The agent on this host stopped while the task ran; it may or may not have completed."}`,
		"changed: [c]", "changed: [c]",
	}
	if diff := cmp.Diff(want, lines(out, "fatal", "changed")); diff != "" {
		t.Error(diff)
	}
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &scripted{answer: func(ctx context.Context, _ string, _ *wire.Task) (*value.Dict, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	begin := time.Now()
	_, _, err := run(ctx, t, "a\nb\n", pings, s)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
	for _, m := range s.sent[:1] {
		if !strings.HasSuffix(m, "ping") {
			t.Error(m)
		}
	}
	if len(s.sent) > 2 {
		t.Errorf("something was started after the interrupt: %v", s.sent)
	}
}

func TestControllerTasksNeedNoHost(t *testing.T) {
	s := &scripted{answer: func(context.Context, string, *wire.Task) (*value.Dict, error) {
		return nil, errors.New("a host was asked")
	}}
	site := "- hosts: all\n  gather_facts: false\n  tasks:\n    - set_fact: {a: \"{{ inventory_hostname }}\"}\n    - debug: msg={{ a }}\n    - assert: {that: a == inventory_hostname}\n"
	code, out, err := run(t.Context(), t, "a\nb\n", site, s)
	if err != nil || code != 0 || len(s.sent) != 0 {
		t.Fatal(code, err, s.sent, out)
	}
}

func TestResultsOfHostsAreMarked(t *testing.T) {
	s := &scripted{answer: func(_ context.Context, _ string, task *wire.Task) (*value.Dict, error) {
		return value.DictOf("changed", false, "name", "../../etc/passwd", "text", "{{ 1 + 1 }}"), nil
	}}
	site := "- hosts: all\n  gather_facts: false\n  tasks:\n    - ping:\n      register: r\n    - debug: msg=\"{{ r.text }}\"\n    - include_tasks: \"{{ r.name }}\"\n"
	code, out, err := run(t.Context(), t, "a\n", site, s)
	if err != nil || code != execute.CodeFailed {
		t.Fatal(code, err, out)
	}
	if !strings.Contains(out, `"msg": "{{ 1 + 1 }}"`) {
		t.Error("what a host sent was rendered", out)
	}
	if !strings.Contains(out, "a controller file a host chose is never read") {
		t.Error("a host chose a controller file", out)
	}
}

func TestPanicEndsTheRunOnly(t *testing.T) {
	s := &scripted{answer: func(context.Context, string, *wire.Task) (*value.Dict, error) { panic("boom") }}
	_, _, err := run(t.Context(), t, "a\n", pings, s)
	if err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("ended with %v", err)
	}
}

func TestSerial(t *testing.T) {
	for serial, want := range map[string]int{"2": 3, "\"40%\"": 3, "[1, 4]": 2, "0": 1, "[1, \"100%\"]": 2} {
		site := strings.Replace(pings, "  tasks:", "  serial: "+serial+"\n  tasks:", 1)
		code, out, err := run(t.Context(), t, "h[1:5]\n", site, &scripted{answer: good})
		if err != nil || code != 0 {
			t.Fatal(code, err, out)
		}
		if n := len(lines(out, "PLAY [all]")); n != want {
			t.Errorf("serial %s: %d batches, want %d", serial, n, want)
		}
	}
}
