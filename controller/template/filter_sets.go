package template

import (
	"errors"

	"volant/controller/jinja"
	"volant/wire/value"
)

// The set filters of the reference return the order of a Python set, which
// changes from run to run for text. Ours keep the order of first appearance:
// in the first list, then in the second.
var setFilters = map[string]*jinja.Plugin{
	"unique":               lazy(def("unique(a, case_sensitive=None, attribute=None)", unique)),
	"union":                lazy(def("union(a, b)", union)),
	"intersect":            lazy(def("intersect(a, b)", intersect)),
	"difference":           lazy(def("difference(a, b)", difference)),
	"symmetric_difference": lazy(def("symmetric_difference(a, b)", symmetricDifference)),
	"zip":                  lazy(raw(zipFilter)),
	"zip_longest":          lazy(raw(zipLongest)),
	"product":              lazy(raw(product)),
	"permutations":         lazy(raw(permutations)),
	"combinations":         lazy(raw(combinations)),
}

// members collects values without repeats, whether hashable or not.
type members struct {
	seen value.Dict
	odd  []any // unhashable
	list []any
}

func (m *members) has(v any) bool {
	if value.Hashable(v) {
		return m.seen.Has(v)
	}
	return member(m.odd, v)
}

func (m *members) add(v any) {
	if m.has(v) {
		return
	}
	if value.Hashable(v) {
		m.seen.Set(v, nil)
	} else {
		m.odd = append(m.odd, v)
	}
	m.list = append(m.list, v)
}

func collect(items []any) *members {
	m := &members{}
	for _, v := range items {
		m.add(v)
	}
	return m
}

// two are the items of both arguments.
func two(c *jinja.Context, a []any) (x, y []any, err error) {
	if x, err = iterate(c, a[0]); err != nil {
		return nil, nil, err
	}
	y, err = iterate(c, a[1])
	return x, y, err
}

func unique(c *jinja.Context, a []any) (any, error) {
	particular := a[1] == false || a[2] != nil && truth(c, a[2])
	const cannot = "Jinja2's unique filter failed and we cannot fall back to Ansible's version as it does not support the parameters supplied."
	in, err := iterate(c, a[0])
	if err != nil {
		if _, isMarker := err.(*value.Undefined); particular && !isMarker { //nolint:errorlint // raised as it is
			return nil, failBy(err, cannot)
		}
		return nil, err
	}
	args := jinja.Args{Pos: []any{value.ListOf(in...)}, Kw: []jinja.Kwarg{{Name: "case_sensitive", Value: truth(c, a[1])}, {Name: "attribute", Value: a[2]}}}
	p, _ := jinja.Builtins.Filter("unique")
	v, err := p.Call(c, args)
	if u, ok := v.(*value.Undefined); ok && err == nil {
		err = u
	}
	if err == nil {
		return v, nil
	}
	var u *value.Undefined
	if errors.As(err, &u) && u.Err == nil {
		err = value.Raise("UndefinedError", "%s", u.Hint) // said as text, it is no longer undefined
	}
	if particular {
		return nil, failBy(err, cannot)
	}
	return value.ListOf(collect(in).list...), nil
}

func union(c *jinja.Context, a []any) (any, error) {
	x, y, err := two(c, a)
	if _, isMarker := err.(*value.Undefined); isMarker { //nolint:errorlint // raised as it is
		return nil, err
	}
	m := collect(x)
	for _, v := range y {
		m.add(v)
	}
	if err == nil && len(m.odd) == 0 {
		return value.ListOf(m.list...), nil
	}
	// What cannot be a set is added, as the reference does it.
	for i := range a {
		if a[i], err = c.Realize(a[i]); err != nil {
			return nil, err
		}
	}
	if _, isList := a[1].(*value.List); isList && value.IsNumber(a[0]) {
		return nil, value.TypeErrorf("'NotImplementedType' object is not iterable")
	}
	sum, err := value.Add(a[0], a[1])
	if err != nil {
		return nil, err
	}
	items, err := c.Items(sum)
	if err != nil {
		return nil, err
	}
	return value.ListOf(collect(items).list...), nil
}

