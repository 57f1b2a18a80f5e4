package yaml

// analysis says how a scalar's text can be written (libyaml's
// yaml_emitter_analyze_scalar).
type analysis struct {
	multiline             bool
	flowPlain, blockPlain bool
	singleQuoted, block   bool
}

func isBreak(r rune) bool {
	return r == '\r' || r == '\n' || r == 0x85 || r == 0x2028 || r == 0x2029
}

func isBlankz(r rune) bool { return r == ' ' || r == '\t' || r == 0 || isBreak(r) }

// printable is libyaml's: tabs, control characters and everything outside the
// Basic Multilingual Plane are not.
func printable(r rune) bool {
	return r == '\n' || r >= 0x20 && r <= 0x7e || r >= 0xa0 && r <= 0xd7ff ||
		r >= 0xe000 && r <= 0xfffd && r != 0xfeff
}

func analyze(text []rune, unicode bool) analysis {
	if len(text) == 0 {
		return analysis{blockPlain: true, singleQuoted: true}
	}
	var blockIndicator, flowIndicator, lineBreaks, special bool
	var leadingSpace, leadingBreak, trailingSpace, trailingBreak, breakSpace, spaceBreak bool
	var previousSpace, previousBreak bool
	if len(text) >= 3 && text[1] == text[0] && text[2] == text[0] && (text[0] == '-' || text[0] == '.') {
		blockIndicator, flowIndicator = true, true
	}
	preceded := true
	at := func(i int) rune {
		if i < len(text) {
			return text[i]
		}
		return 0
	}
	for i, r := range text {
		followed := isBlankz(at(i + 1))
		first, last := i == 0, i == len(text)-1
		if first {
			switch r {
			case '#', ',', '[', ']', '{', '}', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`':
				flowIndicator, blockIndicator = true, true
			case '?', ':':
				flowIndicator = true
				blockIndicator = blockIndicator || followed
			case '-':
				if followed {
					flowIndicator, blockIndicator = true, true
				}
			}
		} else {
			switch r {
			case ',', '?', '[', ']', '{', '}':
				flowIndicator = true
			case ':':
				flowIndicator = true
				blockIndicator = blockIndicator || followed
			case '#':
				if preceded {
					flowIndicator, blockIndicator = true, true
				}
			}
		}
		if !printable(r) || r > 0x7f && !unicode {
			special = true
		}
		switch {
		case r == ' ':
			leadingSpace = leadingSpace || first
			trailingSpace = trailingSpace || last
			breakSpace = breakSpace || previousBreak
			previousSpace, previousBreak = true, false
		case isBreak(r):
			lineBreaks = true
			leadingBreak = leadingBreak || first
			trailingBreak = trailingBreak || last
			spaceBreak = spaceBreak || previousSpace
			previousSpace, previousBreak = false, true
		default:
			previousSpace, previousBreak = false, false
		}
		preceded = isBlankz(r)
	}
	a := analysis{multiline: lineBreaks, flowPlain: true, blockPlain: true, singleQuoted: true, block: true}
	if leadingSpace || leadingBreak || trailingSpace || trailingBreak || lineBreaks {
		a.flowPlain, a.blockPlain = false, false
	}
	if trailingSpace {
		a.block = false
	}
	if breakSpace {
		a.flowPlain, a.blockPlain, a.singleQuoted = false, false, false
	}
	if spaceBreak || special {
		a = analysis{multiline: lineBreaks}
	}
	if flowIndicator {
		a.flowPlain = false
	}
	if blockIndicator {
		a.blockPlain = false
	}
	return a
}
