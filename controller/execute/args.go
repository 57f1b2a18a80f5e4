package execute

import (
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
func (it *item) finalize(s *template.Scope) error {
	if it.resolved == "" {
		if err := it.nameAction(s); err != nil {
			return err
		}
	}
	args, given, err := it.rawArgs(s)
	if err != nil {
		return err
	}
	it.raw = args
	out, err := renderArgs(s, args, actions.Unrendered(actions.Short(it.resolved)))
	if err != nil {
		return it.badArgs(err)
	}
	for _, k := range given {
		out.Mark(text(k))
	}
	switch actions.Short(it.resolved) {
	case "set_fact":
		it.out.held = value.NewDict(out.Dict.Len())
		for k, v := range out.Dict.All() {
			it.out.held.Set(k, s.Held(args.Lookup(k), v))
		}
		it.out.held.Places = it.task.Args.Places
		if err := it.renderNames(s, out.Dict, it.task.Args, &out); err != nil {
			return err
		}
	case "set_stats":
		written, _ := it.task.Args.Lookup("data").(*value.Dict)
		if data, ok := out.Dict.Lookup("data").(*value.Dict); ok && written != nil {
			data = data.Clone()
			out.Dict.Set("data", data)
			if err := it.renderNames(s, data, written, nil); err != nil {
				return err
			}
		}
	}
	it.args = out
	return nil
}

// shownAction is how messages name the action: a project's own has no collection.
func (it *item) shownAction() string { return strings.TrimPrefix(it.resolved, "ansible.legacy.") }

// nameAction finds the action that a template names.
func (it *item) nameAction(s *template.Scope) error {
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
	return nil
}

// rawArgs are the arguments as they are written, sorted: defaults, under what a
// template of the whole gives, under the task's own. given are the names of
// those that a managed host had a say in as a whole.
func (it *item) rawArgs(s *template.Scope) (args *value.Dict, given []any, err error) {
	own := it.edits.taskArgs(it.task)
	args = value.NewDict(own.Len())
	args.Places = own.Places
	defaults, marked, err := it.defaultArgs(s, it.resolved)
	if err != nil {
		return nil, nil, it.badArgs(err)
	}
	args.Update(defaults)
	if vp, ok := own.Get("_variable_params"); ok {
		v, read, err := s.Container(vp)
		if err != nil {
			return nil, nil, it.badArgs(err)
		}
		marked = marked || read
		if it.r.opt.Config.Bool("INJECT_FACTS_AS_VARS") {
			it.warn(events.Warning{Msg: "Using a template for task args is unsafe in some situations " +
				"(see https://docs.ansible.com/ansible/devel/reference_appendices/faq.html#argsplat-unsafe).", Pos: value.PosOf(vp)})
		}
		if err := layer(args, v, vp); err != nil {
			return nil, nil, it.badArgs(err)
		}
	}
	raw, isRaw := own.Get("_raw_params")
	spread := isRaw && !playbook.RawParams(it.resolved) && it.task.Include == playbook.NotInclude
	if spread {
		read, err := it.spreadRaw(s, args, raw)
		if err != nil {
			return nil, nil, err
		}
		marked = marked || read
	}
	if marked {
		given = args.Keys()
	}
	for k, v := range own.All() {
		if k != "_variable_params" && !(spread && k == "_raw_params") {
			args.Set(k, v)
		}
	}
	return sortedArgs(args), given, nil
}

// spreadRaw takes the text of an action that has no use for one: nothing, or a
// template of its arguments.
func (it *item) spreadRaw(s *template.Scope, args *value.Dict, raw any) (marked bool, err error) {
	txt, isText := value.Text(raw)
	switch {
	case isText && txt == "":
		return false, nil
	case isText && !allTemplate(txt):
		return false, it.atAction(fault.New(fault.Generic, value.Pos{}, "Action '%s' does not support raw params.", it.shownAction()))
	}
	v, marked, err := s.Container(raw)
	if err == nil {
		err = layer(args, v, raw)
	}
	if err != nil {
		return false, it.badArgs(err)
	}
	return marked, nil
}

// renderArgs renders arguments but for the one named lazy, unless that is "":
// its action renders it, and sees of it only whether it is a list.
func renderArgs(s *template.Scope, args *value.Dict, lazy string) (template.Args, error) {
	if lazy == "" || !args.Has(lazy) {
		return s.RenderArgs(args)
	}
	rest := args.Clone()
	v := rest.Lookup(lazy)
	rest.Delete(lazy)
	out, err := s.RenderArgs(rest)
	if err != nil {
		return out, err
	}
	if t, ok := value.Text(v); ok && allTemplate(t) {
		if c, _, err := s.Container(v); err == nil {
			if _, isList := c.(*value.List); isList {
				v = c
			}
		}
	}
	out.Dict.Set(lazy, v)
	return out, nil
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

// renderNames renders those names of variables that are templates, of set_fact
// and of the data of set_stats. written are the names as the task has them; all,
// when not nil, are the arguments whose names these are.
func (it *item) renderNames(s *template.Scope, names, written *value.Dict, all *template.Args) error {
	for _, k := range names.Keys() {
		name, _ := value.Text(k)
		if !strings.Contains(name, "{{") {
			continue
		}
		pos := written.KeyPos(name)
		v, marked, err := s.Render(value.NewTemplate(name, pos))
		if err != nil {
			return err
		}
		if all != nil && (marked || all.Marked[name]) {
			all.Mark(text(v))
		}
		if it.names == nil {
			it.names = map[string]value.Pos{}
		}
		it.names[text(v)] = pos
		renamed := value.NewDict(names.Len())
		for old, e := range names.All() {
			if old == k {
				old = v
			}
			renamed.Set(old, e)
		}
		*names = *renamed
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
	return it.atAction(fault.New(fault.Generic, value.Pos{}, "Finalization of task args for '%s' failed.", it.shownAction()).Because(err))
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

// defaultArgs are the module_defaults that apply to an action's full name, raw;
// marked when a managed host had a say in a mapping of them as a whole.
func (it *item) defaultArgs(s *template.Scope, resolved string) (out *value.Dict, marked bool, err error) {
	out = value.NewDict(0)
	k := setting(it.step.Keywords, playbook.ModuleDefaults)
	if k == nil || k.Value == nil {
		return out, false, nil
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
		v, read, err := s.Container(raw)
		if err != nil {
			return err
		}
		marked = marked || read
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
				return nil, false, err
			}
		}
	}
	err = use(merged.Lookup(resolved))
	return out, marked, err
}
