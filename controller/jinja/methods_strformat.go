package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"volant/wire/value"
)

func translate(c *Context, s string, table any) (any, error) {
	var b strings.Builder
	for _, ch := range runes(s) {
		r, _ := utf8.DecodeRuneInString(ch)
		v, ok, err := c.item(table, int64(r))
		if err != nil {
			return nil, err
		}
		if !ok {
			b.WriteString(ch)
			continue
		}
		switch v := v.(type) {
		case nil:
		case string:
			b.WriteString(v)
		case int64:
			if v < 0 || v > unicode.MaxRune {
				return nil, value.ValueErrorf("character mapping must be in range(0x110000)")
			}
			b.WriteRune(rune(v))
		default:
			return nil, value.TypeErrorf("character mapping must return integer, None or str")
		}
	}
	return b.String(), nil
}

func makeTrans(_ *Context, _ any, a []any) (any, error) {
	out := value.NewDict(0)
	if a[1] == nil {
		d, ok := a[0].(*value.Dict)
		if !ok {
			return nil, value.TypeErrorf("if you give only one argument to maketrans it must be a dict")
		}
		for k, v := range d.All() {
			switch k := k.(type) {
			case int64:
				out.Set(k, v)
			case string:
				if value.RuneLen(k) != 1 {
					return nil, value.ValueErrorf("string keys in translate table must be of length 1")
				}
				r, _ := utf8.DecodeRuneInString(k)
				out.Set(int64(r), v)
			default:
				return nil, value.TypeErrorf("keys in translate table must be strings or integers")
			}
		}
		return out, nil
	}
	from, ok1 := value.Text(a[0])
	to, ok2 := value.Text(a[1])
	if !ok1 {
		return nil, value.TypeErrorf("first maketrans argument must be a string if there is a second argument")
	}
	if !ok2 {
		return nil, value.TypeErrorf("maketrans() argument 2 must be str, not %s", typeName(a[1]))
	}
	f, t := []rune(from), []rune(to)
	if len(f) != len(t) {
		return nil, value.ValueErrorf("the first two maketrans arguments must have equal length")
	}
	for i := range f {
		out.Set(int64(f[i]), int64(t[i]))
	}
	if a[2] != nil {
		del, ok := value.Text(a[2])
		if !ok {
			return nil, value.TypeErrorf("maketrans() argument 3 must be str, not %s", typeName(a[2]))
		}
		for _, r := range del {
			out.Set(int64(r), nil)
		}
	}
	return out, nil
}

// formatText is str.format and str.format_map; escape is how Markup does it.
func formatText(c *Context, s string, pos []any, escape bool, key func(string) (any, bool)) (any, error) {
	return value.FormatText(s, &value.Fields{
		Pos:     pos,
		MapOnly: pos == nil,
		Key:     key,
		Attr: func(v any, name string) (any, error) {
			r, err := c.GetAttr(v, name)
			if u, ok := r.(*value.Undefined); ok {
				return nil, u
			}
			return r, err
		},
		Item: func(v, key any) (any, error) {
			r, err := c.GetItem(v, key)
			if u, ok := r.(*value.Undefined); ok {
				return nil, u
			}
			return r, err
		},
		Text: func(v any, conv byte) (string, error) {
			v, err := c.expand(v)
			if err != nil {
				return "", err
			}
			switch conv {
			case 'r':
				return value.Repr(v), nil
			case 'a':
				return value.ASCII(v), nil
			}
			return value.Str(v), nil
		},
		Spec: func(v any, spec string) (string, error) {
			v, err := c.expand(v)
			if err != nil {
				return "", err
			}
			if !escape {
				return value.Format(v, spec)
			}
			if m, ok := v.(value.Markup); ok {
				if spec != "" {
					return "", value.ValueErrorf("Unsupported format specification for Markup.")
				}
				return string(m), nil
			}
			t, err := value.Format(v, spec)
			return value.Escape(t), err
		},
	})
}
