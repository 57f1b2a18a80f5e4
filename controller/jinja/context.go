package jinja

import (
	"context"
	"errors"
	"strings"

	"volant/wire/value"
)

// Context is one template being rendered. Filters, tests and functions get it
// to read lazily rendered values and to call each other.
type Context struct {
	r          *Render
	run        *running
	t          *Template
	names      []slot         // what was found for t.names
	exported   map[string]any // top-level assignments seen by blocks and includes
	locals     map[string]any // names an include or scoped block was given
	outer      *Context       // of an include or import with context
	novars     bool           // an import without context sees no variables
	parent     *Template      // what the template extends
	blocks     map[string][]*block
	superDepth int
	state      *state // where the context lives if it is used again
}

// use makes t the template that names are looked up for.
func (c *Context) use(t *Template) {
	c.t = t
	c.names = nil
	if len(t.names) > 0 {
		c.names = make([]slot, len(t.names))
	}
}

// begin prepares c for running c.t from its root.
func (c *Context) begin() {
	if c.t.shares {
		c.exported = map[string]any{}
		c.blocks = make(map[string][]*block, len(c.t.blocks))
	}
	for n, b := range c.t.blocks {
		c.blocks[n] = []*block{b}
	}
}

// runRoot runs the template, and those it extends, into out. The frame is that
// of the template itself.
func (c *Context) runRoot(out *output) (*frame, error) {
	if err := c.run.enter(); err != nil {
		return nil, err
	}
	defer c.run.leave()
	f := c.frame()
	err := c.t.root(c, f, out)
	if err == nil && c.parent != nil {
		pc := *c
		pc.parent = nil
		pc.use(c.parent)
		out.mute = false
		_, err = pc.runRoot(out)
	}
	return f, err
}

// sub is the context of a template included or imported.
func (c *Context) sub(t *Template, withContext bool) *Context {
	s := &Context{r: c.r, run: c.run, novars: c.novars || !withContext}
	if withContext {
		s.outer = c
	}
	s.use(t)
	s.begin()
	return s
}

func (c *Context) withLocals(locals map[string]any) *Context {
	n := *c
	n.locals = locals
	outer := *c
	n.outer = &outer
	n.names = make([]slot, len(c.t.names))
	return &n
}

func (c *Context) export(name string, v any) {
	if c.exported != nil {
		c.exported[name] = v
	}
}

// Data is what the caller of the render passed as Render.Data.
func (c *Context) Data() any { return c.r.Data }

// Ctx is the context.Context of the render.
func (c *Context) Ctx() context.Context { return c.r.Ctx }

// Pos is where the template being rendered was written.
func (c *Context) Pos() value.Pos { return c.r.Pos }

// Limits are the limits of the render.
func (c *Context) Limits() Limits { return c.run.limits }

// Mutates reports whether the template may change containers, so that what is
// shared has to be copied before it gets it.
func (c *Context) Mutates() bool { return c.t.mutates }

// Template is the name of the template being rendered, "" for one without.
func (c *Context) Template() string { return c.t.name }

// name returns the variable or global with the given id, a marker if there is
// none.
func (c *Context) name(id int) (any, error) {
	if s := &c.names[id]; s.set && c.exported == nil {
		return s.v, nil
	}
	name := c.t.names[id]
	v, ok, err := c.find(name, &c.names[id])
	if err != nil {
		return nil, err
	}
	if !ok {
		return &value.Undefined{Name: name, Hint: value.Repr(name) + " is undefined", Pos: c.r.Pos}, nil
	}
	return v, nil
}

// Lookup returns the variable or global name as an expression would see it.
func (c *Context) Lookup(name string) (v any, ok bool, err error) { return c.find(name, nil) }

// find looks name up; what cannot change during the render is kept in keep.
func (c *Context) find(name string, keep *slot) (any, bool, error) {
	if c.exported != nil {
		if v, ok := c.exported[name]; ok {
			return v, true, nil
		}
	}
	if c.locals != nil {
		if v, ok := c.locals[name]; ok {
			return v, true, nil
		}
	}
	if keep != nil && keep.set {
		return keep.v, true, nil
	}
	if c.outer != nil {
		return c.outer.find(name, nil)
	}
	if c.r.Vars != nil && !c.novars {
		v, ok, err := c.r.Vars.Resolve(name)
		if err != nil {
			return nil, false, &fatal{err}
		}
		if ok {
			v, err = c.Read(v)
			if err != nil {
				return nil, false, err
			}
			if c.t.mutates {
				// with nothing left to render inside, no copy shares what a
				// nested template gave
				if r, err := c.Realize(v); err == nil {
					v = r
				}
				v = c.run.own(name, v)
			}
			if keep != nil {
				*keep = slot{v, true}
			}
			return v, true, nil
		}
	}
	if v, ok := lookupGlobal(c.table(), name); ok {
		if keep != nil {
			*keep = slot{v, true}
		}
		return v, true, nil
	}
	return nil, false, nil
}

