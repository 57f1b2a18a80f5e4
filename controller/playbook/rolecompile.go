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
// the roles above it. The blocks are copies, made once: handlers of roles that
// the role imports keep standing in the originals, which inherit nothing from
// where this role is used, as in the reference.
func (l *Loader) RoleBlocks(r *Role, chain []*Role) []*Block {
	chain = append(append([]*Role(nil), chain...), r)
	var out []*Block
	for _, d := range r.Dependencies {
		out = append(out, l.RoleBlocks(d, chain)...)
	}
	if r.compiled == nil {
		for _, b := range r.Blocks {
			c := b.copy(b.Parent)
			c.DepChain = chain
			r.compiled = append(r.compiled, c)
		}
		end := &Block{ID: l.id(), Vars: value.NewDict(0), Implicit: true, Play: r.Play, Role: r}
		end.Keywords.Set(RunOnce, false, value.Pos{})
		t := l.MetaTask("role_complete", end)
		t.Role = r
		t.Keywords.Set(When, value.ListOf(true), value.Pos{})
		t.Keywords.Set(Tags, value.Strings("always"), value.Pos{})
		end.Block = []Node{t}
		r.compiled = append(r.compiled, end)
	}
	return append(out, r.compiled...)
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

// copy returns a copy of the block, standing in parent, and of everything in
// it. Imports that stand between the block and what they brought in are copied
// along.
func (b *Block) copy(parent Parent) *Block {
	c := &Block{
		ID: b.ID, Keywords: b.Keywords.Clone(), Vars: b.Vars, Pos: b.Pos, Implicit: b.Implicit, Parent: parent,
		Play: b.Play, Role: b.Role, DepChain: b.DepChain,
	}
	m := mover{b, c, map[*Task]*Task{}}
	c.Block, c.Rescue, c.Always = m.nodes(b.Block), m.nodes(b.Rescue), m.nodes(b.Always)
	return c
}

// mover copies what stands in one block into its copy.
type mover struct {
	from, to *Block
	imports  map[*Task]*Task
}

func (m mover) nodes(nodes []Node) []Node {
	out := make([]Node, len(nodes))
	for i, n := range nodes {
		switch n := n.(type) {
		case *Block:
			out[i] = n.copy(m.parent(n.Parent))
		case *Task:
			t := *n
			t.Parent = m.parent(n.Parent)
			out[i] = &t
		}
	}
	return out
}

// parent is what stands for p in the copy.
func (m mover) parent(p Parent) Parent {
	t, ok := p.(*Task)
	if !ok {
		if p == Parent(m.from) {
			return m.to
		}
		return p
	}
	c, ok := m.imports[t]
	if !ok {
		t2 := *t
		c = &t2
		m.imports[t] = c
		c.Parent = m.parent(t.Parent)
	}
	return c
}

// MetaTask makes an implicit meta task.
func (l *Loader) MetaTask(what string, parent Parent) *Task {
	return &Task{
		ID: l.id(), Action: "meta", Resolved: "ansible.builtin.meta", Args: value.DictOf("_raw_params", what),
		Vars: value.NewDict(0), Parent: parent, Implicit: true, LoopControl: &LoopControl{},
	}
}
