package execute

import (
	"context"
	"errors"
	"slices"
	"strings"

	"volant/actions"
	"volant/controller/compile"
	"volant/controller/events"
	"volant/controller/fault"
	"volant/controller/fleet"
	"volant/controller/journal"
	"volant/controller/playbook"
	"volant/wire"
	"volant/wire/frame"
	"volant/wire/value"
)

// A run that is resumed walks its plays from their beginning, silently, and
// takes over the outcomes of the journal where tasks were done before: so it
// comes to stand where it was broken off, with every variable, handler, block,
// batch and count, and cannot stand anywhere else. From the first task on that
// is not known to be done it runs, and shows, what it does.
//
//	start --task known--> taken over, not shown     --+
//	  ^                                               |
//	  +-----------------------------------------------+
//	  | task not known on a host
//	  v
//	shown from here on; its items and sub-tasks that are known are taken over,
//	and its agent is asked for the one that is not

// nextSeq numbers the tasks of the run on a host.
func (r *Runner) nextSeq(host string) uint32 {
	r.seqs[host]++
	return r.seqs[host]
}

// mute begins the silent part of a resumed run.
func (r *Runner) mute() {
	r.muted = true
	r.opt.Bus.Mute(true)
	r.opt.Display.Mute(true)
}

// unmute ends it.
func (r *Runner) unmute() {
	if !r.muted {
		return
	}
	r.muted = false
	r.opt.Display.Mute(false)
	r.opt.Bus.Mute(false)
}

// showFrom ends the silent part when the step is not known to be done on one of
// the hosts.
func (b *batch) showFrom(group []*host) {
	if !b.r.muted {
		return
	}
	for _, h := range group {
		if rec, _ := b.r.opt.Past.Outcome(h.name, b.r.seqs[h.name]+1); rec == nil {
			b.r.unmute()
			return
		}
	}
}

// knows reports whether the next thing known of the host is the step.
func (b *batch) knows(h *host, s *compile.Step) (known, next bool) {
	past := b.r.opt.Past
	if past == nil {
		return false, false
	}
	if rec, _ := past.Outcome(h.name, b.r.seqs[h.name]+1); rec != nil {
		return true, rec.Where == place(s)
	}
	return past.Meta(h.name, b.r.seqs[h.name]+1) != nil, false
}

func place(s *compile.Step) uint32 { return journal.Place(s.Task.Pos, s.Task.ActionName()) }

// anotherWay is the error of a run that does not do again what it did; pos is
// zero where no task is to blame.
func anotherWay(pos value.Pos, host string) error {
	return fault.New(fault.Generic, pos, "The run cannot be resumed: on %s it takes another way than before it was broken off.", host).
		WithHelp("Something that decides what runs is not what it was: an inventory script, a lookup, the time, a random number.")
}

// replayed takes over what the task of j ended with before; nil when that is
// not known.
func (b *batch) replayed(j *running) (*outcome, error) {
	past := b.r.opt.Past
	if past == nil {
		return nil, nil
	}
	h := j.h
	for {
		seq := b.r.seqs[h.name] + 1
		rec, items := past.Outcome(h.name, seq)
		if rec == nil {
			next, more := past.Next()
			if past.Meta(h.name, seq) != nil || more && b.byName[next] == nil {
				return nil, anotherWay(j.step.Task.Pos, h.name)
			}
			return nil, nil
		}
		if rec.Where != place(j.step) {
			return nil, anotherWay(j.step.Task.Pos, h.name)
		}
		j.seq = b.r.nextSeq(h.name)
		past.Use(h.name, seq)
		x := b.newExec(j.step, h, j.task, func(events.Event) {})
		o, err := x.restore(rec, items)
		if err != nil {
			return nil, err
		}
		if j.step.Splice != nil && j.step.Splice.Flush {
			delete(b.notified[j.step.Task], h.name)
		}
		if !past.Redone(h.name, seq) {
			return o, nil
		}
		if o.Status == events.OK { // as the debugger did
			counts := b.r.stats.Host(h.name)
			before := *counts
			if err := b.process(j, o); err != nil {
				return nil, err
			}
			*counts = before
		}
	}
}

// itemEvents are what callbacks are told of the items of a loop that was taken
// over in a step that is shown.
func (b *batch) itemEvents(j *running, o *outcome) []events.Event {
	if b.r.muted || !o.loop {
		return nil
	}
	var out []events.Event
	x := b.newExec(j.step, j.h, j.task, func(e events.Event) { out = append(out, e) })
	for _, io := range o.items {
		x.emitItem(io)
	}
	return out
}

