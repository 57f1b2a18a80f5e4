package execute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"volant/actions"
	"volant/controller/compile"
	"volant/controller/events"
	"volant/controller/fault"
	"volant/controller/playbook"
	"volant/controller/template"
	"volant/controller/vars"
	"volant/wire/value"
)

// exec is one task on one host. It runs on the host's driver.
type exec struct {
	r    *Runner
	b    *batch
	h    *host
	step *compile.Step
	task *playbook.Task
	ev   *events.Task
	vars *vars.Context
	emit func(events.Event)
	seq  uint32 // of the tasks of the run on the host

	edits    *edits // what the operator changed in the debugger
	search   []string
	loopErr  error // an undefined loop, raised once the task was not skipped
	warnings []events.Warning

	deprecations []events.Deprecation
	timing       events.Timing
	itemsMarked  bool  // a managed host had a say in the loop's items
	held         []any // what the loop variable holds for each item
	touched      bool  // a managed host had a say in the result beside the arguments
	last         *prior
}

func (x *exec) warn(w events.Warning) {
	for _, o := range x.warnings {
		if o.Msg == w.Msg && o.Pos == w.Pos && o.Help == w.Help {
			return
		}
	}
	x.warnings = append(x.warnings, w)
}

func (x *exec) deprecate(d events.Deprecation) {
	if !slices.Contains(x.deprecations, d) {
		x.deprecations = append(x.deprecations, d)
	}
}

var _ fault.Sink = (*exec)(nil)

// Warning implements fault.Sink for the scopes of this task.
func (x *exec) Warning(err error) {
	w := events.Warning{Msg: err.Error()}
	if e, ok := err.(*fault.Error); ok { //nolint:errorlint // the outermost link is the warning
		w = events.Warning{Msg: e.Msg, Help: e.Help, Pos: e.Pos, Excerpt: e.Excerpt, Cause: e.Cause}
	}
	x.warn(w)
}

// Deprecated implements fault.Sink.
func (x *exec) Deprecated(d fault.Deprecation) {
	x.deprecate(events.Deprecation{Msg: d.Msg, Help: d.Help, Pos: d.Pos, Version: d.Version, Collection: "ansible.builtin"})
}

// Verbose implements fault.Sink.
func (x *exec) Verbose(level int, msg string) { x.r.opt.Display.Verbose(level, msg) }

// scope returns a scope over v: one per phase, since variables change between.
func (x *exec) scope(ctx context.Context, v *vars.Context) *template.Scope {
	return x.scopeIn(ctx, v, x.search)
}

// scopeIn is scope with another search path.
func (x *exec) scopeIn(ctx context.Context, v *vars.Context, search []string) *template.Scope {
	opt := x.r.opt.Store.ScopeOptions(v, search)
	opt.Sink = x
	if x.task.Role != nil {
		opt.RolePath = x.task.Role.Path
	}
	return x.r.opt.Engine.Scope(ctx, v, opt)
}

// searchPath is where a task looks for files: its roles, innermost first, the
// directory of its file, and the playbook's.
func searchPath(t *playbook.Task, basedir string) []string {
	out := t.SearchPath()
	if basedir != "" && !slices.Contains(out, basedir) {
		out = append(out, basedir)
	}
	return out
}

// run is the whole task: its loop, or its only item.
func (x *exec) run(ctx context.Context) *outcome {
	items, loop, err := x.items(ctx)
	switch {
	case err != nil && fault.Is(err, fault.Undefined):
		x.loopErr = err
	case err != nil:
		return x.broken(err)
	}
	if x.loopErr != nil || !loop {
		o := x.one(ctx, x.vars, 0)
		setDefault(o.Value, "changed", false)
		o.loop = loop
		return o
	}
	if len(items) == 0 {
		o := x.newOutcome(value.DictOf("changed", false, "skipped", true, "skipped_reason", "No items in the list", "results", value.ListOf()))
		o.loop = true
		x.putWarnings(o)
		return o
	}
	return x.loop(ctx, items)
}

