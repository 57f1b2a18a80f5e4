package template

import (
	"errors"
	"fmt"
	"strings"

	"volant/controller/fault"
	"volant/controller/jinja"
	"volant/wire/value"
)

const (
	conditionalDelimiters = "Conditionals should not be surrounded by templating delimiters such as {{ }} or {% %}."
	brokenAllowed         = "Broken conditionals are currently allowed because the `ALLOW_BROKEN_CONDITIONALS` configuration option is enabled."
	constTemplates        = "Jinja constant strings should not contain embedded templates. This feature will be disabled by default in ansible-core 2.23."
)

// Condition evaluates a when, failed_when, changed_when, until or assert
// expression by the reference's rule: the result must be a bool.
func (s *Scope) Condition(v any) (bool, error) {
	outer := s.mark
	defer func() { s.mark = outer }()
	result, origin, err := s.condition(v)
	if err != nil {
		return false, err
	}
	if b, ok := result.(bool); ok {
		return b, nil
	}
	truth, err := s.context(value.Pos{}).Truth(result)
	if err != nil {
		return false, asFault(err, nil, true)
	}
	where := "<unknown>"
	if p := value.PosOf(result); !p.IsZero() {
		origin = p
	} else if t, ok := v.(*value.Template); ok {
		if p := s.written(t.Text, 0); !p.IsZero() {
			origin = p
		}
	}
	if result != nil && !origin.IsZero() {
		where = origin.String()
	}
	if from := s.originOf(result).from; from != "" {
		where = from
	}
	msg := fmt.Sprintf("Conditional result (%s) was derived from value of type '%s' at %s. Conditionals must have a boolean result.",
		map[bool]string{true: "True", false: "False"}[truth], value.TypeName(result), value.Repr(where))
	if s.e.opt.AllowBrokenConditionals {
		s.deprecate(msg, v, brokenAllowed, "2.23")
		return truth, nil
	}
	return false, brokenConditional(msg, v)
}

// strip takes the white space off a conditional. empty says that nothing is left.
func strip(v any) (out any, empty bool) {
	switch t := v.(type) {
	case nil:
		return nil, true
	case string:
		t = strings.TrimSpace(t)
		return t, t == ""
	case *value.Template:
		text := strings.TrimSpace(t.Text)
		if text == t.Text {
			return t, text == ""
		}
		return value.NewTemplate(text, t.Pos), text == ""
	}
	return v, false
}

func (s *Scope) empty(v any) (any, error) {
	if s.e.opt.AllowBrokenConditionals {
		s.deprecate("Empty conditional expression was evaluated as True.", v, brokenAllowed, "2.23")
		return true, nil
	}
	return nil, brokenConditional("Empty conditional expressions are not allowed.", v)
}

// condition evaluates without judging the type of the result, and says where
// the expression was written.
func (s *Scope) condition(v any) (result any, origin value.Pos, err error) {
	v, empty := strip(v)
	if empty {
		result, err = s.empty(v)
		return result, origin, err
	}
	var expr *value.Template
	switch t := v.(type) {
	case bool:
		return t, origin, nil
	case string:
		return nil, origin, untrusted(t)
	case *value.Template:
		expr = t
	default:
		if s.e.opt.AllowBrokenConditionals {
			result, err = s.final(v)
			return result, origin, err
		}
		return nil, origin, brokenConditional("Conditional expressions must be strings.", v)
	}
	result, origin, err = s.indirect(expr)
	if err != nil && fault.KindOf(err) == fault.Undefined {
		err = newFault(fault.Undefined, classUndefined, "Error while evaluating conditional.", expr, err)
	}
	return result, origin, err
}

// indirect evaluates expr, or the expression that a template gives which is
// all of it.
func (s *Scope) indirect(expr *value.Template) (any, value.Pos, error) {
	if allTemplate(expr.Text) {
		r, err := s.Template(expr)
		if err != nil {
			return nil, value.Pos{}, err
		}
		if u, ok := r.(*value.Undefined); ok {
			return nil, value.Pos{}, asFault(u, expr, false)
		}
		r, empty := strip(r)
		if empty {
			out, err := s.empty(r)
			return out, value.Pos{}, err
		}
		switch t := r.(type) {
		case *value.Template:
			expr = t
		case string:
			return nil, value.Pos{}, untrusted(t)
		default:
			if r == value.Omit {
				return nil, value.Pos{}, omitted(expr)
			}
			s.deprecate(conditionalDelimiters, expr, "", "2.23")
			out, err := s.finalize(r, expr)
			return out, expr.Pos, err
		}
	}
	out, err := s.evaluate(expr, asCondition)
	return out, expr.Pos, err
}

// Expression evaluates the text of t as a bare expression (`debug: var`).
func (s *Scope) Expression(t *value.Template) (out any, marked bool, err error) {
	outer := s.mark
	s.mark = false
	out, err = s.evaluate(t, asExpression)
	if tt, ok := out.(*value.Template); ok {
		out = tt.Text
	}
	marked = s.mark
	s.mark = outer
	return out, marked, err
}

// evaluate runs a bare expression. Its result is final, except that text the
// operator wrote keeps its place.
func (s *Scope) evaluate(t *value.Template, form int) (any, error) {
	prog, err := s.e.program(t, form)
	if err != nil {
		return nil, asFault(err, t, true)
	}
	r := s.render(t.Pos)
	r.Const = s.constant
	v, err := prog.Render(r)
	if err != nil {
		if s.ctx.Err() != nil {
			return nil, s.ctx.Err()
		}
		return nil, asFault(err, t, true)
	}
	switch u := v.(type) {
	case *value.Undefined:
		if s.replace != nil {
			return s.replace.marker(u), nil
		}
		return nil, asFault(u, t, true)
	case value.Omitted:
		if s.replace != nil && s.replace.strict {
			s.warn("The result of the `var` expression could not be omitted; a placeholder was used instead.", t, "")
			return "<<Omit>>", nil
		}
		return nil, omitted(t)
	case *value.Template:
		return u, nil
	}
	out, err := s.context(t.Pos).Finalize(v)
	if err == nil {
		out, err = storable(out, 0)
	}
	if err != nil {
		return nil, asFault(err, t, true)
	}
	return out, nil
}

// constant renders a string literal that looks like a template, as
// conditionals and lookups do.
func (s *Scope) constant(t *value.Template) (any, error) {
	s.warn(constTemplates, t, "Use inline expressions, for example: `when: \"{{ a_var }}\" == 42` becomes `when: a_var == 42`")
	return s.Template(t)
}

func (s *Scope) context(pos value.Pos) *jinja.Context {
	return jinja.NewContext(s.render(pos), s.e.table)
}

func (s *Scope) warn(msg string, obj any, help string) {
	s.sink().Warning(func() error {
		e := newFault(fault.Generic, "", msg, obj, nil)
		e.Help = help
		return e
	}())
}

// warnOf shows err as a warning that begins with msg.
func (s *Scope) warnOf(msg string, err error) {
	s.sink().Warning(&fault.Error{Msg: msg, Cause: err})
}

func (s *Scope) deprecate(msg string, obj any, help, version string) {
	d := fault.Deprecation{Version: version}
	d.Error = *newFault(fault.Generic, "", msg, obj, nil)
	d.Help = help
	s.sink().Deprecated(d)
}

// of returns the scope a plugin's context works for.
func of(c *jinja.Context) *Scope {
	s, _ := c.Data().(*Scope)
	return s
}

var errNoScope = errors.New("template is rendered outside of a task")
