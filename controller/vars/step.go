package vars

import (
	"slices"

	"volant/controller/playbook"
	"volant/wire/value"
)

// stepLayers are the shared dicts that a task brings, the same for every host.
type stepLayers struct {
	params []*value.Dict // include and role parameters
	task   []*value.Dict // vars of task, blocks, includes and of the task's role
	roles  []*value.Dict // exported by the play's roles
	below  []*value.Dict // role defaults
	nRoles int           // of the play when they were made
}

// hidden are names that the vars of a task do not set.
func hidden(name string) bool { return name == "tags" || name == "when" }

// stepFor returns the layers of t, which may be nil. The coordinator calls it.
func (p *Play) stepFor(t *playbook.Task) *stepLayers {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.steps[t]; l != nil && l.nRoles == len(p.play.Roles) {
		return l
	}
	l := &stepLayers{nRoles: len(p.play.Roles)}
	add := func(to *[]*value.Dict, d *value.Dict) {
		if d.Len() > 0 {
			p.store.warnReserved(d)
			*to = append(*to, d)
		}
	}
	if t != nil {
		for _, d := range slices.Backward(t.Chain()) {
			add(&l.task, d)
		}
		params, parents := t.IncludeParams()
		for _, d := range slices.Backward(params) {
			add(&l.params, d)
		}
		if len(parents) > 0 {
			add(&l.params, parentRoles(parents))
		}
		if r := t.Role; r != nil {
			chain := t.DepChain()
			if n := len(chain); n > 0 && chain[n-1] == r {
				chain = chain[:n-1]
			}
			add(&l.params, r.Params)
			for _, c := range slices.Backward(chain) {
				add(&l.params, c.Params)
			}
			// top-down: the use's own vars, vars/main, exports of dependencies,
			// then what the roles above pass on
			add(&l.task, r.Vars)
			add(&l.task, r.RoleVars)
			deps := r.AllDependencies()
			for _, d := range slices.Backward(deps) {
				add(&l.task, d.RoleVars)
			}
			for _, c := range slices.Backward(chain) {
				add(&l.task, c.RoleVars)
				add(&l.task, c.Vars)
			}
			add(&l.below, r.Defaults)
			for _, c := range slices.Backward(chain) {
				add(&l.below, c.Defaults)
			}
			for _, d := range slices.Backward(deps) {
				add(&l.below, d.Defaults)
			}
		}
	}
	for i := len(p.play.Roles) - 1; i >= 0; i-- {
		r := p.play.Roles[i]
		if !r.Public {
			continue
		}
		deps := r.AllDependencies()
		add(&l.roles, r.RoleVars)
		for j := len(deps) - 1; j >= 0; j-- {
			add(&l.roles, deps[j].RoleVars)
		}
		add(&l.below, r.Defaults)
		for j := len(deps) - 1; j >= 0; j-- {
			add(&l.below, deps[j].Defaults)
		}
	}
	p.steps[t] = l
	return l
}

// parentRoles are the variables that a role included from other ones gets:
// the parameters and names of those, the innermost first.
func parentRoles(parents []*playbook.Role) *value.Dict {
	d := value.NewDict(4)
	var names, paths []any
	for _, r := range parents {
		for k, v := range r.Params.All() {
			if !d.Has(k) {
				d.Set(k, v)
			}
		}
		names = append(names, r.FullName(true))
		paths = append(paths, r.Path)
	}
	d.Set("ansible_parent_role_names", value.ListOf(names...))
	d.Set("ansible_parent_role_paths", value.ListOf(paths...))
	return d
}
