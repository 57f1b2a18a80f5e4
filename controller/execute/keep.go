package execute

import (
	"errors"

	"volant/controller/events"
	"volant/controller/fault"
	"volant/controller/fleet"
	"volant/controller/journal"
	"volant/wire"
	"volant/wire/frame"
	"volant/wire/value"
)

// prior is the last answer of a task's action, which its agent keeps until it
// is in the journal: as an answer, when the action goes on, or as part of the
// task's outcome.
type prior struct {
	id  wire.TaskID
	ans *fleet.Answer
}

// keepAnswer writes down the last answer, before another sub-task is sent or
// because nothing else of the task will be.
func (x *exec) keepAnswer() {
	p := x.last
	if p == nil {
		return
	}
	x.last = nil
	x.r.opt.Journal.PutThen(&journal.Answer{ID: p.id, Body: p.ans.Body}, p.ans.Acknowledge)
}

// keepLost writes down that nobody will hear of a sub-task that was sent.
func (x *exec) keepLost(id wire.TaskID) {
	body, err := frame.Marshal(&wire.Outcome{Fault: &wire.Fault{Code: wire.FaultLost, Text: "cancelled", Started: true}})
	if err == nil {
		x.r.opt.Journal.Put(&journal.Answer{ID: id, Body: body})
	}
}

// keep writes down what the task, or an item of its loop counted from 1, ended
// with.
func (x *exec) keep(o *outcome, item int) {
	j := x.r.opt.Journal
	// The run ends: what was answered must not be asked for again. Or nothing is
	// kept any more: the agent must not, either.
	if o.fatal != nil || !j.On() {
		x.keepAnswer()
		return
	}
	then := func() {}
	if p := x.last; p != nil {
		then, x.last = p.ans.Acknowledge, nil
	}
	rec, err := x.record(o, item)
	if err != nil {
		j.Fail(err)
	}
	j.PutThen(rec, then)
}

// record is an outcome as the journal has it.
func (x *exec) record(o *outcome, item int) (*journal.Outcome, error) {
	rec := &journal.Outcome{
		Host: x.h.name, Seq: x.seq, Item: uint32(item), Where: place(x.step), Loop: o.loop, Joined: o.loop && len(o.items) > 0,
		Status: int64(o.Status), Marked: o.marked, IgnoreErrors: o.ignoreErrors, IgnoreUnreach: o.ignoreUnreach,
		Delegate: o.delegate, DelegateFacts: o.delegateFacts, Notify: o.notify, RunOnce: o.runOnce,
		Check: o.task.Check, Diff: o.task.Diff, NoLog: o.task.NoLog, ShownUnreachable: o.task.IgnoreUnreachable, ShownDelegate: o.task.DelegateTo,
	}
	if rec.Joined {
		return rec, nil // its items are there
	}
	var errs [3]error
	rec.Value.Dict, errs[0] = journal.PackDict(o.Value)
	rec.Held.Dict, errs[1] = journal.PackDict(o.held)
	for arg := range o.argMarks {
		rec.ArgMarks = append(rec.ArgMarks, arg)
	}
	if inc := o.include; inc != nil {
		rec.Includes, rec.IncludeFile = true, inc.file
		rec.IncludeArgs.Dict, errs[2] = journal.PackDict(inc.args)
	}
	rec.Err = keptText(o.Err, 0)
	for _, w := range o.Warnings {
		rec.Warnings = append(rec.Warnings, &journal.Text{
			Msg: w.Msg, Help: w.Help, File: w.Pos.File, Line: w.Pos.Line, Column: w.Pos.Column, Excerpt: w.Excerpt, Cause: keptText(w.Cause, 0),
		})
	}
	for _, d := range o.Deprecations {
		rec.Deprecations = append(rec.Deprecations, []string{d.Msg, d.Help, d.Version, d.Date, d.Collection, d.Plugin, d.PluginType})
	}
	return rec, errors.Join(errs[:]...)
}

