package jinja

import (
	"strings"

	"volant/wire/value"
)

// Str is Python's str(v); lazily rendered items are rendered.
func (c *Context) Str(v any) (string, error) {
	switch x := v.(type) {
	case string:
		return x, nil
	case *value.Template:
		return x.Text, nil
	case value.Markup:
		return string(x), nil
	}
	v, err := c.expand(v)
	if err != nil {
		return "", err
	}
	return value.Str(v), nil
}

// Repr is Python's repr(v); lazily rendered items are rendered.
func (c *Context) Repr(v any) (string, error) {
	v, err := c.expand(v)
	if err != nil {
		return "", err
	}
	return value.Repr(v), nil
}

// expand is Realize that also turns a Mapping into a dict.
func (c *Context) expand(v any) (any, error) {
	if m, ok := v.(Mapping); ok {
		return c.finalize(m, 0, true)
	}
	return c.Realize(v)
}

// Truth is Python's bool(v). A marker is raised.
func (c *Context) Truth(v any) (bool, error) {
	switch x := v.(type) {
	case bool:
		return x, nil
	case *value.Undefined:
		return false, x
	}
	return value.Truth(v), nil
}

// Equal is Python's a == b. A marker is raised.
func (c *Context) Equal(a, b any) (bool, error) {
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return x == y, nil
		}
	case int64:
		if y, ok := b.(int64); ok {
			return x == y, nil
		}
	}
	if x, ok := value.Text(a); ok { // a *value.Template here is plain text
		if y, ok := value.Text(b); ok {
			return x == y, nil
		}
	}
	a, err := c.rendered(a)
	if err != nil {
		return false, err
	}
	if b, err = c.rendered(b); err != nil {
		return false, err
	}
	return value.EqualTo(a, b)
}

// rendered is expand that lets markers inside containers be: comparing raises
// those it comes to. A marker itself is raised.
func (c *Context) rendered(v any) (any, error) {
	switch x := v.(type) {
	case nil, string, int64, bool, float64:
		return v, nil
	case *value.Undefined:
		return nil, x
	case Mapping:
		return c.finalize(x, 0, true)
	}
	r := realizer{c, true}
	v, _, err := r.realize(v, 0)
	return v, err
}

// compare is a op b for the comparison operators, in and notin.
func (c *Context) compare(op string, a, b any) (bool, error) {
	switch op {
	case "==":
		return c.Equal(a, b)
	case "!=":
		eq, err := c.Equal(a, b)
		return !eq, err
	case "in":
		return c.Contains(b, a)
	case "notin":
		in, err := c.Contains(b, a)
		return !in, err
	}
	return c.order(op, a, b)
}

// order is a op b for the ordering operators.
func (c *Context) order(op string, a, b any) (bool, error) {
	if err := usable(a); err != nil {
		return false, err
	}
	if err := usable(b); err != nil {
		return false, err
	}
	a, err := c.rendered(a)
	if err != nil {
		return false, err
	}
	if b, err = c.rendered(b); err != nil {
		return false, err
	}
	return value.Compare(op, a, b)
}

// Contains is Python's v in in.
func (c *Context) Contains(in, v any) (bool, error) {
	if u, ok := in.(*value.Undefined); ok {
		return false, u
	}
	switch t := v.(type) {
	case *value.Template:
		v = t.Text
	case value.Markup:
		v = string(t)
	}
	switch x := in.(type) {
	case string, *value.Template, value.Markup:
		s, _ := value.Text(x)
		sub, ok := v.(string)
		if !ok {
			return false, value.TypeErrorf("'in <string>' requires string as left operand, not %s", typeName(v))
		}
		return strings.Contains(s, sub), nil
	case *value.List:
		return c.among(x.Items, v)
	case value.Tuple:
		return c.among(x, v)
	case *value.Dict:
		k, err := hashable(v)
		if err != nil {
			return false, err
		}
		return x.Has(k), nil
	case *value.Set:
		k, err := hashable(v)
		if err != nil {
			return false, err
		}
		return x.Has(k), nil
	case []byte:
		switch y := v.(type) {
		case []byte:
			return strings.Contains(string(x), string(y)), nil
		case int64:
			return strings.IndexByte(string(x), byte(y)) >= 0 && y >= 0 && y < 256, nil
		}
		return false, value.TypeErrorf("a bytes-like object is required, not '%s'", typeName(v))
	case *Range:
		if u, ok := v.(*value.Undefined); ok {
			return false, u
		}
		return x.contains(v), nil
	case Mapping:
		if u, ok := v.(*value.Undefined); ok {
			return false, u
		}
		keys, err := x.Keys(c)
		if err != nil {
			return false, err
		}
		return c.among(keys, v)
	case Iterator:
		items, err := x.Iterate(c)
		if err != nil {
			return false, err
		}
		return c.among(items, v)
	}
	return false, value.TypeErrorf("argument of type '%s' is not iterable", typeName(in))
}

func (c *Context) among(items []any, v any) (bool, error) {
	if s, ok := v.(string); ok {
		plain := true
		for _, e := range items {
			switch e := e.(type) {
			case string:
				if e == s {
					return true, nil
				}
			case int64, bool, nil, float64:
			default:
				plain = false
			}
			if !plain {
				break
			}
		}
		if plain {
			return false, nil
		}
	}
	// the reference renders every item before it looks
	r, _, err := realizer{c, true}.realizeItems(items, 0)
	if err != nil {
		return false, err
	}
	if r != nil {
		items = r
	}
	for _, e := range items {
		eq, err := c.Equal(e, v)
		if err != nil || eq {
			return eq, err
		}
	}
	return false, nil
}

// Items returns what iterating over v yields, each item ready for use (markers
// stay in place). The error is Python's. The slice must not be changed.
func (c *Context) Items(v any) ([]any, error) {
	switch x := v.(type) {
	case *value.Undefined:
		return nil, x
	case *value.List:
		if c.t.counts {
			c.run.noteRaw(x)
		}
		return c.readAll(x.Items)
	case value.Tuple:
		return c.readAll(x)
	case *value.Dict:
		keys := x.Keys()
		for i, k := range keys {
			if t, ok := k.(*value.Template); ok {
				keys[i] = t.Text
			}
		}
		return keys, nil
	case *value.Set:
		return x.Items(), nil
	case string, *value.Template, value.Markup:
		s, _ := value.Text(x)
		rs := runes(s)
		out := make([]any, len(rs))
		for i, r := range rs {
			out[i] = r
		}
		return out, nil
	case []byte:
		out := make([]any, len(x))
		for i, b := range x {
			out[i] = int64(b)
		}
		return out, nil
	case Iterator:
		return x.Iterate(c)
	case Mapping:
		return x.Keys(c)
	}
	return nil, value.TypeErrorf("'%s' object is not iterable", typeName(v))
}

// readAll reads every item; the slice is items itself when all are ready.
func (c *Context) readAll(items []any) ([]any, error) {
	var out []any
	for i, e := range items {
		switch e.(type) {
		case *value.Template, *value.Vault:
			n, err := c.Read(e)
			if err != nil {
				return nil, err
			}
			if out == nil {
				out = append([]any(nil), items...)
			}
			out[i] = n
		}
	}
	if out == nil {
		// a loop over a list that its body appends to sees the items there
		// were; the copy keeps that true without aliasing
		return items[:len(items):len(items)], nil
	}
	return out, nil
}
