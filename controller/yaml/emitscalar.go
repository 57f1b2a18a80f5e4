package yaml

import "fmt"

func at(text []rune, i int) rune {
	if i < len(text) {
		return text[i]
	}
	return 0
}

func (e *emitter) plain(text []rune, allowBreaks bool) {
	if !e.whitespace && (len(text) > 0 || e.flowLevel > 0) {
		e.put(' ')
	}
	spaces, breaks := false, false
	for i, r := range text {
		switch {
		case r == ' ':
			if allowBreaks && !spaces && e.column > e.width && at(text, i+1) != ' ' {
				e.writeIndent()
			} else {
				e.put(r)
			}
			spaces = true
		case isBreak(r):
			if !breaks && r == '\n' {
				e.putBreak()
			}
			e.writeBreak(r)
			e.indention, breaks = true, true
		default:
			if breaks {
				e.writeIndent()
			}
			e.put(r)
			e.indention, spaces, breaks = false, false, false
		}
	}
	e.whitespace, e.indention = false, false
}

func (e *emitter) single(text []rune, allowBreaks bool) {
	e.indicator("'", true, false, false)
	spaces, breaks := false, false
	for i, r := range text {
		switch {
		case r == ' ':
			if allowBreaks && !spaces && e.column > e.width && i > 0 && i < len(text)-1 && text[i+1] != ' ' {
				e.writeIndent()
			} else {
				e.put(r)
			}
			spaces = true
		case isBreak(r):
			if !breaks && r == '\n' {
				e.putBreak()
			}
			e.writeBreak(r)
			e.indention, breaks = true, true
		default:
			if breaks {
				e.writeIndent()
			}
			if r == '\'' {
				e.put('\'')
			}
			e.put(r)
			e.indention, spaces, breaks = false, false, false
		}
	}
	if breaks {
		e.writeIndent()
	}
	e.indicator("'", false, false, false)
	e.whitespace, e.indention = false, false
}

// escapes are the short escapes of a double-quoted scalar.
var escapes = map[rune]string{
	0: `\0`, 7: `\a`, 8: `\b`, 9: `\t`, 10: `\n`, 11: `\v`, 12: `\f`, 13: `\r`, 0x1b: `\e`,
	'"': `\"`, '\\': `\\`, 0x85: `\N`, 0xa0: `\_`, 0x2028: `\L`, 0x2029: `\P`,
}

func (e *emitter) double(text []rune, allowBreaks bool) {
	e.indicator(`"`, true, false, false)
	spaces := false
	for i, r := range text {
		switch {
		case !printable(r), r > 0x7f && !e.s.AllowUnicode, isBreak(r), r == '"', r == '\\':
			esc, ok := escapes[r]
			switch {
			case ok:
			case r <= 0xff:
				esc = fmt.Sprintf(`\x%02X`, r)
			case r <= 0xffff:
				esc = fmt.Sprintf(`\u%04X`, r)
			default:
				esc = fmt.Sprintf(`\U%08X`, r)
			}
			for _, c := range esc {
				e.put(c)
			}
			spaces = false
		case r == ' ':
			if allowBreaks && !spaces && e.column > e.width && i > 0 && i < len(text)-1 {
				e.writeIndent()
				if at(text, i+1) == ' ' {
					e.put('\\')
				}
			} else {
				e.put(r)
			}
			spaces = true
		default:
			e.put(r)
			spaces = false
		}
	}
	e.indicator(`"`, false, false, false)
	e.whitespace, e.indention = false, false
}

// hints writes what stands behind | or >: an indentation when the text begins
// with white space, and how its last line breaks count.
func (e *emitter) hints(text []rune) {
	if r := at(text, 0); r == ' ' || len(text) > 0 && isBreak(r) {
		e.indicator(fmt.Sprint(e.indentBy), false, false, false)
	}
	e.openEnded = false
	hint := ""
	switch n := len(text); {
	case n == 0, !isBreak(text[n-1]):
		hint = "-"
	case n == 1, isBreak(text[n-2]):
		hint = "+"
		e.openEnded = true
	}
	if hint != "" {
		e.indicator(hint, false, false, false)
	}
}

func (e *emitter) literal(text []rune) {
	e.indicator("|", true, false, false)
	e.hints(text)
	e.putBreak()
	e.indention, e.whitespace = true, true
	breaks := true
	for _, r := range text {
		if isBreak(r) {
			e.writeBreak(r)
			e.indention, breaks = true, true
			continue
		}
		if breaks {
			e.writeIndent()
		}
		e.put(r)
		e.indention, breaks = false, false
	}
}

func (e *emitter) folded(text []rune) {
	e.indicator(">", true, false, false)
	e.hints(text)
	e.putBreak()
	e.indention, e.whitespace = true, true
	breaks, leading := true, true
	for i, r := range text {
		if isBreak(r) {
			if !breaks && !leading && r == '\n' {
				k := i
				for k < len(text) && isBreak(text[k]) {
					k++
				}
				if !isBlankz(at(text, k)) {
					e.putBreak()
				}
			}
			e.writeBreak(r)
			e.indention, breaks = true, true
			continue
		}
		if breaks {
			e.writeIndent()
			leading = r == ' ' || r == '\t'
		}
		if !breaks && r == ' ' && at(text, i+1) != ' ' && e.column > e.width {
			e.writeIndent()
		} else {
			e.put(r)
		}
		e.indention, breaks = false, false
	}
}
