package jinja

import (
	"strings"

	"volant/wire/value"
)

// eval computes an expression. The error is what was raised.
type eval func(c *Context, f *frame) (any, error)

// exec runs a statement.
type exec func(c *Context, f *frame, out *output) error

type compiler struct {
	t     *Template
	table Table
	opts  *settings
	scope *scope
	soft  int    // inside if: unknown filters fail only when reached
	block string // name of the block being compiled
}

func (p *compiler) fail(at int, msg string) error {
	return &SyntaxError{Msg: msg, Line: at, Name: p.t.name}
}

// compileBody compiles template text.
func (p *compiler) template(body []stmt) error {
	p.scan(body)
	root := &scope{fn: &function{}, names: map[string]int{}, top: true}
	p.scope = root
	assigned(body, func(n string) { root.declare(n) })
	run, err := p.body(body)
	if err != nil {
		return err
	}
	p.t.root, p.t.fn = run, root.fn
	p.t.exports = root.names
	return p.blocks(body)
}

// blocks compiles the template's blocks, each a function of its own.
func (p *compiler) blocks(body []stmt) error {
	var found []*blockStmt
	walk(body, func(expr) {}, func(s stmt) {
		if b, ok := s.(*blockStmt); ok {
			found = append(found, b)
		}
	})
	for _, b := range found {
		if p.t.blocks == nil {
			p.t.blocks = map[string]*block{}
		}
		if _, twice := p.t.blocks[b.name]; twice {
			return p.fail(b.at(), "block "+value.Repr(b.name)+" defined twice")
		}
		p.scope = &scope{fn: &function{}, names: map[string]int{}}
		p.block = b.name
		sc := p.scope
		assigned(b.body, func(n string) { sc.declare(n) })
		run, err := p.body(b.body)
		if err != nil {
			return err
		}
		p.t.blocks[b.name] = &block{name: b.name, t: p.t, fn: sc.fn, run: run, required: b.required}
	}
	p.block = ""
	return nil
}

// mutators are the methods that change what they are called on.
var mutators = map[string]bool{
	"append": true, "extend": true, "insert": true, "pop": true, "remove": true, "sort": true, "reverse": true,
	"clear": true, "update": true, "setdefault": true, "popitem": true, "add": true, "discard": true, "__setitem__": true,
}

// scan notes what the template as a whole needs at run time.
func (p *compiler) scan(body []stmt) {
	walk(body, func(x expr) {
		switch x := x.(type) {
		case *attrExpr:
			p.t.mutates = p.t.mutates || mutators[x.name]
			p.t.counts = p.t.counts || x.name == "count"
		case *nameExpr:
			p.t.escapes = p.t.escapes || x.name == "self"
		case *constExpr:
			if s, ok := x.v.(string); ok {
				p.t.mutates = p.t.mutates || mutators[s]
			}
		}
	}, func(s stmt) {
		switch s.(type) {
		case *blockStmt, *extendsStmt, *includeStmt, *importStmt, *fromStmt:
			p.t.shares = true
		case *macroStmt, *callStmt:
			p.t.escapes = true
		case *forStmt:
			if f := s.(*forStmt); f.recursive || uses(f.body, "loop") {
				p.t.escapes = true // a loop object refers to its frame
			}
		}
	})
}

func (p *compiler) body(body []stmt) (exec, error) {
	list := make([]exec, 0, len(body))
	for _, s := range body {
		e, err := p.stmt(s)
		if err != nil {
			return nil, err
		}
		if e != nil {
			list = append(list, e)
		}
	}
	switch len(list) {
	case 0:
		return func(*Context, *frame, *output) error { return nil }, nil
	case 1:
		return list[0], nil
	}
	return func(c *Context, f *frame, out *output) error {
		for _, e := range list {
			if err := e(c, f, out); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// scoped compiles body in a scope of its own in the same function; prepare
// declares names before and runs the loads it returns after the slots are clear.
func (p *compiler) scoped(body []stmt, prepare func(sc *scope) error) (run exec, sc *scope, err error) {
	outer := p.scope
	defer func() { p.scope = outer }()
	sc = outer.inner()
	p.scope = sc
	if prepare != nil {
		if err := prepare(sc); err != nil {
			return nil, nil, err
		}
	}
	assigned(body, func(n string) { sc.declare(n) })
	run, err = p.body(body)
	return run, sc, err
}

// clear resets the slots from..to of f.
func (f *frame) clear(from, to int) {
	if from < to {
		clear(f.slots[from:to])
	}
}

// looksTemplate reports whether text has the start of a tag in it.
func looksTemplate(s string) bool {
	for {
		i := strings.IndexByte(s, '{')
		if i < 0 || i+1 >= len(s) {
			return false
		}
		switch s[i+1] {
		case '{', '%', '#':
			return true
		}
		s = s[i+1:]
	}
}

// LooksTemplate reports whether operator-written text may be a template: it
// holds the start of a tag, or begins with a #jinja2: header.
func LooksTemplate(s string) bool { return strings.HasPrefix(s, "#jinja2:") || looksTemplate(s) }
