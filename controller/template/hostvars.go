package template

import (
	"volant/controller/jinja"
	"volant/wire/value"
)

// hostVars is the variable `hostvars`: one mapping per host, rendered in that
// host's own scope.
type hostVars struct{ s *Scope }

var _ jinja.Mapping = (*hostVars)(nil)

// TypeName implements jinja.Object.
func (h *hostVars) TypeName() string { return "HostVars" }

// Item implements jinja.Indexer. A host nobody knows is undefined.
func (h *hostVars) Item(_ *jinja.Context, key any) (any, bool, error) {
	name, ok := value.Text(key)
	if !ok {
		return nil, false, nil
	}
	sub := h.s.other(name)
	if sub == nil {
		return &value.Undefined{Name: name, Hint: "hostvars[" + value.Repr(name) + "]"}, true, nil
	}
	return &allVars{s: sub, reader: h.s, kind: "HostVarsVars"}, true, nil
}

// Keys implements jinja.Mapping.
func (h *hostVars) Keys(*jinja.Context) ([]any, error) {
	hosts := h.s.opt.Hosts.Hosts()
	out := make([]any, len(hosts))
	for i, name := range hosts {
		out[i] = name
	}
	return out, nil
}

// Len implements jinja.Sized.
func (h *hostVars) Len() int { return len(h.s.opt.Hosts.Hosts()) }

// other is the scope of another host as seen from this one; nil when there is
// no such host.
func (s *Scope) other(host string) *Scope {
	if sub, ok := s.others[host]; ok {
		return sub
	}
	vars, ok := s.opt.Hosts.HostVars(host)
	if !ok {
		return nil
	}
	sub := &Scope{e: s.e, ctx: s.ctx, vars: vars, opt: s.opt, depth: s.depth}
	if s.others == nil {
		s.others = map[string]*Scope{}
	}
	sub.others = s.others
	s.others[host] = sub
	return sub
}

// allVars is every variable of a scope as a mapping: `vars`, or one host's
// entry of hostvars.
type allVars struct {
	s      *Scope
	reader *Scope // whose render reads it, when it is another host's
	kind   string
}

var _ jinja.Mapping = (*allVars)(nil)

// TypeName implements jinja.Object.
func (v *allVars) TypeName() string { return v.kind }

// Item implements jinja.Indexer.
func (v *allVars) Item(c *jinja.Context, key any) (any, bool, error) {
	name, ok := value.Text(key)
	if !ok {
		return nil, false, nil
	}
	if v.reader == nil {
		r, ok, err := v.s.Resolve(name)
		return private(c, r), ok, err
	}
	outer := v.s.mark
	v.s.mark = false
	v.s.depth = v.reader.depth
	r, ok, err := v.s.Resolve(name)
	if f, isFacts := r.(*factVars); isFacts && v.reader != nil {
		r = &factVars{v.reader, f.f}
	}
	if err == nil && ok {
		r = private(c, v.s.whole(r))
	}
	v.reader.mark = v.reader.mark || v.s.mark
	v.s.mark = outer
	return r, ok, err
}

// private is a copy of what a template that changes containers is given.
func private(c *jinja.Context, v any) any {
	if c == nil || !c.Mutates() {
		return v
	}
	return value.Copy(v)
}

// whole renders everything inside v here and now; what fails is a marker.
func (s *Scope) whole(v any) any {
	switch v.(type) {
	case *value.List, *value.Dict, value.Tuple:
	default:
		return v
	}
	r, err := s.context(value.Pos{}).Realize(v)
	if err != nil {
		return s.marker(asFault(err, nil, false))
	}
	return r
}

// Keys implements jinja.Mapping.
func (v *allVars) Keys(*jinja.Context) ([]any, error) {
	var out []any
	for name := range v.s.vars.Names() {
		out = append(out, name)
	}
	return out, nil
}

// Len implements jinja.Sized.
func (v *allVars) Len() int {
	n := 0
	for range v.s.vars.Names() {
		n++
	}
	return n
}
