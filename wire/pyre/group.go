package pyre

import (
	"fmt"
	"strconv"
	"strings"
)

// maxGroups bounds capturing groups.
const maxGroups = 1000

// paren reads a group; at is the position of its parenthesis.
func (p *parser) paren(at int, flags Flags, start bool) (n node, global Flags) {
	if p.peek() != '?' {
		return p.capture(at, flags, ""), 0
	}
	p.pos++
	if p.eof() {
		p.fail("unexpected end of pattern", p.pos)
	}
	c := p.src[p.pos]
	p.pos++
	switch c {
	case 'P':
		return p.named(at, flags), 0
	case ':':
		return p.enclosed(at, flags, "(?:", "(?:"), 0
	case '>':
		p.goBad = true
		return p.enclosed(at, flags, "(?:", "(?>"), 0
	case '#':
		for {
			if p.eof() {
				p.fail("missing ), unterminated comment", at)
			}
			p.pos++
			if p.src[p.pos-1] == ')' {
				return node{fixed: true}, 0
			}
		}
	case '=', '!':
		p.goBad = true
		n = p.enclosed(at, flags, "(?:", "(?"+string(c))
		n.min = 0
		n.fixed = true
		return n, 0
	case '<':
		return p.lookbehind(at, flags), 0
	case '(':
		return p.conditional(at, flags), 0
	}
	if strings.ContainsRune("aiLmsux-", c) {
		return p.inlineFlags(at, c, flags, start)
	}
	p.fail("unknown extension ?"+string(c), p.pos-2)
	return node{}, 0
}

func (p *parser) capture(at int, flags Flags, name string) node {
	p.groups++
	if p.groups > maxGroups {
		p.fail("too many groups", -1)
	}
	gid := p.groups
	if name != "" {
		if old, ok := p.names[name]; ok {
			p.fail(fmt.Sprintf("redefinition of group name '%s' as group %d; was group %d", name, gid, old), p.pos-len([]rune(name))-1)
		}
		p.names[name] = gid
	}
	p.open[gid] = true
	n := p.enclosed(at, flags, "(", "(")
	delete(p.open, gid)
	return n
}

// enclosed reads the inside of a group and its closing parenthesis.
func (p *parser) enclosed(at int, flags Flags, re, back string) node {
	n := p.alternatives(flags, false)
	if p.peek() != ')' {
		p.fail("missing ), unterminated subpattern", at)
	}
	p.pos++
	n.re, n.back = re+n.re+")", back+n.back+")"
	n.repeated, n.isAnchor = false, false
	return n
}

func (p *parser) named(at int, flags Flags) node {
	if p.eof() {
		p.fail("unexpected end of pattern", p.pos)
	}
	c := p.src[p.pos]
	p.pos++
	switch c {
	case '<':
		name := p.until('>', "group name")
		p.checkName(name)
		return p.capture(at, flags, name)
	case '=':
		name := p.until(')', "group name")
		p.checkName(name)
		gid, ok := p.names[name]
		if !ok {
			p.fail(fmt.Sprintf("unknown group name '%s'", name), p.pos-len([]rune(name))-1)
		}
		if p.open[gid] {
			p.fail("cannot refer to an open group", p.pos-len([]rune(name))-1)
		}
		return p.reference(gid, at, flags)
	}
	p.fail("unknown extension ?P"+string(c), p.pos-3+1)
	return node{}
}

func (p *parser) checkName(name string) {
	if !isIdentifier(name) {
		p.fail(fmt.Sprintf("bad character in group name '%s'", name), p.pos-len([]rune(name))-1)
	}
}

func (p *parser) lookbehind(at int, flags Flags) node {
	if p.eof() {
		p.fail("unexpected end of pattern", p.pos)
	}
	c := p.src[p.pos]
	p.pos++
	if c != '=' && c != '!' {
		p.fail("unknown extension ?<"+string(c), p.pos-3+1)
	}
	p.goBad = true
	n := p.enclosed(at, flags, "(?:", "(?<"+string(c))
	if !n.fixed {
		p.fail("look-behind requires fixed-width pattern", -1)
	}
	n.min = 0
	return n
}

