package execute

import (
	"context"
	"time"

	"volant/actions"
	"volant/controller/compile"
	"volant/controller/events"
	"volant/controller/fault"
	"volant/controller/playbook"
	"volant/wire/value"
)

// free lets every host go through the plan on its own. With pinned set, a host
// that began keeps its place among the forks until it is through. Where the forks
// are used up, the next round begins at the host that had to wait; hosts that keep
// their places are always looked at first.
func (b *batch) free(ctx context.Context) (int, error) {
	if b.values.MaxFailPercentage != nil {
		b.r.opt.Display.Note("Using max_fail_percentage with the free strategy is not supported, as tasks are executed independently on each host")
	}
	flying := 0
	last := 0
	begun := map[*host]bool{}
	throttled := map[*compile.Step]int{}
	for {
		left := b.left()
		if len(left) == 0 {
			b.r.opt.Bus.Event(events.NoHostsRemaining{})
			return CodeOK, nil
		}
		work, moved := false, false
		begin, waits := last%len(left), -1
		for i := range left {
			at := (begin + i) % len(left)
			h := left[at]
			if first, ok := b.r.opt.Past.Next(); ok && first != h.name && b.byName[first] != nil {
				work = true // in the order it was done before
				continue
			}
			if h.busy {
				work = true
				continue
			}
			s := b.peek(h)
			if s == nil {
				continue
			}
			work = true
			limit := b.r.opt.Forks
			if limit > 0 && flying >= limit || b.pinned && !begun[h] && limit > 0 && b.active(begun) >= limit {
				if waits < 0 && !b.pinned {
					waits = at
				}
				continue
			}
			begun[h], moved = true, true
			started, full, err := b.freeStep(ctx, s, h, throttled)
			switch {
			case err != nil:
				return CodeOK, err
			case started:
				flying++
			case full && waits < 0:
				waits = at
			}
		}
		if !work {
			return CodeOK, nil
		}
		if waits >= 0 {
			last = waits
		}
		if flying == 0 {
			if name, ok := b.r.opt.Past.Next(); ok && !moved {
				return CodeOK, anotherWay(value.Pos{}, name)
			}
			continue
		}
		select {
		case m := <-b.msgs:
			for more := true; more; {
				if err := b.freeTake(ctx, m, &flying, throttled); err != nil {
					return CodeOK, err
				}
				select {
				case m = <-b.msgs:
				default:
					more = false
				}
			}
		case <-ctx.Done():
			return CodeOK, ctx.Err()
		}
	}
}

// active counts the hosts that began and are not through.
func (b *batch) active(begun map[*host]bool) int {
	n := 0
	for h := range begun {
		if h.busy || b.peek(h) != nil && !b.r.unreachable[h.name] {
			n++
		}
	}
	return n
}

func (b *batch) freeTake(ctx context.Context, m message, flying *int, throttled map[*compile.Step]int) error {
	if m.done == nil {
		b.r.opt.Bus.Event(m.ev)
		return nil
	}
	*flying--
	throttled[m.job.step]--
	if err := b.process(m.job, m.done); err != nil {
		return err
	}
	return b.includes(ctx, m.job.step, []finished{{m.h, m.done}})
}

// freeStep runs a host's next step; started says that its driver works on it,
// full that as many hosts as may are at the step already.
func (b *batch) freeStep(ctx context.Context, s *compile.Step, h *host, throttled map[*compile.Step]int) (started, full bool, err error) {
	if b.dirty {
		b.tell()
	}
	x := b.newExec(s, h, nil, func(events.Event) {})
	if x.vars, err = b.vars.For(ctx, h.name, s.Task, nil); err != nil {
		return false, false, err
	}
	limit, err := b.limit(ctx, x, false)
	if err != nil {
		return false, false, err
	}
	if limit > 0 && setting(s.Keywords, playbook.Throttle) != nil && throttled[s] >= limit {
		return false, true, nil
	}
	b.take(h, s)
	ev := b.eventTask(ctx, x)
	if s.Task.Meta() != "" {
		_, flush, err := b.meta(ctx, s, h)
		if err == nil && flush {
			b.plan.Flush(s, []string{h.name})
		}
		return false, false, err
	}
	started, err = b.freeTask(ctx, x, ev, throttled)
	return started, false, err
}

// freeTask runs a host's next step that is no meta task.
func (b *batch) freeTask(ctx context.Context, x *exec, ev *events.Task, throttled map[*compile.Step]int) (started bool, err error) {
	s, h := x.step, x.h
	if spec, ok := actions.Lookup(s.Task.Resolved); ok && spec.Once {
		return false, fault.New(fault.Generic, s.Task.Pos, "The '%s' module bypasses the host loop, which is currently not supported in the free strategy "+
			"and would instead execute for every host in the inventory list.", s.Task.ActionName())
	}
	once, err := b.runOnce(ctx, x)
	if err != nil {
		return false, err
	}
	if once {
		b.r.opt.Display.Note("Using run_once with the free strategy is not currently supported. This task will still be executed for every host in the inventory list.")
	}
	if value.Truth(s.Keywords.Value(playbook.AnyErrorsFatal)) {
		b.r.opt.Display.Note("Using any_errors_fatal with the free strategy is not supported, as tasks are executed independently on each host")
	}
	if b.confirms {
		yes := false
		if known, next := b.knows(h, s); known {
			yes = next
		} else if yes, err = b.ask(ctx, s, h.name); err != nil {
			return false, err
		}
		if !yes {
			return false, nil
		}
	}
	b.showFrom([]*host{h})
	b.r.opt.Bus.Event(events.TaskStart{Task: ev})
	j := &running{h: h, step: s, task: ev}
	o, err := b.replayed(j)
	switch {
	case err != nil:
		return false, err
	case o != nil:
		if err := b.process(j, o); err != nil {
			return false, err
		}
		return false, b.includes(ctx, s, []finished{{h, o}})
	}
	throttled[s]++
	b.start(ctx, j, time.Now())
	return true, nil
}