// metaDecided is what a meta task decided before on a host, and whether it did.
func (b *batch) metaDecided(s *compile.Step, h *host) (ok, decided bool, err error) {
	past := b.r.opt.Past
	seq := b.r.nextSeq(h.name)
	if past == nil {
		return false, false, nil
	}
	rec := past.Meta(h.name, seq)
	switch {
	case rec == nil:
		if o, _ := past.Outcome(h.name, seq); o != nil {
			return false, false, anotherWay(s.Task.Pos, h.name)
		}
		b.r.unmute()
		return false, false, nil
	case rec.Where != place(s):
		return false, false, anotherWay(s.Task.Pos, h.name)
	}
	past.Use(h.name, seq)
	return rec.OK, true, nil
}

// metaKept reports whether a meta task's decision is written down: where there
// is one, and where it is one for all hosts, whose order matters then.
func metaKept(s *compile.Step) bool {
	return !metaActions[s.Task.Meta()].each || len(conditionsOf(s.Keywords)) > 0
}

// begun is what a play began with before, nil when it did not begin.
func (r *Runner) begun() *journal.Play {
	r.plays++
	if r.opt.Past == nil {
		return nil
	}
	return r.opt.Past.Plays[r.plays]
}

// answers are those to the play's vars_prompt, given before or asked for now.
func (r *Runner) answers(ctx context.Context, p *playbook.Play, before *journal.Play) (*value.Dict, error) {
	if before == nil {
		return r.prompts(ctx, p)
	}
	d, err := r.opt.Unpack.Dict(before.Prompted.Dict)
	if d == nil {
		d = value.NewDict(0)
	}
	return d, err
}

// begin writes down what a play begins with, and returns its hosts: those it
// had when it began before, in their order.
func (r *Runner) begin(before *journal.Play, hosts []string, prompted *value.Dict) ([]string, error) {
	if before != nil {
		return sameHosts(before.Hosts, hosts)
	}
	r.unmute()
	packed, err := journal.PackDict(prompted)
	if err != nil {
		return nil, err
	}
	r.opt.Journal.Put(&journal.Play{Index: r.plays, Hosts: hosts, Prompted: wire.Dict{Dict: packed}})
	return hosts, nil
}

// sameHosts are the hosts of a play in the order they had before.
func sameHosts(before, now []string) ([]string, error) {
	if slices.Equal(before, now) {
		return before, nil
	}
	missing, added := without(before, now), without(now, before)
	if len(missing)+len(added) == 0 {
		return before, nil
	}
	msg := "The run cannot be resumed: the inventory is not what it was."
	if len(missing) > 0 {
		msg += " No longer there: " + strings.Join(missing, ", ") + "."
	}
	if len(added) > 0 {
		msg += " New: " + strings.Join(added, ", ") + "."
	}
	return nil, &fault.Error{Msg: msg}
}

// without are those of a that are not in b.
func without(a, b []string) (out []string) {
	in := make(map[string]bool, len(b))
	for _, s := range b {
		in[s] = true
	}
	for _, s := range a {
		if !in[s] {
			out = append(out, s)
		}
	}
	return out
}

// doneItem takes over an item of a loop that was broken off, nil when it is not
// known to be done.
func (x *exec) doneItem(i int, name string, item any) (*outcome, error) {
	items := x.r.opt.Past.Items(x.h.name, x.seq)
	if i >= len(items) {
		return nil, nil
	}
	io, err := x.restore(items[i], nil)
	if err != nil {
		return nil, err
	}
	if was, _ := io.Value.Get(name); !value.Equal(was, item) {
		return nil, actions.Fail("the items of this loop are not what they were when the run was broken off; %d of them are done", len(items))
	}
	x.takeOver(io)
	return io, nil
}

// takeOver shows facts of a taken over item to those that follow.
func (x *exec) takeOver(io *outcome) {
	it := &item{exec: x, out: io, resolved: x.task.Resolved}
	it.args.Marked = io.argMarks
	if facts, ok := it.out.Value.Lookup("ansible_facts").(*value.Dict); ok && facts.Len() > 0 {
		it.takeFacts(it.vars, it.out.Value, io.marked)
	}
}

