package execute

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	raw      *value.Dict // arguments before rendering
	host     *remote
}

// one runs one item and makes its outcome, whatever happens.
func (x *exec) one(ctx context.Context, v *vars.Context) *outcome {
	it := &item{exec: x, v: v, out: &outcome{task: x.ev}}
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
	o.marked = x.touched || len(it.args.Marked) > 0
	o.Timing.Total = time.Since(begin)
	return o
}

// unvalidated takes the keywords that matter to a failed item as they are
// written: they hold until the item gets as far as rendering them.
func (it *item) unvalidated() {
	kw := it.step.Keywords
	it.out.ignoreErrors = truthy(kw.Value(playbook.IgnoreErrors))
	it.out.ignoreUnreach = truthy(kw.Value(playbook.IgnoreUnreachable))
	it.out.runOnce = truthy(kw.Value(playbook.RunOnce))
	if d := kw.Value(playbook.DelegateTo); truthy(d) {
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
				x.warn(events.Warning{Msg: "Failed to evaluate the `no_log` keyword, assuming True.", Cause: err})
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
		if !ok || !truthy(file) {
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
	if k == nil || !truthy(k.Value) {
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
	if !truthy(v) {
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
	it.v.SetLazy("ansible_delegated_vars", func() any { return value.DictOf(delegate, cv.All()) })
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
	f, err := it.r.fields(s, it.step.Keywords, facts)
	if err != nil {
		return err
	}
	it.f = f
	it.out.ignoreErrors, it.out.ignoreUnreach = f.ignoreErrors, f.ignoreUnreach
	it.out.runOnce, it.out.delegateFacts = f.runOnce, f.delegateFacts
	ev := *it.out.task
	ev.Check, ev.Diff, ev.NoLog, ev.IgnoreUnreachable = f.check, f.diff, f.noLog, f.ignoreUnreach
	it.out.task = &ev
	return it.finalize(ctx, s)
}

// rawParams are modules that take free-form text.
var rawParams = map[string]bool{
	"command": true, "shell": true, "raw": true, "script": true, "win_command": true, "win_shell": true,
	"include_vars": true, "include_tasks": true, "include_role": true, "import_tasks": true, "import_role": true,
	"add_host": true, "group_by": true, "set_fact": true, "meta": true,
}

// finalize renders the action's name, its defaults and its arguments.
func (it *item) finalize(ctx context.Context, s *template.Scope) error {
	if it.resolved == "" {
		v, _, err := s.Render(it.task.Action)
		if err != nil {
			return err
		}
		if v == value.Omit {
			return fault.New(fault.Parser, value.PosOf(it.task.Action), "Omit is not valid for the `action` keyword.")
		}
		it.action = text(v)
		resolved, ok, err := it.r.opt.Loader.Plugins.Action(it.action, it.collections())
		if err != nil {
			return err
		}
		if !ok {
			return it.atAction(fault.New(fault.Generic, value.Pos{}, "Cannot resolve '%s' to an action or module.", it.action))
		}
		it.resolved = resolved
		ev := *it.out.task
		ev.Action = it.action
		it.out.task = &ev
	}
	args := value.NewDict(it.task.Args.Len())
	args.Places = it.task.Args.Places
	defaults, err := it.defaultArgs(s, it.resolved)
	if err != nil {
		return it.badArgs(err)
	}
	args.Update(defaults)
	own := it.task.Args
	if vp, ok := own.Get("_variable_params"); ok {
		v, err := s.Container(vp)
		if err != nil {
			return it.badArgs(err)
		}
		if it.r.opt.Config.Bool("INJECT_FACTS_AS_VARS") {
			it.warn(events.Warning{Msg: "Using a template for task args is unsafe in some situations " +
				"(see https://docs.ansible.com/ansible/devel/reference_appendices/faq.html#argsplat-unsafe).", Pos: value.PosOf(vp)})
		}
		if err := layer(args, v, vp); err != nil {
			return it.badArgs(err)
		}
	}
	if raw, ok := own.Get("_raw_params"); ok && !rawParams[actions.Short(it.resolved)] && it.task.Include == playbook.NotInclude {
		if txt, ok := value.Text(raw); ok && txt == "" {
			own = own.Clone()
			own.Delete("_raw_params")
		} else {
			if txt, ok := value.Text(raw); ok && !allTemplate(txt) {
				return it.atAction(fault.New(fault.Generic, value.Pos{}, "Action '%s' does not support raw params.", it.resolved))
			}
			v, err := s.Container(raw)
			if err != nil {
				return it.badArgs(err)
			}
			if err := layer(args, v, raw); err != nil {
				return it.badArgs(err)
			}
			own = own.Clone()
			own.Delete("_raw_params")
		}
	}
	for k, v := range own.All() {
		if k != "_variable_params" {
			args.Set(k, v)
		}
	}
	args = sortedArgs(args)
	it.raw = args
	render := args
	short := actions.Short(it.resolved)
	lazy := actions.Unrendered(short)
	if lazy != "" && args.Has(lazy) {
		render = args.Clone()
		render.Delete(lazy)
	}
	out, err := s.RenderArgs(render)
	if err != nil {
		return it.badArgs(err)
	}
	if v, ok := args.Get(lazy); ok && lazy != "" {
		if t, ok := value.Text(v); ok && allTemplate(t) {
			if c, err := s.Container(v); err == nil {
				if _, isList := c.(*value.List); isList {
					v = c
				}
			}
		}
		out.Dict.Set(lazy, v)
	}
	if short == "set_fact" {
		if err := it.renderKeys(s, out.Dict); err != nil {
			return err
		}
	}
	it.args = out
	return nil
}

// sortedArgs are arguments in the order of their names, as the reference hands
// them on.
func sortedArgs(args *value.Dict) *value.Dict {
	keys := args.Keys()
	slices.SortStableFunc(keys, func(a, b any) int { return strings.Compare(text(a), text(b)) })
	out := value.NewDict(len(keys))
	for _, k := range keys {
		out.Set(k, args.Lookup(k))
	}
	out.Places = args.Places
	return out
}

// renderKeys renders the names of set_fact that are templates.
func (it *item) renderKeys(s *template.Scope, args *value.Dict) error {
	for i := range args.Len() {
		k, _ := args.At(i)
		name, _ := value.Text(k)
		if !strings.Contains(name, "{{") {
			continue
		}
		v, _, err := s.Render(value.NewTemplate(name, it.task.Args.KeyPos(name)))
		if err != nil {
			return err
		}
		out := value.NewDict(args.Len())
		for old, e := range args.All() {
			if old == k {
				old = text(v)
			}
			out.Set(old, e)
		}
		*args = *out
	}
	return nil
}

func allTemplate(s string) bool {
	s = strings.TrimSpace(s)
	return strings.HasPrefix(s, "{{") && strings.HasSuffix(s, "}}") || strings.HasPrefix(s, "{%") && strings.HasSuffix(s, "%}")
}

// layer puts rendered arguments over those that are there.
func layer(args *value.Dict, v, written any) error {
	if v == value.Omit {
		return nil
	}
	d, ok := v.(*value.Dict)
	if !ok {
		return fault.New(fault.Generic, value.PosOf(written), "Task args must resolve to a 'dict' not '%s'.", value.TypeName(v))
	}
	args.Update(d)
	return nil
}

func (it *item) badArgs(err error) error {
	return it.atAction(fault.New(fault.Generic, value.Pos{}, "Finalization of task args for '%s' failed.", it.resolved).Because(err))
}

// atAction puts e where the action's name was written.
func (it *item) atAction(e *fault.Error) *fault.Error {
	e.Pos, e.Excerpt = it.actionPos(), it.action
	return e
}

// actionPos is where the action's name was written.
func (it *item) actionPos() value.Pos {
	if p := value.PosOf(it.task.Action); !p.IsZero() {
		return p
	}
	return it.task.Pos
}

func (it *item) collections() []string {
	l, _ := it.step.Keywords.Value(playbook.Collections).(*value.List)
	if l == nil {
		return nil
	}
	var out []string
	for _, c := range l.Items {
		out = append(out, text(c))
	}
	return out
}

// defaultArgs are the module_defaults that apply to an action's full name, raw.
func (it *item) defaultArgs(s *template.Scope, resolved string) (*value.Dict, error) {
	out := value.NewDict(0)
	k := setting(it.step.Keywords, playbook.ModuleDefaults)
	if k == nil || k.Value == nil {
		return out, nil
	}
	merged := value.NewDict(0)
	items := []any{k.Value}
	if l, ok := k.Value.(*value.List); ok {
		items = l.Items
	}
	for _, i := range items {
		if d, ok := i.(*value.Dict); ok {
			merged.Update(d)
		}
	}
	use := func(raw any) error {
		if raw == nil {
			return nil
		}
		v, err := s.Container(raw)
		if err != nil {
			return err
		}
		if d, ok := v.(*value.Dict); ok {
			out.Update(d)
		}
		return nil
	}
	groups := map[string]bool{}
	for _, g := range it.b.play.ActionGroups(resolved) {
		groups[g] = true
	}
	for key, raw := range merged.All() {
		name, _ := value.Text(key)
		if g, ok := strings.CutPrefix(name, "group/"); ok && groups[g] {
			if err := use(raw); err != nil {
				return nil, err
			}
		}
	}
	return out, use(merged.Lookup(resolved))
}

// attempts runs the action until it is good or its retries are used up.
func (it *item) attempts(ctx context.Context) (Dict, error) {
	until := it.task.Keywords.List(playbook.Until)
	retries := 1
	switch {
	case it.f.retriesSet:
		retries += max(0, it.f.retries)
	case len(until) > 0:
		retries += 3
	}
	delay := it.f.delay
	if delay < 0 {
		delay = 1
	}
	var res Dict
	for attempt := 1; attempt <= retries; attempt++ {
		var err error
		if res, err = it.act(ctx); err != nil {
			return nil, err
		}
		if done, err := it.judge(ctx, res, attempt, retries, until); err != nil || done {
			return res, err
		}
		if attempt == retries {
			break
		}
		res.Set("_ansible_retry", true)
		res.Set("retries", int64(retries))
		x := events.Outcome{Value: it.retryView(res), Status: events.Failed}
		it.emit(events.Retry{Host: it.h.name, Task: it.out.task, Outcome: &x})
		if !sleep(ctx, time.Duration(delay*float64(time.Second))) {
			return nil, ctx.Err()
		}
	}
	if retries > 1 {
		res.Set("attempts", int64(retries-1))
		res.Set("failed", true)
	}
	it.finish(res)
	return res, nil
}

// retryView is a copy of a result for the retry event, which is shown while
// the result goes on changing.
func (it *item) retryView(res Dict) Dict {
	d := res.Clone()
	if _, ok := d.Lookup("exception").(*captured); ok {
		d.Set("exception", unavailable)
	}
	if it.f.noLog {
		d.Set("_ansible_no_log", true)
	}
	return d
}

// judge completes an attempt's result and reports whether it is the last.
func (it *item) judge(ctx context.Context, res Dict, attempt, retries int, until []any) (bool, error) {
	register := text0(it.task.Keywords.Value(playbook.Register))
	set := func() {
		if register != "" {
			it.v.Set(register, seen(res), it.touched)
		}
	}
	it.takeFacts(it.v, res)
	if !res.Has("failed") {
		rc, ok := res.Get("rc")
		res.Set("failed", ok && !zeroRC(rc))
	}
	if retries > 1 {
		res.Set("attempts", int64(attempt))
	}
	setDefault(res, "changed", false)
	set()
	if !res.Has("skipped") {
		if err := it.verdicts(ctx, res, set); err != nil {
			return false, err
		}
	}
	if retries == 1 {
		it.finish(res)
		return true, nil
	}
	ok := !truthy(res.Lookup("failed"))
	if len(until) > 0 {
		var err error
		if ok, err = it.conditions(ctx, it.v, until); err != nil {
			return false, err
		}
	}
	if ok {
		it.finish(res)
	}
	return ok, nil
}

// seen is the result as conditions of its own task see it.
func seen(res Dict) Dict {
	if _, ok := res.Lookup("exception").(*captured); !ok {
		return res
	}
	d := res.Clone()
	d.Set("exception", unavailable)
	return d
}

func zeroRC(rc any) bool {
	switch rc := rc.(type) {
	case int64:
		return rc == 0
	case string:
		return rc == "0"
	case bool:
		return !rc
	case float64:
		return rc == 0
	}
	return false
}

// verdicts applies changed_when and failed_when. Their errors are part of the
// result, as in the reference.
func (it *item) verdicts(ctx context.Context, res Dict, set func()) error {
	which := "changed"
	err := func() error {
		if list := it.task.Keywords.List(playbook.ChangedWhen); len(list) > 0 {
			ok, err := it.conditions(ctx, it.v, list)
			if err != nil {
				return err
			}
			res.Set("changed", ok)
			set()
		}
		which = "failed"
		if list := it.task.Keywords.List(playbook.FailedWhen); len(list) > 0 {
			ok, err := it.conditions(ctx, it.v, list)
			if err != nil {
				return err
			}
			res.Set("failed_when_result", ok)
			res.Set("failed", ok)
			if exc, had := res.Get("exception"); !ok && had && truthy(exc) {
				res.Delete("exception")
				res.Set("failed_when_suppressed_exception", unavailable)
			}
			set()
		}
		return nil
	}()
	if err == nil {
		return nil
	}
	if isCancel(ctx, err) {
		return err
	}
	res.Set("failed", true)
	res.Set(which+"_when_result", fault.Brief(err))
	set()
	return nil
}

// takeFacts shows facts of the result to conditions that follow.
func (it *item) takeFacts(v *vars.Context, res Dict) {
	facts, ok := res.Lookup("ansible_facts").(*value.Dict)
	short := actions.Short(it.resolved)
	if !ok || short == "debug" {
		return
	}
	if short == "set_fact" || short == "include_vars" {
		for k, f := range facts.All() {
			if n, ok := value.Text(k); ok {
				v.Set(n, f, it.touched || it.args.Marked[n])
			}
		}
		return
	}
	named := value.NewDict(facts.Len())
	if old, _, ok := v.Lookup("ansible_facts"); ok {
		switch old := old.(type) {
		case *value.Dict:
			named.Update(old)
		case *template.Facts:
			named.Update(old.Dict)
		}
	}
	named.Update(vars.Named(facts))
	v.Set("ansible_facts", named, true)
	if it.r.opt.Config.Bool("INJECT_FACTS_AS_VARS") {
		for k, f := range vars.CleanFacts(facts, nil).All() {
			if n, ok := value.Text(k); ok {
				v.Set(n, f, true)
			}
		}
	}
}

// finish adds to the result what the coordinator acts on.
func (it *item) finish(res Dict) {
	if it.v != it.vars {
		it.takeFacts(it.vars, res) // items that follow see them
	}
	if it.f.notifySet {
		it.out.notify = it.f.notify
	}
	if it.delegate == "" {
		return
	}
	d := value.DictOf("ansible_delegated_host", it.delegate)
	for _, k := range []string{"ansible_host", "ansible_port", "ansible_user", "ansible_connection"} {
		if v, _, ok := it.cv.Lookup(k); ok {
			if out, _, err := it.scope(context.Background(), it.cv).Render(v); err == nil {
				d.Set(k, out)
			}
		}
	}
	res.Set("_ansible_delegated_vars", d)
}

// badName is the error about a variable that set_fact cannot set, at its place.
func (it *item) badName() error {
	if actions.Short(it.resolved) != "set_fact" {
		return nil
	}
	for k := range it.args.Dict.All() {
		if name := text(k); name != "cacheable" {
			if err := playbook.CheckVariableName(k, it.task.Args.KeyPos(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// act runs the action once.
func (it *item) act(ctx context.Context) (Dict, error) {
	if err := it.badName(); err != nil {
		return nil, err
	}
	tctx, cancel := ctx, context.CancelFunc(func() {})
	if it.f.timeout > 0 {
		tctx, cancel = context.WithTimeout(ctx, it.f.timeout)
	}
	defer cancel()
	it.host = &remote{item: it}
	res, err := actions.Start(tctx, it.actionRun(tctx))
	if err == nil && it.f.async > 0 && it.f.poll > 0 && !truthy(res.Lookup("skipped")) && !truthy(res.Lookup("failed")) {
		res, err = it.poll(tctx, res)
	}
	if it.f.timeout > 0 && errors.Is(tctx.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, &timedOut{after: it.f.timeout}
	}
	if err == nil && res == nil {
		res = value.NewDict(0)
	}
	return res, err
}
