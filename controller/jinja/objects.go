package jinja

import (
	"math/big"

	"volant/wire/value"
)

// nativeFunc is a function of the language that is no plugin.
type nativeFunc struct {
	name string
	call func(c *Context, a Args) (any, error)
}

func native(name string, call func(c *Context, a Args) (any, error)) *nativeFunc {
	return &nativeFunc{name, call}
}

// NewFunc returns a callable value: a function or method of a caller's Object.
func NewFunc(name string, call func(c *Context, a Args) (any, error)) Object {
	return native(name, call)
}

func (*nativeFunc) TypeName() string { return "function" }

func (f *nativeFunc) Text() string { return "<function " + f.name + ">" }

func (f *nativeFunc) Call(c *Context, a Args) (any, error) { return f.call(c, a) }

// bound is a method of a plain value with what it is called on.
type bound struct {
	recv    any
	m       *method
	literal bool // recv is written out in the template
}

// TypeName tells the methods that the reference's lazy containers override.
func (b *bound) TypeName() string {
	if b.literal {
		return "builtin_function_or_method"
	}
	switch b.recv.(type) {
	case *value.Dict:
		switch b.m.name {
		case "get", "items", "values", "pop", "popitem", "setdefault":
			return "method"
		}
	case *value.List:
		switch b.m.name {
		case "pop", "index", "remove", "sort":
			return "method"
		}
	}
	return "builtin_function_or_method"
}

func (b *bound) Text() string {
	return "<built-in method " + b.m.name + " of " + typeName(b.recv) + " object>"
}

// Call makes a bound method callable by plugins.
func (b *bound) Call(c *Context, a Args) (any, error) { return b.m.call(c, b.recv, a) }

// TypeName is Python's name of a plugin's type: some globals are classes.
func (p *Plugin) TypeName() string {
	switch p.Name {
	case "range", "dict", "namespace", "cycler", "joiner":
		return "type"
	}
	return "function"
}

// Text is how Python prints a function or class.
func (p *Plugin) Text() string {
	if p.TypeName() == "type" {
		return "<class '" + p.Name + "'>"
	}
	return "<function " + p.Name + ">"
}

// blank is what an inline if without else gives when it is false: Jinja2's own
// undefined, which is empty as text but fails when used otherwise.
type blank struct{ hint string }

func (*blank) TypeName() string { return "Undefined" }

func (*blank) Text() string { return "" }

func (*blank) Len() int { return 0 }

func (*blank) Iterate(*Context) ([]any, error) { return nil, nil }

func (*blank) EqualTo(v any) bool {
	_, ok := v.(*blank)
	return ok
}

func (b *blank) raise() error { return &value.Exception{Class: "UndefinedError", Msg: b.hint} }

// Attr fails for any name.
func (b *blank) Attr(*Context, string) (any, bool, error) { return nil, false, b.raise() }

// Item fails for any key.
func (b *blank) Item(*Context, any) (any, bool, error) { return nil, false, b.raise() }

// Call fails.
func (b *blank) Call(*Context, Args) (any, error) { return nil, b.raise() }

// usable raises what cannot be computed with.
func usable(v any) error {
	switch v := v.(type) {
	case *value.Undefined:
		return v
	case *blank:
		return v.raise()
	}
	return nil
}

// Range is a Python range.
type Range struct {
	start, stop, step *big.Int
	n                 int // items
}

func (*Range) TypeName() string { return "range" }

func (r *Range) Text() string {
	s := "range(" + r.start.String() + ", " + r.stop.String()
	if r.step.Cmp(big.NewInt(1)) != 0 {
		s += ", " + r.step.String()
	}
	return s + ")"
}

func newRange(c *Context, a Args) (any, error) {
	if len(a.Kw) > 0 {
		return nil, value.TypeErrorf("range() takes no keyword arguments")
	}
	switch {
	case len(a.Pos) == 0:
		return nil, value.TypeErrorf("range expected at least 1 argument, got 0")
	case len(a.Pos) > 3:
		return nil, value.TypeErrorf("range expected at most 3 arguments, got %d", len(a.Pos))
	}
	var n []*big.Int
	for _, v := range a.Pos {
		if !value.IsInt(v) {
			return nil, value.TypeErrorf("'%s' object cannot be interpreted as an integer", typeName(v))
		}
		n = append(n, value.ToBig(v))
	}
	r := &Range{start: new(big.Int), step: big.NewInt(1)}
	switch len(n) {
	case 1:
		r.stop = n[0]
	case 2:
		r.start, r.stop = n[0], n[1]
	default:
		r.start, r.stop, r.step = n[0], n[1], n[2]
		if r.step.Sign() == 0 {
			return nil, value.ValueErrorf("range() arg 3 must not be zero")
		}
	}
	r.count()
	return r, nil
}

func (r *Range) count() {
	d := new(big.Int).Sub(r.stop, r.start)
	if d.Sign()*r.step.Sign() <= 0 {
		r.n = 0
		return
	}
	d.Abs(d)
	step := new(big.Int).Abs(r.step)
	d.Add(d, step).Sub(d, big.NewInt(1)).Quo(d, step)
	if d.IsInt64() {
		r.n = int(d.Int64())
	} else {
		r.n = 1<<63 - 1
	}
}

