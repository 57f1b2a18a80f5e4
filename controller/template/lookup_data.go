package template

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"strings"

	"volant/controller/jinja"
	"volant/wire/pyre"
	"volant/wire/value"
)

var dataLookups = map[string]*Lookup{
	"dict":                {Run: dictLookup},
	"items":               {Run: func(l *LookupCall) ([]any, error) { return flat(l.Terms), nil }},
	"list":                {Run: func(l *LookupCall) ([]any, error) { return l.Terms, nil }},
	"indexed_items":       {Run: indexedItems},
	"nested":              {Run: nested},
	"together":            {Run: together},
	"subelements":         {Run: subelementsLookup},
	"sequence":            {Run: sequence, Options: map[string]string{"start": "integer", "end": "integer", "count": "integer", "stride": "integer"}},
	"random_choice":       {Run: randomChoice},
	"env":                 {Run: envLookup, Markers: true},
	"vars":                {Run: varsLookup, Markers: true, Lazy: true},
	"varnames":            {Run: varnames},
	"inventory_hostnames": {Run: inventoryHostnames},
	"config":              {Run: configLookup},
}

// flat puts the items of lists among terms in place of them.
func flat(terms []any) []any {
	var out []any
	for _, t := range terms {
		if inner, ok := elements(t); ok {
			out = append(out, inner...)
		} else {
			out = append(out, t)
		}
	}
	return out
}

func dictLookup(l *LookupCall) ([]any, error) {
	var out []any
	for _, t := range l.Terms {
		d, ok := t.(*value.Dict)
		if m, isMap := t.(jinja.Mapping); !ok && isMap {
			var err error
			if d, err = build(l.C, m); err != nil {
				return nil, err
			}
			ok = true
		}
		if !ok {
			return nil, failf("the 'dict' lookup plugin expects a dictionary, got '%s' of type %s)", value.Str(t), typeRepr(t))
		}
		for k, v := range d.All() {
			out = append(out, value.DictOf("key", k, "value", v))
		}
	}
	return out, nil
}

func indexedItems(l *LookupCall) ([]any, error) {
	items := flat(l.Terms)
	out := make([]any, len(items))
	for i, v := range items {
		out[i] = value.Tuple{int64(i), v}
	}
	return out, nil
}

func nested(l *LookupCall) ([]any, error) {
	if len(l.Terms) == 0 {
		return nil, failf("with_nested requires at least one element in the nested list")
	}
	result, err := l.C.Items(l.Terms[0])
	if err != nil {
		return nil, err
	}
	for _, t := range l.Terms[1:] {
		more, err := l.C.Items(t)
		if err != nil {
			return nil, err
		}
		if len(result)*len(more) > value.MaxItems {
			return nil, tooMany()
		}
		next := make([]any, 0, len(result)*len(more))
		for _, x := range result {
			for _, y := range more {
				next = append(next, value.ListOf(flat([]any{x, y})...))
			}
		}
		result = next
	}
	out := make([]any, len(result))
	for i, x := range result {
		items, err := l.C.Items(x)
		if err != nil {
			return nil, err
		}
		out[i] = value.ListOf(flat(items)...)
	}
	return out, nil
}

func together(l *LookupCall) ([]any, error) {
	if len(l.Terms) == 0 {
		return nil, failf("with_together requires at least one element in each list")
	}
	cols, err := columns(l.C, jinja.Args{Pos: l.Terms})
	if err != nil {
		return nil, err
	}
	n := 0
	for _, col := range cols {
		n = max(n, len(col))
	}
	out := rows(cols, n, nil)
	for i, row := range out.Items {
		out.Items[i] = value.ListOf(flat(row.(value.Tuple))...)
	}
	return out.Items, nil
}

