package pyre

import (
	"fmt"
	"strconv"
	"strings"
)

// lit writes a rune so that neither engine takes it for syntax.
func lit(r rune) string {
	if r < 128 && !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
		return fmt.Sprintf("\\x%02X", r)
	}
	return string(r)
}

func (p *parser) literal(r rune, flags Flags) node {
	s := lit(r)
	if flags&IgnoreCase != 0 {
		s = "(?i:" + s + ")"
	}
	return node{re: s, back: s, min: 1, fixed: true}
}

// atom reads one item. global holds flags set for the whole pattern by `(?i)`.
func (p *parser) atom(flags Flags, start bool) (n node, global Flags) {
	at := p.pos
	c := p.src[p.pos]
	p.pos++
	switch c {
	case '.':
		s := `[^\n]`
		if flags&DotAll != 0 {
			s = `[\s\S]`
		}
		return node{re: s, back: s, min: 1, fixed: true}, 0
	case '^':
		s := `\A`
		if flags&MultiLine != 0 {
			s = `(?m:^)`
		}
		return node{re: s, back: s, isAnchor: true, fixed: true}, 0
	case '$':
		if flags&MultiLine != 0 {
			return node{re: `(?m:$)`, back: `(?m:$)`, isAnchor: true, fixed: true}, 0
		}
		p.dollar = true
		return node{re: `\z`, back: `(?=\n?\z)`, isAnchor: true, fixed: true}, 0
	case '(':
		return p.paren(at, flags, start)
	case '[':
		return p.class(at, flags), 0
	case '\\':
		return p.escape(at, flags), 0
	}
	return p.literal(c, flags), 0
}

// category is the class body of \d, \w, \s for ASCII and for all of Unicode.
func category(c rune, ascii bool) (re, back string) {
	switch c {
	case 'd':
		re, back = `0-9`, `\p{Nd}`
	case 'w':
		re, back = `0-9A-Za-z_`, `\p{L}\p{N}_`
	default:
		re, back = `\t-\r\x1c-\x20`, `\t-\r\x1c-\x20\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000`
	}
	if ascii {
		back = re
		if c == 's' {
			re, back = `\t-\r\x20`, `\t-\r\x20`
		}
	}
	return re, back
}

