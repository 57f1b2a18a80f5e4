package vars

import (
	"context"
	"iter"
	"strings"

	"volant/controller/inventory"
	"volant/controller/playbook"
	"volant/controller/template"
	"volant/wire/value"
)

// Context are the variables of one host for one task. It is used by one
// goroutine at a time and cheap to make.
type Context struct {
	store *Store
	host  string // empty: no host
	play  *Play  // nil: the view of hostvars
	task  *playbook.Task
	env   any // raw environment keyword
	layer *hostLayers
	step  *stepLayers
	facts *factSet
	state *hostState
	files []*value.Dict
	// from is the host that the name variables show, for delegates.
	shownAs string

	overlay []overlay // later ones win

	// Fallback gives variables that nothing else does: what the reference
	// tells tasks about their connection. May be nil.
	Fallback func(name string) (v any, ok bool)
}

type overlay struct {
	name   string
	v      any
	lazy   func() any
	marked bool
	gone   bool
}

var _ template.Vars = (*Context)(nil)

var noStep = &stepLayers{}

// For returns the variables of host for t; both may be empty. env is the raw
// environment keyword of the task.
func (p *Play) For(ctx context.Context, host string, t *playbook.Task, env any) (*Context, error) {
	c := &Context{store: p.store, host: host, play: p, task: t, env: env, step: p.stepFor(t), facts: noFacts}
	if err := c.bind(p.play.Dir); err != nil {
		return nil, err
	}
	files, err := p.varsFiles(ctx, c)
	if err != nil {
		return nil, err
	}
	c.files = files
	p.store.warnReserved(p.vars)
	return c, nil
}

// Host returns the variables of a host outside of any play, as hostvars sees
// it: no play, role or task variables.
func (s *Store) Host(host, basedir string) (*Context, error) {
	c := &Context{store: s, host: host, step: noStep, facts: noFacts}
	return c, c.bind(basedir)
}

func (c *Context) bind(basedir string) error {
	c.layer = &hostLayers{groupNames: value.ListOf()}
	if c.host == "" {
		return nil
	}
	c.state = c.store.host(c.host)
	c.facts = c.state.facts.Load()
	l, err := c.store.layersOf(c.state, basedir)
	if err != nil {
		return err
	}
	c.layer = l
	return nil
}

// HostName is the host the variables are of.
func (c *Context) HostName() string { return c.host }

// ShowAs makes inventory_hostname name another host: the one a task was
// delegated from.
func (c *Context) ShowAs(host string) { c.shownAs = host }

// All returns every variable, unrendered.
func (c *Context) All() *value.Dict {
	d := value.NewDict(64)
	for n := range c.Names() {
		if v, _, ok := c.Lookup(n); ok {
			d.Set(n, v)
		}
	}
	return d
}

// Set puts a variable on top of all others for this context.
func (c *Context) Set(name string, v any, marked bool) {
	c.overlay = append(c.overlay, overlay{name: name, v: v, marked: marked})
}

// SetLazy is Set of a value that is made when it is asked for.
func (c *Context) SetLazy(name string, marked bool, f func() any) {
	c.overlay = append(c.overlay, overlay{name: name, lazy: f, marked: marked})
}

// Unset takes back what Set put under name.
func (c *Context) Unset(name string) {
	c.overlay = append(c.overlay, overlay{name: name, gone: true})
}

// Clone returns a context whose overlay is its own.
func (c *Context) Clone() *Context {
	n := *c
	n.overlay = append([]overlay(nil), c.overlay...)
	return &n
}

// Lookup implements template.Vars.
func (c *Context) Lookup(name string) (v any, marked, ok bool) {
	if v, marked, ok = c.Own(name); !ok && c.Fallback != nil {
		v, ok = c.Fallback(name)
	}
	return v, marked, ok
}

// Own is Lookup without Fallback.
func (c *Context) Own(name string) (v any, marked, ok bool) {
	for i := len(c.overlay) - 1; i >= 0; i-- {
		o := &c.overlay[i]
		if o.name != name {
			continue
		}
		switch {
		case o.gone: // what lies below shows again
			return c.below(name)
		case o.lazy != nil:
			o.v, o.lazy = o.lazy(), nil
		}
		return o.v, o.marked, true
	}
	return c.below(name)
}

func (c *Context) below(name string) (v any, marked, ok bool) {
	if v, ok := c.magicVar(name); ok {
		return v, namesHosts[name] && c.store.named.Load(), true
	}
	if v, ok := c.store.opt.Run.Get(name); ok {
		return v, false, true
	}
	if !c.store.merge {
		return c.first(name)
	}
	return c.merged(name)
}

// Place is where the value of a variable was written, as far as the mapping it
// is in knows it; else zero.
func (c *Context) Place(name string) (pos value.Pos) {
	for i := range c.overlay {
		if c.overlay[i].name == name {
			return pos
		}
	}
	if _, magic := c.magicVar(name); magic || c.store.opt.Run.Lookup(name) != nil {
		return pos
	}
	c.walkFrom(name, func(v any, _ bool, from *value.Dict) bool {
		if from != nil {
			pos = from.EntryPos(name)
		}
		return false
	})
	return pos
}

