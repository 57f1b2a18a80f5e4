package execute

import (
	"context"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"volant/actions"
	"volant/controller/compile"
	"volant/controller/events"
	"volant/controller/fault"
	"volant/controller/journal"
	"volant/controller/playbook"
	"volant/wire/value"
)

// holdBack is how long a result waits for those of hosts before it.
const holdBack = time.Second

// linear walks the plan with all hosts meeting at every step.
func (b *batch) linear(ctx context.Context) (int, error) {
	code := CodeOK
	var cur *compile.Step
	for {
		if err := ctx.Err(); err != nil {
			return code, err
		}
		left := b.left()
		wanted := map[*compile.Step]bool{}
		next := make(map[*host]*compile.Step, len(left))
		for _, h := range left {
			if s := b.peek(h); s != nil {
				wanted[s] = true
				next[h] = s
			}
		}
		step := b.plan.Lockstep(cur, wanted)
		if step == nil {
			return code, nil
		}
		cur = step
		var group []*host
		for _, h := range left {
			if next[h] == step {
				b.take(h, step)
				group = append(group, h)
			}
		}
		done, fatal, err := b.step(ctx, step, group)
		if err != nil {
			return code, err
		}
		if err := b.includes(ctx, step, done); err != nil {
			return code, err
		}
		b.spread(left, done, fatal)
		if b.tooMany(left, done) {
			code |= failedBreak
		}
		if code != CodeOK && len(b.r.failed) >= len(left) {
			b.r.opt.Bus.Event(events.NoHostsRemaining{})
			return code, nil
		}
	}
}

// finished is a task done on a host.
type finished struct {
	h *host
	o *outcome
}

// spread fails the other hosts when errors of the step are fatal for all.
func (b *batch) spread(left []*host, done []finished, fatal bool) {
	if !fatal {
		return
	}
	failed := map[*host]bool{}
	bad := false
	for _, d := range done {
		switch d.o.Status {
		case events.Failed:
			failed[d.h], bad = true, true
		case events.Unreachable:
			bad = true
		}
	}
	if !bad {
		return
	}
	for _, h := range left {
		if !failed[h] {
			b.r.failed[h.name] = true
			b.markFailed(h)
		}
	}
}

// tooMany ends the play when more hosts failed than max_fail_percentage allows.
func (b *batch) tooMany(left []*host, done []finished) bool {
	limit := b.values.MaxFailPercentage
	if limit == nil || len(done) == 0 || len(b.hosts) == 0 {
		return false
	}
	if float64(len(b.r.failed))/float64(len(b.hosts)) <= *limit/100 {
		return false
	}
	failed := map[*host]bool{}
	for _, d := range done {
		if d.o.Status == events.Failed {
			failed[d.h] = true
		}
	}
	for _, h := range left {
		if !failed[h] {
			b.r.failed[h.name] = true
			b.markFailed(h)
		}
	}
	b.r.opt.Bus.Event(events.NoHostsRemaining{})
	return true
}

// step runs one step on the hosts that are at it. fatal says that an error on
// one of them is one for all.
func (b *batch) step(ctx context.Context, step *compile.Step, group []*host) (done []finished, fatal bool, err error) {
	if step.Task.Meta() != "" {
		return b.metaStep(ctx, step, group)
	}
	if b.dirty {
		b.tell()
	}
	begin := time.Now()
	x := b.newExec(step, group[0], nil, nil)
	if x.vars, err = b.vars.For(ctx, group[0].name, step.Task, step.Keywords.Value(playbook.Environment)); err != nil {
		return nil, false, err
	}
	if b.confirms {
		yes := false
		if known, next := b.knows(group[0], step); known {
			yes = next
		} else if yes, err = b.ask(ctx, step, ""); err != nil {
			return nil, false, err
		}
		if !yes {
			return nil, false, nil
		}
	}
	once, err := b.runOnce(ctx, x)
	if err != nil {
		return nil, false, err
	}
	ignore := value.Truth(step.Keywords.Value(playbook.IgnoreErrors))
	anyFatal := step.Keywords.Value(playbook.AnyErrorsFatal)
	if !step.Keywords.Has(playbook.AnyErrorsFatal) {
		anyFatal = b.r.opt.Config.Bool("ANY_ERRORS_FATAL")
	}
	fatal = (value.Truth(anyFatal) || once) && !ignore
	if once {
		b.forgetNotified(step.Task, group)
		group = group[:1]
	}
	b.showFrom(group)
	ev := b.eventTask(ctx, x)
	b.r.opt.Bus.Event(events.TaskStart{Task: ev})
	limit, err := b.limit(ctx, x, once)
	if err != nil {
		return nil, false, err
	}
	l := &lockstep{b: b, step: step, ev: ev, limit: limit, begin: begin}
	done, err = l.run(ctx, group)
	if err == nil {
		b.r.opt.Bus.Event(events.StepDone{Task: ev, Hosts: len(group), Wall: time.Since(begin)})
	}
	return done, fatal, err
}