// own returns the render's own copy of a variable's container, so that the
// template can change it.
func (r *running) own(name string, v any) any {
	switch v.(type) {
	case *value.List, *value.Dict, *value.Set:
	default:
		return v
	}
	if c, ok := r.copies[name]; ok {
		return c
	}
	if r.copies == nil {
		r.copies = map[string]any{}
	}
	c := value.Copy(v)
	r.copies[name] = c
	return c
}

func (c *Context) table() Table {
	if c.r.Table != nil {
		return c.r.Table
	}
	return c.t.table
}

// fatal is an error that ends the whole render.
type fatal struct{ error }

func (e *fatal) Unwrap() error { return e.error }

func isFatal(err error) bool {
	switch err.(type) {
	case *fatal, *LimitError:
		return true
	}
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// marker turns what was raised into a marker; the error is what is no failure
// of the template but the end of it.
func (c *Context) marker(err error) (any, error) {
	if u, ok := err.(*value.Undefined); ok {
		return u, nil
	}
	if isFatal(err) {
		if f, ok := err.(*fatal); ok {
			err = f.error
		}
		return nil, err
	}
	return &value.Undefined{Hint: err.Error(), Pos: c.r.Pos, Err: err}, nil
}

// caught is marker for a failed call: fatal errors stay wrapped.
func (c *Context) caught(err error) (any, error) {
	if isFatal(err) {
		return nil, err
	}
	return c.marker(err)
}

// Undefined makes a marker with the given hint, or "'name' is undefined".
func (c *Context) Undefined(name, hint string) *value.Undefined {
	if hint == "" {
		hint = value.Repr(name) + " is undefined"
	}
	return c.undefined(name, hint)
}

func (c *Context) undefined(name, hint string) *value.Undefined {
	return &value.Undefined{Name: name, Hint: hint, Pos: c.r.Pos}
}

// noAttr is the marker for v.name that is not there.
func (c *Context) noAttr(v any, name string) *value.Undefined {
	return c.undefined(name, "object of type '"+typeName(v)+"' has no attribute "+value.Repr(name))
}

func typeName(v any) string { return value.TypeName(v) }

// firstMarker returns the first argument that is a marker.
func (a Args) firstMarker() *value.Undefined {
	for _, v := range a.Pos {
		if u, ok := v.(*value.Undefined); ok {
			return u
		}
	}
	for _, k := range a.Kw {
		if u, ok := k.Value.(*value.Undefined); ok {
			return u
		}
	}
	return nil
}

// kindOfArgs is what a function's arguments may be, see Plugin.
type kindOfArgs struct{ lazy, embedded, markup, keys, texts bool }

func (p *Plugin) args() kindOfArgs {
	return kindOfArgs{p.Lazy, p.Embedded, p.Lazy || p.Markup, p.Keys, p.Texts}
}

// ready prepares arguments for a function: text as string and, unless lazy,
// containers rendered all through. The error is a marker found in one.
func (c *Context) ready(a *Args, k kindOfArgs) error {
	one := func(v any) (any, error) {
		switch x := v.(type) {
		case string, int64, bool, nil, *value.Undefined:
			return v, nil
		case *value.Template:
			if k.texts || k.embedded && LooksTemplate(x.Text) {
				return v, nil
			}
			return x.Text, nil
		case value.Markup:
			if !k.markup {
				return string(x), nil
			}
		case *value.List, *value.Dict, value.Tuple, *value.Set, Mapping:
			if !k.lazy {
				if _, ok := x.(Mapping); ok {
					return v, nil
				}
				return c.Realize(v)
			}
		}
		return v, nil
	}
	for i, v := range a.Pos {
		if _, isDict := v.(*value.Dict); isDict && i == 0 && k.keys {
			continue
		}
		n, err := one(v)
		if err != nil {
			return err
		}
		a.Pos[i] = n
	}
	for i, kw := range a.Kw {
		n, err := one(kw.Value)
		if err != nil {
			return err
		}
		a.Kw[i].Value = n
	}
	return nil
}

// plugin applies a filter or test. What it raises becomes a marker.
func (c *Context) plugin(pl *Plugin, kind string, a Args) (any, error) {
	if !pl.Markers {
		if u := a.firstMarker(); u != nil {
			return u, nil
		}
	}
	v, err := any(nil), c.ready(&a, pl.args())
	if err == nil {
		v, err = pl.Call(c, a)
	} else if u, ok := err.(*value.Undefined); ok {
		err = c.refused(pl, a, u)
	}
	if err != nil {
		if _, ok := err.(*value.Undefined); !ok && !isFatal(err) {
			err = &PluginError{Kind: kind, Name: pl.Name, Err: err}
		}
		return c.caught(err)
	}
	if kind == "filter" {
		return c.settle(v)
	}
	return v, nil
}

// refused is why a plugin fails whose arguments hold the marker u: the
// reference reads them only when it gets there, so one that is of the wrong
// kind altogether is the reason, and else the marker is.
func (c *Context) refused(pl *Plugin, a Args, u *value.Undefined) error {
	r := realizer{c, true}
	for i, v := range a.Pos {
		n, _, err := r.realize(v, 0)
		if err != nil {
			return u
		}
		a.Pos[i] = n
	}
	for i, k := range a.Kw {
		n, _, err := r.realize(k.Value, 0)
		if err != nil {
			return u
		}
		a.Kw[i].Value = n
	}
	_, err := pl.Call(c, a)
	if err == nil || isFatal(err) || errors.As(err, new(*value.Undefined)) || strings.Contains(err.Error(), "Undefined") {
		return u
	}
	return err
}

// settle makes a list of a range, as the reference does with results.
func (c *Context) settle(v any) (any, error) {
	if r, ok := v.(*Range); ok {
		items, err := r.Iterate(c)
		if err != nil {
			return c.caught(err)
		}
		return &value.List{Items: items}, nil
	}
	return v, nil
}

// CallFilter applies the filter name to a.Pos[0].
func (c *Context) CallFilter(name string, a Args) (any, error) {
	pl, ok := lookupFilter(c.table(), name)
	if !ok {
		return nil, value.Raise("TemplateRuntimeError", "No filter named %s.", value.Repr(name))
	}
	return c.plugin(pl, "filter", a)
}

// CallTest applies the test name to a.Pos[0]. A marker that comes out is the
// error.
func (c *Context) CallTest(name string, a Args) (bool, error) {
	pl, ok := lookupTest(c.table(), name)
	if !ok {
		return false, value.Raise("TemplateRuntimeError", "No test named %s.", value.Repr(name))
	}
	v, err := c.plugin(pl, "test", a)
	if err != nil {
		return false, err
	}
	return c.Truth(v)
}

// Call calls a value of the template (a macro, a method, a global function).
// What it raises becomes a marker.
func (c *Context) Call(fn any, a Args) (any, error) { return c.call(fn, a) }

func (c *Context) call(fn any, a Args) (any, error) {
	switch fn := fn.(type) {
	case *value.Undefined:
		return fn, nil
	case *bound:
		return c.callMethod(fn.recv, fn.m, a)
	case *Plugin:
		if fn.Direct {
			a.unmarked()
		} else {
			if !fn.Markers {
				if u := a.firstMarker(); u != nil {
					return u, nil
				}
			}
			if err := c.ready(&a, fn.args()); err != nil {
				return c.caught(err)
			}
		}
		v, err := fn.Call(c, a)
		if err != nil {
			return c.caught(err)
		}
		return v, nil
	case Caller:
		switch fn.(type) {
		case *macro, *blockRef:
		default:
			if u := a.firstMarker(); u != nil {
				return u, nil
			}
		}
		v, err := fn.Call(c, a)
		if err != nil {
			return c.caught(err)
		}
		return v, nil
	}
	if u := a.firstMarker(); u != nil {
		return u, nil
	}
	name := typeName(fn)
	switch fn.(type) { // as the reference's values are
	case *value.Template:
		name = value.TaggedName(fn)
	case *value.List:
		name = "_AnsibleLazyTemplateList"
	case *value.Dict:
		name = "_AnsibleLazyTemplateDict"
	}
	return c.caught(value.TypeErrorf("'%s' object is not callable", name))
}

func (c *Context) callMethod(recv any, m *method, a Args) (any, error) {
	if u := a.firstMarker(); u != nil {
		return u, nil
	}
	if err := c.ready(&a, kindOfArgs{lazy: m.lazy, markup: true}); err != nil {
		return c.caught(err)
	}
	v, err := m.call(c, recv, a)
	if err != nil {
		return c.caught(err)
	}
	return c.settle(v)
}