func subelementsLookup(l *LookupCall) ([]any, error) {
	const expects = "subelements lookup expects a list of two or three items, "
	t := l.Terms
	if len(t) < 2 || len(t) > 3 {
		return nil, failf(expects)
	}
	key, isText := value.Text(t[1])
	d, isDict := t[0].(*value.Dict)
	list, isList := t[0].(*value.List)
	if !isText || !isDict && !isList {
		return nil, failf(expects + "first a dict or a list, second a string pointing to the subkey")
	}
	var elems []any
	if isDict {
		if v, ok := d.Get("skipped"); ok && !value.Equal(v, false) {
			return nil, nil
		}
		elems = values(d)
	} else {
		elems = list.Items
	}
	skip := false
	if len(t) == 3 {
		flags, ok := t[2].(*value.Dict)
		if !ok {
			return nil, failf(expects + "the optional third item must be a dict with flags ('skip_missing',)")
		}
		skip, _ = toBool(flags.Lookup("skip_missing"))
	}
	var out []any
	path := strings.Split(key, ".")
	for _, elem := range elems {
		ed, ok := elem.(*value.Dict)
		if !ok {
			return nil, failf("subelements lookup expects a dictionary, got '%s'", value.Str(elem))
		}
		if v, ok := ed.Get("skipped"); ok && !value.Equal(v, false) {
			continue
		}
		item, subs, err := cutOut(ed, path, skip)
		if err != nil {
			return nil, err
		}
		for _, sub := range subs {
			out = append(out, value.Tuple{item, sub})
		}
	}
	return out, nil
}

// cutOut returns d without the list at path, and that list's items.
func cutOut(d *value.Dict, path []string, skip bool) (*value.Dict, []any, error) {
	v, ok := d.Get(path[0])
	if !ok {
		if skip {
			if len(path) > 1 {
				return cutOut(d, path[1:], skip)
			}
			return d, nil, nil
		}
		return nil, nil, failf("could not find '%s' key in iterated item '%s'", path[0], value.Str(d))
	}
	out := d.Clone()
	if len(path) == 1 {
		list, ok := v.(*value.List)
		if !ok {
			return nil, nil, failf("the key %s should point to a list, got '%s'", path[0], value.Str(v))
		}
		out.Delete(path[0])
		return out, list.Items, nil
	}
	inner, ok := v.(*value.Dict)
	if !ok {
		if skip {
			return cutOut(d, path[1:], skip)
		}
		return nil, nil, failf("the key %s should point to a dictionary, got '%s'", path[0], value.Str(v))
	}
	rest, items, err := cutOut(inner, path[1:], skip)
	if err != nil {
		return nil, nil, err
	}
	out.Set(path[0], rest)
	return out, items, nil
}

func randomChoice(l *LookupCall) ([]any, error) {
	if len(l.Terms) == 0 {
		return nil, nil
	}
	n, err := rand.Int(rand.Reader, big.NewInt(int64(len(l.Terms))))
	if err != nil {
		return nil, fmt.Errorf("drawing a random number: %w", err)
	}
	return []any{l.Terms[n.Int64()]}, nil
}

func envLookup(l *LookupCall) ([]any, error) {
	dflt, hasDefault := l.Opts.Get("default")
	if !hasDefault {
		dflt = ""
	}
	var out []any
	for _, term := range l.Terms {
		if u, ok := term.(*value.Undefined); ok {
			return nil, u
		}
		t, ok := value.Text(term)
		if !ok {
			return nil, value.Raise("AttributeError", "'%s' object has no attribute 'split'", lazyName(term))
		}
		words := strings.Fields(t)
		if len(words) == 0 {
			return nil, value.Raise("IndexError", "list index out of range")
		}
		if v, ok := l.Scope.e.opt.Getenv(words[0]); ok {
			v = strings.Clone(v)
			l.Scope.remember(v, origin{from: "<environment variable " + value.Repr(words[0]) + ">"})
			out = append(out, v)
			continue
		}
		if u, ok := dflt.(*value.Undefined); ok {
			if u.Hint != defaultUndef {
				return nil, u
			}
			out = append(out, &value.Undefined{Hint: "The environment variable " + value.Repr(words[0]) + " is not set.", Pos: l.C.Pos()})
			continue
		}
		out = append(out, dflt)
	}
	return out, nil
}