func intersect(c *jinja.Context, a []any) (any, error) {
	return pick(c, a, func(in bool) bool { return in })
}

func difference(c *jinja.Context, a []any) (any, error) {
	return pick(c, a, func(in bool) bool { return !in })
}

func pick(c *jinja.Context, a []any, want func(inSecond bool) bool) (any, error) {
	x, y, err := two(c, a)
	if err != nil {
		return nil, err
	}
	other, out := collect(y), &members{}
	_, isDict := a[1].(*value.Dict)
	for _, v := range x {
		if isDict && !value.Hashable(v) {
			return nil, value.TypeErrorf("unhashable type: '%s'", lazyName(v))
		}
		if want(other.has(v)) {
			out.add(v)
		}
	}
	return value.ListOf(out.list...), nil
}

func symmetricDifference(c *jinja.Context, a []any) (any, error) {
	x, y, err := two(c, a)
	if err != nil {
		return nil, err
	}
	mx, my, out := collect(x), collect(y), &members{}
	for _, v := range x {
		if !my.has(v) {
			out.add(v)
		}
	}
	for _, v := range y {
		if !mx.has(v) {
			out.add(v)
		}
	}
	return value.ListOf(out.list...), nil
}

// columns are the items of every positional argument.
func columns(c *jinja.Context, a jinja.Args) ([][]any, error) {
	out := make([][]any, len(a.Pos))
	for i, v := range a.Pos {
		items, err := iterate(c, v)
		if err != nil {
			return nil, err
		}
		out[i] = items
	}
	return out, nil
}

func zipFilter(c *jinja.Context, a jinja.Args) (any, error) {
	strict := false
	for _, kw := range a.Kw {
		if kw.Name != "strict" {
			return nil, value.TypeErrorf("zip() takes at most 1 keyword argument (%d given)", len(a.Kw))
		}
		strict = truth(c, kw.Value)
	}
	cols, err := columns(c, a)
	if err != nil {
		return nil, err
	}
	if len(cols) == 0 {
		return value.ListOf(), nil
	}
	n := len(cols[0])
	for i, col := range cols {
		if strict && len(col) != n {
			word := "shorter"
			if len(col) > n {
				word = "longer"
			}
			first := "argument 1"
			if i > 1 {
				first = "arguments 1-" + value.Str(int64(i))
			}
			return nil, value.ValueErrorf("zip() argument %d is %s than %s", i+1, word, first)
		}
		n = min(n, len(col))
	}
	return rows(cols, n, nil), nil
}

func zipLongest(c *jinja.Context, a jinja.Args) (any, error) {
	var fill any
	for _, kw := range a.Kw {
		if kw.Name != "fillvalue" {
			return nil, value.TypeErrorf("zip_longest() got an unexpected keyword argument")
		}
		fill = kw.Value
	}
	cols, err := columns(c, a)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, col := range cols {
		n = max(n, len(col))
	}
	return rows(cols, n, fill), nil
}

func rows(cols [][]any, n int, fill any) *value.List {
	out := &value.List{Items: make([]any, n)}
	for i := range n {
		row := make(value.Tuple, len(cols))
		for j, col := range cols {
			row[j] = fill
			if i < len(col) {
				row[j] = col[i]
			}
		}
		out.Items[i] = row
	}
	return out
}

func tooMany() error {
	return value.Raise("MemoryError", "sequence would exceed the limit of %d items", value.MaxItems)
}

