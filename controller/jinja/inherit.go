package jinja

import (
	"errors"
	"fmt"
	"strings"

	"volant/wire/value"
)

// block is a compiled {% block %}.
type block struct {
	name     string
	t        *Template
	fn       *function
	run      exec
	required bool
}

// blockStmt compiles the place where a block is rendered.
func (p *compiler) blockStmt(s *blockStmt) (exec, error) {
	name := s.name
	top := p.scope.top
	var visible map[string][]place
	if s.scoped {
		visible = p.scope.visible()
	}
	return func(c *Context, f *frame, out *output) error {
		if top && out.mute {
			return nil
		}
		bc := c
		if s.scoped {
			bc = c.withLocals(snapshot(f, visible))
		}
		stack := c.blocks[name]
		if len(stack) == 0 {
			return value.Raise("KeyError", "%s", value.Repr(name))
		}
		if stack[0].required {
			return value.Raise("TemplateRuntimeError", "Required block %s not found", value.Repr(name))
		}
		return bc.block(stack[0], 0, out)
	}, nil
}

// block renders b, depth steps up its inheritance stack.
func (c *Context) block(b *block, depth int, out *output) error {
	if err := c.run.enter(); err != nil {
		return err
	}
	defer c.run.leave()
	bc := *c
	bc.use(b.t)
	bc.superDepth = depth
	return b.run(&bc, newFrame(b.fn, nil), out)
}

// snapshot collects the locals that are set.
func snapshot(f *frame, visible map[string][]place) map[string]any {
	m := make(map[string]any, len(visible))
	for name, places := range visible {
		for _, at := range places {
			if s := f.at(at); s.set {
				m[name] = s.v
				break
			}
		}
	}
	return m
}

func (p *compiler) extends(s *extendsStmt) (exec, error) {
	if !p.scope.top {
		return nil, p.fail(s.at(), "cannot use extend from a non top-level scope")
	}
	name, err := p.expr(s.template)
	if err != nil {
		return nil, err
	}
	return func(c *Context, f *frame, out *output) error {
		if c.parent != nil {
			return value.Raise("TemplateRuntimeError", "extended multiple times")
		}
		v, err := name(c, f)
		if err != nil {
			return err
		}
		t, err := c.load(v, false)
		if err != nil {
			return err
		}
		for n, b := range t.blocks {
			c.blocks[n] = append(c.blocks[n], b)
		}
		c.parent = t
		out.mute = true
		return nil
	}, nil
}

// load finds the template an include, import or extends names: a name, a
// template, or where many is set a list of them of which the first found counts.
func (c *Context) load(v any, many bool) (*Template, error) {
	if err := c.run.enter(); err != nil {
		return nil, err
	}
	defer c.run.leave()
	switch v := v.(type) {
	case *value.Undefined:
		return nil, v
	case string, *value.Template, value.Markup:
		name, _ := value.Text(v)
		if c.r.Load == nil {
			return nil, fmt.Errorf("no loader for this environment specified")
		}
		return c.r.Load.Load(c, name, c.t.name)
	}
	if !many {
		return nil, value.TypeErrorf("no loader can load a template called by a value of type '%s'", value.TypeName(v))
	}
	names, err := c.Items(v)
	if err != nil {
		return nil, err
	}
	var tried []string
	for _, n := range names {
		t, err := c.load(n, false)
		if err == nil {
			return t, nil
		}
		if !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		tried = append(tried, value.Str(n))
	}
	if len(tried) == 0 {
		return nil, &notFound{"Tried to select from an empty list of templates."}
	}
	return nil, &notFound{"none of the templates given were found: " + strings.Join(tried, ", ")}
}

type notFound struct{ msg string }

func (e *notFound) Error() string { return e.msg }

func (e *notFound) Unwrap() error { return ErrNotFound }

func (p *compiler) include(s *includeStmt) (exec, error) {
	name, err := p.expr(s.template)
	if err != nil {
		return nil, err
	}
	visible := p.scope.visible()
	return func(c *Context, f *frame, out *output) error {
		if out.mute {
			return nil
		}
		v, err := name(c, f)
		if err != nil {
			return err
		}
		t, err := c.load(v, true)
		if err != nil {
			if s.ignoreMissing && errors.Is(err, ErrNotFound) {
				return nil
			}
			return err
		}
		ic := c.sub(t, s.context)
		if s.context {
			ic.locals = snapshot(f, visible)
		}
		_, err = ic.runRoot(out)
		return err
	}, nil
}