// keptText is an error as it is shown.
func keptText(err error, depth int) *journal.Text {
	if err == nil || depth > maxCauses {
		return nil
	}
	e, ok := err.(*fault.Error) //nolint:errorlint // this link alone
	if !ok {
		return &journal.Text{Msg: err.Error()}
	}
	t := &journal.Text{
		Msg: e.Msg, Help: e.Help, File: e.Pos.File, Line: e.Pos.Line, Column: e.Pos.Column, Excerpt: e.Excerpt,
		During: e.During, AsIs: e.AsIs, Kind: int(e.Kind),
	}
	if !e.NoFollow {
		t.Cause = keptText(e.Cause, depth+1)
	}
	for _, part := range e.Parts {
		if part := keptText(part, depth+1); part != nil {
			t.Parts = append(t.Parts, part)
		}
	}
	return t
}

func shownText(t *journal.Text) error {
	if t == nil {
		return nil
	}
	e := &fault.Error{
		Msg: t.Msg, Help: t.Help, Pos: value.Pos{File: t.File, Line: t.Line, Column: t.Column}, Excerpt: t.Excerpt,
		During: t.During, AsIs: t.AsIs, Kind: fault.Kind(t.Kind),
	}
	e.Cause = shownText(t.Cause)
	for _, part := range t.Parts {
		e.Parts = append(e.Parts, shownText(part))
	}
	return e
}

// restore is the outcome that was written down; items are those of a loop.
func (x *exec) restore(rec *journal.Outcome, items []*journal.Outcome) (*outcome, error) {
	ev := *x.ev
	ev.Check, ev.Diff, ev.NoLog, ev.IgnoreUnreachable, ev.DelegateTo = rec.Check, rec.Diff, rec.NoLog, rec.ShownUnreachable, rec.ShownDelegate
	o := &outcome{
		task: &ev, marked: rec.Marked, ignoreErrors: rec.IgnoreErrors, ignoreUnreach: rec.IgnoreUnreach, delegate: rec.Delegate,
		delegateFacts: rec.DelegateFacts, notify: rec.Notify, runOnce: rec.RunOnce, loop: rec.Loop, replayed: true,
	}
	o.Status = events.Status(rec.Status)
	if rec.Joined {
		list := &value.List{}
		for _, r := range items {
			io, err := x.restore(r, nil)
			if err != nil {
				return nil, err
			}
			list.Items = append(list.Items, io.Value)
			o.items = append(o.items, io)
		}
		o.Value = value.DictOf("results", list)
		x.join(o)
		return o, nil
	}
	var errs [3]error
	unpack := x.r.opt.Unpack
	o.Value, errs[0] = unpack.Dict(rec.Value.Dict)
	o.held, errs[1] = unpack.Dict(rec.Held.Dict)
	if rec.Includes {
		o.include = &included{file: rec.IncludeFile}
		o.include.args, errs[2] = unpack.Dict(rec.IncludeArgs.Dict)
	}
	if o.Value == nil {
		o.Value = value.NewDict(0)
	}
	if len(rec.ArgMarks) > 0 {
		o.argMarks = map[string]bool{}
		for _, a := range rec.ArgMarks {
			o.argMarks[a] = true
		}
	}
	o.Err = shownText(rec.Err)
	for _, w := range rec.Warnings {
		o.Warnings = append(o.Warnings, events.Warning{
			Msg: w.Msg, Help: w.Help, Pos: value.Pos{File: w.File, Line: w.Line, Column: w.Column}, Excerpt: w.Excerpt, Cause: shownText(w.Cause),
		})
	}
	for _, d := range rec.Deprecations {
		if len(d) == 7 {
			o.Deprecations = append(o.Deprecations, events.Deprecation{
				Msg: d[0], Help: d[1], Version: d[2], Date: d[3], Collection: d[4], Plugin: d[5], PluginType: d[6],
			})
		}
	}
	return o, errors.Join(errs[:]...)
}
