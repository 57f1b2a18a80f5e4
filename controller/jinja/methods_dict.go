package jinja

import (
	"volant/wire/value"
)

func (c *Context) mutableDict(v any) *value.Dict {
	d := v.(*value.Dict)
	if !c.t.mutates {
		return d.Clone()
	}
	return d
}

func (c *Context) mutableSet(v any) *value.Set {
	s := v.(*value.Set)
	if !c.t.mutates {
		return value.SetOf(s.Items()...)
	}
	return s
}

// entries reads every value of d and hands key and value to add.
func (c *Context) entries(d *value.Dict, add func(k, v any)) error {
	for k, v := range d.All() {
		v, err := c.readItem(v)
		if err != nil {
			return err
		}
		if t, ok := k.(*value.Template); ok {
			k = t.Text
		}
		add(k, v)
	}
	return nil
}

// fill puts what dict(x) and update(x) take into d: a mapping or pairs.
func (c *Context) fill(d *value.Dict, from any) error {
	switch x := from.(type) {
	case *value.Dict:
		for k, v := range x.All() {
			d.Set(k, v)
		}
		return nil
	case Mapping:
		keys, err := x.Keys(c)
		if err != nil {
			return err
		}
		for _, k := range keys {
			v, _, err := x.Item(c, k)
			if err != nil {
				return err
			}
			d.Set(k, v)
		}
		return nil
	}
	items, err := c.Items(from)
	if err != nil {
		return err
	}
	for i, it := range items {
		if u, ok := it.(*value.Undefined); ok {
			return u
		}
		pair, err := c.Items(it)
		if err != nil {
			return value.TypeErrorf("cannot convert dictionary update sequence element #%d to a sequence", i)
		}
		if len(pair) != 2 {
			return value.ValueErrorf("dictionary update sequence element #%d has length %d; 2 is required", i, len(pair))
		}
		k, err := hashable(pair[0])
		if err != nil {
			return err
		}
		d.Set(k, pair[1])
	}
	return nil
}

func keyError(c *Context, k any) error {
	repr, err := c.Repr(k)
	if err != nil {
		return err
	}
	return &value.Exception{Class: "KeyError", Msg: repr}
}

var dictMethods = lazily(methods(map[string]func(*Context, any, []any) (any, error){
	"get(key, default=None, /)": func(c *Context, r any, a []any) (any, error) {
		k, err := hashable(a[0])
		if err != nil {
			return nil, err
		}
		if v, ok := r.(*value.Dict).Get(k); ok {
			return c.readItem(v)
		}
		return a[1], nil
	},
	"keys()": func(c *Context, r any, _ []any) (any, error) {
		keys, err := c.Items(r)
		return &value.List{Items: keys}, err
	},
	"values()": func(c *Context, r any, _ []any) (any, error) {
		l := &value.List{}
		err := c.entries(r.(*value.Dict), func(_, v any) { l.Items = append(l.Items, v) })
		return l, err
	},
	"items()": func(c *Context, r any, _ []any) (any, error) {
		l := &value.List{}
		err := c.entries(r.(*value.Dict), func(k, v any) { l.Items = append(l.Items, value.Tuple{k, v}) })
		return l, err
	},
	"copy()": func(c *Context, r any, _ []any) (any, error) { return r.(*value.Dict).Clone(), nil },
	"clear()": func(c *Context, r any, _ []any) (any, error) {
		c.mutableDict(r).Clear()
		return nil, nil
	},
	"update(other=None, /, **kw)": func(c *Context, r any, a []any) (any, error) {
		d := c.mutableDict(r)
		if a[0] != nil {
			if err := c.fill(d, a[0]); err != nil {
				return nil, err
			}
		}
		d.Update(a[1].(*value.Dict))
		return nil, nil
	},
	"setdefault(key, default=None, /)": func(c *Context, r any, a []any) (any, error) {
		k, err := hashable(a[0])
		if err != nil {
			return nil, err
		}
		d := c.mutableDict(r)
		if v, ok := d.Get(k); ok {
			return c.readItem(v)
		}
		d.Set(k, a[1])
		return a[1], nil
	},
	"popitem()": func(c *Context, r any, _ []any) (any, error) {
		d := c.mutableDict(r)
		if d.Len() == 0 {
			return nil, value.Raise("KeyError", "'popitem(): dictionary is empty'")
		}
		k, v := d.At(d.Len() - 1)
		v, err := c.readItem(v)
		if err != nil {
			return nil, err
		}
		d.Delete(k)
		return value.Tuple{k, v}, nil
	},
	"pop(key, *default)": func(c *Context, r any, a []any) (any, error) {
		k, err := hashable(a[0])
		if err != nil {
			return nil, err
		}
		d := c.mutableDict(r)
		if v, ok := d.Get(k); ok {
			d.Delete(k)
			return c.readItem(v)
		}
		if def := a[1].(value.Tuple); len(def) > 0 {
			return def[0], nil
		}
		return nil, keyError(c, k)
	},
	"fromkeys(iterable, value=None, /)": func(c *Context, _ any, a []any) (any, error) {
		keys, err := c.Items(a[0])
		if err != nil {
			return nil, err
		}
		d := value.NewDict(len(keys))
		for _, k := range keys {
			if k, err = hashable(k); err != nil {
				return nil, err
			}
			d.Set(k, a[1])
		}
		return d, nil
	},
}), "get", "setdefault", "pop", "update", "fromkeys")

