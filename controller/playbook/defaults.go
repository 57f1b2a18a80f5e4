package playbook

import (
	"strings"

	"volant/controller/fault"
	"volant/wire/value"
)

// loadModuleDefaults gives the entries of module_defaults their full names.
// The result is a list of mappings whose keys are full action names or
// "group/NAME"; the values stay raw.
func (l *Loader) loadModuleDefaults(v any, pos value.Pos) (any, error) {
	if v == nil {
		return nil, nil
	}
	list, ok := v.(*value.List)
	if !ok {
		list = value.ListOf(v)
	}
	out := &value.List{}
	for _, item := range list.Items {
		d, ok := item.(*value.Dict)
		if !ok {
			return nil, fault.New(fault.Parser, orPos(item, pos), "The field 'module_defaults' is supposed to be a dictionary or list of dictionaries, "+
				"the keys of which must be static action, module, or group names. Only the values may contain "+
				"templates. For example: {'ping': \"{{ ping_defaults }}\"}")
		}
		full := value.NewDict(d.Len())
		for k, defaults := range d.All() {
			name := keyText(k)
			if strings.HasPrefix(name, "group/") {
				group := name[strings.LastIndex(name, "group/")+len("group/"):]
				group, _, err := l.actionGroup(group, true)
				if err != nil {
					return nil, err
				}
				full.Set("group/"+group, defaults)
				continue
			}
			if strings.Count(name, ".") < 2 {
				name = "ansible.legacy." + name
			}
			resolved, ok, err := l.Plugins.Action(name, nil)
			if err != nil {
				return nil, err
			}
			if !ok {
				return nil, fault.New(fault.Parser, value.Pos{}, "Could not resolve action %s in module_defaults", name)
			}
			full.Set(resolved, defaults)
			if rest, ok := strings.CutPrefix(name, "ansible.legacy."); ok {
				if resolved, ok, err := l.Plugins.Action("ansible.builtin."+rest, nil); ok && err == nil {
					full.Set(resolved, defaults)
				}
			}
		}
		out.Items = append(out.Items, full)
	}
	return out, nil
}

// actionGroup resolves a module_defaults group and notes its members in the
// play that is being loaded.
func (l *Loader) actionGroup(group string, mandatory bool) (string, []string, error) {
	if strings.Count(group, ".") < 2 {
		group = "ansible.builtin." + group
	}
	p := l.play
	if p == nil {
		return group, nil, nil
	}
	if actions, ok := p.groups[group]; ok {
		return group, actions, nil
	}
	members, extends, ok := l.Plugins.ActionGroup(group)
	if !ok {
		if !mandatory {
			return group, nil, nil
		}
		return "", nil, fault.New(fault.Parser, value.Pos{}, "Error loading module_defaults: could not resolve the module_defaults group %s", group)
	}
	collection := group[:strings.LastIndexByte(group, '.')]
	var actions []string
	note := func(names []string) {
		for _, a := range names {
			p.actionGroup[a] = append(p.actionGroup[a], group)
		}
		actions = append(actions, names...)
		p.groups[group] = actions
	}
	var own []string
	for _, m := range members {
		if strings.Count(m, ".") < 2 {
			m = collection + "." + m
		}
		if resolved, ok, err := l.Plugins.Action(m, nil); ok && err == nil {
			own = append(own, resolved)
		}
	}
	note(own)
	for _, e := range extends {
		if strings.Count(e, ".") < 2 {
			e = collection + "." + e
		}
		_, more, err := l.actionGroup(e, false)
		if err != nil {
			return "", nil, err
		}
		note(more)
	}
	return group, actions, nil
}
