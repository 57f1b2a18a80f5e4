package jinja

import (
	"volant/wire/value"
)

// compiledArgs evaluates the arguments of a call after the ones given.
type compiledArgs struct {
	pos            []eval
	kw             []compiledKw
	star, starstar eval
}

type compiledKw struct {
	name string
	v    eval
}

func (p *compiler) args(a callArgs) (*compiledArgs, error) {
	pos, err := p.exprs(a.pos)
	if err != nil {
		return nil, err
	}
	out := &compiledArgs{pos: pos}
	for _, k := range a.kw {
		v, err := p.expr(k.v)
		if err != nil {
			return nil, err
		}
		out.kw = append(out.kw, compiledKw{k.name, v})
	}
	if a.star != nil {
		if out.star, err = p.expr(a.star); err != nil {
			return nil, err
		}
	}
	if a.starstar != nil {
		if out.starstar, err = p.expr(a.starstar); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// eval returns the arguments, behind first if lead is set. fn is what is
// called, for messages.
func (a *compiledArgs) eval(c *Context, f *frame, first any, lead bool, fn string) (Args, error) {
	n := len(a.pos)
	if lead {
		n++
	}
	args := Args{Pos: c.run.room(n + 2)} // room for defaults, see Bind
	if lead {
		args.Pos = append(args.Pos, first)
	}
	for _, e := range a.pos {
		v, err := e(c, f)
		if err != nil {
			return args, err
		}
		args.Pos = append(args.Pos, v)
	}
	if a.kw != nil {
		args.Kw = make([]Kwarg, 0, len(a.kw))
		for _, k := range a.kw {
			v, err := k.v(c, f)
			if err != nil {
				return args, err
			}
			args.Kw = append(args.Kw, Kwarg{k.name, v})
		}
	}
	if a.star != nil {
		v, err := a.star(c, f)
		if err != nil {
			return args, err
		}
		if u, ok := v.(*value.Undefined); ok {
			return args, u
		}
		items, err := c.Items(v)
		if err != nil {
			return args, value.TypeErrorf("%s argument after * must be an iterable, not %s", fn, value.TypeName(v))
		}
		args.Pos = append(args.Pos, items...)
	}
	if a.starstar != nil {
		v, err := a.starstar(c, f)
		if err != nil {
			return args, err
		}
		if u, ok := v.(*value.Undefined); ok {
			return args, u
		}
		d, ok := v.(*value.Dict)
		if !ok {
			return args, value.TypeErrorf("%s argument after ** must be a mapping, not %s", fn, value.TypeName(v))
		}
		for k, w := range d.All() {
			name, ok := value.Text(k)
			if !ok {
				return args, value.TypeErrorf("keywords must be strings")
			}
			for _, have := range args.Kw {
				if have.Name == name {
					return args, value.TypeErrorf("%s got multiple values for keyword argument '%s'", fn, name)
				}
			}
			if w, err = c.Read(w); err != nil {
				return args, err
			}
			args.Kw = append(args.Kw, Kwarg{name, w})
		}
	}
	return args, nil
}

// call compiles a call. caller, if not nil, gives the macro of a call block.
func (p *compiler) call(x *callExpr, caller eval) (eval, error) {
	a := x.callArgs
	var enter func(c *Context, names []string, local bool) func() any
	if n, ok := x.fn.(*nameExpr); ok && len(p.scope.places(n.name)) == 0 {
		if g, ok := lookupGlobal(p.table, n.name); ok {
			if pl, ok := g.(*Plugin); ok {
				enter = pl.Enter
			}
			if pl, ok := g.(*Plugin); ok && pl.Embedded {
				a.pos = append([]expr(nil), a.pos...)
				for i := range a.pos {
					a.pos[i] = embedded(a.pos[i])
				}
			}
		}
	}
	args, err := p.args(a)
	if err != nil {
		return nil, err
	}
	if at, ok := x.fn.(*attrExpr); ok && caller == nil {
		return p.method(at, args)
	}
	fn, err := p.expr(x.fn)
	if err != nil {
		return nil, err
	}
	var names []string
	local := false
	if enter != nil {
		names, local = p.mentioned(x.callArgs)
	}
	return func(c *Context, f *frame) (any, error) {
		v, err := fn(c, f)
		if err != nil {
			return nil, err
		}
		var done func() any
		if enter != nil {
			done = enter(c, names, local || c.outer != nil || c.locals != nil || c.exports(names))
		}
		as, err := args.eval(c, f, nil, false, "function")
		if done != nil {
			as.Entered = done()
		}
		if err != nil {
			return nil, err
		}
		if caller != nil {
			m, err := caller(c, f)
			if err != nil {
				return nil, err
			}
			as.Kw = append(as.Kw, Kwarg{"caller", m})
		}
		return c.call(v, as)
	}, nil
}

// mentioned are the variables that arguments name, and whether they name
// anything the template assigns.
func (p *compiler) mentioned(a callArgs) (names []string, local bool) {
	var visit func(x expr)
	visit = func(x expr) {
		if n, ok := x.(*nameExpr); ok {
			if len(p.scope.places(n.name)) > 0 {
				local = true
			} else {
				names = append(names, n.name)
			}
		}
		exprs(x, visit)
	}
	exprs(&callExpr{fn: &nameExpr{}, callArgs: a}, visit)
	return names[1:], local // the first is the function's own
}

// exports reports whether a template assigned one of names at its top level.
func (c *Context) exports(names []string) bool {
	for _, n := range names {
		if _, ok := c.exported[n]; ok {
			return true
		}
	}
	return false
}

// embeddedText is the value of a string literal passed as operator-written
// text.
type embeddedText struct{ text string }

// embedded rewrites string literals that look like templates, inside list,
// tuple and dict literals too.
func embedded(x expr) expr {
	switch x := x.(type) {
	case *constExpr:
		if s, ok := x.v.(string); ok && LooksTemplate(s) {
			return &constExpr{x.line, &embeddedText{s}}
		}
	case *listExpr:
		n := &listExpr{line: x.line}
		for _, e := range x.items {
			n.items = append(n.items, embedded(e))
		}
		return n
	case *tupleExpr:
		n := &tupleExpr{line: x.line}
		for _, e := range x.items {
			n.items = append(n.items, embedded(e))
		}
		return n
	case *dictExpr:
		n := &dictExpr{line: x.line, keys: x.keys}
		for _, e := range x.vals {
			n.vals = append(n.vals, embedded(e))
		}
		return n
	}
	return x
}

// method compiles x.name(args): methods of plain values are called without
// making a bound method first.
func (p *compiler) method(x *attrExpr, args *compiledArgs) (eval, error) {
	recv, err := p.expr(x.x)
	if err != nil {
		return nil, err
	}
	name := x.name
	called := name + "()"
	return func(c *Context, f *frame) (any, error) {
		v, err := recv(c, f)
		if err != nil {
			return nil, err
		}
		if m := methodOf(v, name); m != nil {
			as, err := args.eval(c, f, nil, false, called)
			if err != nil {
				return nil, err
			}
			return c.callMethod(v, m, as)
		}
		fn, err := c.GetAttr(v, name)
		if err != nil {
			return nil, err
		}
		as, err := args.eval(c, f, nil, false, called)
		if err != nil {
			return nil, err
		}
		return c.call(fn, as)
	}, nil
}

func (p *compiler) filterPlugin(at int, name string) (*Plugin, error) {
	pl, ok := lookupFilter(p.table, name)
	if !ok && p.soft == 0 {
		return nil, p.fail(at, "No filter named "+value.Repr(name)+".")
	}
	return pl, nil
}

// filter compiles a filter; text, if not nil, gives what the innermost filter
// of a filter block is applied to.
func (p *compiler) filter(x *filterExpr, text eval) (eval, error) {
	pl, err := p.filterPlugin(x.at(), x.name)
	if err != nil {
		return nil, err
	}
	if x.x != nil && x.name != "" && (plainly(pl, Builtins.Filter, "default", x.callArgs, 1) || plainly(pl, Builtins.Filter, "d", x.callArgs, 1)) {
		if _, chained := x.x.(*filterExpr); !chained {
			return p.orElse(x)
		}
	}
	var in eval
	switch inner := x.x.(type) {
	case nil:
		in = text
	case *filterExpr:
		in, err = p.filter(inner, text)
	default:
		in, err = p.expr(inner)
	}
	if err != nil {
		return nil, err
	}
	args, err := p.args(x.callArgs)
	if err != nil {
		return nil, err
	}
	name := x.name
	called := name + "()"
	return func(c *Context, f *frame) (any, error) {
		v, err := in(c, f)
		if err != nil {
			return nil, err
		}
		as, err := args.eval(c, f, v, true, called)
		if err != nil {
			return nil, err
		}
		if pl == nil {
			return nil, value.Raise("TemplateRuntimeError", "No filter named %s found.", value.Repr(name))
		}
		return c.plugin(pl, "filter", as)
	}, nil
}

func (p *compiler) test(x *testExpr) (eval, error) {
	pl, ok := lookupTest(p.table, x.name)
	if !ok && p.soft == 0 {
		return nil, p.fail(x.at(), "No test named "+value.Repr(x.name)+".")
	}
	switch {
	case plainly(pl, Builtins.Test, "defined", x.callArgs, 0):
		return p.isDefined(x, true)
	case plainly(pl, Builtins.Test, "undefined", x.callArgs, 0):
		return p.isDefined(x, false)
	}
	in, err := p.expr(x.x)
	if err != nil {
		return nil, err
	}
	args, err := p.args(x.callArgs)
	if err != nil {
		return nil, err
	}
	name := x.name
	called := name + "()"
	return func(c *Context, f *frame) (any, error) {
		v, err := in(c, f)
		if err != nil {
			return nil, err
		}
		as, err := args.eval(c, f, v, true, called)
		if err != nil {
			return nil, err
		}
		if pl == nil {
			return nil, value.Raise("TemplateRuntimeError", "No test named %s found.", value.Repr(name))
		}
		r, err := c.plugin(pl, "test", as)
		if err != nil {
			return nil, err
		}
		if b, ok := r.(bool); ok {
			return b, nil
		}
		if _, ok := r.(*value.Undefined); ok {
			return r, nil
		}
		return value.Truth(r), nil
	}, nil
}
