package template

import (
	"volant/controller/jinja"
	"volant/wire/value"
)

// Facts is a variable whose entries came from a managed host, all but those
// that Trusted says it did not choose freely.
type Facts struct {
	Dict    *value.Dict
	Trusted func(name string, v any) bool
}

// factVars is Facts as templates see it: a dict that marks the render when
// something is read that the host chose.
type factVars struct {
	s *Scope
	f *Facts
}

var _ jinja.Mapping = (*factVars)(nil)

// TypeName implements jinja.Object.
func (*factVars) TypeName() string { return "dict" }

// Item implements jinja.Indexer.
func (v *factVars) Item(_ *jinja.Context, key any) (any, bool, error) {
	out, ok := v.f.Dict.Get(key)
	if !ok {
		return nil, false, nil
	}
	if name, isText := value.Text(key); !isText || !v.f.Trusted(name, out) {
		v.s.mark = true
	}
	return out, true, nil
}

// Keys implements jinja.Mapping.
func (v *factVars) Keys(*jinja.Context) ([]any, error) {
	v.s.mark = true
	return v.f.Dict.Keys(), nil
}

// Len implements jinja.Sized.
func (v *factVars) Len() int { return v.f.Dict.Len() }
