package jinja

import (
	"strings"
	"unicode"

	"volant/wire/value"
)

// textMethod adapts a function of the text alone.
func textMethod(fn func(s string) any) func(*Context, any, []any) (any, error) {
	return func(_ *Context, recv any, _ []any) (any, error) { return fn(value.Str(recv)), nil }
}

func all(s string, ok func(r rune) bool) bool {
	if s == "" {
		return false
	}
	for _, r := range s {
		if !ok(r) {
			return false
		}
	}
	return true
}

func isDigitRune(r rune) bool {
	return unicode.IsDigit(r) || r >= 0x2070 && r <= 0x2079 || r == 0xb2 || r == 0xb3 || r == 0xb9 || r >= 0x2080 && r <= 0x2089
}

// pySpace is Python's str.isspace for one character.
func pySpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// strip removes the characters in chars, or white space for None.
func strip(recv, chars any, fn string, left, right bool) (any, error) {
	s := value.Str(recv)
	cut := pySpace
	if chars != nil {
		set, ok := value.Text(chars)
		if !ok {
			return nil, value.TypeErrorf("%s arg must be None or str", fn)
		}
		cut = func(r rune) bool { return strings.ContainsRune(set, r) }
	}
	if left {
		s = strings.TrimLeftFunc(s, cut)
	}
	if right {
		s = strings.TrimRightFunc(s, cut)
	}
	return s, nil
}

// span is the part of s that start and end select, and its first character.
func span(s string, start, end any) (string, int, bool, error) {
	if start == nil && end == nil {
		return s, 0, true, nil
	}
	n := value.RuneLen(s)
	if start != nil {
		i, err := wantInt(start)
		if err != nil {
			return "", 0, false, err
		}
		if i < 0 {
			i += n
		}
		if i > n {
			return "", 0, false, nil
		}
	}
	from, k, _, err := sliceBounds([3]any{start, end, nil}, n)
	if err != nil {
		return "", 0, false, err
	}
	rs := runes(s)
	return strings.Join(rs[from:from+k], ""), from, true, nil
}

func find(recv any, a []any, last bool) (int, error) {
	sub, ok := value.Text(a[0])
	if !ok {
		return 0, value.TypeErrorf("must be str, not %s", typeName(a[0]))
	}
	part, from, ok, err := span(value.Str(recv), a[1], a[2])
	if err != nil || !ok {
		return -1, err
	}
	i := strings.Index(part, sub)
	if last {
		i = strings.LastIndex(part, sub)
	}
	if i < 0 {
		return -1, nil
	}
	return from + value.RuneLen(part[:i]), nil
}

func finder(last, must bool) func(*Context, any, []any) (any, error) {
	return func(_ *Context, recv any, a []any) (any, error) {
		i, err := find(recv, a, last)
		if err != nil {
			return nil, err
		}
		if i < 0 && must {
			return nil, value.ValueErrorf("substring not found")
		}
		return int64(i), nil
	}
}

func affix(fn string, has func(s, p string) bool) func(*Context, any, []any) (any, error) {
	return func(_ *Context, recv any, a []any) (any, error) {
		part, _, ok, err := span(value.Str(recv), a[1], a[2])
		if err != nil {
			return nil, err
		}
		options := value.Tuple{a[0]}
		if t, isTuple := a[0].(value.Tuple); isTuple {
			options = t
			for _, o := range t {
				if _, isText := value.Text(o); !isText {
					return nil, value.TypeErrorf("tuple for %s must only contain str, not %s", fn, typeName(o))
				}
			}
		} else if _, isText := value.Text(a[0]); !isText {
			return nil, value.TypeErrorf("%s first arg must be str or a tuple of str, not %s", fn, typeName(a[0]))
		}
		for _, o := range options {
			if s, _ := value.Text(o); ok && has(part, s) {
				return true, nil
			}
		}
		return false, nil
	}
}

func fill(a []any) (int, string, error) {
	w, err := wantInt(a[0])
	if err != nil {
		return 0, "", err
	}
	if w > value.MaxText {
		return 0, "", value.Raise("MemoryError", "string would exceed the limit of %d bytes", value.MaxText)
	}
	f, ok := value.Text(a[1])
	if !ok {
		return 0, "", value.TypeErrorf("The fill character must be a unicode character, not %s", typeName(a[1]))
	}
	if value.RuneLen(f) != 1 {
		return 0, "", value.TypeErrorf("The fill character must be exactly one character long")
	}
	return w, f, nil
}

// center is Python's str.center.
func center(s string, width int, f string) string {
	pad := width - value.RuneLen(s)
	if pad <= 0 {
		return s
	}
	left := pad/2 + pad&width&1
	return strings.Repeat(f, left) + s + strings.Repeat(f, pad-left)
}

func replace(s, old, new string, n int) (string, error) {
	if n < 0 {
		n = -1
	}
	if len(new) > len(old) {
		k := strings.Count(s, old)
		if n >= 0 {
			k = min(k, n)
		}
		if len(s)+k*(len(new)-len(old)) > value.MaxText {
			return "", value.Raise("MemoryError", "string would exceed the limit of %d bytes", value.MaxText)
		}
	}
	return strings.Replace(s, old, new, n), nil
}
