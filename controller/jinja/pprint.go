package jinja

import (
	"strings"

	"volant/wire/rx"
	"volant/wire/value"
)

// printWidth is the line length that pprint keeps to.
const printWidth = 80

// prettyPrint is pprint: long text, bytes and tuples are broken into lines as
// Python does. The reference's lists and dicts print on one line whatever
// their length.
func prettyPrint(c *Context, a []any) (any, error) {
	v, err := c.expand(a[0])
	if err != nil {
		return nil, err
	}
	var p printer
	p.value(v, 0, 0, 1)
	return p.b.String(), nil
}

type printer struct{ b strings.Builder }

// value prints v, indented so far and with room for what follows it; level is
// how deep it is nested.
func (p *printer) value(v any, indent, follow, level int) {
	repr := value.Repr(v)
	if value.RuneLen(repr) > printWidth-indent-follow {
		switch x := v.(type) {
		case string:
			p.text(x, repr, indent, follow, level)
			return
		case []byte:
			p.bytes(x, repr, indent, follow, level)
			return
		case value.Tuple:
			p.tuple(x, indent, follow, level)
			return
		}
	}
	p.b.WriteString(repr)
}

func (p *printer) tuple(t value.Tuple, indent, follow, level int) {
	closing := ")"
	if len(t) == 1 {
		closing = ",)"
	}
	p.b.WriteByte('(')
	for i, e := range t {
		after := 1 // the comma
		if i > 0 {
			p.b.WriteString(",\n" + strings.Repeat(" ", indent+1))
		}
		if i == len(t)-1 {
			after = follow + len(closing)
		}
		p.value(e, indent+1, after, level+1)
	}
	p.b.WriteString(closing)
}

// chunks prints the parts of a literal below each other, in parentheses unless
// something around them makes that needless.
func (p *printer) chunks(parts []string, indent, level int) {
	if level == 1 {
		p.b.WriteByte('(')
	}
	p.b.WriteString(strings.Join(parts, "\n"+strings.Repeat(" ", indent)))
	if level == 1 {
		p.b.WriteByte(')')
	}
}

var printWords = rx.Lazy(`\S+\s*|\s+`)

// text breaks s at its newlines, and lines that are too long at blanks.
func (p *printer) text(s, repr string, indent, follow, level int) {
	if level == 1 {
		indent, follow = indent+1, follow+1
	}
	width := printWidth - indent
	var parts []string
	lines := splitLines(s, true)
	for i, line := range lines {
		room := width
		last := i == len(lines)-1
		if last {
			room -= follow
		}
		r := value.Repr(line)
		if value.RuneLen(r) <= room {
			parts = append(parts, r)
			continue
		}
		words := printWords.FindAllString(line, -1)
		current := ""
		for j, w := range words {
			room := width
			if last && j == len(words)-1 {
				room -= follow
			}
			if value.RuneLen(value.Repr(current+w)) <= room {
				current += w
				continue
			}
			if current != "" {
				parts = append(parts, value.Repr(current))
			}
			current = w
		}
		if current != "" {
			parts = append(parts, value.Repr(current))
		}
	}
	if len(parts) < 2 {
		p.b.WriteString(repr)
		return
	}
	p.chunks(parts, indent, level)
}

// bytes breaks s where a line is full, four bytes at a time.
func (p *printer) bytes(s []byte, repr string, indent, follow, level int) {
	if len(s) <= 4 {
		p.b.WriteString(repr)
		return
	}
	if level == 1 {
		indent, follow = indent+1, follow+1
	}
	width := printWidth - indent
	var parts []string
	from := 0
	for i := 0; i < len(s); i += 4 {
		end := min(i+4, len(s))
		if i == len(s)/4*4 {
			width -= follow
		}
		if len(value.Repr(s[from:end])) > width {
			if from < i {
				parts = append(parts, value.Repr(s[from:i]))
			}
			from = i
		}
	}
	if from < len(s) {
		parts = append(parts, value.Repr(s[from:]))
	}
	p.chunks(parts, indent, level)
}
