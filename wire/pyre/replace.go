package pyre

import (
	"fmt"
	"strconv"
	"strings"
)

// Replacement is a parsed replacement template.
type Replacement struct {
	parts []part
}

type part struct {
	text  string
	group int // -1 for text
}

var simpleEscapes = map[rune]rune{'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v', '\\': '\\'}

// Template parses a replacement for re; the error is Python's.
func (re *Regexp) Template(repl string) (*Replacement, error) {
	if !strings.ContainsRune(repl, '\\') {
		return &Replacement{parts: []part{{repl, -1}}}, nil
	}
	src := []rune(repl)
	fail := func(msg string, pos int) error { return &Error{Msg: msg, Pos: pos, Pat: repl} }
	out := &Replacement{}
	var text strings.Builder
	group := func(n int) {
		if text.Len() > 0 {
			out.parts = append(out.parts, part{text.String(), -1})
			text.Reset()
		}
		out.parts = append(out.parts, part{group: n})
	}
	digit := func(i int) bool { return i < len(src) && src[i] >= '0' && src[i] <= '9' }
	octal := func(i int) bool { return i < len(src) && src[i] >= '0' && src[i] <= '7' }
	for i := 0; i < len(src); {
		if src[i] != '\\' {
			text.WriteRune(src[i])
			i++
			continue
		}
		at := i
		i++
		if i >= len(src) {
			return nil, fail("bad escape (end of pattern)", at)
		}
		c := src[i]
		i++
		switch {
		case c == 'g':
			if i >= len(src) || src[i] != '<' {
				return nil, fail("missing <", i)
			}
			start := i + 1
			end := start
			for end < len(src) && src[end] != '>' {
				end++
			}
			name := string(src[start:end])
			switch {
			case name == "":
				return nil, fail("missing group name", start)
			case end >= len(src):
				return nil, fail("missing >, unterminated name", start)
			}
			i = end + 1
			n, ok := re.p.names[name]
			if !ok && isIdentifier(name) {
				return nil, fmt.Errorf("unknown group name '%s'", name)
			}
			if !ok {
				v, err := strconv.Atoi(strings.TrimSpace(name))
				if err != nil || v < 0 {
					return nil, fail(fmt.Sprintf("bad character in group name '%s'", name), start)
				}
				if v > re.Groups {
					return nil, fail(fmt.Sprintf("invalid group reference %d", v), start)
				}
				n = v
			}
			group(n)
		case c == '0':
			n := 0
			for k := 0; k < 2 && octal(i); k++ {
				n = n*8 + int(src[i]-'0')
				i++
			}
			text.WriteRune(rune(n & 0xff))
		case c >= '1' && c <= '9':
			if digit(i) && c <= '7' && octal(i) && octal(i+1) {
				v := int(c-'0')*64 + int(src[i]-'0')*8 + int(src[i+1]-'0')
				if v > 0o377 {
					return nil, fail("octal escape value "+string(src[at:i+2])+" outside of range 0-0o377", at)
				}
				i += 2
				text.WriteRune(rune(v))
				break
			}
			n := int(c - '0')
			if digit(i) {
				n = n*10 + int(src[i]-'0')
				i++
			}
			if n > re.Groups {
				return nil, fail(fmt.Sprintf("invalid group reference %d", n), at+1)
			}
			group(n)
		default:
			if r, ok := simpleEscapes[c]; ok {
				text.WriteRune(r)
			} else if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
				return nil, fail(`bad escape \`+string(c), at)
			} else {
				text.WriteRune('\\')
				text.WriteRune(c)
			}
		}
	}
	if text.Len() > 0 {
		out.parts = append(out.parts, part{text.String(), -1})
	}
	return out, nil
}

// Expand writes what the replacement gives for m.
func (r *Replacement) Expand(b *strings.Builder, m *Match) {
	for _, p := range r.parts {
		if p.group < 0 {
			b.WriteString(p.text)
			continue
		}
		s, _ := m.Group(p.group)
		b.WriteString(s)
	}
}

// Subn replaces up to count matches (0 is all) and returns how many it did.
func (re *Regexp) Subn(repl, s string, count int) (string, int, error) {
	t, err := re.Template(repl)
	if err != nil {
		return "", 0, err
	}
	ms, err := re.All(s, count)
	if err != nil {
		return "", 0, err
	}
	if len(ms) == 0 {
		return s, 0, nil
	}
	s = ms[0].text // its invalid bytes are replaced when the other engine ran
	var b strings.Builder
	last := 0
	for _, m := range ms {
		start, end := m.Span(0)
		b.WriteString(s[last:start])
		t.Expand(&b, m)
		last = end
	}
	b.WriteString(s[last:])
	return b.String(), len(ms), nil
}
