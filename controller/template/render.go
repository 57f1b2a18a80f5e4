package template

import (
	"math/big"
	"time"

	"volant/controller/fault"
	"volant/controller/jinja"
	"volant/wire/value"
)

// Render renders v deeply and returns final data: no *value.Template,
// *value.Undefined or *value.Vault is left in it. The result may be value.Omit;
// inside containers omitted entries are gone. marked says that a value a
// managed host sent was read. Errors are *fault.Error chains.
func (s *Scope) Render(v any) (out any, marked bool, err error) {
	outer := s.mark
	s.mark = false
	out, err = s.final(v)
	marked = s.mark
	s.mark, s.saw = outer, s.saw || marked
	return out, marked, err
}

// Saw reports whether anything that was rendered in this scope, arguments and
// keywords alike, read what a managed host sent. Conditions do not count: all
// they give is yes or no.
func (s *Scope) Saw() bool { return s.mark || s.saw }

// Constant is what v renders to in every scope: numbers, truths and text that
// is no template. false for all others.
func Constant(v any) (out any, ok bool) {
	switch v := v.(type) {
	case *value.Template:
		return v.Text, !possiblyTemplate(v.Text)
	case bool, int64, float64, string:
		return v, true
	}
	return nil, false
}

// final renders and finalises an operator-written value.
func (s *Scope) final(v any) (any, error) {
	if c, ok := Constant(v); ok {
		return c, nil
	}
	switch v := v.(type) {
	case nil:
		return nil, nil
	case *value.Template:
		r, err := s.Template(v)
		if err != nil {
			return nil, err
		}
		return s.finalize(r, v)
	case *value.Vault:
		return s.finalize(s.decrypt(v), nil)
	case *value.List:
		out := &value.List{Items: make([]any, 0, v.Len()), Place: v.Place}
		for _, item := range v.Items {
			r, err := s.final(item)
			if err != nil {
				return nil, err
			}
			if r != value.Omit {
				out.Items = append(out.Items, r)
			}
		}
		return out, nil
	case *value.Dict:
		out := value.NewDict(v.Len())
		out.Places = v.Places
		for k, item := range v.All() {
			r, err := s.final(item)
			if err != nil {
				return nil, err
			}
			if r == value.Omit {
				continue
			}
			if t, ok := k.(*value.Template); ok {
				k = t.Text
			}
			out.Set(k, r)
		}
		return out, nil
	case *Facts:
		s.mark = true
		return s.final(v.Dict)
	}
	return s.finalize(v, nil)
}

// finalize makes the result of a render final. t is the template it came from.
func (s *Scope) finalize(v any, t *value.Template) (any, error) {
	switch v := v.(type) {
	case nil, bool, int64, float64, string, value.Omitted:
		return v, nil
	case *value.Template:
		return v.Text, nil
	}
	var pos value.Pos
	if t != nil {
		pos = t.Pos
	}
	out, err := s.context(pos).Finalize(v)
	if err != nil {
		if s.ctx.Err() != nil {
			return nil, s.ctx.Err()
		}
		return nil, asFault(err, t, false)
	}
	if out, err = storable(out, 0); err != nil {
		return nil, asFault(err, t, false)
	}
	return out, nil
}

// storable checks that a finalised value is one that variables may hold, and
// makes data of the operator's text in it. It works on the value itself, which
// nobody else has.
func storable(v any, depth int) (any, error) {
	switch v := v.(type) {
	case nil, bool, int64, float64, string, *big.Int, []byte, time.Time, value.Date, value.TimeOfDay, value.Omitted:
		return v, nil
	case *value.Template:
		return v.Text, nil
	case *value.List:
		for i, item := range v.Items {
			r, err := storable(item, depth+1)
			if err != nil {
				return nil, err
			}
			v.Items[i] = r
		}
		return v, nil
	case *value.Dict:
		for i := range v.Len() {
			k, item := v.At(i)
			r, err := storable(item, depth+1)
			if err != nil {
				return nil, err
			}
			v.SetAt(i, r)
			if _, ok := k.(*value.Template); ok {
				return rekeyed(v)
			}
		}
		return v, nil
	case *value.Set:
		return value.ListOf(v.Items()...), nil
	case *value.Undefined:
		return nil, v
	}
	e := &fault.Error{Class: "AnsibleVariableTypeError", Msg: "Type '" + value.TypeName(v) + "' is unsupported for variable storage.", Excerpt: value.Str(v)}
	if t, ok := v.(jinja.Texter); ok {
		e.Excerpt = t.Text()
	}
	return nil, e
}

// rekeyed is a Dict whose keys are all data.
func rekeyed(d *value.Dict) (any, error) {
	out := value.NewDict(d.Len())
	for k, v := range d.All() {
		if t, ok := k.(*value.Template); ok {
			k = t.Text
		}
		r, err := storable(v, 0)
		if err != nil {
			return nil, err
		}
		out.Set(k, r)
	}
	return out, nil
}

// Args are a task's rendered arguments.
type Args struct {
	Dict *value.Dict
	// Marked holds the names of the arguments whose render read a value that a
	// managed host sent.
	Marked map[string]bool
}

// Mark notes that a managed host had a say in an argument.
func (a *Args) Mark(name string) {
	if a.Marked == nil {
		a.Marked = map[string]bool{}
	}
	a.Marked[name] = true
}

// RenderArgs renders a task's arguments, each on its own; omitted ones are
// left out. The error is a *fault.Error whose message is "Error while resolving
// value for 'ARG'" with what caused it.
func (s *Scope) RenderArgs(args *value.Dict) (Args, error) {
	out := Args{Dict: value.NewDict(args.Len())}
	for k, v := range args.All() {
		name, isText := value.Text(k)
		if !isText {
			name = value.Str(k)
		}
		r, marked, err := s.Render(v)
		if err != nil {
			if s.ctx.Err() != nil {
				return Args{}, err
			}
			pos := args.ValuePos(name)
			if p := value.PosOf(v); !p.IsZero() {
				pos = p
			}
			e := newFault(fault.KindOf(err), "AnsibleTemplateError", "Error while resolving value for '"+name+"'.", pos, err)
			if t, ok := v.(*value.Template); ok {
				e.Excerpt = t.Text // shown where the place is no file
			}
			return Args{}, e
		}
		if r == value.Omit {
			continue
		}
		if isText {
			k = name
		}
		out.Dict.Set(k, r)
		if marked {
			out.Mark(name)
		}
	}
	return out, nil
}

// RenderOptions renders operator-written text with other delimiters and
// options than a value's.
func (s *Scope) RenderOptions(t *value.Template, o jinja.Options) (out any, marked bool, err error) {
	outer := s.mark
	s.mark = false
	v, err := s.renderText(t, o, []string{s.opt.Basedir})
	if err == nil {
		out, err = s.finalize(v, t)
	}
	marked = s.mark
	s.mark = outer
	return out, marked, err
}
