package jinja

import (
	"context"
	"sync"

	"volant/wire/value"
)

// Template is a compiled template or expression. It is immutable and safe for
// concurrent use.
type Template struct {
	name    string
	root    exec
	expr    eval // of an expression, instead of root
	fn      *function
	exports map[string]int // top-level names and their slots
	blocks  map[string]*block
	names   []string // names looked up outside, by id
	ids     map[string]int
	table   Table
	shares  bool // other templates or blocks may see its names
	mutates bool // it may change containers
	counts  bool // it may call count on a list
	escapes bool // values it makes may hold on to the context
}

func (t *Template) nameID(name string) int {
	if id, ok := t.ids[name]; ok {
		return id
	}
	id := len(t.names)
	t.names = append(t.names, name)
	t.ids[name] = id
	return id
}

// Compile compiles template text. name is what an included template is called
// ("" for others). The error is a *SyntaxError.
func Compile(source, name string, table Table, opts Options) (*Template, error) {
	set := opts.settings()
	body, err := parse(source, name, set)
	if err != nil {
		return nil, err
	}
	t := &Template{name: name, table: table, ids: map[string]int{}}
	p := &compiler{t: t, table: table, opts: set}
	if err := p.template(body); err != nil {
		return nil, err
	}
	return t, nil
}

// CompileExpr compiles a bare expression, without delimiters.
func CompileExpr(source string, table Table, opts Options) (*Template, error) {
	set := opts.settings()
	x, err := parseExpr(source, set)
	if err != nil {
		return nil, err
	}
	t := &Template{table: table, ids: map[string]int{}}
	p := &compiler{t: t, table: table, opts: set}
	p.scan([]stmt{&outputStmt{nodes: []expr{x}}})
	p.scope = &scope{fn: &function{}, names: map[string]int{}, top: true}
	if t.expr, err = p.expr(x); err != nil {
		return nil, err
	}
	t.fn = p.scope.fn
	return t, nil
}

// Names are the variables and globals the template may look up, in the order
// they appear.
func (t *Template) Names() []string { return append([]string(nil), t.names...) }

// Render returns the native result: the value of a sole node, else the text
// of all nodes, nil when there are none; for an expression its value. The
// result is not finalized. A failure inside makes the result a marker
// (*value.Undefined, its Err the failure unless something was undefined); the
// error is only for what ends everything: a *LimitError, a cancelled context,
// an error of the Resolver.
func (t *Template) Render(r *Render) (any, error) {
	if t.escapes || t.shares {
		return t.render(newContext(t, r))
	}
	s := states.Get().(*state)
	v, err := t.render(s.start(t, r))
	s.end()
	return v, err
}

func (t *Template) render(c *Context) (any, error) {
	if t.expr != nil {
		v, err := t.expr(c, c.frame())
		if err != nil {
			return c.marker(err)
		}
		return v, nil
	}
	var out output
	if c.state == nil {
		s := nodeSlices.Get().(*[]any)
		out.nodes = (*s)[:0]
		defer func() {
			clear(out.nodes)
			if cap(out.nodes) <= keepNodes {
				*s = out.nodes
				nodeSlices.Put(s)
			}
		}()
	} else {
		out.nodes = c.state.nodes[:0]
		defer func() { c.state.nodes = out.nodes }()
	}
	if _, err := c.runRoot(&out); err != nil {
		m, err := c.marker(err)
		if err != nil {
			return nil, err
		}
		if len(out.nodes) == 0 && c.r.Marker == nil {
			return m, nil
		}
		out.nodes = append(out.nodes, m, c.undefined("", "template potentially truncated"))
	}
	v, err := c.concat(out.nodes)
	if err != nil {
		return c.marker(err)
	}
	return v, nil
}

// RenderFinal is Render followed by Context.Finalize. A marker is the error.
func (t *Template) RenderFinal(r *Render) (any, error) {
	c := newContext(t, r)
	v, err := t.render(c)
	if err != nil {
		return nil, err
	}
	return c.Finalize(v)
}

// state is what a render needs that can be used again for the next: everything
// but what the result may refer to.
type state struct {
	c     Context
	run   running
	f     frame
	nodes []any
	names []slot
}

var states = sync.Pool{New: func() any { return new(state) }}

// keepState bounds what a state keeps for the next render.
const keepState = 1024

func (s *state) start(t *Template, r *Render) *Context {
	s.run.limits = r.Limits.fill()
	if r.Ctx == nil {
		r.Ctx = context.Background()
	}
	s.run.ctx, s.run.done = r.Ctx, r.Ctx.Done()
	c := &s.c
	c.r, c.run, c.t, c.state = r, &s.run, t, s
	if n := len(t.names); n > 0 {
		if cap(s.names) < n {
			s.names = make([]slot, n)
		}
		c.names = s.names[:n]
	}
	return c
}

func (s *state) end() {
	clear(s.nodes[:min(len(s.nodes), cap(s.nodes))])
	clear(s.f.slots)
	clear(s.c.names)
	if cap(s.nodes) > keepState {
		s.nodes = nil
	}
	if cap(s.f.slots) > keepState {
		s.f.slots = nil
	}
	if cap(s.names) > keepState {
		s.names = nil
	}
	s.c = Context{}
	s.run = running{}
	states.Put(s)
}

// frame returns the frame of the template's root.
func (c *Context) frame() *frame {
	s := c.state
	if s == nil {
		return newFrame(c.t.fn, nil)
	}
	n := c.t.fn.slots
	if cap(s.f.slots) < n {
		s.f.slots = make([]slot, n)
	}
	s.f.slots = s.f.slots[:n]
	return &s.f
}

// RenderText is RenderFinal as text; no result is "".
func (t *Template) RenderText(r *Render) (string, error) {
	v, err := t.RenderFinal(r)
	if err != nil || v == nil {
		return "", err
	}
	return value.Str(v), nil
}

func newContext(t *Template, r *Render) *Context {
	c := &Context{r: r, run: &running{limits: r.Limits.fill()}}
	if r.Ctx == nil {
		r.Ctx = context.Background()
	}
	c.run.done = r.Ctx.Done()
	c.run.ctx = r.Ctx
	c.use(t)
	c.begin()
	return c
}

// NewContext returns a Context for calling filters and reading values outside
// any template.
func NewContext(r *Render, table Table) *Context {
	return newContext(&Template{table: table, ids: map[string]int{}, fn: &function{}, mutates: false}, r)
}
