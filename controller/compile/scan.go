package compile

import "strings"

// used is a name that a template uses: of a filter, a test or a lookup.
type used struct{ kind, name string }

// scan lists the filters, tests and lookups that a template's text names.
// With expr the whole text is an expression (when, until, ...); otherwise only
// what is inside delimiters is looked at. It is a reader of tokens, not a
// parser: what does not parse fails where it is rendered.
func scan(text string, expr bool) []used {
	if expr {
		return scanExpr(text)
	}
	var out []used
	for {
		i := strings.IndexByte(text, '{')
		if i < 0 || i+1 >= len(text) {
			return out
		}
		var end string
		switch text[i+1] {
		case '{':
			end = "}}"
		case '%':
			end = "%}"
		case '#':
			end = "#}"
		default:
			text = text[i+1:]
			continue
		}
		text = text[i+2:]
		n := closing(text, end)
		if end != "#}" {
			body := text[:n]
			if end == "%}" && strings.HasPrefix(strings.TrimLeft(body, "-+ \t\n"), "raw") {
				text = afterRaw(text[n:])
				continue
			}
			out = append(out, scanExpr(body)...)
		}
		text = text[min(len(text), n+2):]
	}
}

// closing is where end comes in text, outside of quotes, or its length.
func closing(text, end string) int {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case (c == '\'' || c == '"') && end != "#}":
			i += quotedLen(text[i:]) - 1
		case strings.HasPrefix(text[i:], end):
			return i
		}
	}
	return len(text)
}

// afterRaw is what follows the endraw of a raw block.
func afterRaw(text string) string {
	i := strings.Index(text, "endraw")
	if i < 0 {
		return ""
	}
	return text[i+len("endraw"):]
}

// quotedLen is the length of the quoted text that s begins with.
func quotedLen(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return len(s)
}

func scanExpr(s string) []used {
	var out []used
	var prev, before string // the two tokens in front
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
			continue
		case c == '\'' || c == '"':
			n := quotedLen(s[i:])
			text := s[i+1 : max(i+1, i+n-1)]
			if prev == "(" && (before == "lookup" || before == "query" || before == "q") {
				out = append(out, used{"lookup", text})
			}
			before, prev = prev, "'"
			i += n
			continue
		case isWord(c):
			n := i
			for n < len(s) && (isWord(s[n]) || s[n] == '.' && (prev == "|" || prev == "is" || prev == "not") && n+1 < len(s) && isWord(s[n+1])) {
				n++
			}
			word := s[i:n]
			switch {
			case prev == "|":
				out = append(out, used{"filter", word})
			case prev == "is" && word != "not", prev == "not" && before == "is":
				out = append(out, used{"test", word})
			}
			before, prev = prev, word
			i = n
			continue
		}
		before, prev = prev, string(c)
		i++
	}
	return out
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
