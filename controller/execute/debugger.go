package execute

import (
	"context"
	"errors"
	"io"
	"strings"

	"volant/controller/events"
	"volant/controller/fault"
	"volant/controller/playbook"
	"volant/controller/vars"
	"volant/wire/rx"
	"volant/wire/value"
)

// ErrQuit ends a run that the operator quit in the task debugger.
var ErrQuit = errors.New("User interrupted execution") //nolint:staticcheck // shown to users

// wantsDebugger reports whether the operator is asked about a task's outcome.
func (b *batch) wantsDebugger(j *running, o *outcome) bool {
	cfg := b.r.opt.Config
	ignored := o.ignoreErrors && cfg.Bool("TASK_DEBUGGER_IGNORE_ERRORS")
	failed := o.Status == events.Failed && !ignored
	switch text0(j.step.Keywords.Value(playbook.Debugger)) {
	case "always":
		return true
	case "never":
		return false
	case "on_failed":
		if failed {
			return true
		}
	case "on_unreachable":
		if o.Status == events.Unreachable {
			return true
		}
	case "on_skipped":
		if o.Status == events.Skipped {
			return true
		}
	}
	strategy := strings.TrimPrefix(strings.TrimPrefix(b.r.strategy(b.values), "ansible.builtin."), "ansible.legacy.")
	return (strategy == "debug" || cfg.Bool("ENABLE_TASK_DEBUGGER")) && (failed || o.Status == events.Unreachable)
}

// debug is process with the operator's say: redo says that the task runs again
// on the host as if it had not run.
func (b *batch) debug(ctx context.Context, j *running, o *outcome) (redo bool, err error) {
	if o.fatal != nil || o.replayed || !b.wantsDebugger(j, o) {
		return false, b.process(j, o)
	}
	counts := b.r.stats.Host(j.h.name)
	before := *counts
	if o.Status == events.OK {
		err = b.process(j, o) // what it leaves does not hinder another try
	} else {
		b.r.opt.Bus.Event(events.Result{Host: j.h.name, Task: o.task, IgnoreErrors: o.ignoreErrors, Outcome: &o.Outcome})
		o.shown = true
	}
	if err == nil {
		redo, err = b.debugger(ctx, j, o)
	}
	switch {
	case err != nil:
	case redo:
		*counts = before
	case o.Status != events.OK:
		err = b.process(j, o)
	}
	return redo, err
}

// debugger takes commands until one of them ends it.
func (b *batch) debugger(ctx context.Context, j *running, o *outcome) (redo bool, err error) {
	d := b.r.opt.Display
	t := j.step.Task
	name := "TASK: " + t.Title(t.RawName(), true)
	prompt := "[" + j.h.name + "] " + name + " (debug)> "
	if b.r.opt.Line == nil {
		d.Print(prompt+ErrQuit.Error(), "")
		return false, ErrQuit
	}
	for {
		line, err := b.r.opt.Line(ctx, prompt)
		if errors.Is(err, io.EOF) {
			err = nil
			if line == "" {
				line = "q"
			}
		}
		if err != nil {
			return false, err
		}
		command, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch command {
		case "":
		case "c", "continue":
			return false, nil
		case "r", "redo":
			return true, nil
		case "q", "quit":
			d.Print(ErrQuit.Error(), "")
			return false, ErrQuit
		case "p", "pprint":
			if rest = strings.TrimSpace(rest); rest == "task" {
				d.Print(name, "")
				continue
			}
			v, err := b.inspect(ctx, j, o, rest)
			if err != nil {
				d.Print("***"+fault.Brief(err), "")
				continue
			}
			d.Print(value.Repr(v), "")
		case "u", "update_task":
			if j.edits != nil {
				j.edits = &edits{vars: j.edits.vars}
			}
		default:
			ok, err := b.edit(ctx, j, o, line)
			switch {
			case err != nil:
				d.Print("***"+fault.Brief(err), "")
			case !ok:
				d.Print("***there is no command "+command+": p EXPRESSION (Jinja, over host, result, task and task_vars), "+
					"task.args[KEY] = EXPRESSION, task_vars[KEY] = EXPRESSION, u(pdate_task), c(ontinue), r(edo), q(uit)", "")
			}
		}
	}
}

// inspect evaluates an expression over the task and its outcome.
func (b *batch) inspect(ctx context.Context, j *running, o *outcome, expr string) (any, error) {
	x := b.newExec(j.step, j.h, o.task, func(events.Event) {})
	v, err := b.vars.For(ctx, j.h.name, j.step.Task, j.step.Keywords.Value(playbook.Environment))
	if err != nil {
		return nil, err
	}
	j.edits.apply(v)
	all := v.Clone()
	v.SetLazy("task_vars", true, func() any { return all.All() })
	v.Set("result", strip(o.Value), true)
	v.Set("host", j.h.name, false)
	v.Set("task", value.DictOf("name", j.step.Task.RawName(), "action", j.step.Task.ActionName(), "args", j.edits.taskArgs(j.step.Task)), false)
	out, _, err := x.scope(ctx, v).Expression(value.NewTemplate(expr, value.Pos{}))
	return out, err
}

// edits are an operator's changes to a task for a host's next tries. A driver
// reads them; the debugger replaces them and never changes one in place.
type edits struct {
	args *value.Dict // instead of the task's own; nil: those
	vars *value.Dict // above every variable; nil: none
}

// taskArgs are the arguments t has now; e may be nil.
func (e *edits) taskArgs(t *playbook.Task) *value.Dict {
	if e == nil || e.args == nil {
		return t.Args
	}
	return e.args
}

// apply puts the changed variables above those of v; e may be nil.
func (e *edits) apply(v *vars.Context) {
	if e == nil || e.vars == nil {
		return
	}
	for k, val := range e.vars.All() {
		v.Set(text(k), val, false)
	}
}

// assignment is what an operator may write to change a task: Python's
// assignment to an item of the arguments or of the variables.
var assignment = rx.Lazy(`^(task\.args|task_vars)\[([^\[\]]+)\]\s*=\s*([^=].*)$`)

// quoted is a string that is nothing else: what an operator wrote, so a template.
var quoted = rx.Lazy(`^(?:'[^'\\]*'|"[^"\\]*")$`)

// edit carries out a line that is an assignment; ok says that it is one.
func (b *batch) edit(ctx context.Context, j *running, o *outcome, line string) (ok bool, err error) {
	m := assignment.FindStringSubmatch(strings.TrimSpace(line))
	if m == nil {
		return false, nil
	}
	key, err := b.inspect(ctx, j, o, m[2])
	if err != nil {
		return true, err
	}
	var val any
	if quoted.MatchString(m[3]) {
		val = value.NewTemplate(m[3][1:len(m[3])-1], value.Pos{})
	} else if val, err = b.inspect(ctx, j, o, m[3]); err != nil {
		return true, err
	}
	next := edits{}
	if j.edits != nil {
		next = *j.edits
	}
	if m[1] == "task_vars" {
		next.vars = with(next.vars, key, val)
	} else {
		next.args = with(j.edits.taskArgs(j.step.Task), key, val)
	}
	j.edits = &next
	return true, nil
}

// with is a copy of d, which may be nil, with one more entry.
func with(d *value.Dict, key, val any) *value.Dict {
	out := value.NewDict(1)
	if d != nil {
		out = d.Clone()
		out.Places = d.Places
	}
	out.Set(key, val)
	return out
}
