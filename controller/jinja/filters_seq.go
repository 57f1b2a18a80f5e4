package jinja

import (
	"strings"

	"volant/wire/value"
)

// attributeParts splits "a.0.b" into what to look up in turn.
func attributeParts(attr any) []any {
	switch x := attr.(type) {
	case nil:
		return nil
	case string:
		var parts []any
		for _, p := range strings.Split(x, ".") {
			if all(p, isDigitRune) {
				if n, err := ParseInt(p, 10); err == nil {
					parts = append(parts, n)
					continue
				}
			}
			parts = append(parts, p)
		}
		return parts
	}
	return []any{attr}
}

// getter looks an attribute up as Jinja2's attrgetter does; def stands for
// what is undefined unless it is nil. What is undefined is raised unless lazy,
// as the reference does in filters that do not expect it, default or not.
func (c *Context) getter(attr, def any, lazy bool) func(v any) (any, error) {
	parts := attributeParts(attr)
	return func(v any) (any, error) {
		var err error
		for _, p := range parts {
			if v, err = c.GetItem(v, p); err != nil {
				return nil, err
			}
			if u, ok := v.(*value.Undefined); ok {
				if !lazy {
					return nil, u
				}
				if def != nil {
					v = def
				}
			}
		}
		return v, nil
	}
}

// lowered wraps get with ignoring case.
func lowered(get func(v any) (any, error), sensitive any) func(v any) (any, error) {
	if value.Truth(sensitive) {
		return get
	}
	return func(v any) (any, error) {
		v, err := get(v)
		if s, ok := value.Text(v); ok {
			return pyLower(s), err
		}
		return v, err
	}
}

func batch(c *Context, a []any) (any, error) {
	items, err := c.Items(a[0])
	if err != nil {
		return nil, err
	}
	n, err := wantInt(a[1])
	if err != nil {
		return nil, err
	}
	out := &value.List{}
	var cur []any
	for _, it := range items {
		if len(cur) == n && cur != nil {
			out.Items = append(out.Items, &value.List{Items: cur})
			cur = nil
		} else if n == 0 && cur == nil {
			out.Items = append(out.Items, &value.List{})
		}
		cur = append(cur, it)
	}
	if len(cur) > 0 {
		if a[2] != nil {
			if n > c.run.limits.Sequence {
				return nil, &LimitError{"sequence", c.run.limits.Sequence}
			}
			for len(cur) < n {
				cur = append(cur, a[2])
			}
		}
		out.Items = append(out.Items, &value.List{Items: cur})
	}
	return out, nil
}

func sliceFilter(c *Context, a []any) (any, error) {
	items, err := c.Items(a[0])
	if err != nil {
		return nil, err
	}
	n, err := wantInt(a[1])
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, value.Raise("ZeroDivisionError", "integer division or modulo by zero")
	}
	if n > c.run.limits.Sequence {
		return nil, &LimitError{"sequence", c.run.limits.Sequence}
	}
	out := &value.List{}
	if n < 0 {
		return out, nil
	}
	per, extra, offset := len(items)/n, len(items)%n, 0
	for i := range n {
		start := offset + i*per
		if i < extra {
			offset++
		}
		part := append([]any(nil), items[start:offset+(i+1)*per]...)
		if a[2] != nil && i >= extra {
			part = append(part, a[2])
		}
		out.Items = append(out.Items, &value.List{Items: part})
	}
	return out, nil
}

func dictSort(c *Context, a []any) (any, error) {
	pos := 0
	switch by, _ := value.Text(a[2]); by {
	case "key":
	case "value":
		pos = 1
	default:
		return nil, value.Raise("FilterArgumentError", `You can only sort by either "key" or "value"`)
	}
	if !isMapping(a[0]) {
		return nil, value.Raise("AttributeError", "'%s' object has no attribute 'items'", typeName(a[0]))
	}
	l, err := c.pairs(a[0])
	if err != nil {
		return nil, err
	}
	items, err := c.sorted(l.(*value.List).Items, lowered(func(v any) (any, error) { return v.(value.Tuple)[pos], nil }, a[1]), value.Truth(a[3]))
	return &value.List{Items: items}, err
}

