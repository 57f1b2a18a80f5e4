package jinja

import (
	"math"
	"strings"

	"volant/wire/value"
)

func constant(v any) eval { return func(*Context, *frame) (any, error) { return v, nil } }

// expr compiles an expression. Its result is ready for use: never an
// unrendered template, though a *value.Template that is plain text may pass.
func (p *compiler) expr(x expr) (eval, error) {
	switch x := x.(type) {
	case *constExpr:
		return p.constant(x), nil
	case *dataExpr:
		return constant(x.text), nil
	case *nameExpr:
		return p.load(x.name), nil
	case *tupleExpr:
		items, err := p.exprs(x.items)
		if err != nil {
			return nil, err
		}
		return func(c *Context, f *frame) (any, error) {
			vs, err := evalAll(c, f, items)
			return value.Tuple(vs), err
		}, nil
	case *listExpr:
		items, err := p.exprs(x.items)
		if err != nil {
			return nil, err
		}
		return func(c *Context, f *frame) (any, error) {
			vs, err := evalAll(c, f, items)
			if err != nil {
				return nil, err
			}
			l := &value.List{Items: vs}
			if c.t.counts {
				c.run.noteRaw(l)
			}
			return l, nil
		}, nil
	case *dictExpr:
		return p.dict(x)
	case *condExpr:
		return p.cond(x)
	case *binExpr:
		return p.binary(x)
	case *logicExpr:
		return p.logic(x)
	case *notExpr:
		e, err := p.expr(x.x)
		if err != nil {
			return nil, err
		}
		return func(c *Context, f *frame) (any, error) {
			v, err := e(c, f)
			if err != nil {
				return nil, err
			}
			t, err := c.Truth(v)
			return !t, err
		}, nil
	case *unaryExpr:
		e, err := p.expr(x.x)
		if err != nil {
			return nil, err
		}
		op := value.Neg
		if x.op == "+" {
			op = value.Positive
		}
		return func(c *Context, f *frame) (any, error) {
			v, err := e(c, f)
			if err != nil {
				return nil, err
			}
			if err := usable(v); err != nil {
				return nil, err
			}
			return op(v)
		}, nil
	case *compareExpr:
		return p.compare(x)
	case *concatExpr:
		return p.concat(x)
	case *attrExpr:
		return p.attr(x)
	case *itemExpr:
		return p.item(x)
	case *sliceExpr:
		return nil, p.fail(x.at(), "a slice is only allowed in a subscript")
	case *callExpr:
		return p.call(x, nil)
	case *filterExpr:
		return p.filter(x, nil)
	case *testExpr:
		return p.test(x)
	case *nsRef:
		return nil, p.fail(x.at(), "unexpected namespace reference")
	}
	return nil, p.fail(x.at(), "unknown expression")
}

func (p *compiler) exprs(xs []expr) ([]eval, error) {
	out := make([]eval, len(xs))
	for i, x := range xs {
		e, err := p.expr(x)
		if err != nil {
			return nil, err
		}
		out[i] = e
	}
	return out, nil
}

func evalAll(c *Context, f *frame, es []eval) ([]any, error) {
	vs := make([]any, len(es))
	for i, e := range es {
		v, err := e(c, f)
		if err != nil {
			return nil, err
		}
		vs[i] = v
	}
	return vs, nil
}

func (p *compiler) constant(x *constExpr) eval {
	switch v := x.v.(type) {
	case *embeddedText:
		return func(c *Context, _ *frame) (any, error) { return value.NewTemplate(v.text, c.r.Pos), nil }
	case float64:
		if math.IsInf(v, 0) { // the reference generates code that reads a name inf
			return func(*Context, *frame) (any, error) {
				return nil, value.Raise("NameError", "name 'inf' is not defined")
			}
		}
	case string:
		if p.opts.RenderConsts && LooksTemplate(v) {
			return func(c *Context, f *frame) (any, error) {
				if c.r.Const == nil {
					return v, nil
				}
				return c.r.Const(value.NewTemplate(v, c.r.Pos))
			}
		}
	}
	return constant(x.v)
}

// load compiles reading a name.
func (p *compiler) load(name string) eval {
	places := p.scope.places(name)
	id := p.t.nameID(name)
	global := func(c *Context) (any, error) { return c.name(id) }
	switch {
	case len(places) == 0 && name == "self":
		global = func(c *Context) (any, error) { return &selfRef{c}, nil }
	case len(places) == 0 && name == "super" && p.block != "":
		block := p.block
		t := p.t
		global = func(c *Context) (any, error) { return c.super(block, t), nil }
	}
	switch len(places) {
	case 0:
		return func(c *Context, _ *frame) (any, error) { return global(c) }
	case 1:
		if at := places[0]; at.up == 0 {
			return func(c *Context, f *frame) (any, error) {
				if s := &f.slots[at.slot]; s.set {
					return s.v, nil
				}
				return global(c)
			}
		}
	}
	return func(c *Context, f *frame) (any, error) {
		for _, at := range places {
			if s := f.at(at); s.set {
				return s.v, nil
			}
		}
		return global(c)
	}
}

