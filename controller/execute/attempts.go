package execute

import (
	"context"
	"errors"
	"time"

	"volant/actions"
	"volant/controller/events"
	"volant/controller/fault"
	"volant/controller/playbook"
	"volant/controller/vars"
	"volant/wire/value"
)

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
		it.attempt = uint32(attempt)
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
			it.v.Set(register, seen(res), it.marked())
		}
	}
	it.takeFacts(it.v, res, it.marked())
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
	ok := !value.Truth(res.Lookup("failed"))
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
			if exc, had := res.Get("exception"); !ok && had && value.Truth(exc) {
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

// takeFacts shows facts of the result to conditions that follow; marked is
// that of the result.
func (it *item) takeFacts(v *vars.Context, res Dict, marked bool) {
	facts, ok := res.Lookup("ansible_facts").(*value.Dict)
	short := actions.Short(it.resolved)
	if !ok || short == "debug" {
		return
	}
	if short == "set_fact" || short == "include_vars" {
		for k, f := range facts.All() {
			if n, ok := value.Text(k); ok {
				v.Set(n, it.out.fact(n, f), it.args.Marked[n] || marked && short != "set_fact")
			}
		}
		return
	}
	old, _, _ := v.Lookup("ansible_facts")
	v.Set("ansible_facts", vars.FactsOver(old, facts, marked), marked)
	if it.r.opt.Config.Bool("INJECT_FACTS_AS_VARS") {
		for k, f := range vars.CleanFacts(facts, nil).All() {
			if n, ok := value.Text(k); ok {
				v.Set(n, f, marked)
			}
		}
	}
}

// finish adds to the result what the coordinator acts on.
func (it *item) finish(res Dict) {
	if it.v != it.vars {
		it.takeFacts(it.vars, res, it.marked()) // items that follow see them
	}
	if it.f.notifySet {
		it.out.notify = it.f.notify
	}
	if it.delegate == "" {
		return
	}
	d := value.DictOf("ansible_delegated_host", it.delegate)
	for _, k := range []string{"ansible_host", "ansible_port", "ansible_user", "ansible_connection"} {
		if v, _, ok := it.cv.Own(k); ok {
			if out, _, err := it.scope(context.Background(), it.cv).Render(v); err == nil {
				d.Set(k, out)
			}
		}
	}
	res.Set("_ansible_delegated_vars", d)
}

// badName is the error about a variable that set_fact or set_stats cannot set,
// at its place.
func (it *item) badName() error {
	names, written := it.args.Dict, it.task.Args
	switch actions.Short(it.resolved) {
	case "set_fact":
	case "set_stats":
		names, _ = it.args.Dict.Lookup("data").(*value.Dict)
		written, _ = it.task.Args.Lookup("data").(*value.Dict)
	default:
		return nil
	}
	for k := range names.All() {
		if k == "cacheable" && names == it.args.Dict {
			continue
		}
		name := value.Str(k)
		pos, rendered := it.names[name]
		if !rendered {
			pos = written.KeyPos(name)
		}
		if err := playbook.CheckVariableName(k, pos); err != nil {
			return err
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
	run := it.actionRun(tctx)
	if it.r.opt.Actions != nil {
		if spec, ok := it.r.opt.Actions(it.resolved); ok {
			run.Spec = &spec
		}
	}
	res, err := actions.Start(tctx, run)
	if err == nil && it.f.async > 0 && it.f.poll > 0 && !value.Truth(res.Lookup("skipped")) && !value.Truth(res.Lookup("failed")) {
		res, err = it.poll(tctx, res)
	}
	if it.f.timeout > 0 && errors.Is(tctx.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
		var f *actions.Failure
		return nil, &timedOut{after: it.f.timeout, during: errors.As(err, &f) && f.During}
	}
	if err == nil && res == nil {
		res = value.NewDict(0)
	}
	return res, err
}