func sortFilter(c *Context, a []any) (any, error) {
	items, err := c.Items(a[0])
	if err != nil {
		return nil, err
	}
	attrs := []any{a[3]}
	if s, ok := value.Text(a[3]); ok {
		attrs = nil
		for _, p := range strings.Split(s, ",") {
			attrs = append(attrs, p)
		}
	}
	var gets []func(v any) (any, error)
	for _, at := range attrs {
		gets = append(gets, lowered(c.getter(at, nil, false), a[2]))
	}
	out, err := c.sorted(items, func(v any) (any, error) {
		keys := &value.List{}
		for _, g := range gets {
			k, err := g(v)
			if err != nil {
				return nil, err
			}
			keys.Items = append(keys.Items, k)
		}
		return keys, nil
	}, value.Truth(a[1]))
	return &value.List{Items: out}, err
}

func unique(c *Context, a []any) (any, error) {
	items, err := c.Items(a[0])
	if err != nil {
		return nil, err
	}
	get := lowered(c.getter(a[2], nil, false), a[1])
	seen := value.NewDict(len(items))
	out := &value.List{}
	for _, it := range items {
		k, err := get(it)
		if err != nil {
			return nil, err
		}
		if k, err = hashable(k); err != nil {
			return nil, err
		}
		if !seen.Has(k) {
			seen.Set(k, nil)
			out.Items = append(out.Items, it)
		}
	}
	return out, nil
}

// extreme is min and max: op says when an item beats the best so far.
func extreme(op string) bindFunc {
	return func(c *Context, a []any) (any, error) {
		items, err := c.Items(a[0])
		if err != nil {
			return nil, err
		}
		if len(items) == 0 {
			return c.undefined("", "No aggregated item, sequence was empty."), nil
		}
		get := lowered(c.getter(a[2], nil, false), a[1])
		best := items[0]
		bestKey, err := get(best)
		if err != nil {
			return nil, err
		}
		for _, it := range items[1:] {
			k, err := get(it)
			if err != nil {
				return nil, err
			}
			if err := unread(k, bestKey); err != nil {
				return nil, err
			}
			better, err := c.order(op, k, bestKey)
			if err != nil {
				return nil, err
			}
			if better {
				best, bestKey = it, k
			}
		}
		return best, nil
	}
}

func reverse(c *Context, a []any) (any, error) {
	switch x := a[0].(type) {
	case value.Markup:
		r, err := reverse(c, []any{string(x)})
		return marked(r), err
	case string:
		rs := runes(x)
		for i, j := 0, len(rs)-1; i < j; i, j = i+1, j-1 {
			rs[i], rs[j] = rs[j], rs[i]
		}
		return strings.Join(rs, ""), nil
	}
	items, err := c.Items(a[0])
	if err != nil {
		return nil, value.Raise("FilterArgumentError", "argument must be iterable: %v", err)
	}
	out := make([]any, len(items))
	for i, it := range items {
		out[len(items)-1-i] = it
	}
	return &value.List{Items: out}, nil
}

func sum(c *Context, a []any) (any, error) {
	items, err := c.Items(a[0])
	if err != nil {
		return nil, err
	}
	if _, ok := value.Text(a[2]); ok {
		return nil, value.TypeErrorf("sum() can't sum strings [use ''.join(seq) instead]")
	}
	get := c.getter(a[1], nil, false)
	total := a[2]
	for _, it := range items {
		if a[1] != nil {
			if it, err = get(it); err != nil {
				return nil, err
			}
		}
		if u, ok := it.(*value.Undefined); ok {
			return nil, u
		}
		if _, isList := it.(*value.List); isList && value.IsNumber(total) {
			return nil, value.TypeErrorf("'NotImplementedType' object is not iterable")
		}
		if total, err = value.Add(total, it); err != nil {
			return nil, err
		}
	}
	return total, nil
}

// Group is one group of groupby: a tuple whose parts have names.
type Group struct {
	Grouper any
	List    *value.List
}

// TypeName is that of the reference's named tuple.
func (*Group) TypeName() string { return "GroupTuple" }

// Tuple is the group as a plain tuple.
func (g *Group) Tuple() value.Tuple { return value.Tuple{g.Grouper, g.List} }

// Len is 2.
func (*Group) Len() int { return 2 }

// Text is the group's str, as the reference's plain repr of the tuple.
func (g *Group) Text() string { return value.Repr(g.Tuple()) }

// Iterate lists the two parts.
func (g *Group) Iterate(*Context) ([]any, error) { return g.Tuple(), nil }

