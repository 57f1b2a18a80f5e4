package execute

import (
	"context"
	"fmt"

	"volant/controller/compile"
	"volant/controller/events"
	"volant/controller/fault"
	"volant/controller/inventory"
	"volant/controller/journal"
	"volant/controller/playbook"
	"volant/wire/value"
)

// eachHost are the meta actions that are done for every host at the step; the
// others once.
var eachHost = map[string]bool{
	"noop": true, "reset_connection": true, "end_host": true, "role_complete": true, "flush_handlers": true, "end_role": true,
}

// metaStep runs a meta task for the hosts at it.
func (b *batch) metaStep(ctx context.Context, step *compile.Step, group []*host) (done []finished, fatal bool, err error) {
	once := !eachHost[step.Task.Meta()]
	fatal = (truthy(step.Keywords.Value(playbook.AnyErrorsFatal)) || once) && !truthy(step.Keywords.Value(playbook.IgnoreErrors))
	var flush []string
	for _, h := range group {
		o, flushes, err := b.meta(ctx, step, h)
		if err != nil {
			return nil, false, err
		}
		if flushes {
			flush = append(flush, h.name)
		}
		done = append(done, finished{h, o})
		if once {
			break
		}
	}
	if len(flush) > 0 {
		b.plan.Flush(step, flush)
	}
	return done, fatal, nil
}

// holds evaluates the step's condition for h.
func (b *batch) holds(ctx context.Context, step *compile.Step, h *host) (bool, error) {
	list := conditionsOf(step.Keywords)
	if len(list) == 0 {
		return true, nil
	}
	if b.dirty {
		b.tell()
	}
	x := b.newExec(step, h, nil, func(events.Event) {})
	v, err := b.vars.For(ctx, h.name, step.Task, nil)
	if err != nil {
		return false, err
	}
	ok, err := x.conditions(ctx, v, list)
	for _, w := range x.warnings {
		b.r.opt.Display.Warn(w)
	}
	return ok, err
}