// setOf collects iterables into one set.
func (c *Context) setOf(args value.Tuple) ([]*value.Set, error) {
	var out []*value.Set
	for _, a := range args {
		items, err := c.Items(a)
		if err != nil {
			return nil, err
		}
		s := new(value.Set)
		for _, it := range items {
			k, err := hashable(it)
			if err != nil {
				return nil, err
			}
			s.Add(k)
		}
		out = append(out, s)
	}
	return out, nil
}

// setOp is a set method that combines the set with others.
func setOp(op func(s *value.Set, others []*value.Set) any) func(*Context, any, []any) (any, error) {
	return func(c *Context, r any, a []any) (any, error) {
		others, err := c.setOf(a[0].(value.Tuple))
		if err != nil {
			return nil, err
		}
		return op(r.(*value.Set), others), nil
	}
}

func within(a, b *value.Set) bool {
	for _, m := range a.Items() {
		if !b.Has(m) {
			return false
		}
	}
	return true
}

var setMethods = methods(map[string]func(*Context, any, []any) (any, error){
	"union(*others)": setOp(func(s *value.Set, others []*value.Set) any {
		out := value.SetOf(s.Items()...)
		for _, o := range others {
			for _, m := range o.Items() {
				out.Add(m)
			}
		}
		return out
	}),
	"intersection(*others)": setOp(func(s *value.Set, others []*value.Set) any {
		out := new(value.Set)
	members:
		for _, m := range s.Items() {
			for _, o := range others {
				if !o.Has(m) {
					continue members
				}
			}
			out.Add(m)
		}
		return out
	}),
	"difference(*others)": setOp(func(s *value.Set, others []*value.Set) any {
		out := value.SetOf(s.Items()...)
		for _, o := range others {
			for _, m := range o.Items() {
				out.Remove(m)
			}
		}
		return out
	}),
	"symmetric_difference(*others)": setOp(func(s *value.Set, others []*value.Set) any {
		out := value.SetOf(s.Items()...)
		for _, o := range others {
			for _, m := range o.Items() {
				if !out.Remove(m) {
					out.Add(m)
				}
			}
		}
		return out
	}),
	"issubset(*others)":   setOp(func(s *value.Set, o []*value.Set) any { return len(o) == 1 && within(s, o[0]) }),
	"issuperset(*others)": setOp(func(s *value.Set, o []*value.Set) any { return len(o) == 1 && within(o[0], s) }),
	"isdisjoint(*others)": setOp(func(s *value.Set, o []*value.Set) any {
		for _, x := range o {
			for _, m := range x.Items() {
				if s.Has(m) {
					return false
				}
			}
		}
		return true
	}),
	"copy()": func(_ *Context, r any, _ []any) (any, error) { return value.SetOf(r.(*value.Set).Items()...), nil },
	"add(elem, /)": func(c *Context, r any, a []any) (any, error) {
		k, err := hashable(a[0])
		if err != nil {
			return nil, err
		}
		c.mutableSet(r).Add(k)
		return nil, nil
	},
	"update(*others)": func(c *Context, r any, a []any) (any, error) {
		others, err := c.setOf(a[0].(value.Tuple))
		for _, o := range others {
			for _, m := range o.Items() {
				c.mutableSet(r).Add(m)
			}
		}
		return nil, err
	},
	"discard(elem, /)": func(c *Context, r any, a []any) (any, error) {
		c.mutableSet(r).Remove(a[0])
		return nil, nil
	},
	"remove(elem, /)": func(c *Context, r any, a []any) (any, error) {
		if !c.mutableSet(r).Remove(a[0]) {
			return nil, keyError(c, a[0])
		}
		return nil, nil
	},
	"clear()": func(c *Context, r any, _ []any) (any, error) {
		s := c.mutableSet(r)
		for _, m := range s.Items() {
			s.Remove(m)
		}
		return nil, nil
	},
})

// mappingMethod is the dict method name of a Mapping, or nil.
func mappingMethod(m Mapping, name string) Object {
	switch name {
	case "keys":
		return native(name, func(c *Context, _ Args) (any, error) {
			keys, err := m.Keys(c)
			return &value.List{Items: keys}, err
		})
	case "items":
		return native(name, func(c *Context, _ Args) (any, error) { return c.pairs(m) })
	case "values":
		return native(name, func(c *Context, _ Args) (any, error) {
			l, err := c.pairs(m)
			if err != nil {
				return nil, err
			}
			items := l.(*value.List).Items
			for i, p := range items {
				items[i] = p.(value.Tuple)[1]
			}
			return l, nil
		})
	case "get":
		sig := Sig("get(key, default=None)")
		return native(name, func(c *Context, a Args) (any, error) {
			v, err := sig.Bind(a)
			if err != nil {
				return nil, err
			}
			if r, ok, err := m.Item(c, v[0]); ok || err != nil {
				return r, err
			}
			return v[1], nil
		})
	}
	return nil
}
