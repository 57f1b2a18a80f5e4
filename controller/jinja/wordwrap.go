package jinja

import (
	"strings"
	"unicode"

	"volant/wire/value"
)

func wordWrap(_ *Context, a []any) (any, error) {
	s, ok := value.Text(a[0])
	if !ok {
		return nil, value.Raise("AttributeError", "'%s' object has no attribute 'splitlines'", typeName(a[0]))
	}
	w, err := wantInt(a[1])
	if err != nil {
		return nil, err
	}
	sep := "\n"
	if a[3] != nil {
		if sep, err = wantText(a[3], "wrapstring"); err != nil {
			return nil, err
		}
	}
	lines := splitLines(s, false)
	if w <= 0 && len(lines) > 0 {
		return nil, value.ValueErrorf("invalid width %d (must be > 0)", w)
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.Join(WrapText(l, w, value.Truth(a[2]), value.Truth(a[4])), sep)
	}
	return joined(out, sep)
}

// WrapText is Python's textwrap.wrap of one paragraph, tabs and white space
// left as they are.
func WrapText(s string, width int, breakWords, breakHyphens bool) []string {
	chunks := wrapChunks(s, breakHyphens)
	var lines []string
	for len(chunks) > 0 {
		if len(lines) > 0 && strings.TrimSpace(chunks[0]) == "" {
			chunks = chunks[1:]
			if len(chunks) == 0 {
				break
			}
		}
		var cur []string
		n := 0
		for len(chunks) > 0 {
			l := value.RuneLen(chunks[0])
			if n+l > width {
				break
			}
			cur = append(cur, chunks[0])
			n += l
			chunks = chunks[1:]
		}
		if len(chunks) > 0 && value.RuneLen(chunks[0]) > width {
			switch {
			case breakWords:
				rs := runes(chunks[0])
				room := max(width-n, 1)
				end := room
				if breakHyphens && len(rs) > room {
					part := strings.Join(rs[:room], "")
					if h := strings.LastIndexByte(part, '-'); h > 0 && strings.Trim(part[:h], "-") != "" {
						end = value.RuneLen(part[:h]) + 1
					}
				}
				if width-n < 1 && len(cur) > 0 {
					end = 0
				}
				if end > 0 {
					cur = append(cur, strings.Join(rs[:end], ""))
					chunks[0] = strings.Join(rs[end:], "")
				}
			case len(cur) == 0:
				cur = append(cur, chunks[0])
				chunks = chunks[1:]
			}
		}
		if len(cur) > 0 && strings.TrimSpace(cur[len(cur)-1]) == "" {
			cur = cur[:len(cur)-1]
		}
		if len(cur) > 0 {
			lines = append(lines, strings.Join(cur, ""))
		}
	}
	return lines
}

// wrapChunks splits text into pieces that stay together.
func wrapChunks(s string, hyphens bool) []string {
	var out []string
	rs := []rune(s)
	blank := func(r rune) bool { return r == ' ' || r >= '\t' && r <= '\r' }
	letter := unicode.IsLetter
	from := 0
	cut := func(i int) {
		if i > from {
			out = append(out, string(rs[from:i]))
			from = i
		}
	}
	for i := 1; i < len(rs); i++ {
		switch {
		case blank(rs[i]) != blank(rs[i-1]):
			cut(i)
		case !hyphens || rs[i-1] != '-' || blank(rs[i]):
		case i >= 3 && i-3 >= from && rs[i-2] != '-' && letter(rs[i-2]) && (letter(rs[i-3]) || i >= 4 && rs[i-3] == '-' && letter(rs[i-4])) &&
			letter(rs[i]) && i+1 < len(rs) && (letter(rs[i+1]) || rs[i+1] == '-' && i+2 < len(rs) && letter(rs[i+2])):
			cut(i)
		case i >= 2 && rs[i-2] == '-' && (letter(rs[i]) || unicode.IsDigit(rs[i]) || rs[i] == '_') && i >= 3:
			cut(i)
		}
	}
	cut(len(rs))
	return out
}
