package jinja

import (
	"strings"
	"unicode/utf8"

	"volant/wire/value"
)

// Read returns v ready for use: a *value.Template rendered (one that is plain
// text may come back as it is), a *value.Vault decrypted, anything else itself.
// It may return a marker.
func (c *Context) Read(v any) (any, error) {
	switch x := v.(type) {
	case *value.Template:
		if x.Deprecated == nil && !LooksTemplate(x.Text) || c.r.Vars == nil {
			return v, nil
		}
		r, err := c.r.Vars.Template(x)
		if err != nil {
			return nil, &fatal{err}
		}
		return r, nil
	case *value.Vault:
		if d, ok := c.r.Vars.(Decrypter); ok {
			r, err := d.Vault(x)
			if err != nil {
				return nil, &fatal{err}
			}
			return r, nil
		}
		if x.Decrypt == nil {
			return c.marker(value.ValueErrorf("no way to decrypt"))
		}
		s, err := x.Decrypt()
		if err != nil {
			return c.marker(err)
		}
		return s, nil
	}
	return v, nil
}

// Decrypter is a Resolver that reads encrypted strings itself. A failure is a
// marker, as with Resolver.Template.
type Decrypter interface {
	Vault(v *value.Vault) (any, error)
}

// readItem is Read for what a container holds.
func (c *Context) readItem(v any) (any, error) {
	switch v.(type) {
	case nil, string, int64, bool, float64, *value.Dict, *value.List:
		return v, nil
	}
	return c.Read(v)
}

// unsafeNames are the underscore names that Python objects have; the sandbox
// refuses them.

var unsafeNames = strings.Fields(`__class__ __doc__ __init__ __new__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __repr__
	__str__ __format__ __dir__ __sizeof__ __reduce__ __reduce_ex__ __getattribute__ __setattr__ __delattr__
	__init_subclass__ __subclasshook__ __len__ __iter__ __getitem__ __setitem__ __delitem__ __contains__ __reversed__
	__add__ __mul__ __rmul__ __self__ __call__ __name__ __qualname__ __module__ __mro__ __subclasses__ __globals__ __code__
	__dict__ __bases__ __base__ __builtins__ __import__`)

func isUnsafe(v any, name string) bool {
	if _, ok := v.(value.Markup); ok && name == "__html__" {
		return true
	}
	for _, n := range unsafeNames {
		if n == name {
			return true
		}
	}
	return false
}

// GetAttr is v.name: attribute or method first, then item. What is missing is
// a marker.
func (c *Context) GetAttr(v any, name string) (any, error) {
	if u, ok := v.(*value.Undefined); ok {
		return u, nil
	}
	unsafe := name[0] == '_' && isUnsafe(v, name)
	if !unsafe {
		if a, ok, err := c.attribute(v, name); ok || err != nil {
			return a, err
		}
	}
	switch x := v.(type) {
	case *value.Dict:
		if w, ok := x.Get(name); ok {
			return c.readItem(w)
		}
	case Indexer:
		w, ok, err := x.Item(c, name)
		if err != nil {
			return nil, err
		}
		if ok {
			return c.readItem(w)
		}
	}
	if unsafe {
		return c.unsafe(v, name), nil
	}
	if m, ok := v.(Missing); ok {
		return m.Missing(c, name), nil
	}
	return c.noAttr(v, name), nil
}

// Missing is an Object that makes its own markers for what it does not have.
type Missing interface {
	Missing(c *Context, name any) *value.Undefined
}

func (c *Context) unsafe(v any, name string) *value.Undefined {
	return c.undefined(name, "access to attribute "+value.Repr(name)+" of "+value.Repr(typeName(v))+" object is unsafe.")
}

// attribute finds a method or attribute, not an item.
func (c *Context) attribute(v any, name string) (any, bool, error) {
	if m := methodOf(v, name); m != nil {
		return &bound{recv: v, m: m}, true, nil
	}
	if o, ok := v.(Attributer); ok {
		if a, ok, err := o.Attr(c, name); ok || err != nil {
			return a, ok, err
		}
	}
	if m, ok := v.(Mapping); ok {
		if f := mappingMethod(m, name); f != nil {
			return f, true, nil
		}
	}
	return fieldOf(v, name)
}