// escape reads what follows a backslash outside a class.
func (p *parser) escape(at int, flags Flags) node {
	if p.eof() {
		p.fail("bad escape (end of pattern)", at)
	}
	c := p.src[p.pos]
	p.pos++
	switch c {
	case 'A':
		return node{re: `\A`, back: `\A`, isAnchor: true, fixed: true}
	case 'Z':
		return node{re: `\z`, back: `\z`, isAnchor: true, fixed: true}
	case 'b', 'B':
		back := `(?<![\p{L}\p{N}_])(?=[\p{L}\p{N}_])|(?<=[\p{L}\p{N}_])(?![\p{L}\p{N}_])`
		if flags&ASCII != 0 {
			back = `(?<![0-9A-Za-z_])(?=[0-9A-Za-z_])|(?<=[0-9A-Za-z_])(?![0-9A-Za-z_])`
		}
		back = "(?:" + back + ")"
		if c == 'B' {
			back = "(?!" + back + ")"
		}
		return node{re: `\` + string(c), back: back, isAnchor: true, fixed: true}
	case 'd', 'w', 's':
		re, back := category(c, flags&ASCII != 0)
		return node{re: "[" + re + "]", back: "[" + back + "]", min: 1, fixed: true}
	case 'D', 'W', 'S':
		re, back := category(c+'a'-'A', flags&ASCII != 0)
		return node{re: "[^" + re + "]", back: "[^" + back + "]", min: 1, fixed: true}
	case '0':
		start := p.pos
		for p.pos < len(p.src) && p.pos-start < 2 && p.src[p.pos] >= '0' && p.src[p.pos] <= '7' {
			p.pos++
		}
		n, _ := strconv.ParseInt("0"+string(p.src[start:p.pos]), 8, 32)
		return p.literal(rune(n), flags)
	}
	if c >= '1' && c <= '9' {
		return p.backref(at, c, flags)
	}
	return p.literal(p.charEscape(at, c), flags)
}

func (p *parser) backref(at int, c rune, flags Flags) node {
	text := string(c)
	if n := p.peek(); n >= '0' && n <= '9' {
		p.pos++
		text += string(n)
		if o := p.peek(); c <= '7' && n <= '7' && o >= '0' && o <= '7' {
			p.pos++
			v, _ := strconv.ParseInt(text+string(o), 8, 32)
			if v > 0o377 {
				p.fail(fmt.Sprintf(`octal escape value \%s outside of range 0-0o377`, text+string(o)), at)
			}
			return p.literal(rune(v), flags)
		}
	}
	n, _ := strconv.Atoi(text)
	if n > p.groups {
		p.fail(fmt.Sprintf("invalid group reference %d", n), at+1)
	}
	return p.reference(n, at, flags)
}

func (p *parser) reference(n, at int, flags Flags) node {
	if p.open[n] {
		p.fail("cannot refer to an open group", at)
	}
	p.goBad = true
	s := fmt.Sprintf(`(?:\%d)`, n)
	if flags&IgnoreCase != 0 {
		s = fmt.Sprintf(`(?i:\%d)`, n)
	}
	return node{re: "", back: s}
}

// charEscape reads an escape that stands for one character, in a class or not.
func (p *parser) charEscape(at int, c rune) rune {
	switch c {
	case 'a':
		return '\a'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'v':
		return '\v'
	case 'x':
		return p.hex(at, 2)
	case 'u':
		return p.hex(at, 4)
	case 'U':
		return p.hex(at, 8)
	case 'N':
		if p.peek() != '{' {
			p.fail("missing {", p.pos)
		}
		p.pos++
		name := p.until('}', "character name")
		p.fail(fmt.Sprintf("undefined character name '%s'", name), at) // we carry no table of names
	}
	if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
		p.fail(`bad escape \`+string(c), at)
	}
	return c
}

func (p *parser) hex(at, n int) rune {
	start := p.pos
	for p.pos < len(p.src) && p.pos-start < n && strings.ContainsRune("0123456789abcdefABCDEF", p.src[p.pos]) {
		p.pos++
	}
	if p.pos-start != n {
		p.fail("incomplete escape "+string(p.src[at:p.pos]), at)
	}
	v, _ := strconv.ParseUint(string(p.src[start:p.pos]), 16, 32)
	if v > 0x10ffff {
		p.fail("bad escape "+string(p.src[at:p.pos]), at)
	}
	return rune(v)
}

// class reads a character set.
func (p *parser) class(at int, flags Flags) node {
	var re, back strings.Builder
	neg := ""
	if p.peek() == '^' {
		neg = "^"
		p.pos++
	}
	first := true
	for ; ; first = false {
		if p.eof() {
			p.fail("unterminated character set", at)
		}
		here := p.pos
		if p.peek() == ']' && !first {
			p.pos++
			break
		}
		lo, cat := p.classItem(flags, &re, &back)
		if p.peek() != '-' {
			if !cat {
				re.WriteString(lit(lo))
				back.WriteString(lit(lo))
			}
			continue
		}
		p.pos++
		if p.eof() {
			p.fail("unterminated character set", at)
		}
		if p.peek() == ']' {
			p.pos++
			if !cat {
				re.WriteString(lit(lo))
				back.WriteString(lit(lo))
			}
			re.WriteString(lit('-'))
			back.WriteString(lit('-'))
			break
		}
		hi, hiCat := p.classItem(flags, nil, nil)
		if cat || hiCat || hi < lo {
			p.fail("bad character range "+string(p.src[here:p.pos]), here)
		}
		re.WriteString(lit(lo) + "-" + lit(hi))
		back.WriteString(lit(lo) + "-" + lit(hi))
	}
	n := node{re: "[" + neg + re.String() + "]", back: "[" + neg + back.String() + "]", min: 1, fixed: true}
	if flags&IgnoreCase != 0 {
		n.re, n.back = "(?i:"+n.re+")", "(?i:"+n.back+")"
	}
	return n
}

// classItem reads one member; a category is written out at once (cat is true).
func (p *parser) classItem(flags Flags, re, back *strings.Builder) (r rune, cat bool) {
	at := p.pos
	c := p.src[p.pos]
	p.pos++
	if c != '\\' {
		return c, false
	}
	if p.eof() {
		p.fail("bad escape (end of pattern)", at)
	}
	c = p.src[p.pos]
	p.pos++
	switch c {
	case 'd', 'w', 's':
		if re != nil {
			a, b := category(c, flags&ASCII != 0)
			re.WriteString(a)
			back.WriteString(b)
		}
		return 0, true
	case 'D', 'W', 'S':
		if re != nil {
			re.WriteString(map[rune]string{'D': `\x00-\x2F\x3A-\x{10FFFF}`, 'W': `\x00-\x2F\x3A-\x40\x5B-\x5E\x60\x7B-\x{10FFFF}`, 'S': `\x00-\x08\x0e-\x1b\x21-\x{10FFFF}`}[c])
			back.WriteString(`\` + string(c))
		}
		return 0, true
	case 'b':
		return '\b', false
	}
	if c >= '0' && c <= '7' {
		start := p.pos - 1
		for p.pos < len(p.src) && p.pos-start < 3 && p.src[p.pos] >= '0' && p.src[p.pos] <= '7' {
			p.pos++
		}
		n, _ := strconv.ParseInt(string(p.src[start:p.pos]), 8, 32)
		if n > 0o377 {
			p.fail("octal escape value "+string(p.src[at:p.pos])+" outside of range 0-0o377", at)
		}
		return rune(n), false
	}
	if c >= '8' && c <= '9' {
		p.fail(`bad escape \`+string(c), at)
	}
	return p.charEscape(at, c), false
}