// readOnly are modules that change nothing: when nobody knows what became of
// one, it is run again.
var readOnly = map[string]bool{
	"stat": true, "setup": true, "gather_facts": true, "ping": true, "slurp": true, "find": true, "getent": true,
	"service_facts": true, "package_facts": true, "mount_facts": true, "wait_for": true, wire.GetModule: true,
}

// recall answers a sub-task from the journal, or prepares req to ask the agent
// what became of it. again: it changes nothing and may run under another id.
func (h *remote) recall(req *fleet.Request) (ans *fleet.Answer, again bool, err error) {
	past := h.r.opt.Past
	if past == nil {
		return nil, false, nil
	}
	id := req.Task.ID
	harmless := req.Task.Check || readOnly[actions.Short(req.Task.Module)] && req.Task.Then == nil
	sent := past.Sent(id)
	if sent != nil && sent.Module != req.Task.Module {
		return nil, false, actions.ErrLost // the action takes another way than before
	}
	if req.Sink != nil && sent != nil {
		return nil, true, nil // what a file had in it is not in the journal
	}
	if body, ok := past.Answer(id); ok {
		out := new(wire.Outcome)
		if err := frame.Unmarshal(body, out); err != nil {
			return nil, false, err
		}
		switch f := out.Fault; {
		case f != nil && f.Code == wire.FaultLost && harmless:
			return nil, true, nil
		case f != nil && f.Code == wire.FaultLost:
			return nil, false, actions.ErrLost
		case f != nil:
			return nil, false, f
		}
		return &fleet.Answer{Outcome: out}, false, nil
	}
	switch {
	case sent != nil && sent.Mortal && harmless:
		return nil, true, nil
	case sent != nil && sent.Mortal:
		return nil, false, actions.ErrLost
	case sent != nil:
		req.Before = &wire.Hello{BootID: sent.BootID, JournalID: sent.JournalID}
	case past.Rebooted(h.r.opt.BootID) && !h.r.caughtUp(h.h.name):
		// The end of the journal may be missing: the agent knows better.
		if last := past.LastSent(h.h.name); last != nil && !last.Mortal {
			req.Before = &wire.Hello{BootID: last.BootID, JournalID: last.JournalID}
		}
	}
	return nil, harmless && req.Before != nil, nil
}

// caughtUp reports whether an agent was asked for something of the host that it
// had never seen: then it has seen nothing of what follows.
func (r *Runner) caughtUp(host string) bool {
	_, ok := r.caught.Load(host)
	return ok
}

// generation sets ids of what runs again apart from those before.
func (r *Runner) generation() uint32 { return uint32(r.opt.Past.Resumed+1) << 16 }

// dispatch sends a sub-task, or finds out what became of it when it was sent
// before the run was broken off.
func (h *remote) dispatch(ctx context.Context, req *fleet.Request) (*fleet.Answer, error) {
	h.keepAnswer()
	j := h.r.opt.Journal
	ans, again, err := h.recall(req)
	if ans != nil || err != nil {
		return ans, err
	}
	if again && req.Before == nil {
		req.Task.ID.N += h.r.generation()
	}
	if err := h.connect(ctx); err != nil {
		return nil, err
	}
	if req.Task.Become == nil {
		req.Task.Become = h.conn.become
	}
	if !j.On() {
		return h.tr.Run(ctx, req)
	}
	was := req.Before
	sent, mortal := was != nil, false
	req.Hold = true
	req.Sending = func(agent *wire.Hello, ends bool) {
		sent, mortal = true, ends
		j.Put(&journal.Sent{ID: req.Task.ID, Module: req.Task.Module, BootID: agent.BootID, JournalID: agent.JournalID, Mortal: ends})
		// The first of a host is on the disk before it goes, so that a host
		// nothing is known of is one that nothing was sent to. When it fails
		// nothing is kept any more.
		if _, met := h.r.met.LoadOrStore(h.h.name, true); met {
			_ = j.Commit()
		} else {
			j.Sync()
		}
	}
	ans, err = h.tr.Run(ctx, req)
	if errors.Is(err, fleet.ErrLost) && again && was != nil {
		req.Before, was = nil, nil
		req.Task.ID.N += h.r.generation()
		ans, err = h.tr.Run(ctx, req)
	}
	switch {
	case ans != nil: // a fault, too
		h.last = &prior{req.Task.ID, ans}
		if mortal {
			h.keepAnswer()
		}
		if was != nil && !ans.Collected {
			h.r.caught.Store(h.h.name, true)
		}
	case ctx.Err() != nil && sent:
		h.keepLost(req.Task.ID)
	}
	return ans, err
}
