package template

import (
	"fmt"
	"strings"

	"volant/controller/fault"
	"volant/wire/value"
)

// replacing collects what is undefined in a render that shows it instead of
// failing.
type replacing struct {
	seen []*value.Undefined
	// strict keeps what failed otherwise than by being undefined a failure:
	// failed is the first of that kind.
	strict bool
	failed *value.Undefined
}

// marker is what stands for the next undefined part.
func (r *replacing) marker(u *value.Undefined) any {
	if r.failed != nil {
		return ""
	}
	if r.strict && u.Err != nil && fault.KindOf(u.Err) != fault.Undefined {
		r.failed = u
		return ""
	}
	r.seen = append(r.seen, u)
	return fmt.Sprintf("<< error %d - %s >>", len(r.seen), asFault(u, nil, false))
}

// report warns of what was replaced, once for what follows each other in one
// template.
func (r *replacing) report(s *Scope, t *value.Template) {
	for first := 0; first < len(r.seen); {
		pos := r.seen[first].Pos
		end := first + 1
		for end < len(r.seen) && r.seen[end].Pos == pos {
			end++
		}
		var b strings.Builder
		plural := "s"
		if end-first == 1 {
			plural = ""
		}
		fmt.Fprintf(&b, "Encountered %d template error%s.", end-first, plural)
		for i, u := range r.seen[first:end] {
			fmt.Fprintf(&b, "\nerror %d - %s", first+i+1, asFault(u, nil, false))
		}
		e := &fault.Error{Msg: b.String(), Pos: pos}
		switch pos {
		case value.Pos{}:
			about(e, t)
		case t.Pos:
			e.Excerpt = t.Text // shown where the place is no file
		}
		s.sink().Warning(e)
		first = end
	}
}

// RenderReplacing is Render for names: what is undefined becomes text that says
// so, and a warning.
func (s *Scope) RenderReplacing(v any) (out any, marked bool, err error) {
	t, ok := v.(*value.Template)
	if !ok {
		return s.Render(v)
	}
	r := &replacing{}
	n := *s
	n.replace, n.done = r, nil
	out, marked, err = n.Render(t)
	r.report(s, t)
	return out, marked, err
}

// ExpressionReplacing is Expression likewise, for `debug: var=`; what fails in
// another way than by being undefined still fails. A template must give the
// operator's own text, which is the expression.
func (s *Scope) ExpressionReplacing(t *value.Template) (out any, marked bool, err error) {
	if possiblyTemplate(t.Text) {
		v, err := s.Template(t)
		if err != nil {
			return nil, s.mark, err
		}
		named, ok := v.(*value.Template)
		if u, failed := v.(*value.Undefined); failed {
			return nil, s.mark, asFault(u, t, false)
		} else if !ok {
			return nil, s.mark, untrusted(t)
		}
		t = named
	}
	r := &replacing{strict: true}
	n := *s
	n.replace, n.done = r, nil
	out, marked, err = n.Expression(t)
	r.report(s, t)
	if u := r.failed; u != nil && err == nil {
		err = asFault(u, t, u.Pos.IsZero() || u.Pos == t.Pos)
	}
	return out, marked, err
}

// Container renders v only as far as its outermost container: text that is a
// template is rendered, the items of what it gives stay as they are. marked is
// that of Render.
func (s *Scope) Container(v any) (out any, marked bool, err error) {
	outer := s.mark
	s.mark = false
	out, err = s.container(v)
	marked = s.mark
	s.mark, s.saw = outer, s.saw || marked
	return out, marked, err
}

func (s *Scope) container(v any) (any, error) {
	t, ok := v.(*value.Template)
	if !ok {
		return v, nil
	}
	if !possiblyTemplate(t.Text) {
		return t.Text, nil
	}
	out, err := s.Template(t)
	if err != nil {
		return nil, err
	}
	if u, ok := out.(*value.Undefined); ok {
		return nil, asFault(u, t, false)
	}
	switch out := out.(type) {
	case *value.List, *value.Dict:
		return out, nil
	case value.Tuple:
		return value.ListOf(out...), nil
	}
	return s.finalize(out, t)
}

// With gives the items of a loop `with_NAME: raw`. dir is the subdirectory the
// task's action reads from ("files", "templates").
func (s *Scope) With(name string, raw any, dir string) (items []any, marked bool, err error) {
	terms := raw
	outer := s.mark
	s.mark = false
	defer func() { s.mark = outer }()
	if t, ok := raw.(*value.Template); ok {
		if text := strings.TrimSpace(t.Text); text != t.Text {
			t = value.NewTemplate(text, t.Pos)
		}
		if terms, err = s.container(t); err != nil {
			return nil, false, err
		}
	}
	list, ok := terms.(*value.List)
	if !ok {
		list = value.ListOf(terms)
	}
	c := s.context(value.PosOf(raw))
	in := make([]any, 0, len(list.Items))
	for _, v := range list.Items {
		r, err := c.Read(v)
		if err != nil {
			return nil, false, err
		}
		in = append(in, r)
	}
	items, err = s.Lookup(name, in, nil, s.mark, dir)
	if e, ok := err.(*fault.Error); ok && e.Pos.IsZero() && e.Excerpt == "" { //nolint:errorlint // the outermost link is shown
		placed := *e
		placed.Excerpt = "invoke_lookup()" // the expression that the reference makes of the keyword
		err = &placed
	}
	return items, s.mark, err
}

// sink takes the warnings of this scope.
func (s *Scope) sink() fault.Sink {
	if s.opt.Sink != nil {
		return s.opt.Sink
	}
	return s.e.opt.Sink
}