func (p *compiler) dict(x *dictExpr) (eval, error) {
	keys, err := p.exprs(x.keys)
	if err != nil {
		return nil, err
	}
	vals, err := p.exprs(x.vals)
	if err != nil {
		return nil, err
	}
	return func(c *Context, f *frame) (any, error) {
		d := value.NewDict(len(keys))
		for i := range keys {
			k, err := keys[i](c, f)
			if err != nil {
				return nil, err
			}
			v, err := vals[i](c, f)
			if err != nil {
				return nil, err
			}
			if k, err = hashable(k); err != nil {
				return nil, err
			}
			d.Set(k, v)
		}
		return d, nil
	}, nil
}

// hashable returns v as a key. The error is Python's; a marker is raised.
func hashable(v any) (any, error) {
	switch x := v.(type) {
	case *value.Template:
		return x.Text, nil
	case *value.Undefined:
		return nil, x
	case value.Tuple:
		for _, e := range x {
			if _, err := hashable(e); err != nil {
				return nil, err
			}
		}
	}
	if !value.Hashable(v) {
		if t, ok := v.(value.Tuple); ok {
			for _, e := range t {
				if !value.Hashable(e) {
					v = e
				}
			}
		}
		return nil, value.TypeErrorf("unhashable type: '%s'", value.TypeName(v))
	}
	return v, nil
}

func (p *compiler) cond(x *condExpr) (eval, error) {
	p.soft++
	defer func() { p.soft-- }()
	test, err := p.expr(x.test)
	if err != nil {
		return nil, err
	}
	then, err := p.expr(x.then)
	if err != nil {
		return nil, err
	}
	els := constant(&blank{"the inline if-expression on line " + value.Str(int64(x.at())) + " evaluated to false and no else section was defined."})
	if x.els != nil {
		if els, err = p.expr(x.els); err != nil {
			return nil, err
		}
	}
	return func(c *Context, f *frame) (any, error) {
		v, err := test(c, f)
		if err != nil {
			return nil, err
		}
		t, err := c.Truth(v)
		if err != nil {
			return nil, err
		}
		if t {
			return then(c, f)
		}
		return els(c, f)
	}, nil
}

var arithmetic = map[string]func(a, b any) (any, error){
	"+": value.Add, "-": value.Sub, "*": value.Mul, "/": value.Div, "//": value.FloorDiv, "%": value.Mod, "**": value.Pow,
}

func (p *compiler) binary(x *binExpr) (eval, error) {
	left, err := p.expr(x.left)
	if err != nil {
		return nil, err
	}
	right, err := p.expr(x.right)
	if err != nil {
		return nil, err
	}
	op := arithmetic[x.op]
	format := x.op == "%"
	leftLiteral, rightLiteral := isLiteral(x.left), isLiteral(x.right)
	return func(c *Context, f *frame) (any, error) {
		a, err := left(c, f)
		if err != nil {
			return nil, err
		}
		b, err := right(c, f)
		if err != nil {
			return nil, err
		}
		if err := usable(a); err != nil {
			return nil, err
		}
		if err := lazyListError(x.op, a, b, leftLiteral, rightLiteral); err != nil {
			return nil, err
		}
		_, text := value.Text(a)
		if _, ok := b.(*value.Undefined); !ok || !text || !format {
			if err := usable(b); err != nil {
				return nil, err
			}
		}
		if format && text {
			if _, marker := b.(*value.Undefined); !marker {
				if b, err = c.rendered(b); err != nil {
					return nil, err
				}
			}
		}
		v, err := op(a, b)
		if l, ok := v.(*value.List); ok && c.t.counts {
			c.run.noteSum(l, a, b)
		}
		return v, err
	}, nil
}

// isLiteral reports whether x is a container written out: unlike any other it
// is not yet one of the reference's lazy ones.
func isLiteral(x expr) bool {
	for range 8 { // a long chain is not worth following to its end
		switch e := x.(type) {
		case *listExpr, *dictExpr, *tupleExpr:
			return true
		case *binExpr:
			x = e.left
		default:
			return false
		}
	}
	return false
}

// lazyListError is what the reference's lazy lists say when they are added to
// or multiplied by something else.
func lazyListError(op string, a, b any, leftLiteral, rightLiteral bool) error {
	_, left := a.(*value.List)
	_, right := b.(*value.List)
	left, right = left && !leftLiteral, right && !rightLiteral
	switch {
	case !left && !right:
	case op == "*" && left && !value.IsInt(b):
		return value.TypeErrorf("'%s' object cannot be interpreted as an integer", typeName(b))
	case op == "*" && right && !value.IsInt(a):
		switch a.(type) {
		case *value.Undefined, *blank:
			return nil
		}
		return value.TypeErrorf("'%s' object cannot be interpreted as an integer", typeName(a))
	case op == "+" && left:
		if _, ok := b.(*value.Undefined); ok {
			return value.TypeErrorf(`can only concatenate list (not "%s") to list`, typeName(b))
		}
	case op == "+" && right && value.IsNumber(a):
		return value.TypeErrorf("'NotImplementedType' object is not iterable")
	}
	return nil
}

