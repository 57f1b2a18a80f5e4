package execute_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"volant/controller/execute"
	"volant/wire"
	"volant/wire/value"
)

const debugged = `
- hosts: all
  gather_facts: false
  debugger: on_failed
  tasks:
    - {name: Try, command: "true"}
    - debug: {msg: after}
`

// failing fails n times on h1, then works; it works on other hosts.
func failing(n int) *scripted {
	return &scripted{answer: func(_ context.Context, host string, _ *wire.Task) (*value.Dict, error) {
		if host != "h1" {
			return value.DictOf("changed", true, "rc", int64(0)), nil
		}
		if n--; n >= 0 { // h1 has one driver
			return value.DictOf("changed", true, "failed", true, "rc", int64(7), "msg", "non-zero return code"), nil
		}
		return value.DictOf("changed", true, "rc", int64(0)), nil
	}}
}

func TestDebuggerRedo(t *testing.T) {
	a := &answers{given: []string{"p task", "p result.rc + 1", "p task_vars.inventory_hostname", "p task.args._raw_params", "p nosuch", "", "bla", "r", "r"}}
	code, out, err := run(t.Context(), t, "h1\n", debugged, failing(2), func(o *execute.Options) { o.Line = a.line })
	if err != nil || code != 0 {
		t.Fatalf("code %d, %v\n%s", code, err, out)
	}
	if a.asked[0] != "[h1] TASK: Try (debug)> " { // ansible-core 2.19.12's prompt
		t.Errorf("asked %q", a.asked[0])
	}
	want := []string{
		`fatal: [h1]: FAILED! => {"changed": true, "msg": "non-zero return code", "rc": 7}`,
		"TASK: Try", "8", "'h1'", "'true'", "***'nosuch' is undefined",
		"***there is no command bla: p EXPRESSION (Jinja, over host, result, task and task_vars), " +
			"task.args[KEY] = EXPRESSION, task_vars[KEY] = EXPRESSION, u(pdate_task), c(ontinue), r(edo), q(uit)",
		`fatal: [h1]: FAILED! => {"changed": true, "msg": "non-zero return code", "rc": 7}`, "changed: [h1]", "ok: [h1] => {",
		"h1                         : ok=2    changed=1    unreachable=0    failed=0    skipped=0    rescued=0    ignored=0",
	}
	if diff := cmp.Diff(want, lines(out, "fatal:", "TASK:", "8", "'", "***t", "***'", "changed:", "ok:", "h1 ")); diff != "" {
		t.Errorf("%s\n%s", diff, out)
	}
}

func TestDebuggerContinue(t *testing.T) {
	a := &answers{given: []string{"c"}}
	code, out, err := run(t.Context(), t, "h1\nh2\n", debugged, failing(1), func(o *execute.Options) { o.Line = a.line })
	if err != nil || code != execute.CodeFailed || strings.Count(out, "fatal: [h1]") != 1 || !strings.Contains(out, "changed: [h2]") {
		t.Errorf("code %d, %v\n%s", code, err, out)
	}
}

func TestDebuggerQuit(t *testing.T) {
	a := &answers{given: []string{"q"}}
	_, out, err := run(t.Context(), t, "h1\n", debugged, failing(1), func(o *execute.Options) { o.Line = a.line })
	if !errors.Is(err, execute.ErrQuit) || !strings.HasSuffix(out, "\nUser interrupted execution\n") {
		t.Errorf("%v\n%s", err, out)
	}
	// Without a terminal the reference reads the end of its input and quits.
	_, out, err = run(t.Context(), t, "h1\n", debugged, failing(1))
	if !errors.Is(err, execute.ErrQuit) || !strings.HasSuffix(out, "\n[h1] TASK: Try (debug)> User interrupted execution\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestDebuggerEdits changes arguments and variables of a task before it runs again.
func TestDebuggerEdits(t *testing.T) {
	const src = `
- hosts: all
  gather_facts: false
  debugger: on_failed
  tasks:
    - name: Try
      assert: {that: ["wanted == 2"], success_msg: "got {{ wanted }}"}
      vars: {wanted: 1}
    - debug: {msg: "after {{ wanted | default('none') }}"}
`
	a := &answers{given: []string{
		`task.args["that"] = ["wanted == 3"]`, "p task.args.that", "u", "p task.args.that", "r",
		"task_vars['wanted'] = 1 + 1", "task.args['success_msg'] = 'now {{ wanted }}'", "p task_vars.wanted", "task.args[nosuch] = 1", "r",
	}}
	code, out, err := run(t.Context(), t, "h1\n", src, failing(0), func(o *execute.Options) { o.Line = a.line })
	if err != nil || code != 0 {
		t.Fatalf("code %d, %v\n%s", code, err, out)
	}
	want := []string{"['wanted == 3']", "['wanted == 2']", "2", "***'nosuch' is undefined", `    "msg": "now 2"`, `    "msg": "after none"`}
	if diff := cmp.Diff(want, lines(out, "['", "2", "***'", `    "msg": "now`, `    "msg": "after`)); diff != "" {
		t.Errorf("%s\n%s", diff, out)
	}
}

// line answers questions to standard input.
func (a *answers) line(ctx context.Context, text string) (string, error) {
	return a.ask(ctx, text, true, 0)
}

// TestStepAsks: each task is asked about, wherever standard input comes from;
// when that ends, the run does.
func TestStepAsks(t *testing.T) {
	src := "- hosts: all\n  gather_facts: false\n  tasks: [{debug: {msg: one}}, {debug: {msg: two}}, {debug: {msg: three}}, {debug: {msg: four}}]\n"
	a := &answers{given: []string{"y", "n", "c"}}
	code, out, err := run(t.Context(), t, "h1\n", src, &scripted{}, func(o *execute.Options) { o.Step, o.Line = true, a.line })
	if err != nil || code != 0 {
		t.Fatalf("code %d, %v\n%s", code, err, out)
	}
	if d := cmp.Diff([]string{`    "msg": "one"`, `    "msg": "three"`, `    "msg": "four"`}, lines(out, `    "msg"`)); d != "" {
		t.Errorf("%s\n%s", d, out)
	}
	// Whoever says continue is asked again in the next play.
	said := []string{"continue", "n"}
	code, out, err = run(t.Context(), t, "h1\n", src+strings.ReplaceAll(src, "one", "again"), &scripted{}, func(o *execute.Options) {
		o.Step = true
		o.Line = func(context.Context, string) (string, error) {
			if len(said) == 0 {
				return "", io.EOF
			}
			answer := said[0]
			said = said[1:]
			return answer, nil
		}
	})
	if !errors.Is(err, execute.ErrNoLine) || len(said) > 0 {
		t.Errorf("code %d, %v, %q not asked for\n%s", code, err, said, out)
	}
	if _, _, err := run(t.Context(), t, "h1\n", src, &scripted{}, func(o *execute.Options) { o.Step = true }); !errors.Is(err, execute.ErrNoLine) {
		t.Errorf("without input: %v", err)
	}
}
