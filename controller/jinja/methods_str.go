package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"

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

func isCased(r rune) bool { return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) }

func isCase(s string, want, bad func(rune) bool) bool {
	cased := false
	for _, r := range s {
		if bad(r) || unicode.IsTitle(r) {
			return false
		}
		cased = cased || want(r)
	}
	return cased
}

func isDigitRune(r rune) bool {
	return unicode.IsDigit(r) || r >= 0x2070 && r <= 0x2079 || r == 0xb2 || r == 0xb3 || r == 0xb9 || r >= 0x2080 && r <= 0x2089
}

// pyLower is Python's str.lower, which also maps a final sigma.
func pyLower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	rs := []rune(s)
	for i, r := range rs {
		switch {
		case r == 'İ':
			b.WriteString("i\u0307")
		case r == 'Σ' && i > 0 && isCased(rs[i-1]) && (i+1 == len(rs) || !isCased(rs[i+1])):
			b.WriteRune('ς')
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// expansions are the letters whose upper case is several letters.
var expansions = strings.NewReplacer("ß", "SS", "ŉ", "ʼN", "ǰ", "J\u030c", "ﬀ", "FF", "ﬁ", "FI", "ﬂ", "FL", "ﬃ", "FFI", "ﬄ", "FFL", "ﬅ", "ST", "ﬆ", "ST")

// pyUpper is Python's str.upper, with the expansions Go leaves out.
func pyUpper(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	return strings.ToUpper(expansions.Replace(s))
}

func capitalize(s string) string {
	if s == "" {
		return s
	}
	_, n := utf8.DecodeRuneInString(s)
	first := string(unicode.ToTitle([]rune(s[:n])[0]))
	if s[:n] == "ß" {
		first = "Ss"
	}
	if n == 1 && s[0] >= utf8.RuneSelf {
		first = s[:1]
	}
	return first + pyLower(s[n:])
}

// title is Python's str.title: letters after anything that is no letter.
func title(s string) string {
	var b strings.Builder
	prev := false
	for _, r := range s {
		if prev {
			b.WriteRune(unicode.ToLower(r))
		} else {
			b.WriteRune(unicode.ToTitle(r))
		}
		prev = isCased(r)
	}
	return b.String()
}

func isTitle(s string) bool {
	prev, any := false, false
	for _, r := range s {
		switch {
		case unicode.IsUpper(r) || unicode.IsTitle(r):
			if prev {
				return false
			}
			prev, any = true, true
		case unicode.IsLower(r):
			if !prev {
				return false
			}
			any = true
		default:
			prev = false
		}
	}
	return any
}

func swapcase(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsUpper(r):
			return unicode.ToLower(r)
		case unicode.IsLower(r):
			return unicode.ToUpper(r)
		}
		return r
	}, s)
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

func expandTabs(s string, size int) string {
	var b strings.Builder
	col := 0
	for _, r := range s {
		switch r {
		case '\t':
			if size > 0 {
				n := size - col%size
				b.WriteString(strings.Repeat(" ", n))
				col += n
			}
		case '\n', '\r':
			b.WriteRune(r)
			col = 0
		default:
			b.WriteRune(r)
			col++
		}
	}
	return b.String()
}

func translate(c *Context, s string, table any) (any, error) {
	var b strings.Builder
	for _, ch := range runes(s) {
		r, _ := utf8.DecodeRuneInString(ch)
		v, ok, err := c.item(table, int64(r))
		if err != nil {
			return nil, err
		}
		if !ok {
			b.WriteString(ch)
			continue
		}
		switch v := v.(type) {
		case nil:
		case string:
			b.WriteString(v)
		case int64:
			if v < 0 || v > unicode.MaxRune {
				return nil, value.ValueErrorf("character mapping must be in range(0x110000)")
			}
			b.WriteRune(rune(v))
		default:
			return nil, value.TypeErrorf("character mapping must return integer, None or str")
		}
	}
	return b.String(), nil
}

func makeTrans(_ *Context, _ any, a []any) (any, error) {
	out := value.NewDict(0)
	if a[1] == nil {
		d, ok := a[0].(*value.Dict)
		if !ok {
			return nil, value.TypeErrorf("if you give only one argument to maketrans it must be a dict")
		}
		for k, v := range d.All() {
			switch k := k.(type) {
			case int64:
				out.Set(k, v)
			case string:
				if value.RuneLen(k) != 1 {
					return nil, value.ValueErrorf("string keys in translate table must be of length 1")
				}
				r, _ := utf8.DecodeRuneInString(k)
				out.Set(int64(r), v)
			default:
				return nil, value.TypeErrorf("keys in translate table must be strings or integers")
			}
		}
		return out, nil
	}
	from, ok1 := value.Text(a[0])
	to, ok2 := value.Text(a[1])
	if !ok1 {
		return nil, value.TypeErrorf("first maketrans argument must be a string if there is a second argument")
	}
	if !ok2 {
		return nil, value.TypeErrorf("maketrans() argument 2 must be str, not %s", typeName(a[1]))
	}
	f, t := []rune(from), []rune(to)
	if len(f) != len(t) {
		return nil, value.ValueErrorf("the first two maketrans arguments must have equal length")
	}
	for i := range f {
		out.Set(int64(f[i]), int64(t[i]))
	}
	if a[2] != nil {
		del, ok := value.Text(a[2])
		if !ok {
			return nil, value.TypeErrorf("maketrans() argument 3 must be str, not %s", typeName(a[2]))
		}
		for _, r := range del {
			out.Set(int64(r), nil)
		}
	}
	return out, nil
}

// formatText is str.format and str.format_map; escape is how Markup does it.
func formatText(c *Context, s string, pos []any, escape bool, key func(string) (any, bool)) (any, error) {
	return value.FormatText(s, &value.Fields{
		Pos:     pos,
		MapOnly: pos == nil,
		Key:     key,
		Attr: func(v any, name string) (any, error) {
			r, err := c.GetAttr(v, name)
			if u, ok := r.(*value.Undefined); ok {
				return nil, u
			}
			return r, err
		},
		Item: func(v, key any) (any, error) {
			r, err := c.GetItem(v, key)
			if u, ok := r.(*value.Undefined); ok {
				return nil, u
			}
			return r, err
		},
		Text: func(v any, conv byte) (string, error) {
			v, err := c.expand(v)
			if err != nil {
				return "", err
			}
			switch conv {
			case 'r':
				return value.Repr(v), nil
			case 'a':
				return value.ASCII(v), nil
			}
			return value.Str(v), nil
		},
		Spec: func(v any, spec string) (string, error) {
			v, err := c.expand(v)
			if err != nil {
				return "", err
			}
			if !escape {
				return value.Format(v, spec)
			}
			if m, ok := v.(value.Markup); ok {
				if spec != "" {
					return "", value.ValueErrorf("Unsupported format specification for Markup.")
				}
				return string(m), nil
			}
			t, err := value.Format(v, spec)
			return value.Escape(t), err
		},
	})
}
