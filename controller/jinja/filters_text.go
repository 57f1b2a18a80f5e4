package jinja

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"volant/wire/rx"
	"volant/wire/value"
)

func fileSize(_ *Context, a []any) (any, error) {
	b, err := ToFloat(a[0])
	if err != nil {
		return nil, err
	}
	base, suffix := 1000.0, []string{"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"}
	if value.Truth(a[1]) {
		base, suffix = 1024, []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"}
	}
	switch {
	case b == 1:
		return "1 Byte", nil
	case b < base:
		i, err := value.FloatToInt(b)
		return value.Str(i) + " Bytes", err
	}
	unit := base
	for i, s := range suffix {
		unit *= base
		if b < unit || i == len(suffix)-1 {
			return strconv.FormatFloat(base*b/unit, 'f', 1, 64) + " " + s, nil
		}
	}
	return nil, nil
}

func indent(_ *Context, a []any) (any, error) {
	s, ok := value.Text(a[0])
	if !ok {
		switch a[0].(type) {
		case *value.List:
			return nil, value.Raise("AttributeError", "'%s' object has no attribute 'splitlines'", typeName(a[0]))
		case value.Tuple:
			_, err := value.Add(a[0], "\n")
			return nil, err
		}
		return nil, value.TypeErrorf("unsupported operand type(s) for +=: '%s' and 'str'", typeName(a[0]))
	}
	by, ok := value.Text(a[1])
	if !ok {
		v, err := value.Mul(" ", a[1])
		if err != nil {
			return nil, err
		}
		by = v.(string)
	}
	if _, isMarkup := a[0].(value.Markup); isMarkup {
		by = string(value.ToMarkup(like(a[1], by)))
	}
	lines := splitLines(s+"\n", false)
	if n := len(by) * len(lines); n+len(s) > value.MaxText {
		return nil, value.Raise("MemoryError", "string would exceed the limit of %d bytes", value.MaxText)
	}
	first, blank := value.Truth(a[2]), value.Truth(a[3])
	for i, l := range lines {
		if i > 0 && (blank || l != "") || i == 0 && first {
			lines[i] = by + l
		}
	}
	return like(a[0], strings.Join(lines, "\n")), nil
}

func round(_ *Context, a []any) (any, error) {
	method, _ := value.Text(a[2])
	if method != "common" && method != "ceil" && method != "floor" {
		return nil, value.Raise("FilterArgumentError", "method must be common, ceil or floor")
	}
	n, err := wantInt(a[1])
	if err != nil {
		return nil, err
	}
	if method == "common" {
		if value.IsInt(a[0]) {
			return roundInt(value.ToBig(a[0]), n), nil
		}
		f, ok := a[0].(float64)
		if !ok {
			return nil, value.TypeErrorf("type %s doesn't define __round__ method", typeName(a[0]))
		}
		return RoundFloat(f, n), nil
	}
	scale, err := value.Pow(int64(10), a[1])
	if err != nil {
		return nil, err
	}
	v, err := value.Mul(a[0], scale)
	if err != nil {
		return nil, err
	}
	if f, ok := v.(float64); ok {
		if method == "ceil" {
			f = math.Ceil(f)
		} else {
			f = math.Floor(f)
		}
		if v, err = value.FloatToInt(f); err != nil {
			return nil, err
		}
	} else if !value.IsInt(v) {
		return nil, value.TypeErrorf("must be real number, not %s", typeName(v))
	}
	return value.Div(v, scale)
}

// RoundFloat is Python's round(f, n): to the nearest, ties of the exact binary
// value to even.
func RoundFloat(f float64, n int) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) || n > 323 {
		return f
	}
	if n < 0 {
		if n < -308 {
			return 0 * f
		}
		p := math.Pow(10, float64(-n))
		return math.RoundToEven(f/p) * p
	}
	r, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', n, 64), 64)
	return r
}

func roundInt(i *big.Int, n int) any {
	if n >= 0 {
		return value.Int(i)
	}
	if -n > i.BitLen() {
		return int64(0)
	}
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-n)), nil)
	q, r := new(big.Int).DivMod(i, p, new(big.Int))
	switch r.Lsh(r, 1).Cmp(p) {
	case 1:
		q.Add(q, big.NewInt(1))
	case 0:
		if q.Bit(0) == 1 {
			q.Add(q, big.NewInt(1))
		}
	}
	return value.Int(q.Mul(q, p))
}

// jsonEscapes keeps JSON from meaning anything in HTML.
var jsonEscapes = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "'", `\u0027`)

func toJSON(_ *Context, a []any) (any, error) {
	style := value.JSONStyle{Indent: -1, SortKeys: true}
	switch x := a[1].(type) {
	case nil:
	case string:
		style.IndentText = x
	default:
		n, err := wantInt(x)
		if err != nil {
			return nil, err
		}
		style.Indent = max(n, 0)
	}
	s, err := value.EncodeJSON(a[0], style)
	return value.Markup(jsonEscapes.Replace(s)), err
}

