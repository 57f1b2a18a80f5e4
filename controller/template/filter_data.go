package template

import (
	"errors"
	"fmt"
	"strings"

	"volant/controller/jinja"
	"volant/wire/value"
)

var dataFilters = map[string]*jinja.Plugin{
	"combine":         lazy(def("combine(*terms, **kwargs)", combine)),
	"dict2items":      def("dict_to_list_of_dict_key_value_elements(mydict, key_name='key', value_name='value')", dict2items),
	"extract":         lazy(def("extract(item, container, morekeys=None)", extract)),
	"flatten":         def("flatten(mylist, levels=None, skip_nulls=True)", flattenFilter),
	"items2dict":      def("list_of_dict_key_value_elements_to_dict(mylist, key_name='key', value_name='value')", items2dict),
	"mandatory":       markers(lazy(def("mandatory(a, msg=None)", mandatory))),
	"rekey_on_member": def("rekey_on_member(data, key, duplicates='error')", rekeyOnMember),
	"subelements":     def("subelements(obj, subelements, skip_missing=False)", subelementsFilter),
	"ternary":         markers(lazy(def("ternary(value, true_val, false_val, none_val=None)", ternary))),
	"type_debug":      markers(lazy(def("type_debug(obj)", typeDebug))),
	"bool":            def("to_bool(value)", boolFilter),
}

func typeDebug(_ *jinja.Context, a []any) (any, error) {
	if u, ok := a[0].(*value.Undefined); ok && u.Err != nil && errors.As(u.Err, new(*undecryptable)) {
		return "VaultExceptionMarker", nil
	}
	return value.TypeName(a[0]), nil
}

func ternary(c *jinja.Context, a []any) (any, error) {
	if a[0] == nil && a[3] != nil {
		return a[3], nil
	}
	b, err := c.Truth(a[0])
	if err != nil {
		return nil, err
	}
	if b {
		return a[1], nil
	}
	return a[2], nil
}

func mandatory(c *jinja.Context, a []any) (any, error) {
	u, ok := a[0].(*value.Undefined)
	if !ok || u.Err != nil {
		return a[0], nil
	}
	if a[1] != nil {
		msg, err := text(c, a[1])
		if err != nil {
			return nil, err
		}
		return nil, failf("%s", msg)
	}
	name := ""
	if u.Name != "" {
		name = value.Repr(u.Name) + " "
	}
	return nil, failf("Mandatory variable %snot defined.", name)
}

func boolFilter(c *jinja.Context, a []any) (any, error) {
	v := a[0]
	var s string
	switch t := v.(type) {
	case string:
		s = strings.ToLower(t)
	case bool:
		return t, nil
	default:
		if value.IsInt(v) {
			s = value.Str(v)
		}
	}
	switch s {
	case "yes", "on", "true", "1":
		return true, nil
	case "no", "off", "false", "0":
		return false, nil
	}
	result := value.Equal(v, int64(1))
	if sc := of(c); sc != nil {
		sc.deprecate(fmt.Sprintf("The `bool` filter coerced invalid value %s (%s) to %s.", repr(c, v), value.TypeName(v), value.Repr(result)), nil, "", "2.23")
	}
	return result, nil
}

// flatten puts the items of sequences in place of them, levels deep (negative:
// all the way).
func flatten(items []any, levels int64, skipNulls bool) []any {
	var out []any
	for _, v := range items {
		if s, ok := value.Text(v); skipNulls && (v == nil || ok && (s == "None" || s == "null")) {
			continue
		}
		switch inner, ok := elements(v); {
		case !ok:
			out = append(out, v)
		case levels < 0:
			out = append(out, flatten(inner, levels, skipNulls)...)
		case levels >= 1:
			out = append(out, flatten(inner, levels-1, skipNulls)...)
		default:
			out = append(out, v)
		}
	}
	return out
}

