package jinja

import (
	"html"
	"strings"

	"volant/wire/value"
)

// like is text of the kind that v is: Markup where v is.
func like(v any, s string) any {
	if _, ok := v.(value.Markup); ok {
		return value.Markup(s)
	}
	return s
}

// keepMarkup adapts a filter of text whose result is Markup for Markup.
func keepMarkup(fn func(s string) string) bindFunc {
	return func(c *Context, a []any) (any, error) {
		s, err := c.Str(a[0])
		if err != nil {
			return nil, err
		}
		return like(a[0], fn(s)), nil
	}
}

// escapeFilter is escape: what is Markup already stays.
func escapeFilter(c *Context, a []any) (any, error) {
	if m, ok := a[0].(value.Markup); ok {
		return m, nil
	}
	s, err := c.Str(a[0])
	return value.Markup(value.Escape(s)), err
}

// forceEscape escapes Markup as well.
func forceEscape(c *Context, a []any) (any, error) {
	s, err := c.Str(a[0])
	return value.Markup(value.Escape(s)), err
}

func markSafe(c *Context, a []any) (any, error) {
	s, err := c.Str(a[0])
	return value.Markup(s), err
}

// markupMethods are those of str that Markup has its own of.
var markupMethods = markupTable()

func markupTable() map[string]*method {
	t := map[string]*method{}
	for name, m := range strMethods {
		t[name] = m
	}
	for _, name := range strings.Fields(`join split rsplit splitlines capitalize title lower upper replace ljust rjust lstrip rstrip center strip
		translate expandtabs swapcase zfill casefold removeprefix removesuffix partition rpartition`) {
		plain := strMethods[name]
		t[name] = &method{name: name, lazy: plain.lazy, sig: plain.sig, call: func(c *Context, recv any, a Args) (any, error) {
			a, err := escapedArgs(c, name, a)
			if err != nil {
				return nil, err
			}
			v, err := plain.call(c, value.Str(recv), a)
			return marked(v), err
		}}
	}
	for name, m := range methods(map[string]func(*Context, any, []any) (any, error){
		"unescape()":  textMethod(func(s string) any { return html.UnescapeString(s) }),
		"striptags()": textMethod(func(s string) any { return stripTags(s) }),
		"escape(s, /)": func(c *Context, _ any, a []any) (any, error) {
			return escapeFilter(c, a)
		},
		"format_map(mapping, /)": func(c *Context, recv any, a []any) (any, error) {
			v, err := formatText(c, value.Str(recv), nil, true, func(name string) (any, bool) {
				v, ok, err := c.item(a[0], name)
				return v, ok && err == nil
			})
			return marked(v), err
		},
	}) {
		t[name] = m
	}
	t["format"] = &method{name: "format", call: func(c *Context, recv any, a Args) (any, error) {
		v, err := formatArgs(c, value.Str(recv), a, true)
		return marked(v), err
	}}
	return t
}

// escapedArgs escapes the argument of a method that becomes part of its result.
func escapedArgs(c *Context, name string, a Args) (Args, error) {
	at := -1
	switch name {
	case "join":
		at = 0
	case "replace", "ljust", "rjust", "center":
		at = 1
	}
	if at < 0 || len(a.Pos) <= at {
		return a, nil
	}
	a.Pos = append([]any(nil), a.Pos...)
	if name != "join" {
		s, err := c.Str(a.Pos[at])
		if err != nil {
			return a, err
		}
		a.Pos[at] = string(value.ToMarkup(like(a.Pos[at], s)))
		return a, nil
	}
	items, err := c.Items(a.Pos[0])
	if err != nil {
		return a, err
	}
	out := make([]any, len(items))
	for i, it := range items {
		s, err := c.Str(it)
		if err != nil {
			return a, err
		}
		out[i] = string(value.ToMarkup(like(it, s)))
	}
	a.Pos[0] = &value.List{Items: out}
	return a, nil
}

// marked makes Markup of the text a method gave.
func marked(v any) any {
	switch x := v.(type) {
	case string:
		return value.Markup(x)
	case *value.List:
		for i, e := range x.Items {
			x.Items[i] = marked(e)
		}
	case value.Tuple:
		for i, e := range x {
			x[i] = marked(e)
		}
	}
	return v
}

// unmarked makes plain text of Markup arguments.
func (a *Args) unmarked() {
	for i, v := range a.Pos {
		if m, ok := v.(value.Markup); ok {
			a.Pos[i] = string(m)
		}
	}
	for i, k := range a.Kw {
		if m, ok := k.Value.(value.Markup); ok {
			a.Kw[i].Value = string(m)
		}
	}
}