// GetItem is v[key]: item first, then attribute. What is missing is a marker.
func (c *Context) GetItem(v, key any) (any, error) {
	if u, ok := v.(*value.Undefined); ok {
		return u, nil
	}
	if u, ok := key.(*value.Undefined); ok {
		return nil, u
	}
	if t, ok := key.(*value.Template); ok {
		key = t.Text
	}
	if m, ok := key.(value.Markup); ok {
		key = string(m)
	}
	w, ok, err := c.item(v, key)
	if err != nil {
		return nil, err
	}
	if ok {
		if _, isMarkup := v.(value.Markup); isMarkup {
			return marked(w), nil
		}
		return c.readItem(w)
	}
	if name, isText := key.(string); isText && name != "" {
		if name[0] == '_' && isUnsafe(v, name) {
			return c.unsafe(v, name), nil
		}
		if a, ok, err := c.attribute(v, name); ok || err != nil {
			return a, err
		}
	}
	if m, ok := v.(Missing); ok {
		return m.Missing(c, key), nil
	}
	return c.noItem(v, key), nil
}

// noItem is the marker for v[key] that is not there.
func (c *Context) noItem(v, key any) *value.Undefined {
	repr := value.Repr(key)
	name, isText := key.(string)
	if !isText {
		name = value.Str(key)
	}
	switch {
	case value.Truth(key):
		return c.undefined(name, "object of type '"+typeName(v)+"' has no attribute "+repr)
	case !isText:
		return c.undefined(name, objectRepr(v)+" has no element "+repr)
	}
	return c.undefined(name, value.Repr(objectRepr(v))+" has no attribute "+repr)
}

// objectRepr is how Jinja2 calls v in such messages: the reference's lazy
// containers show under their own names.
func objectRepr(v any) string {
	const lazy = "ansible._internal._templating._lazy_containers."
	switch v.(type) {
	case nil:
		return "None"
	case *value.List:
		return lazy + "_AnsibleLazyTemplateList object"
	case *value.Dict:
		return lazy + "_AnsibleLazyTemplateDict object"
	case value.Tuple:
		return lazy + "_AnsibleLazyAccessTuple object"
	}
	if _, ok := v.(value.Markup); ok {
		return "markupsafe.Markup object"
	}
	return typeName(v) + " object"
}

// item is v[key] without the fallback to attributes.
func (c *Context) item(v, key any) (any, bool, error) {
	switch x := v.(type) {
	case *value.Dict:
		if t, ok := key.(value.Tuple); ok {
			if _, err := hashable(t); err != nil {
				if u, ok := err.(*value.Undefined); ok {
					return nil, false, u
				}
				return nil, false, nil
			}
		} else if !value.Hashable(key) {
			return nil, false, nil
		}
		w, ok := x.Get(key)
		return w, ok, nil
	case *value.List:
		i, ok := index(key, len(x.Items))
		if !ok {
			return nil, false, nil
		}
		if c.t.counts {
			c.run.noteRead(x, i)
		}
		return x.Items[i], true, nil
	case value.Tuple:
		i, ok := index(key, len(x))
		if !ok {
			return nil, false, nil
		}
		return x[i], true, nil
	case string, *value.Template, value.Markup:
		s, _ := value.Text(x)
		if _, ok := value.ToInt(key); !ok {
			return nil, false, nil
		}
		if isASCII(s) {
			i, ok := index(key, len(s))
			if !ok {
				return nil, false, nil
			}
			return s[i : i+1], true, nil
		}
		rs := runes(s)
		i, ok := index(key, len(rs))
		if !ok {
			return nil, false, nil
		}
		return rs[i], true, nil
	case []byte:
		i, ok := index(key, len(x))
		if !ok {
			return nil, false, nil
		}
		return int64(x[i]), true, nil
	case *Range:
		i, ok := index(key, x.Len())
		if !ok {
			return nil, false, nil
		}
		return x.at(i), true, nil
	case Indexer:
		return x.Item(c, key)
	}
	return nil, false, nil
}

