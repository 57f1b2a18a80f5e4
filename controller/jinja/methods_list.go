package jinja

import (
	"slices"
	"sort"

	"volant/wire/value"
)

// indexOf is list.index and tuple.index.
func indexOf(c *Context, items []any, a []any, what string) (any, error) {
	start, n, _, err := sliceBounds([3]any{a[1], a[2], nil}, len(items))
	if err != nil {
		return nil, err
	}
	r, _, err := realizer{c, true}.realizeItems(items, 0)
	if err != nil {
		return nil, err
	}
	if r != nil {
		items = r
	}
	for i := start; i < start+n; i++ {
		eq, err := c.Equal(items[i], a[0])
		if err != nil {
			return nil, err
		}
		if eq {
			return int64(i), nil
		}
	}
	if what == "tuple" {
		return nil, value.ValueErrorf("tuple.index(x): x not in tuple")
	}
	repr, err := c.Repr(a[0])
	if err != nil {
		return nil, err
	}
	return nil, value.ValueErrorf("%s is not in list", repr)
}

func countOf(c *Context, items []any, v any) (any, error) {
	n := int64(0)
	for _, e := range items {
		e, err := c.Read(e)
		if err != nil {
			return nil, err
		}
		eq, err := c.Equal(e, v)
		if err != nil {
			return nil, err
		}
		if eq {
			n++
		}
	}
	return n, nil
}

// grown appends, within the limit on sequences.
func grown(c *Context, l *value.List, items ...any) error {
	if len(l.Items)+len(items) > c.run.limits.Sequence {
		return &LimitError{"sequence", c.run.limits.Sequence}
	}
	l.Items = append(l.Items, items...)
	return nil
}

// mutable returns what a changing method may work on: the list itself when the
// template owns its copies, else a throw-away copy, since variables are shared.
func (c *Context) mutableList(v any) *value.List {
	l := v.(*value.List)
	if !c.t.mutates {
		return &value.List{Items: append([]any(nil), l.Items...)}
	}
	return l
}

var listMethods = lazily(methods(map[string]func(*Context, any, []any) (any, error){
	"append(object, /)": func(c *Context, r any, a []any) (any, error) {
		return nil, grown(c, c.mutableList(r), a[0])
	},
	"extend(iterable, /)": func(c *Context, r any, a []any) (any, error) {
		items, err := c.Items(a[0])
		if err != nil {
			return nil, err
		}
		return nil, grown(c, c.mutableList(r), items...)
	},
	"insert(index, object, /)": func(c *Context, r any, a []any) (any, error) {
		i, err := wantInt(a[0])
		if err != nil {
			return nil, err
		}
		l := c.mutableList(r)
		if i < 0 {
			i = max(i+len(l.Items), 0)
		}
		i = min(i, len(l.Items))
		if err := grown(c, l, nil); err != nil {
			return nil, err
		}
		copy(l.Items[i+1:], l.Items[i:])
		l.Items[i] = a[1]
		return nil, nil
	},
	"pop(index=-1, /)": func(c *Context, r any, a []any) (any, error) {
		l := c.mutableList(r)
		if len(l.Items) == 0 {
			return nil, value.Raise("IndexError", "pop from empty list")
		}
		if _, err := wantInt(a[0]); err != nil {
			return nil, err
		}
		i, ok := index(a[0], len(l.Items))
		if !ok {
			return nil, value.Raise("IndexError", "pop index out of range")
		}
		v, err := c.Read(l.Items[i])
		if err != nil {
			return nil, err
		}
		l.Items = append(l.Items[:i], l.Items[i+1:]...)
		return v, nil
	},
	"remove(value, /)": func(c *Context, r any, a []any) (any, error) {
		l := c.mutableList(r)
		for i, e := range l.Items {
			e, err := c.Read(e)
			if err != nil {
				return nil, err
			}
			eq, err := c.Equal(e, a[0])
			if err != nil {
				return nil, err
			}
			if eq {
				l.Items = append(l.Items[:i], l.Items[i+1:]...)
				return nil, nil
			}
		}
		return nil, value.ValueErrorf("list.remove(x): x not in list")
	},
	"clear()": func(c *Context, r any, _ []any) (any, error) {
		c.mutableList(r).Items = nil
		return nil, nil
	},
	"copy()": func(c *Context, r any, _ []any) (any, error) {
		return &value.List{Items: append([]any(nil), r.(*value.List).Items...)}, nil
	},
	"reverse()": func(c *Context, r any, _ []any) (any, error) {
		l := c.mutableList(r)
		for i, j := 0, len(l.Items)-1; i < j; i, j = i+1, j-1 {
			l.Items[i], l.Items[j] = l.Items[j], l.Items[i]
		}
		return nil, nil
	},
	"sort(*, key=None, reverse=False)": func(c *Context, r any, a []any) (any, error) {
		l := c.mutableList(r)
		items, err := c.Items(l)
		if err != nil {
			return nil, err
		}
		sorted, err := c.sorted(items, func(v any) (any, error) {
			if a[0] == nil {
				return v, nil
			}
			return c.call(a[0], Args{Pos: []any{v}})
		}, value.Truth(a[1]))
		if err == nil {
			l.Items = sorted
		}
		return nil, err
	},
	"index(value, start=None, stop=None, /)": func(c *Context, r any, a []any) (any, error) {
		return indexOf(c, r.(*value.List).Items, a, "list")
	},
	// A variable's list is a lazy view in the reference whose count looks at
	// items not read yet, which equal nothing.
	"count(value, /)": func(c *Context, r any, a []any) (any, error) {
		l := r.(*value.List)
		if !c.run.raw[l] {
			// the reference sees only what was read before
			var read []any
			for i := range c.run.read[l] {
				if i < len(l.Items) {
					read = append(read, l.Items[i])
				}
			}
			return countOf(c, read, a[0])
		}
		return countOf(c, l.Items, a[0])
	},
}), "append", "extend", "insert")