// Attr finds grouper and list.
func (g *Group) Attr(_ *Context, name string) (any, bool, error) {
	switch name {
	case "grouper":
		return g.Grouper, true, nil
	case "list":
		return g.List, true, nil
	}
	return nil, false, nil
}

// Item finds parts 0 and 1.
func (g *Group) Item(_ *Context, key any) (any, bool, error) {
	i, ok := index(key, 2)
	if !ok {
		return nil, false, nil
	}
	return g.Tuple()[i], true, nil
}

func groupBy(c *Context, a []any) (any, error) {
	items, err := c.Items(a[0])
	if err != nil {
		return nil, err
	}
	raw := c.getter(a[1], a[2], false)
	get := lowered(raw, a[3])
	items, err = c.sorted(items, get, false)
	if err != nil {
		return nil, err
	}
	out := &value.List{}
	var cur *Group
	var curKey any
	for _, it := range items {
		k, err := get(it)
		if err != nil {
			return nil, err
		}
		if cur != nil {
			eq, err := c.Equal(k, curKey)
			if err != nil {
				return nil, err
			}
			if eq {
				cur.List.Items = append(cur.List.Items, it)
				continue
			}
		}
		g, err := raw(it)
		if err != nil {
			return nil, err
		}
		cur, curKey = &Group{g, value.ListOf(it)}, k
		out.Items = append(out.Items, cur)
	}
	return out, nil
}

func mapFilter(c *Context, a Args) (any, error) {
	if len(a.Pos) == 0 {
		return nil, value.TypeErrorf("sync_do_map() missing 1 required positional argument: 'value'")
	}
	out := &value.List{}
	if !value.Truth(a.Pos[0]) {
		return out, nil
	}
	var fn func(v any) (any, error)
	if attr, has := a.kw("attribute"); has && len(a.Pos) == 1 {
		def, _ := a.kw("default")
		for _, k := range a.Kw {
			if k.Name != "attribute" && k.Name != "default" {
				return nil, value.Raise("FilterArgumentError", "Unexpected keyword argument %s", value.Repr(k.Name))
			}
		}
		fn = c.getter(attr, def, true)
	} else {
		if len(a.Pos) < 2 {
			return nil, value.Raise("FilterArgumentError", "map requires a filter argument")
		}
		name, ok := value.Text(a.Pos[1])
		if !ok {
			name = value.Str(a.Pos[1])
		}
		rest := a.Pos[2:]
		fn = func(v any) (any, error) {
			return c.CallFilter(name, Args{Pos: append([]any{v}, rest...), Kw: append([]Kwarg(nil), a.Kw...)})
		}
	}
	items, err := c.Items(a.Pos[0])
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		v, err := fn(it)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, v)
	}
	return out, nil
}

func (a Args) kw(name string) (any, bool) {
	for _, k := range a.Kw {
		if k.Name == name {
			return k.Value, true
		}
	}
	return nil, false
}

// selector is select, reject and their attr forms: keep says which are kept.
func selector(attr, keep bool) Func {
	return func(c *Context, a Args) (any, error) {
		out := &value.List{}
		if len(a.Pos) == 0 {
			return nil, value.TypeErrorf("select_or_reject() missing 1 required positional argument: 'value'")
		}
		if !value.Truth(a.Pos[0]) {
			return out, nil
		}
		rest := a.Pos[1:]
		get := func(v any) (any, error) { return v, nil }
		if attr {
			if len(rest) == 0 {
				return nil, value.Raise("FilterArgumentError", "Missing parameter for attribute name")
			}
			get = c.getter(rest[0], nil, true)
			rest = rest[1:]
		}
		test := c.Truth
		if len(rest) > 0 {
			name := value.Str(rest[0])
			rest = rest[1:]
			test = func(v any) (bool, error) {
				return c.CallTest(name, Args{Pos: append([]any{v}, rest...), Kw: append([]Kwarg(nil), a.Kw...)})
			}
		}
		items, err := c.Items(a.Pos[0])
		if err != nil {
			return nil, err
		}
		for _, it := range items {
			v, err := get(it)
			if err != nil {
				return nil, err
			}
			ok, err := test(v)
			if err != nil {
				return nil, err
			}
			if ok == keep {
				out.Items = append(out.Items, it)
			}
		}
		return out, nil
	}
}
