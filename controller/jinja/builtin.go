package jinja

import (
	"strings"

	"volant/wire/value"
)

// builtins is the Table of the language itself.
type builtins struct{}

// Builtins is the language's own filters, tests and globals.
var Builtins Table = builtins{}

func (builtins) Filter(name string) (*Plugin, bool) {
	p, ok := filters[strings.TrimPrefix(name, "ansible.builtin.")]
	return p, ok
}

func (builtins) Test(name string) (*Plugin, bool) {
	p, ok := tests[strings.TrimPrefix(name, "ansible.builtin.")]
	return p, ok
}

func (builtins) Global(name string) (any, bool) {
	g, ok := globals[name]
	return g, ok
}

func lookupFilter(t Table, name string) (*Plugin, bool) {
	if t != nil {
		if p, ok := t.Filter(name); ok {
			return p, true
		}
	}
	return Builtins.Filter(name)
}

func lookupTest(t Table, name string) (*Plugin, bool) {
	if t != nil {
		if p, ok := t.Test(name); ok {
			return p, true
		}
	}
	return Builtins.Test(name)
}

func lookupGlobal(t Table, name string) (any, bool) {
	if t != nil {
		if g, ok := t.Global(name); ok {
			return g, true
		}
	}
	return Builtins.Global(name)
}

// bindFunc is a function over the values of its signature's parameters.
type bindFunc func(c *Context, a []any) (any, error)

// Bound makes a Func of a signature and a function over its parameters.
func Bound(sig string, fn func(c *Context, a []any) (any, error)) Func {
	s := Sig(sig)
	return func(c *Context, a Args) (any, error) {
		v, err := s.Bind(a)
		if err != nil {
			return nil, err
		}
		return fn(c, v)
	}
}

// plugins makes a table of plugins. A key is a name, or several for aliases,
// and the parameters: "d default(value, default_value=”, boolean=False)".
// prefix is what Python's names of the functions begin with.
func plugins(prefix string, fns map[string]bindFunc) map[string]*Plugin {
	out := map[string]*Plugin{}
	for text, fn := range fns {
		names, params, _ := strings.Cut(text, "(")
		for _, n := range strings.Fields(names) {
			out[n] = &Plugin{Name: "ansible.builtin." + n, Call: Bound(pythonName(prefix, n)+"("+params, fn)}
		}
	}
	return out
}

// pythonName is what Python's errors call the function of a filter or test.
func pythonName(prefix, n string) string {
	if prefix == "do_" {
		switch n {
		case "first", "join", "slice", "groupby", "sum", "list", "unique":
			return "sync_do_" + n
		case "default", "d":
			return "ansible_default"
		case "safe":
			return "do_mark_safe"
		case "string":
			return "soft_str"
		case "e", "escape":
			return "escape"
		case "abs":
			return n
		}
	}
	return prefix + n
}

func mark(t map[string]*Plugin, set func(p *Plugin), names string) {
	for _, n := range strings.Fields(names) {
		set(t[n])
	}
}

var globals = map[string]any{
	"range": &Plugin{Name: "range", Call: newRange},
	"dict": &Plugin{Name: "dict", Lazy: true, Call: func(c *Context, a Args) (any, error) {
		if len(a.Pos) > 1 {
			return nil, value.TypeErrorf("dict expected at most 1 argument, got %d", len(a.Pos))
		}
		d := value.NewDict(len(a.Kw))
		if len(a.Pos) == 1 {
			if err := c.fill(d, a.Pos[0]); err != nil {
				return nil, err
			}
		}
		for _, k := range a.Kw {
			d.Set(k.Name, k.Value)
		}
		return d, nil
	}},
	"namespace": &Plugin{Name: "namespace", Lazy: true, Markers: true, Call: func(c *Context, a Args) (any, error) {
		n := &namespace{value.NewDict(len(a.Kw))}
		if len(a.Pos) > 1 {
			return nil, value.TypeErrorf("dict expected at most 1 argument, got %d", len(a.Pos))
		}
		if len(a.Pos) == 1 {
			if err := c.fill(n.attrs, a.Pos[0]); err != nil {
				return nil, err
			}
		}
		for _, k := range a.Kw {
			n.attrs.Set(k.Name, k.Value)
		}
		return n, nil
	}},
	"cycler": &Plugin{Name: "cycler", Lazy: true, Call: func(_ *Context, a Args) (any, error) {
		if len(a.Pos) == 0 {
			return nil, value.Raise("RuntimeError", "at least one item has to be provided")
		}
		return &cycler{items: append([]any(nil), a.Pos...)}, nil
	}},
	"joiner": &Plugin{Name: "joiner", Call: Bound("joiner(sep=', ')", func(_ *Context, a []any) (any, error) {
		return &joiner{sep: a[0]}, nil
	})},
	"lipsum": &Plugin{Name: "lipsum", Call: Bound("lipsum(n=5, html=True, min=20, max=100)", lipsum)},
}
