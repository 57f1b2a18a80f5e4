package jinja

import (
	"strings"
	"unicode"

	"volant/wire/value"
)

var strMethods = strTable()

func strTable() map[string]*method {
	t := methods(map[string]func(*Context, any, []any) (any, error){
		"capitalize()": textMethod(func(s string) any { return capitalize(s) }),
		"casefold()":   textMethod(func(s string) any { return strings.ReplaceAll(pyLower(s), "ß", "ss") }),
		"lower()":      textMethod(func(s string) any { return pyLower(s) }),
		"upper()":      textMethod(func(s string) any { return pyUpper(s) }),
		"title()":      textMethod(func(s string) any { return title(s) }),
		"swapcase()":   textMethod(func(s string) any { return swapcase(s) }),
		"isalnum()": textMethod(func(s string) any {
			return all(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
		}),
		"isalpha()":                         textMethod(func(s string) any { return all(s, unicode.IsLetter) }),
		"isascii()":                         textMethod(func(s string) any { return isASCII(s) }),
		"isdecimal()":                       textMethod(func(s string) any { return all(s, unicode.IsDigit) }),
		"isdigit()":                         textMethod(func(s string) any { return all(s, isDigitRune) }),
		"isnumeric()":                       textMethod(func(s string) any { return all(s, unicode.IsNumber) }),
		"isidentifier()":                    textMethod(func(s string) any { return isIdentifier(s) }),
		"islower()":                         textMethod(func(s string) any { return isCase(s, unicode.IsLower, unicode.IsUpper) }),
		"isupper()":                         textMethod(func(s string) any { return isCase(s, unicode.IsUpper, unicode.IsLower) }),
		"isprintable()":                     textMethod(func(s string) any { return s == "" || all(s, unicode.IsPrint) }),
		"isspace()":                         textMethod(func(s string) any { return all(s, pySpace) }),
		"istitle()":                         textMethod(func(s string) any { return isTitle(s) }),
		"find(sub, start=None, end=None)":   finder(false, false),
		"rfind(sub, start=None, end=None)":  finder(true, false),
		"index(sub, start=None, end=None)":  finder(false, true),
		"rindex(sub, start=None, end=None)": finder(true, true),
		"startswith(prefix, start=None, end=None)": affix("startswith", strings.HasPrefix),
		"endswith(suffix, start=None, end=None)":   affix("endswith", strings.HasSuffix),
		"partition(sep, /)":                        partition(false),
		"rpartition(sep, /)":                       partition(true),
		"join(iterable, /)":                        join,
		"maketrans(x, y=None, z=None, /)":          makeTrans,
		"split(sep=None, maxsplit=-1)":             func(_ *Context, r any, a []any) (any, error) { return split(r, a, false) },
		"rsplit(sep=None, maxsplit=-1)":            func(_ *Context, r any, a []any) (any, error) { return split(r, a, true) },
		"splitlines(keepends=False)": func(_ *Context, r any, a []any) (any, error) {
			return texts(splitLines(value.Str(r), value.Truth(a[0]))), nil
		},
		"strip(chars=None, /)":                      func(_ *Context, r any, a []any) (any, error) { return strip(r, a[0], "strip", true, true) },
		"lstrip(chars=None, /)":                     func(_ *Context, r any, a []any) (any, error) { return strip(r, a[0], "lstrip", true, false) },
		"rstrip(chars=None, /)":                     func(_ *Context, r any, a []any) (any, error) { return strip(r, a[0], "rstrip", false, true) },
		"translate(table, /)":                       func(c *Context, r any, a []any) (any, error) { return translate(c, value.Str(r), a[0]) },
		"format_map(mapping, /)":                    formatMap,
		"encode(encoding='utf-8', errors='strict')": encode,
		"count(sub, start=None, end=None)": func(_ *Context, r any, a []any) (any, error) {
			sub, ok := value.Text(a[0])
			if !ok {
				return nil, value.TypeErrorf("must be str, not %s", typeName(a[0]))
			}
			part, _, ok, err := span(value.Str(r), a[1], a[2])
			if err != nil || !ok {
				return int64(0), err
			}
			return int64(strings.Count(part, sub)), nil
		},
		"center(width, fillchar=' ', /)": func(_ *Context, r any, a []any) (any, error) {
			w, f, err := fill(a)
			return center(value.Str(r), w, f), err
		},
		"ljust(width, fillchar=' ', /)": func(_ *Context, r any, a []any) (any, error) {
			w, f, err := fill(a)
			s := value.Str(r)
			return s + strings.Repeat(f, max(w-value.RuneLen(s), 0)), err
		},
		"rjust(width, fillchar=' ', /)": func(_ *Context, r any, a []any) (any, error) {
			w, f, err := fill(a)
			s := value.Str(r)
			return strings.Repeat(f, max(w-value.RuneLen(s), 0)) + s, err
		},
		"zfill(width, /)": func(_ *Context, r any, a []any) (any, error) {
			w, _, err := fill([]any{a[0], "0"})
			if err != nil {
				return nil, err
			}
			s := value.Str(r)
			zeros := strings.Repeat("0", max(w-value.RuneLen(s), 0))
			if s != "" && (s[0] == '+' || s[0] == '-') {
				return s[:1] + zeros + s[1:], nil
			}
			return zeros + s, nil
		},
		"expandtabs(tabsize=8)": func(_ *Context, r any, a []any) (any, error) {
			n, err := wantInt(a[0])
			if err != nil {
				return nil, err
			}
			s := value.Str(r)
			if n > 0 && strings.Count(s, "\t")*n > value.MaxText {
				return nil, value.Raise("MemoryError", "string would exceed the limit of %d bytes", value.MaxText)
			}
			return value.ExpandTabs(s, n), nil
		},
		"removeprefix(prefix, /)": func(_ *Context, r any, a []any) (any, error) {
			p, err := wantText(a[0], "removeprefix() argument")
			return strings.TrimPrefix(value.Str(r), p), err
		},
		"removesuffix(suffix, /)": func(_ *Context, r any, a []any) (any, error) {
			p, err := wantText(a[0], "removesuffix() argument")
			return strings.TrimSuffix(value.Str(r), p), err
		},
		"replace(old, new, count=-1, /)": func(_ *Context, r any, a []any) (any, error) {
			old, err := wantText(a[0], "replace() argument 1")
			if err != nil {
				return nil, err
			}
			new, err := wantText(a[1], "replace() argument 2")
			if err != nil {
				return nil, err
			}
			n, err := wantInt(a[2])
			if err != nil {
				return nil, err
			}
			return replace(value.Str(r), old, new, n)
		},
	})
	t["format"] = &method{name: "format", call: func(c *Context, r any, a Args) (any, error) {
		return formatArgs(c, value.Str(r), a, false)
	}}
	return t
}

func formatArgs(c *Context, s string, a Args, escape bool) (any, error) {
	return formatText(c, s, append([]any{}, a.Pos...), escape, func(name string) (any, bool) {
		for _, k := range a.Kw {
			if k.Name == name {
				return k.Value, true
			}
		}
		return nil, false
	})
}

func formatMap(c *Context, r any, a []any) (any, error) {
	return formatText(c, value.Str(r), nil, false, func(name string) (any, bool) {
		v, ok, err := c.item(a[0], name)
		return v, ok && err == nil
	})
}