// broken is the outcome of a task that failed before any item could run.
func (x *exec) broken(err error) *outcome {
	res := value.DictOf("failed", true, "exception", unavailable, "msg", fault.Brief(cause(err)))
	it := &item{exec: x, out: x.newOutcome(res)}
	it.unvalidated()
	o := it.out
	o.Err, o.Status = cause(err), events.Failed
	x.putWarnings(o)
	return o
}

func (x *exec) newOutcome(res Dict) *outcome {
	return &outcome{Outcome: events.Outcome{Value: res, Status: status(res)}, task: x.ev}
}

// items are the items of the task's loop; loop is false when it has none.
func (x *exec) items(ctx context.Context) (items []any, loop bool, err error) {
	x.itemsMarked = false
	kw := x.task.Keywords
	with, _ := value.Text(kw.Value(playbook.LoopWith))
	k := setting(kw, playbook.Loop)
	if k == nil || k.Value == nil {
		return nil, false, nil
	}
	s := x.scope(ctx, x.vars)
	if with == "" {
		v, marked, err := s.Render(k.Value)
		if err != nil {
			return nil, true, err
		}
		x.itemsMarked = marked
		l, ok := v.(*value.List)
		if !ok {
			return nil, true, fault.New(fault.Generic, k.Pos, "The `loop` value must resolve to a 'list', not '%s'.", value.TypeName(v)).
				WithHelp("Provide a list of items/templates, or a template resolving to a list.")
		}
		x.held = s.LoopVars("", k.Value, l.Items)
		return l.Items, true, nil
	}
	dir := "files"
	for _, word := range []string{"template", "var"} { // wherever it is in the action's name, as written
		if strings.Contains(text0(x.task.Action), word) {
			dir = word + "s"
			break
		}
	}
	items, x.itemsMarked, err = s.With(with, k.Value, dir)
	x.held = s.LoopVars(with, k.Value, items)
	return items, true, err
}

// loopVars are the rendered options of loop_control.
type loopVars struct {
	name, index        string
	pause              time.Duration
	extended, allItems bool
	label              any
	breakWhen          []any
}

func (x *exec) loopControl(ctx context.Context) (*loopVars, error) {
	l := &loopVars{name: "item", allItems: true}
	c := x.task.LoopControl
	if c == nil {
		return l, nil
	}
	s := x.scope(ctx, x.vars)
	get := func(key playbook.Keyword, raw any) (any, error) {
		if raw == nil {
			return nil, nil
		}
		k := &playbook.Setting{Key: key, Value: raw, Pos: value.PosOf(raw)}
		if k.Pos.IsZero() {
			k.Pos = c.Pos
		}
		v, err := keyword(s, k)
		if v == value.Omit {
			v = nil
		}
		return v, err
	}
	for _, f := range []struct {
		key playbook.Keyword
		raw any
		set func(v any)
	}{
		{playbook.LoopVar, c.LoopVar, func(v any) { l.name = text(v) }},
		{playbook.IndexVar, c.IndexVar, func(v any) { l.index = text(v) }},
		{playbook.Pause, c.Pause, func(v any) {
			if f, ok := v.(float64); ok {
				l.pause = time.Duration(f * float64(time.Second))
			}
		}},
		{playbook.Extended, c.Extended, func(v any) { l.extended, _ = v.(bool) }},
		{playbook.ExtendedAllitems, c.ExtendedAllitems, func(v any) { l.allItems, _ = v.(bool) }},
	} {
		v, err := get(f.key, f.raw)
		if err != nil {
			return nil, err
		}
		if v != nil {
			f.set(v)
		}
	}
	for _, n := range []struct {
		name string
		raw  any
	}{{l.name, c.LoopVar}, {l.index, c.IndexVar}} {
		if n.raw == nil || n.name == "" {
			continue
		}
		if err := playbook.CheckVariableName(n.name, value.PosOf(n.raw)); err != nil {
			return nil, err
		}
	}
	l.label = c.Label
	switch b := c.BreakWhen.(type) {
	case nil:
	case *value.List:
		l.breakWhen = b.Items
	default:
		l.breakWhen = []any{b}
	}
	return l, nil
}