// Attr finds the bounds and the methods of a range.
func (r *Range) Attr(_ *Context, name string) (any, bool, error) {
	switch name {
	case "start":
		return value.Int(r.start), true, nil
	case "stop":
		return value.Int(r.stop), true, nil
	case "step":
		return value.Int(r.step), true, nil
	case "index", "count":
		return native(name, func(_ *Context, a Args) (any, error) {
			if len(a.Pos) != 1 {
				return nil, value.TypeErrorf("range.%s() takes exactly one argument (%d given)", name, len(a.Pos))
			}
			in := r.contains(a.Pos[0])
			switch {
			case name == "count" && in:
				return int64(1), nil
			case name == "count":
				return int64(0), nil
			case !in:
				return nil, value.ValueErrorf("%s is not in range", value.Repr(a.Pos[0]))
			}
			d := new(big.Int).Sub(value.ToBig(a.Pos[0]), r.start)
			return value.Int(d.Quo(d, r.step)), nil
		}), true, nil
	}
	return nil, false, nil
}

// Len is the number of items.
func (r *Range) Len() int { return r.n }

func (r *Range) at(i int) any {
	return value.Int(new(big.Int).Add(r.start, new(big.Int).Mul(r.step, big.NewInt(int64(i)))))
}

// At is item i, 0 <= i < Len.
func (r *Range) At(i int) any { return r.at(i) }

// Iterate lists the items.
func (r *Range) Iterate(c *Context) ([]any, error) {
	if r.n > c.run.limits.Sequence {
		return nil, &LimitError{"sequence", c.run.limits.Sequence}
	}
	out := make([]any, r.n)
	if r.start.IsInt64() && r.step.IsInt64() && r.stop.IsInt64() {
		v, step := r.start.Int64(), r.step.Int64()
		for i := range out {
			out[i] = v
			v += step
		}
		return out, nil
	}
	for i := range out {
		out[i] = r.at(i)
	}
	return out, nil
}

func (r *Range) contains(v any) bool {
	if f, ok := v.(float64); ok {
		i, err := value.FloatToInt(f)
		if err != nil || !value.Equal(i, v) {
			return false
		}
		v = i
	}
	if !value.IsInt(v) {
		return false
	}
	d := new(big.Int).Sub(value.ToBig(v), r.start)
	q, m := new(big.Int).QuoRem(d, r.step, new(big.Int))
	return m.Sign() == 0 && q.Sign() >= 0 && q.Cmp(big.NewInt(int64(r.n))) < 0
}

// EqualTo is Python's range equality.
func (r *Range) EqualTo(v any) bool {
	o, ok := v.(*Range)
	if !ok || r.n != o.n {
		return false
	}
	return r.n == 0 || r.start.Cmp(o.start) == 0 && (r.n == 1 || r.step.Cmp(o.step) == 0)
}

func (r *Range) slice(b [3]any) (any, error) {
	start, n, step, err := sliceBounds(b, r.n)
	if err != nil {
		return nil, err
	}
	out := &Range{n: n}
	out.start = value.ToBig(r.at(start))
	out.step = new(big.Int).Mul(r.step, big.NewInt(int64(step)))
	out.stop = new(big.Int).Add(out.start, new(big.Int).Mul(out.step, big.NewInt(int64(n))))
	return out, nil
}

// namespace is what namespace() makes: attributes that can be set.
type namespace struct{ attrs *value.Dict }

func (*namespace) TypeName() string { return "Namespace" }

func (n *namespace) Text() string { return "<Namespace " + value.Repr(n.attrs) + ">" }

func (n *namespace) Attr(_ *Context, name string) (any, bool, error) {
	v, ok := n.attrs.Get(name)
	return v, ok, nil
}

// Item lets ns['x'] read what ns.x does.
func (n *namespace) Item(_ *Context, key any) (any, bool, error) {
	if !value.Hashable(key) {
		return nil, false, nil
	}
	v, ok := n.attrs.Get(key)
	return v, ok, nil
}

// cycler is what cycler(...) makes.
type cycler struct {
	items []any
	pos   int
}

func (*cycler) TypeName() string { return "Cycler" }

func (y *cycler) Attr(_ *Context, name string) (any, bool, error) {
	switch name {
	case "current":
		return y.items[y.pos], true, nil
	case "next":
		return native("next", func(*Context, Args) (any, error) {
			v := y.items[y.pos]
			y.pos = (y.pos + 1) % len(y.items)
			return v, nil
		}), true, nil
	case "reset":
		return native("reset", func(*Context, Args) (any, error) {
			y.pos = 0
			return nil, nil
		}), true, nil
	case "pos":
		return int64(y.pos), true, nil
	case "items":
		return value.Tuple(y.items), true, nil
	}
	return nil, false, nil
}

// joiner is what joiner(...) makes.
type joiner struct {
	sep  any
	used bool
}

func (*joiner) TypeName() string { return "Joiner" }

func (j *joiner) Attr(_ *Context, name string) (any, bool, error) {
	switch name {
	case "sep":
		return j.sep, true, nil
	case "used":
		return j.used, true, nil
	}
	return nil, false, nil
}

func (j *joiner) Call(*Context, Args) (any, error) {
	if !j.used {
		j.used = true
		return "", nil
	}
	return j.sep, nil
}
