package template

import (
	"math"

	"volant/controller/jinja"
	"volant/controller/vault"
	"volant/wire/pyre"
	"volant/wire/value"
)

var dataTests = map[string]*jinja.Plugin{
	"all":             lazy(def("all(iterable, /)", allTest)),
	"any":             lazy(def("any(iterable, /)", anyTest)),
	"contains":        keys(def("contains(seq, value)", containsTest)),
	"subset":          lazy(def("issubset(a, b)", subsetTest)),
	"issubset":        lazy(def("issubset(a, b)", subsetTest)),
	"superset":        lazy(def("issuperset(a, b)", supersetTest)),
	"issuperset":      lazy(def("issuperset(a, b)", supersetTest)),
	"nan":             lazy(def("isnotanumber(x)", nanTest)),
	"isnan":           def("isnotanumber(x)", nanTest),
	"truthy":          lazy(def("truthy(value, convert_bool=False)", truthyTest)),
	"falsy":           lazy(def("falsy(value, convert_bool=False)", falsyTest)),
	"match":           def("match(value, pattern='', ignorecase=False, multiline=False)", regexTest("match")),
	"search":          def("search(value, pattern='', ignorecase=False, multiline=False)", regexTest("search")),
	"regex":           def("regex(value='', pattern='', ignorecase=False, multiline=False, match_type='search')", regexTest("")),
	"vault_encrypted": markers(lazy(def("vault_encrypted(value)", vaultEncrypted))),
	"uri":             def("is_uri(value, schemes=None)", uriTest),
	"url":             def("is_url(value, schemes=None)", urlTest),
	"urn":             def("is_urn(value)", func(c *jinja.Context, a []any) (any, error) { return isURI(c, a[0], value.Strings("urn")) }),
}

func anyTest(c *jinja.Context, a []any) (any, error) { return some(c, a[0], true) }

func allTest(c *jinja.Context, a []any) (any, error) {
	b, err := some(c, a[0], false)
	return !b, err
}

// some reports whether an item has the truth wanted.
func some(c *jinja.Context, v any, want bool) (bool, error) {
	items, err := iterate(c, v)
	if err != nil {
		return false, err
	}
	for _, item := range items {
		b, err := c.Truth(item)
		if err != nil || b == want {
			return b == want, err
		}
	}
	return false, nil
}

func containsTest(c *jinja.Context, a []any) (any, error) {
	p, ok := jinja.Builtins.Test("in")
	if !ok {
		return false, nil
	}
	return p.Call(c, jinja.Args{Pos: []any{a[1], a[0]}})
}

// asSet is Python's set(v).
func asSet(c *jinja.Context, v any) (*members, error) {
	items, err := iterate(c, v)
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		if !value.Hashable(item) {
			return nil, value.TypeErrorf("unhashable type: '%s'", lazyName(item))
		}
	}
	return collect(items), nil
}

func within(c *jinja.Context, a, b any) (any, error) {
	x, err := asSet(c, a)
	if err != nil {
		return nil, err
	}
	y, err := asSet(c, b)
	if err != nil {
		return nil, err
	}
	for _, v := range x.list {
		if !y.has(v) {
			return false, nil
		}
	}
	return true, nil
}

func subsetTest(c *jinja.Context, a []any) (any, error) { return within(c, a[0], a[1]) }

func supersetTest(c *jinja.Context, a []any) (any, error) {
	if _, err := asSet(c, a[0]); err != nil {
		return nil, err
	}
	return within(c, a[1], a[0])
}

func nanTest(_ *jinja.Context, a []any) (any, error) {
	f, ok := a[0].(float64)
	return ok && math.IsNaN(f), nil
}

func truthyTest(c *jinja.Context, a []any) (any, error) {
	v := a[0]
	if truth(c, a[1]) {
		if b, err := toBool(v); err == nil {
			v = b
		}
	}
	return c.Truth(v)
}

func falsyTest(c *jinja.Context, a []any) (any, error) {
	v, err := truthyTest(c, a)
	if err != nil {
		return nil, err
	}
	return v == false, nil
}

// regexTest is match, search and regex; kind "" reads the fifth argument.
func regexTest(kind string) call {
	return func(c *jinja.Context, a []any) (any, error) {
		in, err := text(c, a[0])
		if err != nil {
			return nil, err
		}
		re, err := pattern(a[1], flags(c, a[2], a[3]))
		if err != nil {
			return nil, err
		}
		how := kind
		if how == "" {
			how, _ = value.Text(a[4])
		}
		var m *pyre.Match
		switch how {
		case "match":
			m, err = re.Match(in)
		case "fullmatch":
			m, err = re.FullMatch(in)
		case "findall", "finditer":
			ms, err := re.All(in, 1)
			return len(ms) > 0 || how == "finditer", err
		case "search":
			m, err = re.Search(in)
		default:
			return nil, value.TypeErrorf("'str' object is not callable")
		}
		return m != nil, err
	}
}

func vaultEncrypted(c *jinja.Context, a []any) (any, error) {
	if v := vaulted(c, a[0]); v != nil {
		return vault.IsEncrypted([]byte(v.Ciphertext)), nil
	}
	if u, ok := a[0].(*value.Undefined); ok {
		return nil, u
	}
	return false, nil
}

func isURI(c *jinja.Context, v, schemes any) (bool, error) {
	s, ok := value.Text(v)
	if !ok && value.Truth(v) {
		return false, nil
	}
	u, err := parseURL(s)
	if err != nil {
		return false, nil //nolint:nilerr // a bad URI is the answer
	}
	if schemes == nil || !truth(c, schemes) {
		return true, nil
	}
	if list, isText := value.Text(schemes); isText {
		return contains(list, u.scheme), nil
	}
	items, err := c.Items(schemes)
	if err != nil {
		return false, nil //nolint:nilerr // as in the reference
	}
	return member(items, u.scheme), nil
}

func uriTest(c *jinja.Context, a []any) (any, error) { return isURI(c, a[0], a[1]) }

func urlTest(c *jinja.Context, a []any) (any, error) {
	ok, err := isURI(c, a[0], a[1])
	if err != nil || !ok {
		return false, err
	}
	s, _ := value.Text(a[0])
	u, _ := parseURL(s)
	return u.netloc != "" || u.scheme == "file", nil
}