// loop runs the task for each item and joins the results.
func (x *exec) loop(ctx context.Context, items []any) *outcome {
	lv, err := x.loopControl(ctx)
	if err != nil {
		return x.broken(err)
	}
	if _, _, used := x.vars.Lookup(lv.name); used {
		x.r.opt.Display.Warn(events.Warning{
			Msg: fmt.Sprintf("The loop variable '%s' is already in use.", lv.name),
			Help: "You should set the `loop_var` value in the `loop_control` option for the task " +
				"to something else to avoid variable collisions and unexpected behavior.",
			Pos: x.loopVarPos(), Excerpt: lv.name,
		})
	}
	o := &outcome{loop: true, task: x.ev}
	list := &value.List{}
	register := text0(x.task.Keywords.Value(playbook.Register))
	for i, item := range items {
		known, err := x.doneItem(i, lv.name, item)
		if err != nil {
			return x.broken(err)
		}
		if i > 0 && lv.pause > 0 && known == nil && !sleep(ctx, lv.pause) {
			break
		}
		v := x.vars.Clone()
		v.Set("ansible_loop_var", lv.name, false)
		v.Set(lv.name, x.held[i], x.itemsMarked)
		if lv.index != "" {
			v.Set("ansible_index_var", lv.index, false)
			v.Set(lv.index, int64(i), false)
		}
		var ext *value.Dict
		if lv.extended {
			ext = extended(items, i, lv.allItems)
			v.Set("ansible_loop", ext, x.itemsMarked)
		}
		io := known
		if io == nil {
			io = x.one(ctx, v, i+1)
		}
		if register != "" {
			v.Set(register, io.Value, io.marked)
			x.vars.Set(register, io.Value, io.marked)
		}
		res := io.Value
		if register != "" && written(x.held[i], 0) {
			io.item = x.held[i]
		}
		if known == nil {
			x.label(ctx, v, lv, res, item, i, ext)
			io.Status, io.fatal = status(res), ctx.Err()
			x.keep(io, i+1)
		}
		x.emitItem(io)
		list.Items = append(list.Items, res)
		o.items = append(o.items, io)
		if len(lv.breakWhen) > 0 {
			stop, err := x.conditions(ctx, v, lv.breakWhen)
			if err != nil {
				return x.broken(err)
			}
			if stop {
				break
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	o.Value = value.DictOf("results", list)
	x.join(o)
	return o
}

// label tells in an item's result which item it is of.
func (x *exec) label(ctx context.Context, v *vars.Context, lv *loopVars, res Dict, item any, i int, ext *value.Dict) {
	res.Set(lv.name, item)
	res.Set("ansible_loop_var", lv.name)
	if lv.index != "" {
		res.Set(lv.index, int64(i))
		res.Set("ansible_index_var", lv.index)
	}
	if ext != nil {
		res.Set("ansible_loop", ext)
	}
	res.Set("_ansible_item_result", true)
	if lv.label == nil {
		res.Set("_ansible_item_label", item)
	} else if label, _, err := x.scope(ctx, v).Render(lv.label); err != nil {
		res.Set("failed", true)
		res.Set("msg", "Failed to template loop_control.label: "+fault.Brief(err))
	} else {
		res.Set("_ansible_item_label", label)
	}
}

func text0(v any) string { s, _ := value.Text(v); return s }

func (x *exec) loopVarPos() value.Pos {
	if c := x.task.LoopControl; c != nil && c.LoopVar != nil {
		return value.PosOf(c.LoopVar)
	}
	return value.Pos{}
}

// extended is the variable ansible_loop.
func extended(items []any, i int, all bool) *value.Dict {
	n := len(items)
	d := value.DictOf("index", int64(i+1), "index0", int64(i), "first", i == 0, "last", i+1 == n,
		"length", int64(n), "revindex", int64(n-i), "revindex0", int64(n-i-1))
	if all {
		d.Set("allitems", value.ListOf(items...))
	}
	if i+1 < n {
		d.Set("nextitem", items[i+1])
	}
	if i > 0 {
		d.Set("previtem", items[i-1])
	}
	return d
}

// inventoryActions are shown per item only once the coordinator has acted.
func inventoryAction(name string) bool {
	s := actions.Short(name)
	return s == "add_host" || s == "group_by"
}

func (x *exec) emitItem(io *outcome) {
	switch io.Status {
	case events.OK:
		if io.task.Diff {
			x.emit(events.FileDiff{Host: x.h.name, Task: io.task, Outcome: &io.Outcome})
		}
		if inventoryAction(io.task.Action) {
			return
		}
	}
	x.emit(events.Item{Host: x.h.name, Task: io.task, Outcome: &io.Outcome})
}

// join makes a loop's result of its items'. What an item's event holds is read
// by others by now: a result that loses keys in the list is a copy.
func (x *exec) join(o *outcome) {
	res := o.Value
	list, _ := res.Lookup("results").(*value.List)
	skipped := true
	res.Set("skipped", true)
	for i, io := range o.items {
		d := io.Value
		o.marked = o.marked || io.marked
		if value.Truth(d.Lookup("_ansible_no_log")) {
			res.Set("_ansible_no_log", true)
		}
		if value.Truth(d.Lookup("changed")) {
			res.Set("changed", true)
		}
		if skipped && !value.Truth(d.Lookup("skipped")) {
			skipped = false
			res.Set("skipped", false)
		}
		if value.Truth(d.Lookup("failed")) {
			if !value.Truth(res.Lookup("failed")) {
				res.Set("failed", true)
				res.Set("msg", "One or more items failed")
				o.ignoreErrors = io.ignoreErrors
			} else if o.ignoreErrors && !io.ignoreErrors {
				o.ignoreErrors = false
			}
		}
		if value.Truth(d.Lookup("unreachable")) {
			if !value.Truth(res.Lookup("unreachable")) {
				res.Set("unreachable", true)
				o.ignoreUnreach = io.ignoreUnreach
			} else if o.ignoreUnreach && !io.ignoreUnreach {
				o.ignoreUnreach = false
			}
		}
		o.Warnings = append(o.Warnings, io.Warnings...)
		o.Deprecations = append(o.Deprecations, io.Deprecations...)
		for _, k := range []string{"warnings", "deprecations"} {
			if l, ok := d.Lookup(k).(*value.List); ok {
				have, _ := res.Lookup(k).(*value.List)
				joined := &value.List{}
				if have != nil {
					joined.Items = append(joined.Items, have.Items...)
				}
				joined.Items = append(joined.Items, l.Items...)
				res.Set(k, joined)
				if list != nil && i < list.Len() {
					list.Items[i] = lacking(list.Items[i], k)
				}
			}
		}
		o.runOnce = io.runOnce
		if io.fatal != nil && o.fatal == nil {
			o.fatal = io.fatal
		}
	}
	if !value.Truth(res.Lookup("failed")) {
		res.Set("msg", "All items completed")
	}
	if skipped {
		res.Set("msg", "All items skipped")
	}
	setDefault(res, "changed", false)
	o.Status = status(res)
	ev := *x.ev
	ev.IgnoreUnreachable = o.ignoreUnreach
	o.task = &ev
}

// lacking is a result less one key.
func lacking(v any, key string) any {
	d, ok := v.(*value.Dict)
	if !ok {
		return v
	}
	d = d.Clone()
	d.Delete(key)
	return d
}

// conditions reports whether all conditions hold.
func (x *exec) conditions(ctx context.Context, v *vars.Context, list []any) (bool, error) {
	ok, _, err := x.when(ctx, v, list)
	return ok, err
}

// when is conditions with the one that was false.
func (x *exec) when(ctx context.Context, v *vars.Context, list []any) (ok bool, at any, err error) {
	if len(list) == 0 {
		return true, nil, nil
	}
	s := x.scope(ctx, v)
	for _, c := range list {
		ok, err := s.Condition(c)
		if err != nil || !ok {
			return false, c, err
		}
	}
	return true, nil, nil
}

// sleep waits for d and reports whether ctx lasted.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// isCancel reports whether err is the run being interrupted.
func isCancel(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err())
}