func (p *compiler) logic(x *logicExpr) (eval, error) {
	left, err := p.expr(x.left)
	if err != nil {
		return nil, err
	}
	right, err := p.expr(x.right)
	if err != nil {
		return nil, err
	}
	and := x.and
	return func(c *Context, f *frame) (any, error) {
		v, err := left(c, f)
		if err != nil {
			return nil, err
		}
		t, err := c.Truth(v)
		if err != nil {
			return nil, err
		}
		if t != and {
			return v, nil
		}
		return right(c, f)
	}, nil
}

func (p *compiler) compare(x *compareExpr) (eval, error) {
	first, err := p.expr(x.first)
	if err != nil {
		return nil, err
	}
	rest, err := p.exprs(x.rest)
	if err != nil {
		return nil, err
	}
	if len(rest) == 1 {
		op, right := x.ops[0], rest[0]
		return func(c *Context, f *frame) (any, error) {
			a, err := first(c, f)
			if err != nil {
				return nil, err
			}
			b, err := right(c, f)
			if err != nil {
				return nil, err
			}
			return c.compare(op, a, b)
		}, nil
	}
	ops := x.ops
	return func(c *Context, f *frame) (any, error) {
		a, err := first(c, f)
		if err != nil {
			return nil, err
		}
		for i, op := range ops {
			b, err := rest[i](c, f)
			if err != nil {
				return nil, err
			}
			ok, err := c.compare(op, a, b)
			if err != nil || !ok {
				return false, err
			}
			a = b
		}
		return true, nil
	}, nil
}

func (p *compiler) concat(x *concatExpr) (eval, error) {
	items, err := p.exprs(x.items)
	if err != nil {
		return nil, err
	}
	return func(c *Context, f *frame) (any, error) {
		parts := make([]string, len(items))
		n := 0
		vs, err := evalAll(c, f, items)
		if err != nil {
			return nil, err
		}
		for i, v := range vs {
			if parts[i], err = c.Str(v); err != nil {
				return nil, err
			}
			n += len(parts[i])
		}
		if n > c.run.limits.Text {
			return nil, &LimitError{"text", c.run.limits.Text}
		}
		b := make([]byte, 0, n)
		for _, s := range parts {
			b = append(b, s...)
		}
		return string(b), nil
	}, nil
}

func (p *compiler) attr(x *attrExpr) (eval, error) {
	e, err := p.expr(x.x)
	if err != nil {
		return nil, err
	}
	name := x.name
	_, isMethod := dictMethods[name]
	literal := isLiteral(x.x)
	plain := !isMethod && name[0] != '_'
	return func(c *Context, f *frame) (any, error) {
		v, err := e(c, f)
		if err != nil {
			return nil, err
		}
		if d, ok := v.(*value.Dict); ok && plain {
			if w, ok := d.Get(name); ok {
				return c.readItem(w)
			}
			return c.noAttr(d, name), nil
		}
		w, err := c.GetAttr(v, name)
		if b, ok := w.(*bound); ok {
			b.literal = literal
		}
		return w, err
	}, nil
}

func (p *compiler) item(x *itemExpr) (eval, error) {
	e, err := p.expr(x.x)
	if err != nil {
		return nil, err
	}
	if s, ok := x.key.(*sliceExpr); ok {
		return p.slice(e, s)
	}
	key, err := p.expr(x.key)
	if err != nil {
		return nil, err
	}
	literal := isLiteral(x.x)
	return func(c *Context, f *frame) (any, error) {
		v, err := e(c, f)
		if err != nil {
			return nil, err
		}
		k, err := key(c, f)
		if err != nil {
			return nil, err
		}
		w, err := c.GetItem(v, k)
		if u, ok := w.(*value.Undefined); ok && literal {
			// a literal is not yet one of the reference's lazy containers
			u.Hint = strings.Replace(u.Hint, objectRepr(v), typeName(v)+" object", 1)
		}
		return w, err
	}, nil
}

func (p *compiler) slice(e eval, s *sliceExpr) (eval, error) {
	var parts [3]eval
	for i, x := range []expr{s.from, s.to, s.step} {
		parts[i] = constant(nil)
		if x != nil {
			var err error
			if parts[i], err = p.expr(x); err != nil {
				return nil, err
			}
		}
	}
	return func(c *Context, f *frame) (any, error) {
		v, err := e(c, f)
		if err != nil {
			return nil, err
		}
		var b [3]any
		for i := range parts {
			if b[i], err = parts[i](c, f); err != nil {
				return nil, err
			}
		}
		return c.slice(v, b)
	}, nil
}
