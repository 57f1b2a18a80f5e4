package yaml

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// emitter writes nodes exactly as libyaml's emitter does, whose output
// PyYAML's C dumper gives: same choice of style, same places where lines are
// folded. The names are libyaml's.
type emitter struct {
	s           Style
	b           strings.Builder
	indentBy    int
	width       int
	lineBreak   string
	indent      int // -1 at the root
	flowLevel   int
	column      int
	whitespace  bool
	indention   bool
	openEnded   bool
	simpleKey   bool
	mappingNode bool // the node is a mapping's value
	anchored    map[*node]bool
}

func newEmitter(s Style) *emitter {
	e := &emitter{s: s, indentBy: s.Indent, width: s.Width, lineBreak: s.LineBreak, indent: -1,
		whitespace: true, indention: true, anchored: map[*node]bool{}}
	if e.indentBy < 2 || e.indentBy > 9 {
		e.indentBy = 2
	}
	switch {
	case e.width < 0:
		e.width = math.MaxInt
	case e.width <= e.indentBy*2:
		e.width = 80
	}
	if e.lineBreak == "" {
		e.lineBreak = "\n"
	}
	return e
}

func (e *emitter) put(r rune) {
	e.b.WriteRune(r)
	e.column++
}

func (e *emitter) putBreak() {
	e.b.WriteString(e.lineBreak)
	e.column = 0
}

// writeBreak writes a line break that is part of a scalar.
func (e *emitter) writeBreak(r rune) {
	if r == '\n' {
		e.putBreak()
		return
	}
	e.b.WriteRune(r)
	e.column = 0
}

func (e *emitter) writeIndent() {
	indent := max(e.indent, 0)
	if !e.indention || e.column > indent || e.column == indent && !e.whitespace {
		e.putBreak()
	}
	for e.column < indent {
		e.put(' ')
	}
	e.whitespace, e.indention = true, true
}

func (e *emitter) indicator(text string, needSpace, isSpace, isIndention bool) {
	if needSpace && !e.whitespace {
		e.put(' ')
	}
	e.b.WriteString(text)
	e.column += utf8.RuneCountInString(text)
	e.whitespace = isSpace
	e.indention = e.indention && isIndention
}

// deeper raises the indentation and returns the old one.
func (e *emitter) deeper(flow, indentless bool) int {
	old := e.indent
	switch {
	case e.indent < 0 && flow:
		e.indent = e.indentBy
	case e.indent < 0:
		e.indent = 0
	case !indentless:
		e.indent += e.indentBy
	}
	return old
}

func (e *emitter) document(n *node) {
	implicit := !e.s.ExplicitStart && !e.s.Canonical
	if v := e.s.Version; v != nil {
		implicit = false
		e.indicator("%YAML", true, false, false)
		e.indicator(fmt.Sprintf("%d.%d", v[0], v[1]), true, false, false)
		e.writeIndent()
	}
	if !implicit {
		e.writeIndent()
		e.indicator("---", true, false, false)
		if e.s.Canonical {
			e.writeIndent()
		}
	}
	e.node(n, false, false)
	e.writeIndent()
	if e.s.ExplicitEnd {
		e.indicator("...", true, false, false)
		e.openEnded = false
		e.writeIndent()
	}
	if e.openEnded {
		e.indicator("...", true, false, false)
		e.writeIndent()
	}
}

// node writes one node; mapping says that it is a key or value of one.
func (e *emitter) node(n *node, mapping, simpleKey bool) {
	e.mappingNode, e.simpleKey = mapping, simpleKey
	if n.anchor != "" && e.anchored[n] {
		e.indicator("*", true, false, false)
		e.name(n.anchor)
		if e.simpleKey {
			e.put(' ')
		}
		return
	}
	switch n.kind {
	case scalarNode:
		e.scalar(n)
	case sequenceNode:
		e.anchor(n)
		e.tag(n.tag, e.s.Canonical || n.tag != tagPrefix+"seq")
		if e.flowLevel > 0 || e.s.Canonical || n.flow || len(n.children) == 0 {
			e.flowSequence(n)
		} else {
			e.blockSequence(n)
		}
	case mappingNode:
		e.anchor(n)
		e.tag(n.tag, e.s.Canonical || n.tag != tagPrefix+"map")
		if e.flowLevel > 0 || e.s.Canonical || n.flow || len(n.children) == 0 {
			e.flowMapping(n)
		} else {
			e.blockMapping(n)
		}
	}
}

func (e *emitter) anchor(n *node) {
	if n.anchor == "" {
		return
	}
	e.anchored[n] = true
	e.indicator("&", true, false, false)
	e.name(n.anchor)
}

func (e *emitter) name(text string) {
	e.b.WriteString(text)
	e.column += len(text)
	e.whitespace, e.indention = false, false
}

// tagText is how a tag is written.
func tagText(tag string) string {
	switch {
	case strings.HasPrefix(tag, tagPrefix):
		return "!!" + tag[len(tagPrefix):]
	case strings.HasPrefix(tag, "!"):
		return tag
	}
	return "!<" + tag + ">"
}

