package jinja

import (
	"strconv"
	"strings"

	"volant/wire/value"
)

// Realize returns v with everything inside it rendered; it returns v itself
// when there was nothing to do. A marker in it is returned as the error.
func (c *Context) Realize(v any) (any, error) {
	w, _, err := realizer{c, false}.realize(v, 0)
	return w, err
}

// realizer renders containers all through; markers stay where they are if
// keep is set, else the first is the error.
type realizer struct {
	*Context
	keep bool
}

// realize also says whether it returned anything but v.
func (c realizer) realize(v any, depth int) (any, bool, error) {
	if depth > value.MaxDepth {
		return nil, false, value.Raise("RecursionError", "maximum recursion depth exceeded")
	}
	switch x := v.(type) {
	case nil, string, int64, bool, float64:
		return v, false, nil
	case *value.Undefined:
		if c.keep {
			return x, false, nil
		}
		return nil, false, x
	case *value.Template:
		r, err := c.Read(x)
		if err != nil {
			return nil, false, err
		}
		if t, ok := r.(*value.Template); ok {
			return t.Text, true, nil
		}
		r, _, err = c.realize(r, depth+1)
		return r, true, err
	case *value.Vault:
		r, err := c.Read(x)
		if err != nil {
			return nil, false, err
		}
		r, _, err = c.realize(r, depth+1)
		return r, true, err
	case *value.List:
		items, changed, err := c.realizeItems(x.Items, depth)
		if err != nil || !changed {
			return v, false, err
		}
		return &value.List{Items: items}, true, nil
	case value.Tuple:
		items, changed, err := c.realizeItems(x, depth)
		if err != nil || !changed {
			return v, false, err
		}
		return value.Tuple(items), true, nil
	case *value.Dict:
		var out *value.Dict
		for i := range x.Len() {
			_, e := x.At(i)
			n, changed, err := c.realize(e, depth+1)
			if err != nil {
				return nil, false, err
			}
			if changed {
				if out == nil {
					out = x.Clone()
				}
				out.SetAt(i, n)
			}
		}
		if out != nil {
			return out, true, nil
		}
		return v, false, nil
	}
	return v, false, nil
}

func (c realizer) realizeItems(items []any, depth int) ([]any, bool, error) {
	var out []any
	for i, e := range items {
		switch e.(type) {
		case nil, string, int64, bool, float64:
			continue
		}
		n, changed, err := c.realize(e, depth+1)
		if err != nil {
			return nil, false, err
		}
		if changed {
			if out == nil {
				out = append([]any(nil), items...)
			}
			out[i] = n
		}
	}
	return out, out != nil, nil
}

// Finalize does what the reference does to a result that leaves the template:
// Realize, tuples become lists, Omit inside containers goes, markers go
// through Render.Marker or are returned as the error.
func (c *Context) Finalize(v any) (any, error) { return c.finalize(v, 0, false) }

// converted tells who wants to know that a value of a type that variables do
// not hold becomes one of another.
func (c *Context) converted(v any, to string) {
	if c.r.Converted != nil {
		c.r.Converted(value.TypeName(v), to)
	}
}

// finalize leaves what is no plain container as it is when text is made (text).
func (c *Context) finalize(v any, depth int, text bool) (any, error) {
	if depth > value.MaxDepth {
		return nil, value.Raise("RecursionError", "maximum recursion depth exceeded")
	}
	switch x := v.(type) {
	case nil, string, int64, bool, float64:
		return v, nil
	case value.Markup:
		if text {
			return v, nil
		}
		c.converted(v, "str")
		return string(x), nil
	case *value.Undefined:
		if c.r.Marker != nil {
			return c.r.Marker(x), nil
		}
		return nil, x
	case *value.Template, *value.Vault:
		r, err := c.Read(x)
		if err != nil {
			return nil, err
		}
		if t, ok := r.(*value.Template); ok {
			return t, nil
		}
		return c.finalize(r, depth+1, text)
	case *value.List:
		out, err := c.finalizeItems(x.Items, depth, text)
		if err != nil {
			return nil, err
		}
		out.Place = x.Place
		return out, nil
	case value.Tuple:
		return c.finalizeItems(x, depth, text)
	case *Group:
		if text {
			return v, nil
		}
		c.converted(v, "list")
		return c.finalizeItems(x.Tuple(), depth, text)
	case *value.Set:
		if text {
			return v, nil
		}
		return value.ListOf(x.Items()...), nil
	case *value.Dict:
		out := value.NewDict(x.Len())
		out.Places = x.Places
		for k, e := range x.All() {
			if _, omit := e.(value.Omitted); omit {
				continue
			}
			n, err := c.finalize(e, depth+1, text)
			if err != nil {
				return nil, err
			}
			if _, omit := n.(value.Omitted); omit {
				continue
			}
			if m, ok := k.(value.Markup); ok && !text {
				c.converted(k, "str")
				k = string(m)
			}
			out.Set(k, n)
		}
		return out, nil
	case Mapping:
		keys, err := x.Keys(c)
		if err != nil {
			return nil, err
		}
		out := value.NewDict(len(keys))
		for _, k := range keys {
			e, _, err := x.Item(c, k)
			if err != nil {
				return nil, err
			}
			n, err := c.finalize(e, depth+1, text)
			if err != nil {
				return nil, err
			}
			out.Set(k, n)
		}
		return out, nil
	}
	return v, nil
}

func (c *Context) finalizeItems(items []any, depth int, text bool) (*value.List, error) {
	out := &value.List{Items: make([]any, 0, len(items))}
	for _, e := range items {
		if _, omit := e.(value.Omitted); omit {
			continue
		}
		n, err := c.finalize(e, depth+1, text)
		if err != nil {
			return nil, err
		}
		if _, omit := n.(value.Omitted); omit {
			continue
		}
		out.Items = append(out.Items, n)
	}
	return out, nil
}

// concat joins nodes as the reference does: none give nil, a sole one stays as
// it is, several become text. The first marker among several is the result.
func (c *Context) concat(nodes []any) (any, error) {
	switch len(nodes) {
	case 0:
		return nil, nil
	case 1:
		return nodes[0], nil
	}
	n := 0
	texts := true
	for _, v := range nodes {
		switch x := v.(type) {
		case string:
			n += len(x)
		case *value.Template:
			n += len(x.Text)
		case int64, bool, float64, value.Markup, *blank:
			n += 8
		default:
			texts = false
		}
	}
	var b strings.Builder
	b.Grow(n)
	if !texts {
		done := make([]any, 0, len(nodes))
		for _, v := range nodes {
			if _, omit := v.(value.Omitted); omit {
				continue
			}
			f, err := c.finalize(v, 0, true)
			if err != nil {
				if u, ok := err.(*value.Undefined); ok {
					return u, nil
				}
				return nil, err
			}
			if _, omit := f.(value.Omitted); omit {
				continue
			}
			done = append(done, f)
		}
		nodes = done
	}
	for _, v := range nodes {
		switch v := v.(type) {
		case string:
			b.WriteString(v)
		case *value.Template:
			b.WriteString(v.Text)
		case int64:
			b.WriteString(strconv.FormatInt(v, 10))
		case []byte:
			b.Write(v)
		default:
			s := value.Str(v)
			if err := c.run.grow(len(s)); err != nil {
				return nil, err
			}
			b.WriteString(s)
		}
	}
	return b.String(), nil
}