// elements are the items of a list or tuple.
func elements(v any) ([]any, bool) {
	switch v := v.(type) {
	case *value.List:
		return v.Items, true
	case value.Tuple:
		return v, true
	}
	return nil, false
}

func flattenFilter(c *jinja.Context, a []any) (any, error) {
	items, err := c.Items(a[0])
	if err != nil {
		return nil, err
	}
	levels := int64(-1)
	if a[1] != nil {
		if levels, err = toInt(a[1]); err != nil {
			return nil, err
		}
		levels = max(levels, 0)
	}
	return value.ListOf(flatten(items, levels, truth(c, a[2]))...), nil
}

// mergeable renders what is to be combined; a lazy mapping becomes a dict,
// except that hostvars cannot be combined, as in the reference.
func mergeable(c *jinja.Context, v any) (any, error) {
	m, ok := v.(jinja.Mapping)
	switch {
	case !ok:
		return c.Realize(v)
	case strings.HasPrefix(value.TypeName(v), "HostVars"):
		return v, nil
	}
	d, err := build(c, m)
	if err != nil {
		return nil, err
	}
	return c.Realize(d)
}

func combine(c *jinja.Context, a []any) (any, error) {
	kw := a[1].(*value.Dict)
	recursive, merge := false, "replace"
	for k, v := range kw.All() {
		switch k {
		case "recursive":
			recursive = truth(c, v)
		case "list_merge":
			merge, _ = value.Text(v)
		default:
			return nil, failf("'recursive' and 'list_merge' are the only valid keyword arguments")
		}
	}
	terms := append(value.Tuple(nil), a[0].(value.Tuple)...)
	for i, t := range terms {
		r, err := mergeable(c, t)
		if err != nil {
			return nil, err
		}
		terms[i] = r
	}
	dicts := flatten(terms, 1, true)
	for i, v := range dicts {
		r, err := mergeable(c, v)
		if err != nil {
			return nil, err
		}
		dicts[i] = r
	}
	switch len(dicts) {
	case 0:
		return value.NewDict(0), nil
	case 1:
		return dicts[0], nil
	}
	result := dicts[len(dicts)-1]
	for i := len(dicts) - 2; i >= 0; i-- {
		r, err := MergeHash(dicts[i], result, recursive, merge)
		if err != nil {
			return nil, err
		}
		result = r
	}
	return result, nil
}

// MergeHash merges y into a copy of x, as the combine filter and
// hash_behaviour=merge do; y wins. listMerge is replace, keep, append,
// prepend, append_rp or prepend_rp.
func MergeHash(x, y any, recursive bool, listMerge string) (*value.Dict, error) {
	switch listMerge {
	case "replace", "keep", "append", "prepend", "append_rp", "prepend_rp":
	default:
		return nil, failf("merge_hash: 'list_merge' argument can only be equal to 'replace', 'keep', 'append', 'prepend', 'append_rp' or 'prepend_rp'")
	}
	xd, ok1 := x.(*value.Dict)
	yd, ok2 := y.(*value.Dict)
	if !ok1 || !ok2 {
		return nil, failf("failed to combine variables, expected dicts but got a '%s' and a '%s'.", lazyName(x), lazyName(y))
	}
	out := xd.Clone()
	out.Places = nil
	if xd.Len() == 0 {
		out = yd.Clone()
		out.Places = nil
		return out, nil
	}
	for k, yv := range yd.All() {
		xv, ok := out.Get(k)
		if !ok {
			out.Set(k, yv)
			continue
		}
		if xm, isMap := xv.(*value.Dict); isMap && recursive {
			if ym, ok := yv.(*value.Dict); ok {
				m, err := MergeHash(xm, ym, recursive, listMerge)
				if err != nil {
					return nil, err
				}
				out.Set(k, m)
				continue
			}
		}
		xl, ok1 := xv.(*value.List)
		yl, ok2 := yv.(*value.List)
		if ok1 && ok2 {
			out.Set(k, mergeList(xl, yl, listMerge))
			continue
		}
		out.Set(k, yv)
	}
	return out, nil
}

