package execute

import (
	"context"
	"slices"
	"strings"

	"volant/actions"
	"volant/controller/events"
	"volant/controller/fault"
	"volant/controller/playbook"
	"volant/controller/template"
	"volant/wire/value"
)

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
	own := it.edits.taskArgs(it.task)
	args := value.NewDict(own.Len())
	args.Places = own.Places
	defaults, err := it.defaultArgs(s, it.resolved)
	if err != nil {
		return it.badArgs(err)
	}
	args.Update(defaults)
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
	if raw, ok := own.Get("_raw_params"); ok && !playbook.RawParams(it.resolved) && it.task.Include == playbook.NotInclude {
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
		it.out.held = value.NewDict(out.Dict.Len())
		for k, v := range out.Dict.All() {
			it.out.held.Set(k, s.Held(args.Lookup(k), v))
		}
		it.out.held.Places = it.task.Args.Places
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
		pos := it.task.Args.KeyPos(name)
		v, _, err := s.Render(value.NewTemplate(name, pos))
		if err != nil {
			return err
		}
		if it.names == nil {
			it.names = map[string]value.Pos{}
		}
		it.names[text(v)] = pos
		out := value.NewDict(args.Len())
		for old, e := range args.All() {
			if old == k {
				old = v
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