// module runs t for its definitions.
func (p *compiler) module(template expr, context bool) (eval, error) {
	name, err := p.expr(template)
	if err != nil {
		return nil, err
	}
	visible := p.scope.visible()
	return func(c *Context, f *frame) (any, error) {
		v, err := name(c, f)
		if err != nil {
			return nil, err
		}
		t, err := c.load(v, false)
		if err != nil {
			return nil, err
		}
		mc := c.sub(t, context)
		if context {
			mc.locals = snapshot(f, visible)
		}
		var out output
		mf, err := mc.runRoot(&out)
		if err != nil {
			return nil, err
		}
		return &module{t: t, c: mc, f: mf, nodes: out.nodes}, nil
	}, nil
}

func (p *compiler) importStmt(s *importStmt) (exec, error) {
	mod, err := p.module(s.template, s.context)
	if err != nil {
		return nil, err
	}
	store, err := p.store(&nameExpr{s.line, s.target})
	if err != nil {
		return nil, err
	}
	return func(c *Context, f *frame, _ *output) error {
		m, err := mod(c, f)
		if err != nil {
			return err
		}
		return store(c, f, m)
	}, nil
}

func (p *compiler) from(s *fromStmt) (exec, error) {
	mod, err := p.module(s.template, s.context)
	if err != nil {
		return nil, err
	}
	var stores []assign
	for _, n := range s.names {
		a, err := p.store(&nameExpr{s.line, n.alias})
		if err != nil {
			return nil, err
		}
		stores = append(stores, a)
	}
	return func(c *Context, f *frame, _ *output) error {
		v, err := mod(c, f)
		if err != nil {
			return err
		}
		m := v.(*module)
		for i, n := range s.names {
			v, ok, _ := m.Attr(c, n.name)
			if !ok {
				v = c.undefined(n.name, fmt.Sprintf("the template %s (imported on line %d) does not export the requested name %s",
					value.Repr(m.t.name), s.at(), value.Repr(n.name)))
			}
			if err := stores[i](c, f, v); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// module is an imported template.
type module struct {
	t     *Template
	c     *Context
	f     *frame
	nodes []any
}

func (*module) TypeName() string { return "TemplateModule" }

func (m *module) Attr(_ *Context, name string) (any, bool, error) {
	if strings.HasPrefix(name, "_") {
		return nil, false, nil
	}
	if i, ok := m.t.exports[name]; ok && m.f.slots[i].set {
		return m.f.slots[i].v, true, nil
	}
	return nil, false, nil
}

// Text is what the module's template outputs.
func (m *module) Text() string {
	v, err := m.c.concat(m.nodes)
	if err != nil || v == nil {
		return ""
	}
	s, err := m.c.Str(v)
	if err != nil {
		return ""
	}
	return s
}

// selfRef is the name self: the template's blocks.
type selfRef struct{ c *Context }

func (*selfRef) TypeName() string { return "TemplateReference" }

func (s *selfRef) Item(c *Context, key any) (any, bool, error) {
	name, _ := value.Text(key)
	stack := s.c.blocks[name]
	if len(stack) == 0 {
		return nil, false, nil
	}
	return &blockRef{s.c, stack[0], 0}, true, nil
}

// blockRef is self.name or super.
type blockRef struct {
	c     *Context
	b     *block
	depth int
}

func (*blockRef) TypeName() string { return "BlockReference" }

// Call renders the block. Unlike anything else, the reference joins the nodes
// of such a call as text only.
func (b *blockRef) Call(_ *Context, _ Args) (any, error) {
	out := output{all: true}
	if err := b.c.block(b.b, b.depth, &out); err != nil {
		return nil, err
	}
	var t strings.Builder
	for i, n := range out.nodes {
		s, ok := value.Text(n)
		if !ok {
			return nil, value.TypeErrorf("sequence item %d: expected str instance, %s found", i, typeName(n))
		}
		t.WriteString(s)
	}
	return t.String(), nil
}

func (b *blockRef) Attr(c *Context, name string) (any, bool, error) {
	if name == "super" {
		return b.c.superOf(b.b.name, b.depth), true, nil
	}
	return nil, false, nil
}

// super is the name super in block name.
func (c *Context) super(name string, _ *Template) any { return c.superOf(name, c.superDepth) }

func (c *Context) superOf(name string, depth int) any {
	stack := c.blocks[name]
	if depth+1 >= len(stack) {
		return c.undefined("super", "there is no parent block called "+value.Repr(name)+".")
	}
	return &blockRef{c, stack[depth+1], depth + 1}
}
