package execute

import (
	"context"
	"fmt"
	"strings"
	"time"

	"volant/actions"
	"volant/controller/events"
	"volant/controller/fault"
	"volant/controller/playbook"
	"volant/controller/template"
	"volant/controller/vars"
	"volant/wire/value"
)

// item is one item of a task's loop, or the task itself without one.
type item struct {
	*exec
	v        *vars.Context // of the host, the item's on top
	cv       *vars.Context // connection variables: the delegate's when delegated
	f        *fields
	action   string
	resolved string
	delegate string
	out      *outcome
	args     template.Args
	raw      *value.Dict          // arguments before rendering
	names    map[string]value.Pos // of set_fact: where names that were templates are written
	host     *remote
	index    uint32 // of a loop, from 1
	attempt  uint32
	// said: a managed host had a say in what the item runs as, with or by.
	said bool
}

// one runs one item and makes its outcome, whatever happens.
// index is the item's of a loop, from 1.
func (x *exec) one(ctx context.Context, v *vars.Context, index int) *outcome {
	it := &item{exec: x, v: v, out: &outcome{task: x.ev}, index: uint32(index)}
	it.unvalidated()
	begin := time.Now()
	res, err := it.run(ctx)
	if res != nil && err == nil {
		x.takeWarnings(res)
		if block := x.normalize(res); block != nil {
			it.out.Err = block
		}
	}
	if err != nil {
		res, it.out.Err = x.failedDict(err)
		x.takeWarnings(res)
	}
	o := it.out
	o.Value = res
	x.noLog(ctx, it)
	x.putWarnings(o)
	o.Status = status(res)
	o.argMarks = it.args.Marked
	o.marked = it.marked()
	o.Timing.Total = time.Since(begin)
	return o
}

// marked reports whether a managed host had a say in the item's result, which
// also tells its arguments and which item of the loop it is.
func (it *item) marked() bool { return it.touched || it.itemsMarked || len(it.args.Marked) > 0 }

// unvalidated takes the keywords that matter to a failed item as they are
// written: they hold until the item gets as far as rendering them.
func (it *item) unvalidated() {
	kw := it.step.Keywords
	it.out.ignoreErrors = value.Truth(kw.Value(playbook.IgnoreErrors))
	it.out.ignoreUnreach = value.Truth(kw.Value(playbook.IgnoreUnreachable))
	it.out.runOnce = value.Truth(kw.Value(playbook.RunOnce))
	if d := kw.Value(playbook.DelegateTo); value.Truth(d) {
		ev := *it.out.task
		ev.DelegateTo = text(d)
		it.out.task = &ev
	}
}

// noLog marks the result of an item that must not be shown.
func (x *exec) noLog(ctx context.Context, it *item) {
	hide := false
	switch {
	case it.f != nil:
		hide = it.f.noLog
	default:
		// The item ended before its keywords were known: this one alone.
		if k := setting(x.step.Keywords, playbook.NoLog); k != nil && k.Value != nil {
			v, err := keyword(x.scope(ctx, it.v), k)
			if err != nil {
				v = true
				x.warn(events.Warning{Msg: "Invalid no_log value for task, output will be masked.", Cause: err})
			}
			hide, _ = v.(bool)
		} else {
			d := x.r.defaults()
			hide = d.noLog
		}
	}
	if hide {
		it.out.Value.Set("_ansible_no_log", true)
	}
	ev := *it.out.task
	ev.NoLog = hide
	it.out.task = &ev
}

// run does what a task does on a host: where, whether, with what, and how
// often. An error fails the item.
func (it *item) run(ctx context.Context) (Dict, error) {
	if err := it.delegation(ctx); err != nil {
		return nil, err
	}
	it.tellConnection(ctx)
	ok, at, err := it.when(ctx, it.v, conditionsOf(it.step.Keywords))
	switch {
	case err != nil && it.loopErr != nil:
		it.r.opt.Display.Verbose(1, fault.Brief(err))
		return nil, it.loopErr
	case err != nil:
		return nil, err
	case !ok:
		return value.DictOf("changed", false, "skipped", true, "skip_reason", "Conditional result was False", "false_condition", plain(at)), nil
	case it.loopErr != nil:
		return nil, it.loopErr
	}
	if err := it.validate(ctx); err != nil {
		return nil, err
	}
	switch it.task.Include {
	case playbook.IncludeTasks:
		args := it.args.Dict.Clone()
		file, ok := args.Get("_raw_params")
		args.Delete("_raw_params")
		if !ok || !value.Truth(file) {
			return value.DictOf("failed", true, "msg", "No include file was specified to the include"), nil
		}
		if it.args.Marked["_raw_params"] && !safeName(text(file)) {
			return nil, refused("file", "include_tasks")
		}
		it.out.include = &included{file: text(file), args: args}
		return value.DictOf("include", file, "include_args", args), nil
	case playbook.IncludeRole:
		for arg := range it.args.Marked {
			if v, _ := it.args.Dict.Str(arg); arg != "apply" && v != "" && !safeName(v) {
				return nil, refused(arg, "include_role")
			}
		}
		it.out.include = &included{args: it.args.Dict}
		return value.DictOf("include_args", it.args.Dict), nil
	}
	return it.attempts(ctx)
}