func varsLookup(l *LookupCall) ([]any, error) {
	dflt := l.Opts.Lookup("default")
	var out []any
	for _, term := range l.Terms {
		if u, ok := term.(*value.Undefined); ok {
			return nil, u
		}
		name, ok := value.Text(term)
		if !ok {
			return nil, failf("Variable name must be 'str' not '%s'.", value.TypeName(term))
		}
		v, ok, err := l.Scope.Resolve(name)
		switch {
		case err != nil:
			return nil, err
		case ok:
			out = append(out, private(l.C, v))
		case dflt == nil:
			out = append(out, &value.Undefined{Hint: "No variable named " + value.Repr(name) + " was found.", Pos: l.C.Pos()})
		default:
			out = append(out, dflt)
		}
	}
	return out, nil
}

func varnames(l *LookupCall) ([]any, error) {
	var out []any
	for _, term := range l.Terms {
		t, ok := value.Text(term)
		if !ok {
			return nil, failf("Invalid setting identifier, \"%s\" is not a string, it is a %s", value.Str(term), typeRepr(term))
		}
		re, err := pyre.Compile(t, 0)
		if err != nil {
			return nil, failWhile("Unable to use \"%s\" as a search parameter: %s", t, err)
		}
		for name := range l.Scope.vars.Names() {
			m, err := re.Search(name)
			if err != nil {
				return nil, err
			}
			if m != nil {
				out = append(out, name)
			}
		}
	}
	return out, nil
}

func inventoryHostnames(l *LookupCall) ([]any, error) {
	if l.Scope.opt.Hosts == nil {
		return nil, nil
	}
	var parts []string
	for _, t := range flat(l.Terms) {
		parts = append(parts, value.Str(t))
	}
	hosts, err := l.Scope.opt.Hosts.Match(strings.Join(parts, ","))
	if err != nil {
		return nil, nil //nolint:nilerr // as in the reference, a bad pattern names nobody
	}
	out := make([]any, len(hosts))
	for i, h := range hosts {
		out[i] = h
	}
	return out, nil
}

func configLookup(l *LookupCall) ([]any, error) {
	missing, err := l.text("on_missing", "error")
	if err != nil {
		return nil, err
	}
	if missing != "error" && missing != "warn" && missing != "skip" {
		return nil, l.badChoice("on_missing", missing)
	}
	kind, err := l.text("plugin_type", "")
	if err != nil {
		return nil, err
	}
	plugin, err := l.text("plugin_name", "")
	if err != nil {
		return nil, err
	}
	origin, err := l.flag("show_origin", false)
	if err != nil {
		return nil, err
	}
	if (kind == "") != (plugin == "") {
		return nil, failf("Both plugin_type and plugin_name are required, cannot use one without the other.")
	}
	var out []any
	for _, term := range l.Terms {
		name, ok := value.Text(term)
		if !ok {
			return nil, failf("Invalid setting identifier, %s is not a <class 'str'>, its a %s.", value.Repr(term), typeRepr(term))
		}
		var v any
		var from string
		found := false
		if st := l.Scope.e.opt.Settings; st != nil {
			if v, from, found, err = st.Setting(l, name, kind, plugin); err != nil {
				return nil, err
			}
		}
		if !found {
			e := failf("No config definition exists for %s.", value.Repr(name))
			if missing == "error" {
				return nil, e
			}
			if missing == "warn" {
				l.Scope.warnOf("Skipping "+name+".", e)
			}
			continue
		}
		if origin {
			v = value.ListOf(v, from)
		}
		out = append(out, v)
	}
	return out, nil
}
