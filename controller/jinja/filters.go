package jinja

import (
	"html"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"volant/wire/rx"
	"volant/wire/value"
)

var filters = filterTable()

func filterTable() map[string]*Plugin {
	t := plugins("do_", map[string]bindFunc{
		"abs(x)": func(_ *Context, a []any) (any, error) { return value.Abs(a[0]) },
		"attr(obj, name)": func(c *Context, a []any) (any, error) {
			name, ok := value.Text(a[1])
			if !ok || name == "" {
				return nil, value.TypeErrorf("attribute name must be string, not '%s'", typeName(a[1]))
			}
			if name[0] == '_' && isUnsafe(a[0], name) {
				return c.unsafe(a[0], name), nil
			}
			v, ok, err := c.attribute(a[0], name)
			if err != nil || ok {
				return v, err
			}
			return c.noAttr(a[0], name), nil
		},
		"batch(value, linecount, fill_with=None)": batch,
		"capitalize(s)":      keepMarkup(capitalize),
		"lower(s)":           keepMarkup(pyLower),
		"upper(s)":           keepMarkup(pyUpper),
		"title(s)":           textFilter(func(s string) any { return titleWords(s) }),
		"string(s)":          keepMarkup(func(s string) string { return s }),
		"safe(value)":        markSafe,
		"wordcount(s)":       textFilter(func(s string) any { return int64(len(words.FindAllStringIndex(s, -1))) }),
		"striptags(value)":   textFilter(func(s string) any { return stripTags(s) }),
		"e escape(s)":        escapeFilter,
		"forceescape(value)": forceEscape,
		"center(value, width=80)": func(c *Context, a []any) (any, error) {
			s, err := c.Str(a[0])
			if err != nil {
				return nil, err
			}
			w, _, err := fill([]any{a[1], " "})
			return like(a[0], center(s, w, " ")), err
		},
		"count length(obj)": func(_ *Context, a []any) (any, error) { return length(a[0]) },
		"d default(value, default_value='', boolean=False)": func(c *Context, a []any) (any, error) {
			b, ok := a[2].(bool)
			if !ok {
				return nil, value.TypeErrorf("The 'boolean' argument must be of type 'bool', not '%s'.", typeName(a[2]))
			}
			if u, ok := a[0].(*value.Undefined); ok {
				if u.Err == nil {
					return a[1], nil
				}
				if b {
					return nil, u
				}
				return u, nil
			}
			if b && !value.Truth(a[0]) {
				return a[1], nil
			}
			return a[0], nil
		},
		"dictsort(value, case_sensitive=False, by='key', reverse=False)": dictSort,
		"filesizeformat(value, binary=False)":                            fileSize,
		"first(seq)": func(c *Context, a []any) (any, error) {
			return c.end(a[0], false)
		},
		"last(seq)": func(c *Context, a []any) (any, error) {
			return c.end(a[0], true)
		},
		"float(value, default=0.0)": func(_ *Context, a []any) (any, error) {
			f, err := ToFloat(a[0])
			if isValueOrType(err) {
				return a[1], nil
			}
			return f, err
		},
		"int(value, default=0, base=10)": func(_ *Context, a []any) (any, error) {
			var i any
			var err error
			if s, ok := value.Text(a[0]); ok {
				base, err2 := wantInt(a[2])
				if err2 != nil {
					return a[1], nil
				}
				i, err = ParseInt(s, base)
			} else {
				i, err = ToInt(a[0])
			}
			if !isValueOrType(err) {
				return i, err
			}
			f, err := ToFloat(a[0])
			if err == nil {
				if i, err = value.FloatToInt(f); err == nil {
					return i, nil
				}
			}
			return a[1], nil
		},
		"groupby(value, attribute, default=None, case_sensitive=False)": groupBy,
		"indent(s, width=4, first=False, blank=False)":                  indent,
		"items(value)": func(c *Context, a []any) (any, error) {
			if _, ok := a[0].(*value.Undefined); ok {
				return &value.List{}, nil
			}
			return c.pairs(a[0])
		},
		"join(value, d='', attribute=None)": func(c *Context, a []any) (any, error) {
			items, err := c.Items(a[0])
			if err != nil {
				return nil, err
			}
			d, err := c.Str(a[1])
			if err != nil {
				return nil, err
			}
			parts := make([]string, len(items))
			get := c.getter(a[2], nil, false)
			for i, it := range items {
				if a[2] != nil {
					if it, err = get(it); err != nil {
						return nil, err
					}
				}
				if parts[i], err = c.Str(it); err != nil {
					return nil, err
				}
			}
			return joined(parts, d)
		},
		"list(value)": func(c *Context, a []any) (any, error) {
			items, err := c.Items(a[0])
			if err != nil {
				return nil, err
			}
			for _, it := range items {
				if u, ok := it.(*value.Undefined); ok {
					return nil, u
				}
			}
			return &value.List{Items: append([]any(nil), items...)}, nil
		},
		"max(value, case_sensitive=False, attribute=None)": extreme(">"),
		"min(value, case_sensitive=False, attribute=None)": extreme("<"),
		"pprint(value)": prettyPrint,
		"random(seq)": func(c *Context, a []any) (any, error) {
			n, err := length(a[0])
			if err != nil {
				return nil, err
			}
			if n == 0 {
				return c.undefined("", "No random item, sequence was empty."), nil
			}
			return c.GetItem(a[0], rand.Int64N(n))
		},
		"replace(s, old, new, count=None)": func(c *Context, a []any) (any, error) {
			var t [3]string
			for i := range t {
				var err error
				if t[i], err = c.Str(a[i]); err != nil {
					return nil, err
				}
			}
			n := -1
			if a[3] != nil {
				var err error
				if n, err = wantInt(a[3]); err != nil {
					return nil, err
				}
			}
			return replace(t[0], t[1], t[2], n)
		},
		"reverse(value)": reverse,
		"round(value, precision=0, method='common')":                       round,
		"slice(value, slices, fill_with=None)":                             sliceFilter,
		"sort(value, reverse=False, case_sensitive=False, attribute=None)": sortFilter,
		"sum(iterable, attribute=None, start=0)":                           sum,
		"tojson(value, indent=None)":                                       toJSON,
		"trim(value, chars=None)": func(c *Context, a []any) (any, error) {
			s, err := c.Str(a[0])
			if err != nil {
				return nil, err
			}
			v, err := strip(s, a[1], "strip", true, true)
			if t, ok := v.(string); ok {
				v = like(a[0], t)
			}
			return v, err
		},
		"truncate(s, length=255, killwords=False, end='...', leeway=None)": truncate,
		"unique(value, case_sensitive=False, attribute=None)":              unique,
		"urlencode(value)": urlEncode,
		"urlize(value, trim_url_limit=None, nofollow=False, target=None, rel=None, extra_schemes=None)": urlizeFilter,
		"wordwrap(s, width=79, break_long_words=True, wrapstring=None, break_on_hyphens=True)":          wordWrap,
		"xmlattr(d, autospace=True)": xmlAttr,
	})
	for name, call := range map[string]Func{
		"map": mapFilter, "format": formatFilter,
		"select": selector(false, true), "reject": selector(false, false),
		"selectattr": selector(true, true), "rejectattr": selector(true, false),
	} {
		t[name] = &Plugin{Name: "ansible.builtin." + name, Call: call}
	}
	mark(t, func(p *Plugin) { p.Lazy = true }, "map select reject selectattr rejectattr default d first last length count random attr list int float join sort groupby min max")
	mark(t, func(p *Plugin) { p.Markers = true }, "default d")
	mark(t, func(p *Plugin) { p.Keys = true }, "sort unique min max sum join batch slice reverse")
	for _, p := range t {
		p.Markup = true
	}
	return t
}