// runOnce reports whether the step runs on the first host only.
func (b *batch) runOnce(ctx context.Context, x *exec) (bool, error) {
	if spec, ok := actions.Lookup(x.task.Resolved); ok && spec.Once {
		return true, nil
	}
	k := setting(x.step.Keywords, playbook.RunOnce)
	if k == nil || k.Value == nil {
		return false, nil
	}
	v, _, err := x.scope(ctx, x.vars).Render(k.Value)
	if err != nil || v == value.Omit {
		return false, err
	}
	return value.Truth(v), nil
}

// limit is how many hosts work on the step at once, 0 for all.
func (b *batch) limit(ctx context.Context, x *exec, once bool) (int, error) {
	limit := b.r.opt.Forks
	k := setting(x.step.Keywords, playbook.Throttle)
	if k == nil || k.Value == nil || once {
		return limit, nil
	}
	v, _, err := x.scope(ctx, x.vars).Render(k.Value)
	n := 0
	if err == nil {
		n, err = throttle(v)
	}
	if err != nil {
		return 0, fault.New(fault.Generic, k.Pos, "Failed to convert the throttle value to an integer.").Because(err)
	}
	if n > 0 && (limit == 0 || n < limit) {
		limit = n
	}
	return limit, nil
}

// throttle is Python's int() of the keyword's value.
func throttle(v any) (int, error) {
	switch v := v.(type) {
	case int64:
		return int(v), nil
	case float64:
		return int(v), nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case string:
		n, err := strconv.Atoi(strings.TrimSpace(v))
		if err != nil {
			return 0, &fault.Error{Msg: "invalid literal for int() with base 10: " + value.Repr(v)}
		}
		return n, nil
	}
	return 0, &fault.Error{Msg: "int() argument must be a string, a bytes-like object or a real number, not " + value.Repr(value.TypeName(v))}
}

// lockstep is one step in progress on a group of hosts.
type lockstep struct {
	b     *batch
	step  *compile.Step
	ev    *events.Task
	limit int
	begin time.Time

	all      []*running
	turn     int // of all: whose output is shown as it comes
	loose    bool
	oldest   time.Time // since when something is held back
	done     []finished
	finished int
	flying   int // hosts at work
}

func (l *lockstep) run(ctx context.Context, group []*host) ([]finished, error) {
	next := 0
	tick := time.NewTimer(holdBack)
	defer tick.Stop()
	for l.finished < len(group) {
		for next < len(group) && (l.limit == 0 || l.flying < l.limit) {
			j := &running{h: group[next], step: l.step, task: l.ev}
			l.all = append(l.all, j)
			next++
			o, err := l.b.replayed(j)
			if err != nil {
				return l.done, err
			}
			if o == nil {
				l.b.start(ctx, j, l.begin)
				l.flying++
				continue
			}
			if err := l.known(ctx, j, o); err != nil {
				return l.done, err
			}
		}
		if l.finished == len(group) {
			break
		}
		select {
		case m := <-l.b.msgs:
			if m.done != nil {
				l.flying--
			}
			if err := l.take(ctx, m); err != nil {
				return l.done, err
			}
		case <-tick.C:
			if err := l.late(ctx); err != nil {
				return l.done, err
			}
			tick.Reset(holdBack / 4)
		case <-ctx.Done():
			return l.done, ctx.Err()
		}
	}
	return l.done, nil
}

// known takes over what a host's task ended with before.
func (l *lockstep) known(ctx context.Context, j *running, o *outcome) error {
	for _, ev := range l.b.itemEvents(j, o) {
		if err := l.take(ctx, message{h: j.h, job: j, ev: ev}); err != nil {
			return err
		}
	}
	return l.take(ctx, message{h: j.h, job: j, done: o})
}