func index(key any, n int) (int, bool) {
	i, ok := value.ToInt(key)
	if !ok {
		return 0, false
	}
	if i < 0 {
		i += int64(n)
	}
	return int(i), i >= 0 && i < int64(n)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// runes splits s into its characters; undecodable bytes are one each.
func runes(s string) []string {
	out := make([]string, 0, len(s))
	for i := 0; i < len(s); {
		_, n := utf8.DecodeRuneInString(s[i:])
		out = append(out, s[i:i+n])
		i += n
	}
	return out
}

// sliceBounds resolves Python's slice over n items to a start, a count and a
// step. The error is Python's.
func sliceBounds(b [3]any, n int) (start, count, step int, err error) {
	get := func(v any, def int64) (int64, error) {
		if v == nil {
			return def, nil
		}
		if !value.IsInt(v) {
			return 0, value.TypeErrorf("slice indices must be integers or None or have an __index__ method")
		}
		i, ok := value.ToInt(v)
		if !ok {
			i = 1 << 62
			if value.ToBig(v).Sign() < 0 {
				i = -i
			}
		}
		return max(min(i, 1<<62), -1<<62), nil
	}
	st, err := get(b[2], 1)
	if err != nil {
		return 0, 0, 0, err
	}
	if st == 0 {
		return 0, 0, 0, value.ValueErrorf("slice step cannot be zero")
	}
	st = max(min(st, 1<<40), -1<<40)
	lo, hi := int64(0), int64(n)
	from, to := lo, hi
	if st < 0 {
		lo, hi = -1, int64(n)-1
		from, to = hi, lo
	}
	clamp := func(v any, def int64) (int64, error) {
		if v == nil {
			return def, nil
		}
		i, err := get(v, 0)
		if err != nil {
			return 0, err
		}
		if i < 0 {
			i += int64(n)
		}
		return max(min(i, hi), lo), nil
	}
	if from, err = clamp(b[0], from); err != nil {
		return 0, 0, 0, err
	}
	if to, err = clamp(b[1], to); err != nil {
		return 0, 0, 0, err
	}
	var k int64
	if st > 0 && to > from {
		k = (to - from + st - 1) / st
	} else if st < 0 && from > to {
		k = (from - to - st - 1) / -st
	}
	return int(from), int(k), int(st), nil
}

func sliceItems(items []any, b [3]any) ([]any, error) {
	start, n, step, err := sliceBounds(b, len(items))
	if err != nil {
		return nil, err
	}
	if step == 1 {
		return append([]any(nil), items[start:start+n]...), nil
	}
	out := make([]any, n)
	for i := range out {
		out[i] = items[start+i*step]
	}
	return out, nil
}

// slice is v[a:b:c]. Unlike any other subscript it raises when v has none.
func (c *Context) slice(v any, b [3]any) (any, error) {
	if u, ok := v.(*value.Undefined); ok {
		return u, nil
	}
	for _, x := range b {
		if u, ok := x.(*value.Undefined); ok {
			return nil, u
		}
	}
	var out any
	var err error
	switch x := v.(type) {
	case *value.List:
		var items []any
		items, err = sliceItems(x.Items, b)
		l := &value.List{Items: items}
		if c.t.counts && c.run.raw[x] {
			c.run.noteRaw(l)
		}
		out = l
	case value.Tuple:
		var items []any
		items, err = sliceItems(x, b)
		out = value.Tuple(items)
	case string, *value.Template, value.Markup:
		s, _ := value.Text(x)
		out, err = sliceText(s, b)
		if _, isMarkup := x.(value.Markup); isMarkup {
			out = marked(out)
		}
	case []byte:
		var start, n, step int
		start, n, step, err = sliceBounds(b, len(x))
		if err == nil {
			r := make([]byte, n)
			for i := range r {
				r[i] = x[start+i*step]
			}
			out = r
		}
	case *Range:
		out, err = x.slice(b)
	case *blank:
		err = x.raise()
	case *value.Dict, Mapping:
		err = value.TypeErrorf("unhashable type: 'slice'")
	default:
		err = value.TypeErrorf("'%s' object is not subscriptable", typeName(v))
	}
	return out, err
}

func sliceText(s string, b [3]any) (any, error) {
	if isASCII(s) {
		start, n, step, err := sliceBounds(b, len(s))
		if err != nil {
			return nil, err
		}
		if step == 1 {
			return s[start : start+n], nil
		}
		r := make([]byte, n)
		for i := range r {
			r[i] = s[start+i*step]
		}
		return string(r), nil
	}
	rs := runes(s)
	start, n, step, err := sliceBounds(b, len(rs))
	if err != nil {
		return nil, err
	}
	var t strings.Builder
	for i := range n {
		t.WriteString(rs[start+i*step])
	}
	return t.String(), nil
}