// meta runs a meta task for one host; flush says that its handlers run next.
func (b *batch) meta(ctx context.Context, step *compile.Step, h *host) (o *outcome, flush bool, err error) {
	t := step.Task
	action := t.Meta()
	before, decided := false, false
	if metaKept(step) {
		if before, decided, err = b.metaDecided(step, h); err != nil {
			return nil, false, err
		}
	}
	ev := &events.Task{
		ID: t.ID, Name: t.Title(t.RawName(), true), Action: t.ActionName(), Handler: t.Handler, Implicit: t.Implicit,
		Path: fmt.Sprintf("%s:%d", t.Pos.File, t.Pos.Line), Check: b.r.opt.Check,
	}
	if !t.Implicit {
		b.r.opt.Bus.Event(events.TaskStart{Task: ev})
	}
	switch action {
	case "noop", "refresh_inventory", "reset_connection":
		if len(step.Keywords.List(playbook.When)) > 0 {
			b.r.opt.Display.Note("%s task does not support when conditional", action)
		}
	}
	msg, why := action, ""
	when := func(otherwise string) (bool, error) {
		ok, err := before, error(nil)
		if !decided {
			ok, err = b.holds(ctx, step, h)
		}
		if err == nil && !ok {
			why = action + " conditional evaluated to False" + otherwise
		}
		return ok, err
	}
	ok := true
	switch action {
	case "noop":
	case "flush_handlers":
		if ok, err = when(", not running handlers for " + h.name); ok {
			b.resolve(h)
			if inFlush(step) {
				return nil, false, fmt.Errorf("flush_handlers cannot be used as a handler")
			}
			flush = !b.r.unreachable[h.name]
			msg = "triggered running handlers for " + h.name
		}
	case "refresh_inventory":
		b.r.opt.Store.Change(func(inv *inventory.Inventory) { err = inv.Refresh(ctx) })
		if err == nil {
			err = b.rehost()
		}
		msg = "inventory successfully refreshed"
	case "clear_facts":
		if ok, err = when(", not clearing facts and fact cache for " + h.name); ok {
			for _, x := range b.hosts {
				b.r.opt.Store.ClearFacts(x.name)
			}
			msg = "facts cleared"
		}
	case "clear_host_errors":
		if ok, err = when(", not clearing host error state for " + h.name); ok {
			for _, x := range b.hosts {
				delete(b.r.failed, x.name)
				delete(b.r.unreachable, x.name)
				x.cur.ClearErrors()
			}
			msg = "cleared host errors"
		}
	case "end_batch":
		if ok, err = when(", continuing current batch"); ok {
			b.endAll()
			msg = "ending batch"
		}
	case "end_play":
		if ok, err = when(", continuing play"); ok {
			b.endPlay = b.endAll() || b.endPlay
			msg = "ending play"
		}
	case "end_host":
		if ok, err = when(", continuing execution for " + h.name); ok {
			b.end(h)
			msg = "ending play for " + h.name
		} else {
			msg = "end_host conditional evaluated to false, continuing execution for " + h.name
		}
	case "role_complete":
		if t.Implicit && t.Role != nil {
			if r := b.play.CachedRole(t.Role); b.ran[r][h.name] {
				mark(b.complete, r, h.name)
				msg = "role_complete for " + h.name
			}
		}
	case "end_role":
		if ok, err = when("continuing role " + roleName(t) + " for " + h.name); ok {
			for {
				s := h.cur.Peek()
				if s == nil || s.Task.Meta() == "role_complete" {
					break
				}
				h.cur.Take()
			}
			msg = "ending role " + roleName(t) + " for " + h.name
		}
	case "reset_connection":
		msg, err = b.resetConnection(ctx, step, h)
	default:
		return nil, false, fault.New(fault.Generic, t.Pos, "invalid meta action requested: %s", action)
	}
	if err != nil {
		return nil, false, err
	}
	if metaKept(step) && !decided {
		b.r.opt.Journal.Put(&journal.Meta{Host: h.name, Seq: b.r.seqs[h.name], Where: place(step), OK: ok})
	}
	if t.Handler {
		delete(b.notified[t], h.name)
	}
	res := value.DictOf("msg", msg)
	header := msg
	if !ok {
		res.Set("skipped", true)
		res.Set("skip_reason", why)
		header = why
	} else {
		res.Set("changed", false)
	}
	if t.Implicit {
		b.r.opt.Display.Debug("META: " + header)
	} else {
		b.r.opt.Display.Verbose(2, "META: "+header)
	}
	o = &outcome{task: ev, Outcome: events.Outcome{Value: res, Status: status(res)}}
	if !ok && !t.Implicit {
		b.r.opt.Bus.Event(events.Result{Host: h.name, Task: ev, Outcome: &o.Outcome})
	}
	return o, flush, nil
}

func roleName(t *playbook.Task) string {
	if t.Role == nil {
		return ""
	}
	return t.Role.FullName(true)
}

func (b *batch) end(h *host) {
	h.cur.End()
	b.remove(h.name)
}

// endAll ends the play for every host that can be reached.
func (b *batch) endAll() (any bool) {
	for _, h := range b.hosts {
		if !b.r.unreachable[h.name] {
			b.end(h)
			any = true
		}
	}
	return any
}

// rehost brings the list of all hosts of the play up to date.
func (b *batch) rehost() (err error) {
	b.all, err = b.r.selectHosts(b.values)
	b.dirty = true
	return err
}

// resetConnection ends what is kept warm for the host.
func (b *batch) resetConnection(ctx context.Context, step *compile.Step, h *host) (string, error) {
	x := b.newExec(step, h, &events.Task{}, func(events.Event) {})
	v, err := b.vars.For(ctx, h.name, step.Task, nil)
	if err != nil {
		return "", err
	}
	x.vars = v
	it := &item{exec: x, v: v, cv: v, out: &outcome{task: x.ev}}
	if it.f, err = b.r.fields(x.scope(ctx, v), step.Task, step.Keywords, false); err != nil {
		return "", err
	}
	c, err := it.resolveConn(ctx)
	if err != nil {
		return "", err
	}
	if c.local || b.r.opt.Transport == nil || b.r.muted {
		return "reset connection", nil
	}
	tr, err := b.r.opt.Transport.Remote(ctx, c.target)
	if err == nil {
		err = b.r.opt.Transport.Reset(ctx, tr)
	}
	if err != nil {
		b.r.opt.Display.Verbose(4, "resetting the connection: "+err.Error())
	}
	return "reset connection", nil
}