func truncate(_ *Context, a []any) (any, error) {
	size, err := length(a[0])
	if err != nil {
		return nil, err
	}
	end, err := wantText(a[3], "end")
	if err != nil {
		return nil, err
	}
	n, err := wantInt(a[1])
	if err != nil {
		return nil, err
	}
	leeway := 5
	if a[4] != nil {
		if leeway, err = wantInt(a[4]); err != nil {
			return nil, err
		}
	}
	switch endLen := value.RuneLen(end); {
	case n < endLen:
		return nil, value.Raise("AssertionError", "expected length >= %d, got %d", endLen, n)
	case leeway < 0:
		return nil, value.Raise("AssertionError", "expected leeway >= 0, got %d", leeway)
	}
	if size <= int64(n)+int64(leeway) {
		return a[0], nil
	}
	s, ok := value.Text(a[0])
	if !ok {
		return nil, value.Raise("AttributeError", "'%s' object has no attribute 'rsplit'", typeName(a[0]))
	}
	rs := runes(s)
	cut := strings.Join(rs[:n-value.RuneLen(end)], "")
	if !value.Truth(a[2]) {
		if i := strings.LastIndexByte(cut, ' '); i >= 0 {
			cut = cut[:i]
		}
	}
	return value.Add(like(a[0], cut), like(a[3], end))
}

// URLQuote is Python's quote of the text of v; forQuery quotes / and writes
// blanks as +.
func URLQuote(s string, forQuery bool) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c|0x20 >= 'a' && c|0x20 <= 'z', isDecimal(c), c == '_', c == '.', c == '-', c == '~', c == '/' && !forQuery:
			b.WriteByte(c)
		case c == ' ' && forQuery:
			b.WriteByte('+')
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func urlEncode(c *Context, a []any) (any, error) {
	quoted := func(v any, query bool) (string, error) {
		if b, ok := v.([]byte); ok {
			return URLQuote(string(b), query), nil
		}
		s, err := c.Str(v)
		return URLQuote(s, query), err
	}
	if _, ok := value.Text(a[0]); ok {
		return quoted(a[0], false)
	}
	items, err := c.Items(a[0])
	if err != nil {
		return quoted(a[0], false)
	}
	if isMapping(a[0]) {
		l, err := c.pairs(a[0])
		if err != nil {
			return nil, err
		}
		items = l.(*value.List).Items
	}
	var parts []string
	for _, it := range items {
		pair, err := c.Items(it)
		if err != nil {
			return nil, value.TypeErrorf("cannot unpack non-iterable %s object", typeName(it))
		}
		if len(pair) != 2 {
			if len(pair) > 2 {
				return nil, value.ValueErrorf("too many values to unpack (expected 2)")
			}
			return nil, value.ValueErrorf("not enough values to unpack (expected 2, got %d)", len(pair))
		}
		k, err := quoted(pair[0], true)
		if err != nil {
			return nil, err
		}
		v, err := quoted(pair[1], true)
		if err != nil {
			return nil, err
		}
		parts = append(parts, k+"="+v)
	}
	return strings.Join(parts, "&"), nil
}

var badAttr = rx.Lazy(`[\s/>=]`)

func xmlAttr(c *Context, a []any) (any, error) {
	if !isMapping(a[0]) {
		return nil, value.Raise("AttributeError", "'%s' object has no attribute 'items'", typeName(a[0]))
	}
	l, err := c.pairs(a[0])
	if err != nil {
		return nil, err
	}
	var parts []string
	for _, it := range l.(*value.List).Items {
		k, v := it.(value.Tuple)[0], it.(value.Tuple)[1]
		if _, undefined := v.(*value.Undefined); v == nil || undefined {
			continue
		}
		key, err := c.Str(k)
		if err != nil {
			return nil, err
		}
		if badAttr.MatchString(key) {
			return nil, value.ValueErrorf("Invalid character in attribute name: %s", value.Repr(key))
		}
		s, err := c.Str(v)
		if err != nil {
			return nil, err
		}
		parts = append(parts, Escape(key)+`="`+Escape(s)+`"`)
	}
	out := strings.Join(parts, " ")
	if out != "" && value.Truth(a[1]) {
		out = " " + out
	}
	return out, nil
}

func formatFilter(c *Context, a Args) (any, error) {
	if len(a.Pos) == 0 {
		return nil, value.TypeErrorf("do_format() missing 1 required positional argument: 'value'")
	}
	if len(a.Pos) > 1 && len(a.Kw) > 0 {
		return nil, value.Raise("FilterArgumentError", "can't handle positional and keyword arguments at the same time")
	}
	s, err := c.Str(a.Pos[0])
	if err != nil {
		return nil, err
	}
	if m, ok := a.Pos[0].(value.Markup); ok {
		return formatMarkup(m, a)
	}
	if len(a.Kw) > 0 {
		d := value.NewDict(len(a.Kw))
		for _, k := range a.Kw {
			d.Set(k.Name, k.Value)
		}
		return value.Percent(s, d)
	}
	return value.Percent(s, value.Tuple(a.Pos[1:]))
}

func formatMarkup(m value.Markup, a Args) (any, error) {
	if len(a.Kw) > 0 {
		d := value.NewDict(len(a.Kw))
		for _, k := range a.Kw {
			d.Set(k.Name, k.Value)
		}
		return m.Percent(d)
	}
	return m.Percent(value.Tuple(a.Pos[1:]))
}