func (p *parser) conditional(at int, flags Flags) node {
	name := p.until(')', "group name")
	gid := 0
	namePos := p.pos - len([]rune(name)) - 1
	if isIdentifier(name) {
		g, ok := p.names[name]
		if !ok {
			p.fail(fmt.Sprintf("unknown group name '%s'", name), namePos)
		}
		gid = g
	} else {
		g, err := strconv.Atoi(name)
		if err != nil || g < 0 {
			p.fail(fmt.Sprintf("bad character in group name '%s'", name), namePos)
		}
		if g == 0 {
			p.fail("bad group number", namePos)
		}
		if g > maxGroups {
			p.fail(fmt.Sprintf("invalid group reference %d", g), namePos)
		}
		gid = g
		if _, seen := p.refs[g]; !seen {
			p.refs[g] = namePos
		}
	}
	p.goBad = true
	yes, _ := p.sequence(flags, false)
	out := node{back: fmt.Sprintf("(?(%d)%s", gid, yes.back), min: 0}
	if p.peek() == '|' {
		p.pos++
		no, _ := p.sequence(flags, false)
		out.back += "|" + no.back
		out.min = min(yes.min, no.min)
		out.fixed = yes.fixed && no.fixed && yes.min == no.min
		if p.peek() == '|' {
			p.fail("conditional backref with more than two branches", p.pos)
		}
	}
	if p.peek() != ')' {
		p.fail("missing ), unterminated subpattern", at)
	}
	p.pos++
	out.back += ")"
	return out
}

var flagLetters = map[rune]Flags{'a': ASCII, 'i': IgnoreCase, 'L': Locale, 'm': MultiLine, 's': DotAll, 'u': Unicode, 'x': Verbose}

// inlineFlags reads `(?i)` and `(?i-s:...)`.
func (p *parser) inlineFlags(at int, c rune, flags Flags, start bool) (node, Flags) {
	var on, off Flags
	for c != '-' {
		f := flagLetters[c]
		if c == 'L' {
			p.fail("bad inline flags: cannot use 'L' flag with a str pattern", p.pos)
		}
		on |= f
		if on&ASCII != 0 && on&Unicode != 0 {
			p.fail("bad inline flags: flags 'a', 'u' and 'L' are incompatible", p.pos)
		}
		if p.eof() {
			p.fail("missing -, : or )", p.pos)
		}
		c = p.src[p.pos]
		p.pos++
		if c == ')' || c == ':' || c == '-' {
			break
		}
		if flagLetters[c] == 0 {
			msg := "missing -, : or )"
			if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
				msg = "unknown flag"
			}
			p.fail(msg, p.pos-1)
		}
	}
	if c == ')' {
		if !start {
			p.fail("global flags not at the start of the expression", at)
		}
		return node{}, on
	}
	if c == '-' {
		if p.eof() {
			p.fail("missing flag", p.pos)
		}
		c = p.src[p.pos]
		p.pos++
		if flagLetters[c] == 0 {
			msg := "missing flag"
			if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
				msg = "unknown flag"
			}
			p.fail(msg, p.pos-1)
		}
		for {
			f := flagLetters[c]
			if f&(ASCII|Unicode|Locale) != 0 {
				p.fail("bad inline flags: cannot turn off flags 'a', 'u' and 'L'", p.pos)
			}
			off |= f
			if p.eof() {
				p.fail("missing :", p.pos)
			}
			c = p.src[p.pos]
			p.pos++
			if c == ':' {
				break
			}
			if flagLetters[c] == 0 {
				msg := "missing :"
				if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
					msg = "unknown flag"
				}
				p.fail(msg, p.pos-1)
			}
		}
	}
	if on&off != 0 {
		p.fail("bad inline flags: flag turned on and off", p.pos-1)
	}
	return p.enclosed(at, flags&^off|on, "(?:", "(?:"), 0
}