// take handles one message: in turn, or held back until its host's turn.
func (l *lockstep) take(ctx context.Context, m message) error {
	j := m.job
	if l.loose || l.turn < len(l.all) && l.all[l.turn] == j {
		if m.done == nil {
			l.b.r.opt.Bus.Event(m.ev)
			return nil
		}
		j.done = m.done
		if err := l.end(ctx, j); err != nil {
			return err
		}
		if l.loose || j.done == nil { // it may run again
			return nil
		}
		l.turn++
		return l.catchUp(ctx)
	}
	if l.oldest.IsZero() {
		l.oldest = time.Now()
	}
	if m.done != nil {
		j.done = m.done
	} else {
		j.held = append(j.held, m.ev)
	}
	return nil
}

// catchUp shows what was held back of the hosts whose turn it is now.
func (l *lockstep) catchUp(ctx context.Context) error {
	for l.turn < len(l.all) {
		j := l.all[l.turn]
		if err := l.show(ctx, j); err != nil {
			return err
		}
		if j.done == nil {
			break
		}
		l.turn++
	}
	l.oldest = time.Time{}
	for _, j := range l.all[min(l.turn+1, len(l.all)):] {
		if len(j.held) > 0 || j.done != nil {
			l.oldest = time.Now()
			break
		}
	}
	return nil
}

// show emits what is held back of j and ends it when it is done.
func (l *lockstep) show(ctx context.Context, j *running) error {
	for _, e := range j.held {
		l.b.r.opt.Bus.Event(e)
	}
	j.held = nil
	if j.done == nil {
		return nil
	}
	return l.end(ctx, j)
}

// late gives up the order when something was held back too long.
func (l *lockstep) late(ctx context.Context) error {
	if l.loose || l.limit == 1 || l.oldest.IsZero() || time.Since(l.oldest) < holdBack {
		return nil
	}
	l.loose = true
	for _, j := range l.all[l.turn:] {
		if err := l.show(ctx, j); err != nil {
			return err
		}
	}
	return nil
}

func (l *lockstep) end(ctx context.Context, j *running) error {
	o := j.done
	o.Timing.Barrier = time.Since(l.begin) - o.Timing.Total
	redo, err := l.b.debug(ctx, j, o)
	if err != nil {
		return err
	}
	if redo {
		l.b.r.opt.Journal.Put(&journal.Redo{Host: j.h.name, Seq: j.seq})
		j.done = nil
		l.flying++
		l.b.start(ctx, j, time.Now())
		return nil
	}
	l.finished++
	l.done = append(l.done, finished{j.h, o})
	return nil
}

// start gives a host's driver its next task.
func (b *batch) start(ctx context.Context, j *running, begin time.Time) {
	h := j.h
	if j.step.Splice != nil && j.step.Splice.Flush {
		delete(b.notified[j.step.Task], h.name)
	}
	h.busy = true
	j.seq = b.r.nextSeq(h.name)
	b.r.opt.Bus.Event(events.HostStart{Host: h.name, Task: j.task})
	say := func(m message) {
		m.h, m.job = h, j
		select {
		case b.msgs <- m:
		case <-ctx.Done():
		}
	}
	changed := j.edits
	h.jobs <- func() {
		x := b.newExec(j.step, h, j.task, func(e events.Event) { say(message{ev: e}) })
		x.seq, x.edits = j.seq, changed
		o := b.safely(ctx, x, begin)
		x.keep(o, 0)
		say(message{done: o})
	}
}

// safely runs a task on the host's driver.
func (b *batch) safely(ctx context.Context, x *exec, begin time.Time) (o *outcome) {
	defer func() {
		if p := recover(); p != nil {
			bug := &fault.Bug{Doing: fmt.Sprintf("task %s on %s", x.ev.Name, x.h.name), Panic: p, Stack: debug.Stack()}
			o = x.broken(bug)
			o.fatal = bug
		}
	}()
	x.timing.Queue = time.Since(begin)
	v, err := b.vars.For(ctx, x.h.name, x.task, x.step.Keywords.Value(playbook.Environment))
	if err != nil {
		o := x.broken(err)
		o.fatal = err
		return o
	}
	v.Set("ansible_search_path", searchList(x.search), false)
	x.edits.apply(v)
	x.vars = v
	start := time.Now()
	o = x.run(ctx)
	spent := x.timing
	o.Timing = spent
	o.Timing.Total = time.Since(start)
	o.Timing.Render = max(0, o.Timing.Total-spent.Union-spent.Connect-spent.Wire-spent.Host)
	if ctx.Err() != nil {
		o.fatal = ctx.Err()
	}
	return o
}

func searchList(dirs []string) *value.List { return value.Strings(dirs...) }
