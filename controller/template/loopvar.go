package template

import "volant/wire/value"

// Held is what a variable holds whose written value is raw and whose rendered
// value is out: out, with the operator's own text in place of text that is
// nothing but that, so that it is still an expression where one is asked for
// (`when: "{{ fact }}"`, `debug: var={{ item }}`). It is to be asked of the scope
// that rendered, which knows what came of raw.
func (s *Scope) Held(raw, out any) any { return s.held(raw, out, 0) }

func (s *Scope) held(raw, out any, depth int) any {
	if depth > value.MaxDepth {
		return out
	}
	switch src := s.named(raw).(type) {
	case *value.Template:
		if text, ok := out.(string); ok && text == src.Text && !possiblyTemplate(text) {
			return src
		}
	case *value.Vault:
		if _, ok := out.(string); ok {
			return src
		}
	case *value.List:
		o, ok := out.(*value.List)
		if !ok || len(o.Items) != len(src.Items) { // something was omitted
			return out
		}
		l := &value.List{Items: make([]any, len(o.Items))}
		for i, e := range o.Items {
			l.Items[i] = s.held(src.Items[i], e, depth+1)
		}
		return l
	case *value.Dict:
		o, ok := out.(*value.Dict)
		if !ok {
			return out
		}
		d := o.Clone()
		for i := range d.Len() {
			k, e := d.At(i)
			if r, ok := src.Get(k); ok {
				d.SetAt(i, s.held(r, e, depth+1))
			}
		}
		return d
	}
	return out
}

// LoopVars are what the loop variable holds for each of a loop's items, see
// Held. raw is the loop as written, with the lookup of `with_NAME`, or "".
func (s *Scope) LoopVars(with string, raw any, items []any) []any {
	var sources []any
	if l, ok := s.named(raw).(*value.List); ok {
		sources = l.Items
	}
	switch with {
	case "", "list":
	case "items":
		var flat []any
		for _, v := range sources {
			if l, ok := s.named(v).(*value.List); ok {
				flat = append(flat, l.Items...)
			} else {
				flat = append(flat, v)
			}
		}
		sources = flat
	default:
		return items
	}
	if len(sources) != len(items) { // something was omitted
		return items
	}
	out := make([]any, len(items))
	for i, item := range items {
		out[i] = s.Held(sources[i], item)
	}
	return out
}

// named is what a template that was rendered gave, when it gave a value and not
// text put together.
func (s *Scope) named(v any) any {
	t, ok := v.(*value.Template)
	if !ok || !allTemplate(t.Text) {
		return v
	}
	if r := s.done[t]; r != nil && !r.busy {
		return r.v
	}
	return nil
}
