package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

func isCased(r rune) bool { return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) }

func isCase(s string, want, bad func(rune) bool) bool {
	cased := false
	for _, r := range s {
		if bad(r) || unicode.IsTitle(r) {
			return false
		}
		cased = cased || want(r)
	}
	return cased
}

// pyLower is Python's str.lower, which also maps a final sigma.
func pyLower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	rs := []rune(s)
	for i, r := range rs {
		switch {
		case r == 'İ':
			b.WriteString("i\u0307")
		case r == 'Σ' && i > 0 && isCased(rs[i-1]) && (i+1 == len(rs) || !isCased(rs[i+1])):
			b.WriteRune('ς')
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// expansions are the letters whose upper case is several letters.
var expansions = strings.NewReplacer("ß", "SS", "ŉ", "ʼN", "ǰ", "J\u030c", "ﬀ", "FF", "ﬁ", "FI", "ﬂ", "FL", "ﬃ", "FFI", "ﬄ", "FFL", "ﬅ", "ST", "ﬆ", "ST")

// pyUpper is Python's str.upper, with the expansions Go leaves out.
func pyUpper(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	return strings.ToUpper(expansions.Replace(s))
}

func capitalize(s string) string {
	if s == "" {
		return s
	}
	_, n := utf8.DecodeRuneInString(s)
	first := string(unicode.ToTitle([]rune(s[:n])[0]))
	if s[:n] == "ß" {
		first = "Ss"
	}
	if n == 1 && s[0] >= utf8.RuneSelf {
		first = s[:1]
	}
	return first + pyLower(s[n:])
}

// title is Python's str.title: letters after anything that is no letter.
func title(s string) string {
	var b strings.Builder
	prev := false
	for _, r := range s {
		if prev {
			b.WriteRune(unicode.ToLower(r))
		} else {
			b.WriteRune(unicode.ToTitle(r))
		}
		prev = isCased(r)
	}
	return b.String()
}

func isTitle(s string) bool {
	prev, any := false, false
	for _, r := range s {
		switch {
		case unicode.IsUpper(r) || unicode.IsTitle(r):
			if prev {
				return false
			}
			prev, any = true, true
		case unicode.IsLower(r):
			if !prev {
				return false
			}
			any = true
		default:
			prev = false
		}
	}
	return any
}

func swapcase(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsUpper(r):
			return unicode.ToLower(r)
		case unicode.IsLower(r):
			return unicode.ToUpper(r)
		}
		return r
	}, s)
}
