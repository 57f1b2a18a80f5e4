package inventory

import (
	"errors"
	"strings"
)

// splitWords splits a line as Python's shlex does in POSIX mode with comments:
// quotes and backslashes are taken off, # ends the line even inside a word.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	const (
		between = 0
		inWord  = 'a'
	)
	state, quoted := rune(between), false
	var escapedFrom rune
	emit := func() {
		if word.Len() > 0 || quoted {
			words = append(words, word.String())
		}
		word.Reset()
		quoted = false
	}
loop:
	for _, r := range line {
		switch state {
		case between, inWord:
			switch {
			case r == ' ' || r == '\t' || r == '\r' || r == '\n':
				if state == inWord {
					emit()
				}
				state = between
			case r == '#':
				break loop
			case r == '\'' || r == '"':
				state = r
			case r == '\\':
				escapedFrom, state = inWord, r
			default:
				word.WriteRune(r)
				state = inWord
			}
		case '\'', '"':
			quoted = true
			switch {
			case r == state:
				state = inWord
			case r == '\\' && state == '"':
				escapedFrom, state = state, r
			default:
				word.WriteRune(r)
			}
		case '\\':
			if escapedFrom == '"' && r != '\\' && r != '"' {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			state = escapedFrom
		}
	}
	switch state {
	case '\'', '"':
		return nil, errors.New("No closing quotation") //nolint:staticcheck // Python's text
	case '\\':
		return nil, errors.New("No escaped character") //nolint:staticcheck // Python's text
	}
	emit()
	return words, nil
}