func (e *emitter) tag(tag string, shown bool) {
	if !shown {
		return
	}
	if !e.whitespace {
		e.put(' ')
	}
	e.name(tagText(tag))
}

func (e *emitter) flowSequence(n *node) {
	e.indicator("[", true, true, false)
	old := e.deeper(true, false)
	e.flowLevel++
	for i, child := range n.children {
		if i > 0 {
			e.indicator(",", false, false, false)
		}
		if e.s.Canonical || e.column > e.width {
			e.writeIndent()
		}
		e.node(child, false, false)
	}
	e.closeFlow("]", old, len(n.children) > 0)
}

func (e *emitter) closeFlow(bracket string, indent int, any bool) {
	e.flowLevel--
	e.indent = indent
	if e.s.Canonical && any {
		e.indicator(",", false, false, false)
		e.writeIndent()
	}
	e.indicator(bracket, false, false, false)
}

func (e *emitter) flowMapping(n *node) {
	e.indicator("{", true, true, false)
	old := e.deeper(true, false)
	e.flowLevel++
	for i := 0; i < len(n.children); i += 2 {
		if i > 0 {
			e.indicator(",", false, false, false)
		}
		if e.s.Canonical || e.column > e.width {
			e.writeIndent()
		}
		if k := n.children[i]; !e.s.Canonical && e.isSimpleKey(k) {
			e.node(k, true, true)
			e.indicator(":", false, false, false)
		} else {
			e.indicator("?", true, false, false)
			e.node(k, true, false)
			if e.s.Canonical || e.column > e.width {
				e.writeIndent()
			}
			e.indicator(":", true, false, false)
		}
		e.node(n.children[i+1], true, false)
	}
	e.closeFlow("}", old, len(n.children) > 0)
}

func (e *emitter) blockSequence(n *node) {
	old := e.deeper(false, e.mappingNode && !e.indention)
	for _, child := range n.children {
		e.writeIndent()
		e.indicator("-", true, false, true)
		e.node(child, false, false)
	}
	e.indent = old
}

func (e *emitter) blockMapping(n *node) {
	old := e.deeper(false, false)
	for i := 0; i < len(n.children); i += 2 {
		e.writeIndent()
		if k := n.children[i]; e.isSimpleKey(k) {
			e.node(k, true, true)
			e.indicator(":", false, false, false)
		} else {
			e.indicator("?", true, false, true)
			e.node(k, true, false)
			e.writeIndent()
			e.indicator(":", true, false, true)
		}
		e.node(n.children[i+1], true, false)
	}
	e.indent = old
}

// isSimpleKey reports whether a key can stand before its colon on one line.
func (e *emitter) isSimpleKey(n *node) bool {
	if n.anchor != "" && e.anchored[n] {
		return len(n.anchor) <= 128
	}
	length := len(n.anchor)
	switch n.kind {
	case scalarNode:
		if analyze([]rune(n.text), e.s.AllowUnicode).multiline {
			return false
		}
		length += len(n.text)
		if e.tagShown(n) {
			length += len(tagText(n.tag))
		}
	case sequenceNode, mappingNode:
		if len(n.children) > 0 {
			return false
		}
	}
	return length <= 128
}

// implicits says whether the text alone gives the tag, plain and quoted.
func implicits(n *node) (plain, quoted bool) {
	return tagPrefix+strings.TrimPrefix(resolvePlain(n.text), "!!") == n.tag, n.tag == tagPrefix+"str"
}

func (e *emitter) tagShown(n *node) bool {
	plain, quoted := implicits(n)
	return e.s.Canonical || !plain && !quoted
}

func (e *emitter) scalar(n *node) {
	text := []rune(n.text)
	a := analyze(text, e.s.AllowUnicode)
	plainImplicit, quotedImplicit := implicits(n)
	shown := e.tagShown(n)
	style := n.style
	if e.s.Canonical || e.simpleKey && a.multiline {
		style = '"'
	}
	if style == 0 {
		switch {
		case e.flowLevel > 0 && !a.flowPlain, e.flowLevel == 0 && !a.blockPlain,
			len(text) == 0 && (e.flowLevel > 0 || e.simpleKey),
			!shown && !plainImplicit:
			style = '\''
		}
	}
	if style == '\'' && !a.singleQuoted {
		style = '"'
	}
	if (style == '|' || style == '>') && (!a.block || e.flowLevel > 0 || e.simpleKey) {
		style = '"'
	}
	switch {
	case shown:
		e.tag(n.tag, true)
	case !quotedImplicit && style != 0:
		e.tag("!", true)
	}
	old := e.deeper(true, false)
	switch style {
	case 0:
		e.plain(text, !e.simpleKey)
	case '\'':
		e.single(text, !e.simpleKey)
	case '"':
		e.double(text, !e.simpleKey)
	case '|':
		e.literal(text)
	case '>':
		e.folded(text)
	}
	e.indent = old
}
