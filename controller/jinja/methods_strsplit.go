package jinja

import (
	"strings"
	"unicode/utf8"

	"volant/wire/value"
)

func texts(parts []string) *value.List {
	l := &value.List{Items: make([]any, len(parts))}
	for i, p := range parts {
		l.Items[i] = p
	}
	return l
}

// split is Python's str.split and, from the right, str.rsplit.
func split(recv any, a []any, right bool) (any, error) {
	s := value.Str(recv)
	n, err := wantInt(a[1])
	if err != nil {
		return nil, err
	}
	if a[0] == nil {
		return texts(splitSpace(s, n, right)), nil
	}
	sep, ok := value.Text(a[0])
	if !ok {
		return nil, value.TypeErrorf("must be str or None, not %s", typeName(a[0]))
	}
	if sep == "" {
		return nil, value.ValueErrorf("empty separator")
	}
	if n < 0 || !right {
		if n >= 0 {
			return texts(strings.SplitN(s, sep, n+1)), nil
		}
		return texts(strings.Split(s, sep)), nil
	}
	var parts []string
	for ; n > 0; n-- {
		i := strings.LastIndex(s, sep)
		if i < 0 {
			break
		}
		parts = append(parts, s[i+len(sep):])
		s = s[:i]
	}
	parts = append(parts, s)
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return texts(parts), nil
}

func splitSpace(s string, n int, right bool) []string {
	if n < 0 {
		return strings.FieldsFunc(s, pySpace)
	}
	var parts []string
	if right {
		s = strings.TrimRightFunc(s, pySpace)
		for ; n > 0 && s != ""; n-- {
			i := strings.LastIndexFunc(s, pySpace)
			_, w := utf8.DecodeRuneInString(s[max(i, 0):])
			if i < 0 {
				break
			}
			parts = append(parts, s[i+w:])
			s = strings.TrimRightFunc(s[:i], pySpace)
		}
		if s != "" {
			parts = append(parts, s)
		}
		for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
			parts[i], parts[j] = parts[j], parts[i]
		}
		return parts
	}
	s = strings.TrimLeftFunc(s, pySpace)
	for ; n > 0 && s != ""; n-- {
		i := strings.IndexFunc(s, pySpace)
		if i < 0 {
			break
		}
		parts = append(parts, s[:i])
		s = strings.TrimLeftFunc(s[i:], pySpace)
	}
	if s != "" {
		parts = append(parts, s)
	}
	return parts
}

// splitLines is Python's str.splitlines.
func splitLines(s string, keep bool) []string {
	var out []string
	from := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch r {
		case '\n', '\r', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
			end := i + n
			if r == '\r' && end < len(s) && s[end] == '\n' {
				end++
			}
			if keep {
				out = append(out, s[from:end])
			} else {
				out = append(out, s[from:i])
			}
			i, from = end, end
			continue
		}
		i += n
	}
	if from < len(s) {
		out = append(out, s[from:])
	}
	return out
}

func partition(last bool) func(*Context, any, []any) (any, error) {
	return func(_ *Context, recv any, a []any) (any, error) {
		s := value.Str(recv)
		sep, ok := value.Text(a[0])
		if !ok {
			return nil, value.TypeErrorf("must be str, not %s", typeName(a[0]))
		}
		if sep == "" {
			return nil, value.ValueErrorf("empty separator")
		}
		i := strings.Index(s, sep)
		if last {
			i = strings.LastIndex(s, sep)
		}
		switch {
		case i >= 0:
			return value.Tuple{s[:i], sep, s[i+len(sep):]}, nil
		case last:
			return value.Tuple{"", "", s}, nil
		}
		return value.Tuple{s, "", ""}, nil
	}
}

func join(c *Context, recv any, a []any) (any, error) {
	sep := value.Str(recv)
	items, err := c.Items(a[0])
	if err != nil {
		if _, ok := err.(*value.Exception); ok {
			err = value.TypeErrorf("can only join an iterable")
		}
		return nil, err
	}
	var b strings.Builder
	for i, it := range items {
		s, ok := value.Text(it)
		if !ok {
			if u, isU := it.(*value.Undefined); isU {
				return nil, u
			}
			return nil, value.TypeErrorf("sequence item %d: expected str instance, %s found", i, typeName(it))
		}
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(s)
		if b.Len() > value.MaxText {
			return nil, value.Raise("MemoryError", "string would exceed the limit of %d bytes", value.MaxText)
		}
	}
	return b.String(), nil
}