func isValueOrType(err error) bool {
	e, ok := err.(*value.Exception)
	return ok && (e.Class == "ValueError" || e.Class == "TypeError")
}

func textFilter(fn func(s string) any) bindFunc {
	return func(c *Context, a []any) (any, error) {
		s, err := c.Str(a[0])
		if err != nil {
			return nil, err
		}
		return fn(s), nil
	}
}

func joined(parts []string, d string) (any, error) {
	n := 0
	for _, p := range parts {
		n += len(p) + len(d)
	}
	if n > value.MaxText {
		return nil, value.Raise("MemoryError", "string would exceed the limit of %d bytes", value.MaxText)
	}
	return strings.Join(parts, d), nil
}

// length is Python's len.
func length(v any) (int64, error) {
	switch x := v.(type) {
	case string, *value.Template, value.Markup:
		s, _ := value.Text(x)
		return int64(value.RuneLen(s)), nil
	case []byte:
		return int64(len(x)), nil
	case value.Tuple:
		return int64(len(x)), nil
	case interface{ Len() int }:
		return int64(x.Len()), nil
	}
	return 0, value.TypeErrorf("object of type '%s' has no len()", typeName(v))
}

// end is the first or last item.
func (c *Context) end(v any, last bool) (any, error) {
	var items []any
	if m, ok := v.(value.Markup); ok && last {
		it, err := c.end(string(m), true)
		return marked(it), err
	}
	switch x := v.(type) {
	case *value.List:
		items = x.Items
	case value.Tuple:
		items = x
	case *Range:
		if x.n > 0 {
			if last {
				return x.at(x.n - 1), nil
			}
			return x.at(0), nil
		}
	case *value.Set:
		if last {
			return nil, value.TypeErrorf("'set' object is not reversible")
		}
		items = x.Items()
	default:
		var err error
		if items, err = c.Items(v); err != nil {
			if last {
				err = value.TypeErrorf("'%s' object is not reversible", typeName(v))
			}
			return nil, err
		}
	}
	if len(items) == 0 {
		if last {
			return c.undefined("", "No last item, sequence was empty."), nil
		}
		return c.undefined("", "No first item, sequence was empty."), nil
	}
	it := items[0]
	if last {
		it = items[len(items)-1]
	}
	it, err := c.Read(it)
	if err != nil {
		return nil, err
	}
	if u, ok := it.(*value.Undefined); ok {
		return nil, u
	}
	return it, nil
}