var tupleMethods = methods(map[string]func(*Context, any, []any) (any, error){
	"index(value, start=None, stop=None, /)": func(c *Context, r any, a []any) (any, error) {
		return indexOf(c, r.(value.Tuple), a, "tuple")
	},
	"count(value, /)": func(c *Context, r any, a []any) (any, error) { return countOf(c, r.(value.Tuple), a[0]) },
})

// sorted is Python's sorted with a key function: stable, and in reverse stable
// too. A marker as key is raised.
func (c *Context) sorted(items []any, key func(v any) (any, error), reverse bool) ([]any, error) {
	keys := make([]any, len(items))
	for i, v := range items {
		k, err := key(v)
		if err != nil {
			return nil, err
		}
		if keys[i], err = c.expand(k); err != nil {
			return nil, err
		}
	}
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	if reverse {
		slices.Reverse(order)
	}
	if err := sortOrder(order, keys); err != nil {
		return nil, err
	}
	if reverse {
		slices.Reverse(order)
	}
	out := make([]any, len(items))
	for i, k := range order {
		out[i] = items[k]
	}
	return out, nil
}

// smallSort is the size up to which sorting makes Python's very comparisons,
// so that the first that fails is the one Python reports.
const smallSort = 64

// sortOrder sorts the indices by their keys, stably.
func sortOrder(order []int, keys []any) error {
	var fail error
	less := func(a, b int) bool {
		if fail != nil {
			return false
		}
		ok, err := value.Less(keys[a], keys[b])
		fail = err
		return ok
	}
	if len(order) > smallSort {
		sort.SliceStable(order, func(i, j int) bool { return less(order[i], order[j]) })
		return fail
	}
	n := len(order)
	if n < 2 {
		return nil
	}
	run := 2
	if less(order[1], order[0]) {
		for run < n && less(order[run], order[run-1]) {
			run++
		}
		slices.Reverse(order[:run])
	} else {
		for run < n && !less(order[run], order[run-1]) && fail == nil {
			run++
		}
	}
	for i := run; i < n && fail == nil; i++ {
		pivot := order[i]
		l, r := 0, i
		for l < r {
			if m := l + (r-l)/2; less(pivot, order[m]) {
				r = m
			} else {
				l = m + 1
			}
		}
		copy(order[l+1:i+1], order[l:i])
		order[l] = pivot
	}
	return fail
}
