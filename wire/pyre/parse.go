package pyre

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Flags are Python's re flags.
type Flags int

// The flags that can be given or set inline.
const (
	IgnoreCase Flags = 2
	Locale     Flags = 4
	MultiLine  Flags = 8
	DotAll     Flags = 16
	Unicode    Flags = 32
	Verbose    Flags = 64
	ASCII      Flags = 256
)

// Bounds on what is compiled.
const (
	maxPattern = 1 << 16 // runes
	maxDepth   = 200     // nested groups
	maxRepeat  = 1000    // above it Go's engine refuses and the other one is slow
)

// Error is what Python raises for a pattern or replacement: its text is
// Python's.
type Error struct {
	Msg string
	Pos int // rune index, -1 when there is none
	Pat string
}

// Error is `MSG at position N`, with line and column in a pattern of several lines.
func (e *Error) Error() string {
	if e.Pos < 0 {
		return e.Msg
	}
	text := fmt.Sprintf("%s at position %d", e.Msg, e.Pos)
	pat := []rune(e.Pat)
	if strings.ContainsRune(e.Pat, '\n') && e.Pos <= len(pat) {
		line, col := 1, 1
		for _, r := range pat[:e.Pos] {
			if r == '\n' {
				line, col = line+1, 1
			} else {
				col++
			}
		}
		text += fmt.Sprintf(" (line %d, column %d)", line, col)
	}
	return text
}

// parser reads Python's syntax, complains in Python's words, and writes the
// pattern twice: for Go's engine (ASCII subjects only) and for the
// backtracking engine. All groups become plain numbered ones.
type parser struct {
	src    []rune
	pos    int
	flags  Flags
	names  map[string]int
	groups int          // opened so far
	open   map[int]bool // not closed yet
	refs   map[int]int  // conditional references to check at the end -> position
	depth  int

	goBad     bool // something Go's engine does not have
	dollar    bool // a `$` without MULTILINE
	wordSense bool // \b or \B or a word class: differs outside ASCII
}

type parseError struct{ err *Error }

func (p *parser) fail(msg string, pos int) {
	panic(parseError{&Error{Msg: msg, Pos: pos, Pat: string(p.src)}})
}

// node is one piece of the output, in both dialects.
type node struct {
	re, back  string
	min       int // shortest match
	canRepeat bool
	repeated  bool
	isAnchor  bool
	lookaside bool // a lookbehind holds only pieces of fixed width
	fixed     bool
}

func (p *parser) eof() bool { return p.pos >= len(p.src) }
func (p *parser) peek() rune {
	if p.eof() {
		return -1
	}
	return p.src[p.pos]
}

// parsed is a pattern ready for the engines.
type parsed struct {
	goSrc, backSrc string
	goOK           bool
	dollar         bool
	min            int
	groups         int
	names          map[string]int
	flags          Flags
}

func parse(pattern string, flags Flags) (out *parsed, err error) {
	src := []rune(pattern)
	if len(src) > maxPattern {
		return nil, &Error{Msg: fmt.Sprintf("pattern is longer than %d characters", maxPattern), Pos: -1}
	}
	p := &parser{src: src, flags: flags, names: map[string]int{}, open: map[int]bool{}, refs: map[int]int{}}
	defer func() {
		if r := recover(); r != nil {
			pe, ok := r.(parseError)
			if !ok {
				panic(r)
			}
			out, err = nil, pe.err
		}
	}()
	n := p.alternatives(p.flags, true)
	if !p.eof() {
		p.fail("unbalanced parenthesis", p.pos)
	}
	for g, at := range p.refs {
		if g > p.groups {
			p.fail(fmt.Sprintf("invalid group reference %d", g), at)
		}
	}
	return &parsed{
		goSrc: n.re, backSrc: n.back, goOK: !p.goBad, dollar: p.dollar, min: n.min,
		groups: p.groups, names: p.names, flags: p.flags,
	}, nil
}

// alternatives reads up to a closing parenthesis or the end.
func (p *parser) alternatives(flags Flags, top bool) node {
	p.depth++
	if p.depth > maxDepth {
		p.fail(fmt.Sprintf("groups are nested deeper than %d", maxDepth), p.pos)
	}
	defer func() { p.depth-- }()
	out := node{min: -1, fixed: true}
	width := -1
	for first := true; ; first = false {
		n, f := p.sequence(flags, top && first)
		flags = f
		if !first {
			out.re += "|"
			out.back += "|"
		}
		out.re += n.re
		out.back += n.back
		if out.min < 0 || n.min < out.min {
			out.min = n.min
		}
		if width >= 0 && n.min != width {
			out.fixed = false
		}
		width = n.min
		out.fixed = out.fixed && n.fixed
		if p.peek() != '|' {
			return out
		}
		p.pos++
	}
}

