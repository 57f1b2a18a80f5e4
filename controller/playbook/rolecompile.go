package playbook

import (
	"maps"

	"volant/wire/value"
)

// cacheRole remembers the role unless an equal one is there.
func (p *Play) cacheRole(r *Role) {
	for _, c := range p.roleCache[r.realPath] {
		if c.equal(r) {
			return
		}
	}
	p.roleCache[r.realPath] = append(p.roleCache[r.realPath], r)
}

// equal reports whether two uses of a role are the same one: same files,
// parameters, vars, conditions and tags.
func (r *Role) equal(o *Role) bool {
	if r == o {
		return true
	}
	return r.realPath == o.realPath && r.FullName(true) == o.FullName(true) && r.FromInclude == o.FromInclude &&
		value.Equal(r.Params, o.Params) && value.Equal(r.Vars, o.Vars) && maps.Equal(r.FromFiles, o.FromFiles) &&
		value.Equal(r.Keywords.Value(When), o.Keywords.Value(When)) && value.Equal(r.Keywords.Value(Tags), o.Keywords.Value(Tags))
}

// RoleBlocks returns the blocks of the role's dependencies and its own, each
// role followed by a block with the implicit `meta: role_complete`. chain are
// the roles above it.
func (l *Loader) RoleBlocks(r *Role, chain []*Role) []*Block {
	chain = append(append([]*Role(nil), chain...), r)
	var out []*Block
	for _, d := range r.Dependencies {
		out = append(out, l.RoleBlocks(d, chain)...)
	}
	for _, b := range r.Blocks {
		b.DepChain = chain
		out = append(out, b)
	}
	if r.end == nil {
		r.end = &Block{ID: l.id(), Vars: value.NewDict(0), Implicit: true, Play: r.Play, Role: r}
		r.end.Keywords.Set(RunOnce, false, value.Pos{})
		t := l.MetaTask("role_complete", r.end)
		t.Role = r
		t.Keywords.Set(When, true, value.Pos{})
		t.Keywords.Set(Tags, value.Strings("always"), value.Pos{})
		r.end.Block = []Node{t}
	}
	return append(out, r.end)
}

// RoleHandlers returns the blocks of handlers of the role's dependencies and
// its own.
func RoleHandlers(r *Role, chain []*Role) []*Block {
	chain = append(append([]*Role(nil), chain...), r)
	var out []*Block
	for _, d := range r.Dependencies {
		out = append(out, RoleHandlers(d, chain)...)
	}
	for _, b := range r.HandlerBlocks {
		b.DepChain = chain
		out = append(out, b)
	}
	return out
}

// MetaTask makes an implicit meta task.
func (l *Loader) MetaTask(what string, parent Parent) *Task {
	return &Task{
		ID: l.id(), Action: "meta", Resolved: "ansible.builtin.meta", Args: value.DictOf("_raw_params", what),
		Vars: value.NewDict(0), Parent: parent, Implicit: true, LoopControl: &LoopControl{},
	}
}