// first returns the topmost value.
func (c *Context) first(name string) (out any, marked, ok bool) {
	c.walk(name, func(v any, m bool) bool {
		out, marked, ok = v, m, true
		return false
	})
	return
}

// merged joins dicts of all layers down to the first value that is none.
func (c *Context) merged(name string) (out any, marked, ok bool) {
	c.walk(name, func(v any, m bool) bool {
		d, isDict := v.(*value.Dict)
		if !ok {
			out, marked, ok = v, m, true
			return isDict
		}
		if !isDict {
			return false
		}
		top, _ := out.(*value.Dict)
		out, marked = mergeDicts(d, top), marked || m
		return true
	})
	return
}

// walk calls f with the value of each layer that has name, from the top, until
// f returns false.
func (c *Context) walk(name string, f func(v any, marked bool) bool) {
	c.walkFrom(name, func(v any, marked bool, _ *value.Dict) bool { return f(v, marked) })
}

// walkFrom is walk that also tells which mapping of a file a value is from, nil
// for all others.
func (c *Context) walkFrom(name string, f func(v any, marked bool, from *value.Dict) bool) {
	dicts := func(ds ...*value.Dict) bool {
		for _, d := range ds {
			if v, ok := d.Get(name); ok && !f(v, false, d) {
				return false
			}
		}
		return true
	}
	if !dicts(c.store.extra) || !dicts(c.step.params...) {
		return
	}
	if c.state != nil {
		if e, ok := c.state.set.get(name); ok && !f(e.v, e.marked, nil) {
			return
		}
		if e, ok := c.state.included.get(name); ok && !f(e.v, e.marked, nil) {
			return
		}
	}
	if !hidden(name) && !dicts(c.step.task...) {
		return
	}
	if c.play != nil && (!dicts(c.step.roles...) || !dicts(c.files...) || !dicts(c.play.vars)) {
		return
	}
	if v, ok := c.facts.top.Get(name); ok && !f(v, !c.facts.own[name] && !trustedFact(strings.TrimPrefix(name, "ansible_"), v), nil) {
		return
	}
	if c.host != "" {
		if name == "ansible_facts" {
			f(c.facts.variable(), c.facts.named.Len() > 0, nil)
			return
		}
		if v, ok := hostMagic(c, name); ok && !f(v, c.state.marked(name), nil) {
			return
		}
	}
	for _, d := range c.layer.dicts {
		if v, ok := d.Get(name); ok && !f(v, c.state.marked(name), d) {
			return
		}
	}
	dicts(c.step.below...)
}

// Names implements template.Vars.
func (c *Context) Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		seen := map[string]bool{}
		emit := func(name string) bool {
			if seen[name] {
				return true
			}
			seen[name] = true
			if _, _, ok := c.Lookup(name); !ok {
				return true
			}
			return yield(name)
		}
		dicts := func(ds ...*value.Dict) bool {
			for i := len(ds) - 1; i >= 0; i-- {
				for k := range ds[i].All() {
					if s, ok := value.Text(k); ok && !emit(s) {
						return false
					}
				}
			}
			return true
		}
		strs := func(names []string) bool {
			for _, n := range names {
				if !emit(n) {
					return false
				}
			}
			return true
		}
		if !dicts(c.step.below...) || !dicts(c.layer.dicts...) {
			return
		}
		if c.host != "" && (!strs(hostMagicNames) || !emit("ansible_facts")) {
			return
		}
		if !dicts(c.facts.top) {
			return
		}
		if c.play != nil && (!dicts(c.play.vars) || !dicts(c.files...) || !dicts(c.step.roles...)) {
			return
		}
		if !dicts(c.step.task...) {
			return
		}
		if c.state != nil && (!strs(c.state.included.list()) || !strs(c.state.set.list())) {
			return
		}
		if !dicts(c.step.params...) || !dicts(c.store.extra) || !strs(magicNames) || !dicts(c.store.opt.Run) {
			return
		}
		for _, o := range c.overlay {
			if !o.gone && !emit(o.name) {
				return
			}
		}
	}
}

// hosts implements template.Hosts.
type hosts struct{ s *Store }

// HostVars implements template.Hosts.
func (h hosts) HostVars(host string) (template.Vars, bool) {
	known := false
	h.s.Inventory(func(inv *inventory.Inventory) { known = inv.Host(host) != nil })
	if !known {
		return nil, false
	}
	c, err := h.s.Host(host, h.s.Basedir())
	if err != nil {
		return nil, false
	}
	return c, true
}

// Hosts implements template.Hosts.
func (h hosts) Hosts() []string {
	var out []string
	h.s.Inventory(func(inv *inventory.Inventory) {
		for _, x := range inv.Hosts() {
			out = append(out, x.Name)
		}
	})
	return out
}

// Match implements template.Hosts.
func (h hosts) Match(pattern string) (out []string, err error) {
	h.s.Inventory(func(inv *inventory.Inventory) {
		var found []*inventory.Host
		found, err = inv.Match(pattern)
		for _, x := range found {
			out = append(out, x.Name)
		}
	})
	return out, err
}
