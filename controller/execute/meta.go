package execute

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"volant/controller/compile"
	"volant/controller/events"
	"volant/controller/fault"
	"volant/controller/journal"
	"volant/controller/playbook"
	"volant/wire/value"
)

// metaStep runs a meta task for the hosts at it.
func (b *batch) metaStep(ctx context.Context, step *compile.Step, group []*host) (done []finished, fatal bool, err error) {
	once := !metaActions[step.Task.Meta()].each
	fatal = (value.Truth(step.Keywords.Value(playbook.AnyErrorsFatal)) || once) && !value.Truth(step.Keywords.Value(playbook.IgnoreErrors))
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

// metaTask is a meta task on a host.
type metaTask struct {
	b     *batch
	step  *compile.Step
	h     *host
	flush bool // its handlers run next
}

// meta runs a meta task for one host; flush says that its handlers run next.
func (b *batch) meta(ctx context.Context, step *compile.Step, h *host) (o *outcome, flush bool, err error) {
	m := &metaTask{b: b, step: step, h: h}
	t, name := step.Task, step.Task.Meta()
	kept := metaKept(step)
	ok, decided := true, false
	if kept {
		if ok, decided, err = b.metaDecided(step, h); err != nil {
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
	a, known := metaActions[name]
	if !known {
		return nil, false, fault.New(fault.Generic, t.Pos, "invalid meta action requested: %s", name)
	}
	if a.deaf && len(step.Keywords.List(playbook.When)) > 0 {
		b.r.opt.Display.Note("%s task does not support when conditional", name)
	}
	switch {
	case a.otherwise == "":
		ok = true
	case !decided:
		if ok, err = b.holds(ctx, step, h); err != nil {
			return nil, false, err
		}
	}
	did := false
	if ok {
		if did, err = a.do(ctx, m); err != nil {
			return nil, false, err
		}
	}
	if kept && !decided {
		b.r.opt.Journal.Put(&journal.Meta{Host: h.name, Seq: b.r.seqs[h.name], Where: place(step), OK: ok})
	}
	if t.Handler {
		delete(b.notified[t], h.name)
	}
	res, header := a.result(m, ok, did)
	if t.Implicit {
		b.r.opt.Display.Debug("META: " + header)
	} else {
		b.r.opt.Display.Verbose(2, "META: "+header)
	}
	o = &outcome{task: ev, Outcome: events.Outcome{Value: res, Status: status(res)}}
	if !ok && !t.Implicit {
		b.r.opt.Bus.Event(events.Result{Host: h.name, Task: ev, Outcome: &o.Outcome})
	}
	return o, m.flush, nil
}

// result is what the action ends with, and what the operator reads of it; ok
// says that its condition held.
func (a metaAction) result(m *metaTask, ok, did bool) (res Dict, header string) {
	name := m.step.Task.Meta()
	words := strings.NewReplacer("HOST", m.h.name, "ROLE", roleName(m.step.Task))
	msg := cmp.Or(a.idle, name)
	if did {
		msg = a.done
	}
	msg = words.Replace(msg)
	if ok {
		return value.DictOf("msg", msg, "changed", false), msg
	}
	why := name + " conditional evaluated to False" + words.Replace(a.otherwise)
	return value.DictOf("msg", msg, "skipped", true, "skip_reason", why), why
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
func (b *batch) resetConnection(ctx context.Context, step *compile.Step, h *host) error {
	x := b.newExec(step, h, &events.Task{}, func(events.Event) {})
	v, err := b.vars.For(ctx, h.name, step.Task, nil)
	if err != nil {
		return err
	}
	x.vars = v
	it := &item{exec: x, v: v, cv: v, out: &outcome{task: x.ev}}
	if it.f, err = b.r.fields(x.scope(ctx, v), step.Task, step.Keywords, false); err != nil {
		return err
	}
	c, err := it.resolveConn(ctx)
	if err != nil {
		return err
	}
	if c.local || b.r.opt.Transport == nil || b.r.muted {
		return nil
	}
	tr, err := b.r.opt.Transport.Remote(ctx, c.target)
	if err == nil {
		err = b.r.opt.Transport.Reset(ctx, tr)
	}
	if err != nil {
		b.r.opt.Display.Verbose(4, "resetting the connection: "+err.Error())
	}
	return nil
}