func product(c *jinja.Context, a jinja.Args) (any, error) {
	repeat := int64(1)
	for _, kw := range a.Kw {
		if kw.Name != "repeat" {
			return nil, value.TypeErrorf("'%s' is an invalid keyword argument for product()", kw.Name)
		}
		n, ok := value.ToInt(kw.Value)
		if !ok {
			return nil, value.TypeErrorf("'%s' object cannot be interpreted as an integer", value.TypeName(kw.Value))
		}
		if n < 0 {
			return nil, value.ValueErrorf("repeat argument cannot be negative")
		}
		repeat = n
	}
	if repeat == 0 {
		return value.ListOf(value.Tuple{}), nil
	}
	cols, err := columns(c, a)
	if err != nil {
		return nil, err
	}
	if repeat > 64 {
		return nil, tooMany()
	}
	pools := make([][]any, 0, len(cols)*int(repeat))
	for range repeat {
		pools = append(pools, cols...)
	}
	total := 1
	for _, p := range pools {
		if total *= len(p); total > value.MaxItems {
			return nil, tooMany()
		}
	}
	out := &value.List{Items: make([]any, 0, total)}
	at := make([]int, len(pools))
	for range total {
		row := make(value.Tuple, len(pools))
		for i, p := range pools {
			row[i] = p[at[i]]
		}
		out.Items = append(out.Items, row)
		for i := len(at) - 1; i >= 0; i-- {
			if at[i]++; at[i] < len(pools[i]) {
				break
			}
			at[i] = 0
		}
	}
	return out, nil
}

// choose binds (iterable, r) as itertools does.
func choose(c *jinja.Context, a jinja.Args, fn string, need bool) (pool []any, r int, err error) {
	var rv any
	have := false
	if len(a.Pos) > 2 {
		return nil, 0, value.TypeErrorf("%s() takes at most 2 arguments (%d given)", fn, len(a.Pos)+len(a.Kw))
	}
	if len(a.Pos) > 1 {
		rv, have = a.Pos[1], true
	}
	for _, kw := range a.Kw {
		if kw.Name != "r" {
			return nil, 0, value.TypeErrorf("'%s' is an invalid keyword argument for %s()", kw.Name, fn)
		}
		if have {
			return nil, 0, value.TypeErrorf("argument for %s() given by name ('r') and position (2)", fn)
		}
		rv, have = kw.Value, true
	}
	if need && !have {
		return nil, 0, value.TypeErrorf("%s() missing required argument 'r' (pos 2)", fn)
	}
	if need && !value.IsInt(rv) {
		return nil, 0, value.TypeErrorf("'%s' object cannot be interpreted as an integer", value.TypeName(rv))
	}
	if pool, err = iterate(c, a.Pos[0]); err != nil {
		return nil, 0, err
	}
	r = len(pool)
	if have && (need || rv != nil) {
		n, ok := value.ToInt(rv)
		switch {
		case !ok && need:
			return nil, 0, value.TypeErrorf("'%s' object cannot be interpreted as an integer", value.TypeName(rv))
		case !ok:
			return nil, 0, value.TypeErrorf("Expected int as r")
		case n < 0:
			return nil, 0, value.ValueErrorf("r must be non-negative")
		}
		r = int(min(n, 1<<30))
	}
	return pool, r, nil
}

func permutations(c *jinja.Context, a jinja.Args) (any, error) {
	pool, r, err := choose(c, a, "permutations", false)
	if err != nil {
		return nil, err
	}
	return arrange(pool, r, false)
}

func combinations(c *jinja.Context, a jinja.Args) (any, error) {
	pool, r, err := choose(c, a, "combinations", true)
	if err != nil {
		return nil, err
	}
	return arrange(pool, r, true)
}

// arrange lists choices of r of the pool in lexicographic order of positions;
// rising ones only when their order does not matter.
func arrange(pool []any, r int, rising bool) (any, error) {
	out := value.ListOf()
	if r > len(pool) {
		return out, nil
	}
	used := make([]bool, len(pool))
	row := make([]int, 0, r)
	var walk func() error
	walk = func() error {
		if len(row) == r {
			if len(out.Items)*max(r, 1) > value.MaxItems {
				return tooMany()
			}
			t := make(value.Tuple, r)
			for i, j := range row {
				t[i] = pool[j]
			}
			out.Items = append(out.Items, t)
			return nil
		}
		first, end := 0, len(pool)
		if rising {
			end -= r - len(row) - 1 // enough must be left for the rest
			if len(row) > 0 {
				first = row[len(row)-1] + 1
			}
		}
		for j := first; j < end; j++ {
			if used[j] {
				continue
			}
			used[j] = true
			row = append(row, j)
			if err := walk(); err != nil {
				return err
			}
			row = row[:len(row)-1]
			used[j] = false
		}
		return nil
	}
	if err := walk(); err != nil {
		return nil, err
	}
	return out, nil
}
