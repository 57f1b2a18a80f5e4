package vars

import (
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
		var chain []*playbook.Role
		for n := playbook.Parent(t); n != nil; n = playbook.Up(n) {
			switch n := n.(type) {
			case *playbook.Task:
				add(&l.task, n.Vars)
				if n.Include != playbook.NotInclude {
					add(&l.params, n.Vars)
					if n.RoleArgs != nil && n.RoleArgs.ParentRole != nil {
						add(&l.params, parentRoles(n.RoleArgs.ParentRole, t))
					}
				}
			case *playbook.Block:
				add(&l.task, n.Vars)
				if chain == nil {
					chain = n.DepChain
				}
			}
		}
		if r := t.Role; r != nil {
			add(&l.params, r.Params)
			for i := len(chain) - 1; i >= 0; i-- {
				add(&l.params, chain[i].Params)
			}
			// top-down: the use's own vars, vars/main, exports of dependencies,
			// then what the roles above pass on
			add(&l.task, r.Vars)
			add(&l.task, r.RoleVars)
			deps := r.AllDependencies()
			for i := len(deps) - 1; i >= 0; i-- {
				add(&l.task, deps[i].RoleVars)
			}
			for i := len(chain) - 1; i >= 0; i-- {
				add(&l.task, chain[i].RoleVars)
				add(&l.task, chain[i].Vars)
			}
			add(&l.below, r.Defaults)
			for i := len(chain) - 1; i >= 0; i-- {
				add(&l.below, chain[i].Defaults)
			}
			for i := len(deps) - 1; i >= 0; i-- {
				add(&l.below, deps[i].Defaults)
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

// parentRoles are the variables that a role included from another one gets.
func parentRoles(parent *playbook.Role, _ *playbook.Task) *value.Dict {
	d := parent.Params.Clone()
	var names, paths []any
	seen := map[*playbook.Role]bool{}
	for r := parent; r != nil && !seen[r]; {
		seen[r] = true
		names = append(names, r.FullName(true))
		paths = append(paths, r.Path)
		if len(r.Parents) == 0 {
			break
		}
		r = r.Parents[len(r.Parents)-1]
	}
	d.Set("ansible_parent_role_names", value.ListOf(names...))
	d.Set("ansible_parent_role_paths", value.ListOf(paths...))
	return d
}
