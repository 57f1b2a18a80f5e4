package jinja

import (
	"volant/wire/value"
)

// absent is the marker for what is missing where nobody asks what it was. It
// is shared and never shown.
var absent = &value.Undefined{Hint: "undefined"}

// quiet compiles x for a use that only asks whether there is a value, as
// `default` and `is defined` do: markers for what is missing say nothing, which
// spares building their text.
func (p *compiler) quiet(x expr) (eval, error) {
	switch x := x.(type) {
	case *nameExpr:
		if len(p.scope.places(x.name)) > 0 || x.name == "self" || x.name == "super" {
			return p.expr(x)
		}
		id := p.t.nameID(x.name)
		return func(c *Context, _ *frame) (any, error) {
			if s := &c.names[id]; s.set && c.exported == nil {
				return s.v, nil
			}
			v, ok, err := c.find(c.t.names[id], &c.names[id])
			if err == nil && !ok {
				return absent, nil
			}
			return v, err
		}, nil
	case *attrExpr:
		if _, isMethod := dictMethods[x.name]; isMethod || x.name[0] == '_' {
			break
		}
		e, err := p.quiet(x.x)
		if err != nil {
			return nil, err
		}
		name := x.name
		return func(c *Context, f *frame) (any, error) {
			v, err := e(c, f)
			if err != nil {
				return nil, err
			}
			if d, ok := v.(*value.Dict); ok {
				if w, ok := d.Get(name); ok {
					return c.readItem(w)
				}
				return absent, nil
			}
			return c.GetAttr(v, name)
		}, nil
	}
	return p.expr(x)
}

// plainly reports whether x is the filter or test pl of the language itself,
// applied with n arguments written by position.
func plainly(pl *Plugin, builtin func(string) (*Plugin, bool), name string, a callArgs, n int) bool {
	b, ok := builtin(name)
	return ok && b == pl && len(a.pos) == n && len(a.kw) == 0 && a.star == nil && a.starstar == nil
}

// orElse compiles `x | default(other)`.
func (p *compiler) orElse(x *filterExpr) (eval, error) {
	in, err := p.quiet(x.x)
	if err != nil {
		return nil, err
	}
	other, err := p.expr(x.pos[0])
	if err != nil {
		return nil, err
	}
	return func(c *Context, f *frame) (any, error) {
		v, err := in(c, f)
		if err != nil {
			return nil, err
		}
		o, err := other(c, f)
		if err != nil {
			return nil, err
		}
		if u, ok := v.(*value.Undefined); ok && u.Err == nil {
			v = o
		}
		switch t := v.(type) {
		case *value.Template:
			return t.Text, nil
		case *Range:
			return c.settle(t)
		}
		return v, nil
	}, nil
}

// isDefined compiles `x is defined` and `x is undefined`.
func (p *compiler) isDefined(x *testExpr, want bool) (eval, error) {
	in, err := p.quiet(x.x)
	if err != nil {
		return nil, err
	}
	return func(c *Context, f *frame) (any, error) {
		v, err := in(c, f)
		if err != nil {
			return nil, err
		}
		defined := true
		switch u := v.(type) {
		case *value.Undefined:
			if u.Err != nil {
				return u, nil
			}
			defined = false
		case *blank:
			defined = false
		}
		return defined == want, nil
	}, nil
}
