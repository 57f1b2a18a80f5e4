package jinja

import (
	"volant/wire/value"
)

func (p *compiler) stmt(s stmt) (exec, error) {
	switch s := s.(type) {
	case *outputStmt:
		return p.output(s)
	case *ifStmt:
		return p.ifStmt(s)
	case *forStmt:
		return p.forStmt(s)
	case *setStmt:
		v, err := p.expr(s.v)
		if err != nil {
			return nil, err
		}
		store, err := p.store(s.target)
		if err != nil {
			return nil, err
		}
		return func(c *Context, f *frame, _ *output) error {
			x, err := v(c, f)
			if err != nil {
				return err
			}
			return store(c, f, x)
		}, nil
	case *setBlockStmt:
		return p.setBlock(s)
	case *withStmt:
		return p.with(s)
	case *scopeStmt:
		run, sc, err := p.scoped(s.body, nil)
		if err != nil {
			return nil, err
		}
		to := sc.fn.slots
		return func(c *Context, f *frame, out *output) error {
			f.clear(sc.from, to)
			return run(c, f, out)
		}, nil
	case *filterStmt:
		text, err := p.captured(s.body)
		if err != nil {
			return nil, err
		}
		fl, err := p.filter(s.filter.(*filterExpr), text)
		if err != nil {
			return nil, err
		}
		return func(c *Context, f *frame, out *output) error {
			if out.mute {
				return nil
			}
			v, err := fl(c, f)
			if err != nil {
				return err
			}
			return out.add(c, v)
		}, nil
	case *macroStmt:
		return p.macroStmt(s)
	case *callStmt:
		return p.callStmt(s)
	case *blockStmt:
		return p.blockStmt(s)
	case *extendsStmt:
		return p.extends(s)
	case *includeStmt:
		return p.include(s)
	case *importStmt:
		return p.importStmt(s)
	case *fromStmt:
		return p.from(s)
	}
	return nil, p.fail(s.at(), "unknown statement")
}