func mergeList(x, y *value.List, how string) *value.List {
	without := func() []any {
		var out []any
		for _, v := range x.Items {
			if !member(y.Items, v) {
				out = append(out, v)
			}
		}
		return out
	}
	join := func(a, b []any) *value.List { return value.ListOf(append(append([]any(nil), a...), b...)...) }
	switch how {
	case "keep":
		return x
	case "append":
		return join(x.Items, y.Items)
	case "prepend":
		return join(y.Items, x.Items)
	case "append_rp":
		return join(without(), y.Items)
	case "prepend_rp":
		return join(y.Items, without())
	}
	return y
}

func member(items []any, v any) bool {
	for _, x := range items {
		if value.Equal(x, v) {
			return true
		}
	}
	return false
}

func extract(c *jinja.Context, a []any) (any, error) {
	keys := []any{a[0]}
	switch m := a[2].(type) {
	case nil:
	case *value.List:
		for _, k := range m.Items {
			k, err := c.Read(k)
			if err != nil {
				return nil, err
			}
			keys = append(keys, k)
		}
	default:
		keys = append(keys, m)
	}
	v := a[1]
	for _, k := range keys {
		var err error
		if v, err = c.GetItem(v, k); err != nil {
			var u *value.Undefined
			if !errors.As(err, &u) {
				return nil, err
			}
			v = u
		}
	}
	return v, nil
}

func subelementsFilter(c *jinja.Context, a []any) (any, error) {
	var elems []any
	switch o := a[0].(type) {
	case *value.Dict:
		for _, v := range o.All() {
			elems = append(elems, v)
		}
	case *value.List:
		elems = o.Items
	default:
		return nil, failf("obj must be a list of dicts or a nested dict")
	}
	var path []any
	switch p := a[1].(type) {
	case *value.List:
		path = p.Items
	case string:
		for _, part := range strings.Split(p, ".") {
			path = append(path, part)
		}
	default:
		return nil, failf("subelements must be a list or a string")
	}
	skip := truth(c, a[2])
	out := value.ListOf()
	for _, elem := range elems {
		v := elem
		for _, key := range path {
			d, ok := v.(*value.Dict)
			if !ok {
				return nil, failBy(subscriptError(v), "the key %s should point to a dictionary, got '%s'", value.Str(key), value.Str(v))
			}
			next, ok := d.Get(key)
			if !ok {
				if skip {
					v = value.ListOf()
					break
				}
				return nil, failWhile("could not find %s key in iterated item %s", value.Repr(key), value.Repr(v))
			}
			v = next
		}
		list, ok := v.(*value.List)
		if !ok {
			return nil, failf("the key %s should point to a list, got %s", value.Repr(path[len(path)-1]), value.Repr(v))
		}
		for _, item := range list.Items {
			out.Items = append(out.Items, value.Tuple{elem, item})
		}
	}
	return out, nil
}

func subscriptError(v any) error {
	switch v.(type) {
	case *value.List, value.Tuple:
		return value.TypeErrorf("list indices must be integers or slices, not str")
	case *jinja.Range:
		return value.TypeErrorf("range indices must be integers or slices, not str")
	case string:
		return value.TypeErrorf("string indices must be integers, not 'str'")
	}
	return value.TypeErrorf("'%s' object is not subscriptable", value.TypeName(v))
}

func dict2items(c *jinja.Context, a []any) (any, error) {
	d, ok := a[0].(*value.Dict)
	if m, isMap := a[0].(jinja.Mapping); !ok && isMap {
		var err error
		if d, err = build(c, m); err != nil {
			return nil, err
		}
		ok = true
	}
	if !ok {
		return nil, failf("dict2items requires a dictionary, got %s instead.", typeRepr(a[0]))
	}
	out := value.ListOf()
	for k, v := range d.All() {
		out.Items = append(out.Items, value.DictOf(a[1], k, a[2], v))
	}
	return out, nil
}