// sequence reads one alternative. A global inline flag at the very start of
// the pattern changes the flags for all of it.
func (p *parser) sequence(flags Flags, start bool) (node, Flags) {
	out := node{fixed: true}
	begin := p.pos
	var re, back strings.Builder
	var items []node
	for !p.eof() {
		c := p.peek()
		if c == '|' || c == ')' {
			break
		}
		if flags&Verbose != 0 {
			if unicode.IsSpace(c) && c < 128 {
				p.pos++
				continue
			}
			if c == '#' {
				for !p.eof() && p.peek() != '\n' {
					p.pos++
				}
				continue
			}
		}
		at := p.pos
		if c == '*' || c == '+' || c == '?' || c == '{' {
			if n, ok := p.repeat(at, &items); ok {
				items[len(items)-1] = n
				continue
			}
		}
		n, global := p.atom(flags, start && at == begin)
		if global != 0 {
			flags |= global
			p.flags |= global
			begin = p.pos
			continue
		}
		items = append(items, n)
	}
	for _, n := range items {
		re.WriteString(n.re)
		back.WriteString(n.back)
		out.min += n.min
		out.fixed = out.fixed && n.fixed
	}
	out.re, out.back = re.String(), back.String()
	return out, flags
}

// repeat applies a quantifier to the last item. ok is false when a brace is
// literal.
func (p *parser) repeat(at int, items *[]node) (node, bool) {
	c := p.src[p.pos]
	lo, hi := 0, -1
	switch c {
	case '*':
		p.pos++
	case '+':
		p.pos++
		lo = 1
	case '?':
		p.pos++
		hi = 1
	case '{':
		save := p.pos
		p.pos++
		if p.peek() == '}' {
			p.pos = save
			return node{}, false
		}
		los := p.digits()
		his := los
		if p.peek() == ',' {
			p.pos++
			his = p.digits()
		}
		if p.peek() != '}' {
			p.pos = save
			return node{}, false
		}
		p.pos++
		if los != "" {
			lo = p.count(los)
		}
		if his != "" {
			hi = p.count(his)
			if hi < lo {
				p.fail("min repeat greater than max repeat", at+1)
			}
		}
	}
	if len(*items) == 0 || (*items)[len(*items)-1].isAnchor {
		p.fail("nothing to repeat", at)
	}
	n := (*items)[len(*items)-1]
	if n.repeated {
		p.fail("multiple repeat", at)
	}
	q := quantifier(lo, hi)
	lazy, atomic := "", false
	switch p.peek() {
	case '?':
		lazy = "?"
		p.pos++
	case '+':
		atomic = true
		p.pos++
	}
	if lo > maxRepeat || hi > maxRepeat {
		p.goBad = true
	}
	if n.re == "" && n.back == "" {
		n.re, n.back = "(?:)", "(?:)"
	}
	out := node{re: group(n.re) + q + lazy, back: group(n.back) + q + lazy, min: n.min * lo, repeated: true, fixed: n.fixed && lo == hi}
	if atomic {
		p.goBad = true
		out.back = "(?>" + out.back + ")"
	}
	return out, true
}

func group(s string) string { return "(?:" + s + ")" }

func quantifier(lo, hi int) string {
	switch {
	case lo == 0 && hi < 0:
		return "*"
	case lo == 1 && hi < 0:
		return "+"
	case lo == 0 && hi == 1:
		return "?"
	case hi < 0:
		return fmt.Sprintf("{%d,}", lo)
	}
	return fmt.Sprintf("{%d,%d}", lo, hi)
}

func (p *parser) digits() string {
	start := p.pos
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.pos++
	}
	return string(p.src[start:p.pos])
}

func (p *parser) count(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil || n > 1<<20 {
		p.fail("the repetition number is too large", -1)
	}
	return n
}

// until reads a name up to the terminator.
func (p *parser) until(term rune, what string) string {
	start := p.pos
	for !p.eof() && p.peek() != term {
		p.pos++
	}
	name := string(p.src[start:p.pos])
	if p.eof() {
		if name == "" {
			p.fail("missing "+what, p.pos)
		}
		p.fail(fmt.Sprintf("missing %c, unterminated name", term), start)
	}
	p.pos++
	if name == "" {
		p.fail("missing "+what, p.pos-1)
	}
	return name
}

func isIdentifier(s string) bool {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return s != ""
}