// refused is the error of an inclusion that a managed host chose.
func refused(what, action string) error {
	return actions.Fail("the %s of this %s was named by a managed host, and a controller file a host chose is never read", what, action)
}

// safeName reports whether a name that a host had a say in stays below the
// directories names are looked for in.
func safeName(name string) bool {
	if name == "" || strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~") || strings.ContainsAny(name, "$\x00") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

// conditionsOf are the conditions of a task without one that repeats the one
// before, where true and 1 are the same, as in the reference.
func conditionsOf(kw playbook.Keywords) []any {
	list := kw.List(playbook.When)
	var out []any
	for i, c := range list {
		if i > 0 && scalarEqual(list[i-1], c) {
			continue
		}
		out = append(out, c)
	}
	return out
}

func scalarEqual(a, b any) bool {
	n := func(v any) (int64, bool) {
		switch v := v.(type) {
		case bool:
			if v {
				return 1, true
			}
			return 0, true
		case int64:
			return v, true
		}
		return 0, false
	}
	x, ok1 := n(a)
	y, ok2 := n(b)
	return ok1 && ok2 && x == y
}

// plain is an operator's text as data.
func plain(v any) any {
	if t, ok := v.(*value.Template); ok {
		return t.Text
	}
	return v
}

// delegation finds the host the item works on.
func (it *item) delegation(ctx context.Context) error {
	it.cv = it.v
	k := setting(it.step.Keywords, playbook.DelegateTo)
	if k == nil || !value.Truth(k.Value) {
		return nil
	}
	v, _, err := it.scope(ctx, it.v).Render(k.Value)
	if err != nil {
		return err
	}
	if v == value.Omit {
		ev := *it.out.task
		ev.DelegateTo = ""
		it.out.task = &ev
		return nil
	}
	if !value.Truth(v) {
		return fmt.Errorf("Empty hostname produced from delegate_to: \"%s\"", text0(k.Value)) //nolint:staticcheck // shown to users
	}
	it.delegate = text(v)
	name := it.r.hostNamed(it.delegate)
	cv, err := it.b.vars.For(ctx, name, it.task, it.step.Keywords.Value(playbook.Environment))
	if err != nil {
		return err
	}
	cv.ShowAs(it.h.name)
	it.cv = cv
	delegate := it.delegate
	it.v.SetLazy("ansible_delegated_vars", true, func() any { return value.DictOf(delegate, cv.All()) })
	it.out.delegate = delegate
	ev := *it.out.task
	ev.DelegateTo = delegate
	it.out.task = &ev
	return nil
}

// validate renders the task's keywords and arguments.
func (it *item) validate(ctx context.Context) error {
	s := it.scope(ctx, it.v)
	it.action, it.resolved = it.task.ActionName(), it.task.Resolved
	facts := actions.Short(it.resolved) == "gather_facts" || actions.Short(it.resolved) == "setup"
	f, err := it.r.fields(s, it.task, it.step.Keywords, facts)
	if err != nil {
		return err
	}
	it.f = f
	it.out.ignoreErrors, it.out.ignoreUnreach = f.ignoreErrors, f.ignoreUnreach
	it.out.runOnce, it.out.delegateFacts = f.runOnce, f.delegateFacts
	ev := *it.out.task
	ev.Check, ev.Diff, ev.NoLog, ev.IgnoreUnreachable = f.check, f.diff, f.noLog, f.ignoreUnreach
	it.out.task = &ev
	err = it.finalize(s)
	it.said = it.said || s.Saw()
	return err
}