func (p *compiler) output(s *outputStmt) (exec, error) {
	list := make([]exec, 0, len(s.nodes))
	for _, n := range s.nodes {
		if d, ok := n.(*dataExpr); ok {
			var text any = d.text
			size := len(d.text)
			list = append(list, func(c *Context, _ *frame, out *output) error {
				out.nodes = append(out.nodes, text)
				return c.run.grow(size)
			})
			continue
		}
		e, err := p.expr(n)
		if err != nil {
			return nil, err
		}
		list = append(list, func(c *Context, f *frame, out *output) error {
			v, err := e(c, f)
			if err != nil {
				return err
			}
			return out.add(c, v)
		})
	}
	if len(list) == 1 {
		one := list[0]
		return func(c *Context, f *frame, out *output) error {
			if out.mute {
				return nil
			}
			return one(c, f, out)
		}, nil
	}
	return func(c *Context, f *frame, out *output) error {
		if out.mute {
			return nil
		}
		for _, e := range list {
			if err := e(c, f, out); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// captured compiles body into an expression that gives what it outputs.
func (p *compiler) captured(body []stmt) (eval, error) {
	run, sc, err := p.scoped(body, nil)
	if err != nil {
		return nil, err
	}
	to := sc.fn.slots
	return func(c *Context, f *frame) (any, error) {
		f.clear(sc.from, to)
		return c.collected(run, f)
	}, nil
}

func (p *compiler) setBlock(s *setBlockStmt) (exec, error) {
	v, err := p.captured(s.body)
	if err != nil {
		return nil, err
	}
	if fl, ok := s.filter.(*filterExpr); ok && fl != nil {
		if v, err = p.filter(fl, v); err != nil {
			return nil, err
		}
	}
	store, err := p.store(s.target)
	if err != nil {
		return nil, err
	}
	return func(c *Context, f *frame, _ *output) error {
		x, err := v(c, f)
		if err != nil {
			return err
		}
		return store(c, f, x)
	}, nil
}

// assign puts a value into a target.
type assign func(c *Context, f *frame, v any) error

// store compiles assignment to a target whose names are declared.
func (p *compiler) store(target expr) (assign, error) {
	switch x := target.(type) {
	case *nameExpr:
		i := p.scope.declare(x.name)
		if p.scope.top && p.t.shares {
			name := x.name
			return func(c *Context, f *frame, v any) error {
				f.slots[i] = slot{v, true}
				c.export(name, v)
				return nil
			}, nil
		}
		return func(_ *Context, f *frame, v any) error {
			f.slots[i] = slot{v, true}
			return nil
		}, nil
	case *nsRef:
		ns := p.load(x.name)
		attr := x.attr
		return func(c *Context, f *frame, v any) error {
			o, err := ns(c, f)
			if err != nil {
				return err
			}
			n, ok := o.(*namespace)
			if !ok {
				return value.Raise("TemplateRuntimeError", "cannot assign attribute on non-namespace object")
			}
			n.attrs.Set(attr, v)
			return nil
		}, nil
	case *tupleExpr:
		var parts []assign
		for _, e := range x.items {
			a, err := p.store(e)
			if err != nil {
				return nil, err
			}
			parts = append(parts, a)
		}
		return func(c *Context, f *frame, v any) error {
			if u, ok := v.(*value.Undefined); ok {
				return u
			}
			items, err := c.Items(v)
			if err != nil {
				return value.TypeErrorf("cannot unpack non-iterable %s object", value.TypeName(v))
			}
			switch {
			case len(items) > len(parts):
				return value.ValueErrorf("too many values to unpack (expected %d)", len(parts))
			case len(items) < len(parts):
				return value.ValueErrorf("not enough values to unpack (expected %d, got %d)", len(parts), len(items))
			}
			for i, a := range parts {
				if err := a(c, f, items[i]); err != nil {
					return err
				}
			}
			return nil
		}, nil
	}
	return nil, p.fail(target.at(), "can't assign to "+value.Repr(unassignable(target)))
}

func (p *compiler) ifStmt(s *ifStmt) (exec, error) {
	p.soft++
	defer func() { p.soft-- }()
	var tests []eval
	var bodies []exec
	for i := range s.tests {
		t, err := p.expr(s.tests[i])
		if err != nil {
			return nil, err
		}
		b, err := p.body(s.bodies[i])
		if err != nil {
			return nil, err
		}
		tests, bodies = append(tests, t), append(bodies, b)
	}
	els, err := p.body(s.els)
	if err != nil {
		return nil, err
	}
	return func(c *Context, f *frame, out *output) error {
		for i, t := range tests {
			v, err := t(c, f)
			if err != nil {
				return err
			}
			ok, err := c.Truth(v)
			if err != nil {
				return err
			}
			if ok {
				return bodies[i](c, f, out)
			}
		}
		return els(c, f, out)
	}, nil
}

func (p *compiler) with(s *withStmt) (exec, error) {
	values, err := p.exprs(s.values)
	if err != nil {
		return nil, err
	}
	var stores []assign
	run, sc, err := p.scoped(s.body, func(sc *scope) error {
		for _, t := range s.targets {
			targets(t, func(n string) { sc.declare(n) })
			a, err := p.store(t)
			if err != nil {
				return err
			}
			stores = append(stores, a)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	to := sc.fn.slots
	return func(c *Context, f *frame, out *output) error {
		vs, err := evalAll(c, f, values)
		if err != nil {
			return err
		}
		f.clear(sc.from, to)
		for i, a := range stores {
			if err := a(c, f, vs[i]); err != nil {
				return err
			}
		}
		return run(c, f, out)
	}, nil
}

func (p *compiler) forStmt(s *forStmt) (exec, error) {
	bad := 0
	targets(s.target, func(n string) {
		if n == "loop" {
			bad = s.at()
		}
	})
	walk(s.body, func(expr) {}, func(b stmt) {
		if set, ok := b.(*setStmt); ok {
			targets(set.target, func(n string) {
				if n == "loop" {
					bad = set.at()
				}
			})
		}
	})
	if bad > 0 {
		return nil, p.fail(bad, "Can't assign to special loop variable in for-loop target")
	}
	iter, err := p.expr(s.iter)
	if err != nil {
		return nil, err
	}
	l := &loopCode{recursive: s.recursive, extended: s.recursive || uses(s.body, "loop")}
	walk(s.body, func(expr) {}, func(b stmt) {
		if bl, ok := b.(*blockStmt); ok && bl.scoped {
			l.extended = true
		}
	})
	run, sc, err := p.scoped(s.body, func(sc *scope) error {
		targets(s.target, func(n string) { sc.declare(n) })
		if l.store, err = p.store(s.target); err != nil {
			return err
		}
		if s.test != nil {
			if l.test, err = p.expr(s.test); err != nil {
				return err
			}
		}
		l.loop = -1
		if l.extended {
			l.loop = sc.declare("loop")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	l.run, l.from, l.to = run, sc.from, sc.fn.slots
	els, esc, err := p.scoped(s.els, nil)
	if err != nil {
		return nil, err
	}
	eto := esc.fn.slots
	l.els = func(c *Context, f *frame, out *output) error {
		f.clear(esc.from, eto)
		return els(c, f, out)
	}
	return func(c *Context, f *frame, out *output) error {
		v, err := iter(c, f)
		if err != nil {
			return err
		}
		if l.recursive {
			r, err := l.render(c, f, v, 0)
			if err != nil {
				return err
			}
			return out.add(c, r)
		}
		return l.each(c, f, out, v, 0)
	}, nil
}

// macro compiles a macro or the body of a call block.
func (p *compiler) macro(s *macroStmt) (*macroCode, error) {
	m := &macroCode{name: s.name, args: s.args, offset: len(s.args) - len(s.defaults), t: p.t}
	outer := p.scope
	defer func() { p.scope = outer }()
	sc := outer.function()
	p.scope = sc
	for _, a := range s.args {
		if _, twice := sc.names[a]; twice {
			return nil, value.Raise("SyntaxError", "duplicate argument 'l_1_%s' in function definition (<template>, line %d)", a, s.at())
		}
		m.slots = append(m.slots, sc.declare(a))
		if a == "caller" {
			m.explicit = true
		}
	}
	if m.explicit = m.explicit && uses(s.body, "caller"); m.explicit {
		for _, a := range s.args[:m.offset] {
			if a == "caller" {
				return nil, p.fail(s.at(), "When defining macros or call blocks the special \"caller\" argument must be omitted or be given a default.")
			}
		}
	}
	for _, d := range s.defaults {
		e, err := p.expr(d)
		if err != nil {
			return nil, err
		}
		m.defaults = append(m.defaults, e)
	}
	special := func(name string) int {
		if _, have := sc.names[name]; !have && uses(s.body, name) {
			return sc.declare(name)
		}
		return -1
	}
	m.caller, m.kwargs, m.varargs = special("caller"), special("kwargs"), special("varargs")
	assigned(s.body, func(n string) { sc.declare(n) })
	var err error
	if m.run, err = p.body(s.body); err != nil {
		return nil, err
	}
	m.fn = sc.fn
	return m, nil
}

func (p *compiler) macroStmt(s *macroStmt) (exec, error) {
	m, err := p.macro(s)
	if err != nil {
		return nil, err
	}
	store, err := p.store(&nameExpr{s.line, s.name})
	if err != nil {
		return nil, err
	}
	return func(c *Context, f *frame, _ *output) error {
		return store(c, f, &macro{code: m, c: c, f: f})
	}, nil
}

func (p *compiler) callStmt(s *callStmt) (exec, error) {
	m, err := p.macro(s.body)
	if err != nil {
		return nil, err
	}
	m.name = "None"
	call, err := p.call(s.call.(*callExpr), func(c *Context, f *frame) (any, error) {
		return &macro{code: m, c: c, f: f}, nil
	})
	if err != nil {
		return nil, err
	}
	return func(c *Context, f *frame, out *output) error {
		if out.mute {
			return nil
		}
		v, err := call(c, f)
		if err != nil {
			return err
		}
		return out.add(c, v)
	}, nil
}