// build makes a Dict of a lazy mapping.
func build(c *jinja.Context, m jinja.Mapping) (*value.Dict, error) {
	keys, err := m.Keys(c)
	if err != nil {
		return nil, err
	}
	d := value.NewDict(len(keys))
	for _, k := range keys {
		v, ok, err := m.Item(c, k)
		if err != nil {
			return nil, err
		}
		if ok {
			d.Set(k, v)
		}
	}
	return d, nil
}

func items2dict(c *jinja.Context, a []any) (any, error) {
	items, ok := elements(a[0])
	if !ok {
		return nil, failf("items2dict requires a list, got %s instead.", typeRepr(a[0]))
	}
	out := value.NewDict(len(items))
	for _, item := range items {
		var kv [2]any
		for i, name := range []any{a[1], a[2]} {
			v, ok, err := subscript(c, item, name)
			if err != nil {
				return nil, err
			}
			if !ok {
				return nil, failWhile("items2dict requires each dictionary in the list to contain the keys '%s' and '%s', got %s instead.", value.Str(a[1]), value.Str(a[2]), value.Str(a[0]))
			}
			kv[i] = v
		}
		if kv[0] == errType || kv[1] == errType || !value.Hashable(kv[0]) {
			if t, ok := a[0].(value.Tuple); ok && len(t) != 1 { // it is formatted with %
				return nil, value.TypeErrorf("not all arguments converted during string formatting")
			}
			return nil, failWhile("items2dict requires a list of dictionaries, got %s instead.", value.Str(a[0]))
		}
		out.Set(kv[0], kv[1])
	}
	return out, nil
}

// errType is what subscript returns for what cannot be subscripted so.
var errType any = new(struct{ _ byte })

// subscript is Python's v[key]; ok false is a KeyError.
func subscript(c *jinja.Context, v, key any) (any, bool, error) {
	switch v := v.(type) {
	case *value.Dict:
		r, ok := v.Get(key)
		return r, ok, nil
	case jinja.Mapping:
		r, ok, err := v.Item(c, key)
		return r, ok, err
	case *value.List, value.Tuple:
		items, _ := elements(v)
		i, isInt := value.ToInt(key)
		if !isInt {
			return errType, true, nil
		}
		if i < 0 {
			i += int64(len(items))
		}
		if i < 0 || i >= int64(len(items)) {
			return nil, false, value.Raise("IndexError", "%s index out of range", value.TypeName(v))
		}
		return items[i], true, nil
	}
	return errType, true, nil
}

func rekeyOnMember(c *jinja.Context, a []any) (any, error) {
	dup, _ := value.Text(a[2])
	if dup != "error" && dup != "overwrite" {
		return nil, failf("duplicates parameter to rekey_on_member has unknown value %s", value.Repr(a[2]))
	}
	var items []any
	switch d := a[0].(type) {
	case *value.Dict:
		for _, v := range d.All() {
			items = append(items, v)
		}
	case string, []byte:
		return nil, failf("Type is not a valid list, set, or dict")
	default:
		var err error
		if items, err = c.Items(d); err != nil {
			return nil, failf("Type is not a valid list, set, or dict")
		}
	}
	out := value.NewDict(len(items))
	for _, item := range items {
		d, ok := item.(*value.Dict)
		if !ok {
			return nil, failf("List item is not a valid dict")
		}
		key, ok := d.Get(a[1])
		if !ok {
			return nil, failf("Key %s was not found.", value.Repr(a[1]))
		}
		if !value.Hashable(key) {
			return nil, value.TypeErrorf("unhashable type: '%s'", value.TypeName(key))
		}
		if out.Has(key) && dup == "error" {
			return nil, failf("Key %s is not unique, cannot convert to dict.", value.Repr(key))
		}
		out.Set(key, d)
	}
	return out, nil
}