// pairs lists the items of a mapping.
func (c *Context) pairs(v any) (any, error) {
	out := &value.List{}
	switch x := v.(type) {
	case *value.Dict:
		err := c.entries(x, func(k, v any) { out.Items = append(out.Items, value.Tuple{k, v}) })
		return out, err
	case Mapping:
		keys, err := x.Keys(c)
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			v, _, err := x.Item(c, k)
			if err != nil {
				return nil, err
			}
			out.Items = append(out.Items, value.Tuple{k, v})
		}
		return out, nil
	}
	return nil, value.TypeErrorf("Can only get item pairs from a mapping.")
}

var words = rx.Lazy(`[\pL\pN_]+`)

var wordBegin = rx.Lazy(`[-\s({\[<]+`)

func titleWords(s string) string {
	var b strings.Builder
	one := func(w string) {
		if w != "" {
			rs := runes(w)
			b.WriteString(pyUpper(rs[0]))
			b.WriteString(pyLower(w[len(rs[0]):]))
		}
	}
	at := 0
	for _, m := range wordBegin.FindAllStringIndex(s, -1) {
		one(s[at:m[0]])
		b.WriteString(s[m[0]:m[1]])
		at = m[1]
	}
	one(s[at:])
	return b.String()
}

// Escape is markupsafe's escape.
func Escape(s string) string { return value.Escape(s) }

var (
	comments = rx.Lazy(`(?s)<!--.*?-->`)
	tags     = rx.Lazy(`(?s)<.*?>`)
)

func stripTags(s string) string {
	s = tags.ReplaceAllString(comments.ReplaceAllString(s, ""), "")
	return html.UnescapeString(strings.Join(strings.FieldsFunc(s, pySpace), " "))
}

// ToFloat is Python's float(v).
func ToFloat(v any) (float64, error) {
	s, ok := value.Text(v)
	if !ok {
		f, err := value.ToFloat(v)
		if e, isExc := err.(*value.Exception); isExc && e.Class == "TypeError" {
			err = value.TypeErrorf("float() argument must be a string or a real number, not '%s'", typeName(v))
		}
		return f, err
	}
	t := strings.TrimFunc(s, pySpace)
	bad := value.ValueErrorf("could not convert string to float: %s", value.Repr(s))
	for i := range len(t) {
		c := t[i]
		if c == '_' && (i == 0 || i+1 == len(t) || !isDecimal(t[i-1]) || !isDecimal(t[i+1])) || c|0x20 == 'x' || c|0x20 == 'p' {
			return 0, bad
		}
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(t, "_", ""), 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, bad
	}
	return f, nil
}

// ToInt is Python's int(v).
func ToInt(v any) (any, error) {
	if s, ok := value.Text(v); ok {
		return ParseInt(s, 10)
	}
	if f, ok := v.(float64); ok {
		return value.FloatToInt(f)
	}
	if value.IsInt(v) {
		return value.Int(value.ToBig(v)), nil
	}
	return nil, value.TypeErrorf("int() argument must be a string, a bytes-like object or a real number, not '%s'", typeName(v))
}
