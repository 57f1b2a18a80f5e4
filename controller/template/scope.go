package template

import (
	"errors"
	"strings"

	"volant/controller/fault"
	"volant/controller/jinja"
	"volant/wire/value"
)

// maxNesting bounds variables whose templates name further variables, which in
// the reference ends in Python's recursion limit.
const maxNesting = 100

// templateKey is a template together with how it is read.
type templateKey = *value.Template

// rendered is a variable's template after its render: what came of it (lazy,
// perhaps a marker) and whether a managed host had a say.
type rendered struct {
	v      any
	marked bool
	busy   bool
}

// options of values written in YAML: what they say in {{ }} is not escaped
// twice.
var valueOptions = jinja.Options{TrimBlocks: true, EscapeBackslashes: true}

var _ jinja.Resolver = (*Scope)(nil)

// Resolve implements jinja.Resolver over the scope's variables.
func (s *Scope) Resolve(name string) (any, bool, error) {
	v, marked, ok := s.vars.Lookup(name)
	if !ok {
		switch {
		case name == "hostvars" && s.opt.Hosts != nil:
			return &hostVars{s}, true, nil
		case name == "vars":
			return &allVars{s: s, kind: "dict"}, true, nil
		}
		return nil, false, nil
	}
	if f, ok := v.(*Facts); ok {
		return &factVars{s, f}, true, nil
	}
	if marked {
		s.mark = true
	}
	if name == "play_hosts" {
		s.deprecated("The `play_hosts` magic variable is deprecated.", "Use `ansible_play_batch` instead.", "2.23")
	}
	v, err := s.Value(v)
	return v, true, err
}

// deprecated says that what the template reads goes away.
func (s *Scope) deprecated(msg, help, version string) {
	d := fault.Deprecation{Version: version}
	d.Msg, d.Help, d.Pos = msg, help, s.at
	s.sink().Deprecated(d)
}

// Value makes a variable's raw value fit for an expression: a template is
// rendered, a vaulted string decrypted; containers stay lazy.
func (s *Scope) Value(v any) (any, error) {
	switch v := v.(type) {
	case *value.Template:
		return s.Template(v)
	case *value.Vault:
		return s.Vault(v)
	}
	return v, nil
}

// Vault implements jinja.Decrypter.
func (s *Scope) Vault(v *value.Vault) (any, error) { return s.decrypt(v), nil }

// Template implements jinja.Resolver: it renders a nested template once. Text
// without template syntax comes back as it is.
func (s *Scope) Template(t *value.Template) (any, error) {
	if d := t.Deprecated; d != nil {
		s.deprecated(d.Msg, d.Help, d.Version)
	}
	if !possiblyTemplate(t.Text) {
		return t, nil
	}
	if r := s.done[t]; r != nil {
		if r.busy {
			return s.marker(recursionError(t)), nil
		}
		s.mark = s.mark || r.marked
		return r.v, nil
	}
	if s.done == nil {
		s.done = map[templateKey]*rendered{}
	}
	if s.depth >= maxNesting {
		return s.marker(recursionError(t)), nil
	}
	r := &rendered{busy: true}
	s.done[t] = r
	outer, at := s.mark, s.at
	s.mark = false
	s.depth++
	v, err := s.run(t)
	s.depth--
	s.at = at
	r.v, r.marked, r.busy = v, s.mark, false
	s.mark = outer || r.marked
	if err != nil {
		delete(s.done, t)
		return nil, err
	}
	if u, ok := v.(*value.Undefined); ok && errors.Is(u.Err, errRecursion) {
		delete(s.done, t) // what failed on the way into a loop may do outside it
	}
	return r.v, nil
}

// run renders t without caching; failures are markers.
func (s *Scope) run(t *value.Template) (any, error) {
	prog, err := s.e.program(t, asValue)
	if err != nil {
		return s.marker(asFault(err, t, false)), nil
	}
	v, err := s.settle(prog.Render(s.render(t.Pos)))(t)
	if err != nil {
		return nil, err
	}
	return trailingNewlines(t.Text, v, "\n"), nil
}

