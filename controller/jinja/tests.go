package jinja

import (
	"math/big"
	"strings"
	"unicode"

	"volant/wire/value"
)

func typeTest(is func(v any) bool) bindFunc {
	return func(_ *Context, a []any) (any, error) { return is(a[0]), nil }
}

// orderTest is one of Python's operator functions.
func orderTest(op, name string) Func {
	return func(c *Context, a Args) (any, error) {
		switch {
		case len(a.Kw) > 0:
			return nil, value.TypeErrorf("_operator.%s() takes no keyword arguments", name)
		case len(a.Pos) != 2:
			return nil, value.TypeErrorf("%s expected 2 arguments, got %d", name, len(a.Pos))
		}
		if op != "==" && op != "!=" {
			if err := unread(a.Pos...); err != nil {
				return nil, err
			}
		}
		return c.compare(op, a.Pos[0], a.Pos[1])
	}
}

// unread is the first marker among the items of lists: as arguments of plugins
// they are lazy, and all their items are read before they are ordered.
func unread(vs ...any) error {
	for _, v := range vs {
		if l, ok := v.(*value.List); ok {
			for _, e := range l.Items {
				if u, ok := e.(*value.Undefined); ok {
					return u
				}
			}
		}
	}
	return nil
}

// known says whether v names something. Looking up what is no text fails in
// the reference's loader, which counts as there.
func known(v any, have func(s string) bool) (any, error) {
	if s, ok := value.Text(v); ok {
		return have(s), nil
	}
	_, err := hashable(v)
	return err == nil, err
}

func remainder(v, by any) (any, error) { return value.Mod(v, by) }

var tests = testTable()

func testTable() map[string]*Plugin {
	t := plugins("test_", map[string]bindFunc{
		"odd(value)": func(_ *Context, a []any) (any, error) {
			m, err := remainder(a[0], int64(2))
			return err == nil && value.Equal(m, int64(1)), err
		},
		"even(value)": func(_ *Context, a []any) (any, error) {
			m, err := remainder(a[0], int64(2))
			return err == nil && value.Equal(m, int64(0)), err
		},
		"divisibleby(value, num)": func(_ *Context, a []any) (any, error) {
			m, err := remainder(a[0], a[1])
			return err == nil && value.Equal(m, int64(0)), err
		},
		"defined(value)": func(_ *Context, a []any) (any, error) {
			if u, ok := a[0].(*value.Undefined); ok {
				if u.Err != nil {
					return u, nil
				}
				return false, nil
			}
			_, ok := a[0].(*blank)
			return !ok, nil
		},
		"undefined(value)": func(_ *Context, a []any) (any, error) {
			if u, ok := a[0].(*value.Undefined); ok {
				if u.Err != nil {
					return u, nil
				}
				return true, nil
			}
			_, ok := a[0].(*blank)
			return ok, nil
		},
		"filter(value)": func(c *Context, a []any) (any, error) {
			return known(a[0], func(s string) bool {
				_, ok := lookupFilter(c.table(), s)
				return ok
			})
		},
		"test(value)": func(c *Context, a []any) (any, error) {
			return known(a[0], func(s string) bool {
				_, ok := lookupTest(c.table(), s)
				return ok
			})
		},
		"none(value)": typeTest(func(v any) bool { return v == nil }),
		"boolean(value)": typeTest(func(v any) bool {
			_, ok := v.(bool)
			return ok
		}),
		"false(value)": typeTest(func(v any) bool {
			b, ok := v.(bool)
			return ok && !b
		}),
		"true(value)": typeTest(func(v any) bool {
			b, ok := v.(bool)
			return ok && b
		}),
		"integer(value)": typeTest(func(v any) bool {
			_, b := v.(bool)
			return value.IsInt(v) && !b
		}),
		"float(value)": typeTest(func(v any) bool {
			_, ok := v.(float64)
			return ok
		}),
		"number(value)": typeTest(value.IsNumber),
		"string(value)": typeTest(func(v any) bool {
			_, ok := value.Text(v)
			return ok
		}),
		"mapping(value)": typeTest(isMapping),
		"sequence(value)": typeTest(func(v any) bool {
			switch v.(type) {
			case string, *value.Template, value.Markup, *value.List, value.Tuple, *value.Dict, []byte, *Range, Mapping, *Group:
				return true
			}
			return false
		}),
		"iterable(value)": typeTest(func(v any) bool {
			switch v.(type) {
			case string, *value.Template, value.Markup, *value.List, value.Tuple, *value.Dict, *value.Set, []byte, Mapping, Iterator:
				return true
			}
			return false
		}),
		"callable(value)": typeTest(func(v any) bool {
			switch v.(type) {
			case Caller, *Plugin:
				return true
			}
			return false
		}),
		"escaped(value)": typeTest(func(v any) bool { _, ok := v.(value.Markup); return ok }),
		"lower(value)": func(c *Context, a []any) (any, error) {
			s, err := c.Str(a[0])
			return isCase(s, unicode.IsLower, unicode.IsUpper), err
		},
		"upper(value)": func(c *Context, a []any) (any, error) {
			s, err := c.Str(a[0])
			return isCase(s, unicode.IsUpper, unicode.IsLower), err
		},
		"sameas(value, other)": func(_ *Context, a []any) (any, error) { return same(a[0], a[1]), nil },
		"in(value, seq)": func(c *Context, a []any) (any, error) {
			return c.Contains(a[1], a[0])
		},
	})
	for op, names := range map[string]string{
		"==": "eq == equalto", "!=": "ne !=", ">": "gt > greaterthan", ">=": "ge >=", "<": "lt < lessthan", "<=": "le <=",
	} {
		for _, n := range strings.Fields(names) {
			t[n] = &Plugin{Name: "ansible.builtin." + n, Markup: true, Call: orderTest(op, strings.Fields(names)[0])}
		}
	}
	mark(t, func(p *Plugin) { p.Markers, p.Lazy = true, true }, "defined undefined")
	mark(t, func(p *Plugin) { p.Lazy = true },
		"none boolean false true integer float number string mapping sequence iterable callable escaped sameas")
	for alias, name := range map[string]string{"!=": "ne", "<": "lt", "<=": "le", "==": "eq", ">": "gt", ">=": "ge"} {
		t[alias].Name = "ansible.builtin." + name
	}
	return t
}

func isMapping(v any) bool {
	switch v.(type) {
	case *value.Dict, Mapping:
		return true
	}
	return false
}

// same is Python's identity, as far as it can be told.
func same(a, b any) bool {
	switch a.(type) {
	case value.Tuple, []byte:
		return false
	case nil, bool, int64, float64, string, value.Markup, *value.Template, *big.Int:
		if typeName(a) != typeName(b) {
			return false
		}
		return value.Equal(a, b)
	}
	switch b.(type) {
	case value.Tuple, []byte:
		return false
	}
	return a == b
}
