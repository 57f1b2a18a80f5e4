package execute

import (
	"context"

	"volant/controller/compile"
	"volant/controller/events"
	"volant/controller/fault"
	"volant/controller/playbook"
	"volant/controller/vars"
	"volant/wire/value"
)

// inclusion is what one or several hosts include alike.
type inclusion struct {
	compile.Inclusion
	args    Dict
	label   any
	results []finished
}

// includes splices in what the include tasks among done ask for.
func (b *batch) includes(ctx context.Context, step *compile.Step, done []finished) error {
	if step.Task.Include != playbook.IncludeTasks && step.Task.Include != playbook.IncludeRole {
		return nil
	}
	list, err := b.gather(ctx, step, done)
	if err != nil {
		return err
	}
	failed := map[*host]bool{}
	for _, inc := range list {
		_, err := b.plan.Include(inc.Inclusion)
		switch {
		case err != nil && fault.KindOf(err) == fault.Parser:
			return err
		case err != nil:
			b.r.opt.Display.Error(err, true)
			for _, f := range inc.results {
				f.o.Value.Delete("include_args")
				f.o.Value.Set("failed", true)
				f.o.Value.Set("reason", fault.Brief(err))
				f.o.Status = events.Failed
				b.r.stats.Host(f.h.name).Failed++
				b.r.opt.Bus.Event(events.Result{Host: f.h.name, Task: f.o.task, Outcome: &f.o.Outcome})
				failed[f.h] = true
			}
			continue
		}
		for _, h := range inc.Hosts {
			b.r.stats.Host(h).OK++
		}
		name := inc.File
		if inc.Role != "" {
			name = inc.Role
		}
		b.r.opt.Bus.Event(events.Include{File: name, Hosts: inc.Hosts, Label: inc.label})
	}
	for _, h := range b.hosts {
		if failed[h] {
			b.r.failed[h.name] = true
			b.markFailed(h)
		}
	}
	return nil
}

// gather joins what the hosts include: equal files, arguments and variables
// are one inclusion, but for the same one twice on one host.
func (b *batch) gather(ctx context.Context, step *compile.Step, done []finished) ([]*inclusion, error) {
	var list []*inclusion
	for _, f := range done {
		items := []*outcome{f.o}
		if f.o.loop {
			items = f.o.items
		}
		for _, o := range items {
			if o.include == nil || o.Status != events.OK {
				continue
			}
			inc, err := b.inclusionOf(ctx, step, f, o)
			if err != nil {
				return nil, err
			}
			list = join(list, inc, f)
		}
	}
	return list, nil
}

func join(list []*inclusion, inc *inclusion, f finished) []*inclusion {
	for _, have := range list {
		if !have.equal(inc) {
			continue
		}
		dup := false
		for _, h := range have.Hosts {
			dup = dup || h == f.h.name
		}
		if !dup {
			have.Hosts = append(have.Hosts, f.h.name)
			have.results = append(have.results, f)
			return list
		}
	}
	inc.Hosts = []string{f.h.name}
	inc.results = []finished{f}
	return append(list, inc)
}

func (i *inclusion) equal(o *inclusion) bool {
	if i.File != o.File || i.Role != o.Role || len(i.From) != len(o.From) {
		return false
	}
	for k, v := range i.From {
		if o.From[k] != v {
			return false
		}
	}
	same := func(a, b *value.Dict) bool {
		if a.Len() == 0 && b.Len() == 0 {
			return true
		}
		return a != nil && b != nil && value.Equal(a, b)
	}
	return same(i.args, o.args) && same(i.Vars, o.Vars) && same(i.Options, o.Options)
}

// inclusionOf says what one result includes.
func (b *batch) inclusionOf(ctx context.Context, step *compile.Step, f finished, o *outcome) (*inclusion, error) {
	inc := &inclusion{args: o.include.args.Clone()}
	inc.At = step
	special := value.NewDict(4)
	res := o.Value
	loopVar := "item"
	if s, ok := res.Str("ansible_loop_var"); ok {
		loopVar = s
	}
	if v, ok := res.Get(loopVar); ok {
		special.Set(loopVar, v)
		special.Set("ansible_loop_var", loopVar)
	}
	if s, ok := res.Str("ansible_index_var"); ok {
		if v, ok := res.Get(s); ok {
			special.Set(s, v)
			special.Set("ansible_index_var", s)
		}
	}
	if v, ok := res.Get("_ansible_item_label"); ok {
		inc.label = v
		special.Set("_ansible_item_label", v)
	}
	if v, ok := res.Get("ansible_loop"); ok {
		special.Set("ansible_loop", v)
	}
	if value.Truth(res.Lookup("_ansible_no_log")) {
		inc.label = "(censored due to no_log)"
	}
	if special.Len() > 0 {
		inc.Vars = special
	}
	if step.Task.Include == playbook.IncludeRole {
		b.role(inc, o)
		return inc, nil
	}
	v, err := b.vars.For(ctx, f.h.name, step.Task, nil)
	if err != nil {
		return nil, err
	}
	overlay(v, special)
	x := b.newExec(step, f.h, o.task, func(events.Event) {})
	inc.File = b.plan.Locate(step, o.include.file, func(raw any) (any, error) {
		out, _, err := x.scope(ctx, v).Render(raw)
		return out, err
	})
	return inc, nil
}

func overlay(v *vars.Context, d *value.Dict) {
	for k, e := range d.All() {
		v.Set(text(k), e, false)
	}
}

// role reads the arguments of include_role.
func (b *batch) role(inc *inclusion, o *outcome) {
	args := inc.args
	take := func(key string) (any, bool) {
		v, ok := args.Get(key)
		args.Delete(key)
		return v, ok
	}
	for _, k := range []string{"name", "role"} {
		if v, ok := take(k); ok && inc.Role == "" {
			inc.Role = text(v)
		}
	}
	for _, k := range []string{"tasks", "vars", "defaults", "handlers"} {
		if v, ok := take(k + "_from"); ok && v != nil {
			if inc.From == nil {
				inc.From = map[string]string{}
			}
			inc.From[k] = text(v)
		}
	}
	opts := value.NewDict(3)
	for _, k := range []string{"public", "allow_duplicates", "rolespec_validate"} {
		if v, ok := take(k); ok && v != nil {
			opts.Set(k, v)
		}
	}
	if opts.Len() > 0 {
		inc.Options = opts
	}
}