// settle takes the outcome of a render of t: what failed in it becomes a marker
// whose error is for users. The error is the end of the task.
func (s *Scope) settle(v any, err error) func(t *value.Template) (any, error) {
	return func(t *value.Template) (any, error) {
		if err != nil {
			if s.ctx.Err() != nil {
				return nil, s.ctx.Err()
			}
			return s.marker(asFault(err, t, false)), nil
		}
		if u, ok := v.(*value.Undefined); ok && u.Err != nil {
			e := asFault(u, t, false)
			return &value.Undefined{Name: u.Name, Hint: e.Error(), Pos: u.Pos, Err: e}, nil
		}
		return v, nil
	}
}

// render is the jinja.Render for a template of this scope at pos.
func (s *Scope) render(pos value.Pos) *jinja.Render {
	s.at = pos
	r := &jinja.Render{
		Vars: s, Load: s.loader(), Ctx: s.ctx, Table: s.e.table, Pos: pos, Data: s, Limits: s.e.opt.Limits,
		Converted: func(from, to string) {
			s.warn("Type '"+from+"' is unsupported in variable storage, converting to '"+to+"'.", pos, "")
		},
	}
	if s.replace != nil {
		r.Marker = s.replace.marker
	}
	return r
}

// marker makes an error a value that raises it when it is used.
func (s *Scope) marker(err error) *value.Undefined {
	return &value.Undefined{Hint: err.Error(), Err: err}
}

// compiled is what Template.Program holds: what an engine made of the text as
// a value, a conditional and a bare expression, as far as it was asked.
type compiled struct {
	e     *Engine
	forms [3]*program
}

// The forms a text is compiled in.
const (
	asValue = iota
	asCondition
	asExpression
)

type program struct {
	*jinja.Template
	err error
}

// program compiles t in a form, once.
func (e *Engine) program(t *value.Template, form int) (*jinja.Template, error) {
	have, _ := t.Program.Load().(*compiled)
	if have != nil && have.e == e && have.forms[form] != nil {
		return have.forms[form].Template, have.forms[form].err
	}
	p := &program{}
	opts := valueOptions
	switch form {
	case asValue:
		text := t.Text
		if text, opts, p.err = header(text, opts); p.err == nil {
			p.Template, p.err = jinja.Compile(text, "", e.table, opts)
		}
	case asCondition:
		// conditionals were once written in {% %}, where backslashes escape
		opts.EscapeBackslashes = false
		opts.RenderConsts = !e.opt.NoEmbeddedTemplates
		p.Template, p.err = jinja.CompileExpr(t.Text, e.table, opts)
	case asExpression:
		p.Template, p.err = jinja.CompileExpr(t.Text, e.table, opts)
	}
	next := &compiled{e: e}
	if have != nil && have.e == e {
		*next = *have
	}
	next.forms[form] = p
	t.Program.Store(next)
	return p.Template, p.err
}

// possiblyTemplate reports whether text has to be rendered at all.
func possiblyTemplate(text string) bool {
	for i := strings.IndexByte(text, '{'); i >= 0 && i+1 < len(text); {
		switch text[i+1] {
		case '{', '%', '#':
			return true
		}
		n := strings.IndexByte(text[i+1:], '{')
		if n < 0 {
			break
		}
		i += 1 + n
	}
	return strings.HasPrefix(text, overridePrefix)
}

// allTemplate reports whether text is wrapped in template delimiters.
func allTemplate(text string) bool {
	if strings.HasPrefix(text, overridePrefix) {
		return true
	}
	if len(text) < 2 || text[0] != '{' || text[1] != '{' && text[1] != '%' && text[1] != '#' {
		return false
	}
	return strings.HasSuffix(text, "}}") || strings.HasSuffix(text, "%}") || strings.HasSuffix(text, "#}")
}

// trailingNewlines restores the newlines a template ended in, which Jinja
// drops.
func trailingNewlines(source string, result any, newline string) any {
	text, ok := value.Text(result)
	if !ok {
		return result
	}
	count := func(s string) int { return len(s) - len(strings.TrimRight(s, "\n")) }
	if n := count(source) - count(text); n > 0 {
		return text + strings.Repeat(newline, n)
	}
	return result
}
