package jinja

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"volant/wire/value"
)

// lexeme lexes one number, name, string or operator.
func (l *lexer) lexeme(escape bool) bool {
	s := l.src[l.pos:]
	if s[0] >= '0' && s[0] <= '9' {
		return l.number(s)
	}
	if n := wordLen(s); n > 0 {
		if !isIdentifier(s[:n]) {
			return l.fail("Invalid character in identifier")
		}
		l.emit(token{kind: kName, text: s[:n]})
		l.skip(l.pos + n)
		return true
	}
	if s[0] == '\'' || s[0] == '"' {
		if n := stringLen(s); n > 0 {
			return l.str(s[:n], escape)
		}
	}
	for _, op := range operators {
		if strings.HasPrefix(s, op) {
			if !l.bracket(op) {
				return false
			}
			l.emit(token{kind: kind(op)})
			l.pos += len(op)
			l.lineStart = false
			return true
		}
	}
	r, _ := utf8.DecodeRuneInString(s)
	return l.fail("unexpected char %s at %d", value.Repr(string(r)), utf8.RuneCountInString(l.src[:l.pos]))
}

func (l *lexer) bracket(op string) bool {
	switch op {
	case "{":
		l.balance = append(l.balance, "}")
	case "(":
		l.balance = append(l.balance, ")")
	case "[":
		l.balance = append(l.balance, "]")
	case "}", ")", "]":
		n := len(l.balance)
		if n == 0 {
			return l.fail("unexpected '%s'", op)
		}
		want := l.balance[n-1]
		l.balance = l.balance[:n-1]
		if want != op {
			return l.fail("unexpected '%s', expected '%s'", op, want)
		}
	}
	return true
}

// stringLen is the length of the string literal s starts with, 0 if it has no
// end.
func stringLen(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return 0
}

func (l *lexer) str(lit string, escape bool) bool {
	body := lit[1 : len(lit)-1]
	if l.NewlineSequence != "\n" {
		body = strings.ReplaceAll(body, "\n", l.NewlineSequence)
	}
	if !escape && strings.IndexByte(body, '\\') >= 0 {
		var msg string
		if body, msg = unescape(body); msg != "" {
			return l.fail("%s", msg)
		}
	}
	l.emit(token{kind: kString, text: body})
	l.skip(l.pos + len(lit))
	return true
}

func wordLen(s string) int {
	for i, r := range s {
		if r == '_' || r < 0x80 && (r|0x20 >= 'a' && r|0x20 <= 'z' || r >= '0' && r <= '9') {
			continue
		}
		if r >= 0x80 && (unicode.IsLetter(r) || unicode.IsNumber(r)) {
			continue
		}
		return i
	}
	return len(s)
}

func isIdentifier(s string) bool {
	for i, r := range s {
		if r == '_' || unicode.IsLetter(r) || unicode.Is(unicode.Nl, r) || i > 0 && (unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Mc, r)) {
			continue
		}
		return false
	}
	return s != ""
}

// digits is the length of \d+ with single underscores between digits.
func digitsLen(s string, ok func(c byte) bool) int {
	i := 0
	for i < len(s) {
		if ok(s[i]) {
			i++
		} else if i > 0 && s[i] == '_' && i+1 < len(s) && ok(s[i+1]) {
			i += 2
		} else {
			break
		}
	}
	return i
}

func isDecimal(c byte) bool { return c >= '0' && c <= '9' }

func (l *lexer) number(s string) bool {
	// a number after a dot (a.0.1) is an index, never a float
	if l.pos == 0 || l.src[l.pos-1] != '.' {
		if n := floatLen(s); n > 0 {
			f, _ := strconv.ParseFloat(strings.ReplaceAll(s[:n], "_", ""), 64)
			l.emit(token{kind: kFloat, num: f})
			l.pos += n
			l.lineStart = false
			return true
		}
	}
	n, base := 0, 10
	if s[0] == '0' && len(s) > 1 {
		ok := func(c byte) bool { return false }
		switch s[1] | 0x20 {
		case 'b':
			base, ok = 2, func(c byte) bool { return c == '0' || c == '1' }
		case 'o':
			base, ok = 8, func(c byte) bool { return c >= '0' && c <= '7' }
		case 'x':
			base, ok = 16, func(c byte) bool { return isDecimal(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
		}
		if base != 10 {
			rest := strings.TrimPrefix(s[2:], "_")
			if k := digitsLen(rest, ok); k > 0 {
				n = len(s) - len(rest) + k
			} else {
				base = 10
			}
		}
	}
	if n == 0 {
		if s[0] == '0' {
			n = digitsLen(s, func(c byte) bool { return c == '0' })
		} else {
			n = digitsLen(s, isDecimal)
		}
	}
	text := strings.ReplaceAll(s[:n], "_", "")
	if base != 10 {
		text = text[2:]
	}
	var num any
	if i, err := strconv.ParseInt(text, base, 64); err == nil {
		num = i
	} else {
		if base == 10 && len(text) > 4300 {
			return l.fail("Exceeds the limit (4300 digits) for integer string conversion")
		}
		b, _ := new(big.Int).SetString(text, base)
		num = value.Int(b)
	}
	l.emit(token{kind: kInteger, num: num})
	l.pos += n
	l.lineStart = false
	return true
}

func floatLen(s string) int {
	n := digitsLen(s, isDecimal)
	if n == 0 {
		return 0
	}
	end := 0
	if n < len(s) && s[n] == '.' {
		if k := digitsLen(s[n+1:], isDecimal); k > 0 {
			n += 1 + k
			end = n
		}
	}
	if n < len(s) && s[n]|0x20 == 'e' {
		m := n + 1
		if m < len(s) && (s[m] == '+' || s[m] == '-') {
			m++
		}
		if k := digitsLen(s[m:], isDecimal); k > 0 {
			end = m + k
		}
	}
	return end
}

// unescape resolves the escapes of a Python string literal. msg is Python's
// complaint.
func unescape(s string) (out, msg string) {
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			j := strings.IndexByte(s[i:], '\\')
			if j < 0 {
				j = len(s) - i
			}
			b.WriteString(s[i : i+j])
			i += j
			continue
		}
		if i+1 >= len(s) {
			return "", `\ at end of string`
		}
		c := s[i+1]
		i += 2
		switch c {
		case '\n':
		case '\\', '\'', '"':
			b.WriteByte(c)
		case 'a':
			b.WriteByte(7)
		case 'b':
			b.WriteByte(8)
		case 'f':
			b.WriteByte(12)
		case 'n':
			b.WriteByte(10)
		case 'r':
			b.WriteByte(13)
		case 't':
			b.WriteByte(9)
		case 'v':
			b.WriteByte(11)
		case '0', '1', '2', '3', '4', '5', '6', '7':
			n := rune(c - '0')
			for k := 0; k < 2 && i < len(s) && s[i] >= '0' && s[i] <= '7'; k++ {
				n = n*8 + rune(s[i]-'0')
				i++
			}
			b.WriteRune(n)
		case 'x', 'u', 'U':
			want := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
			k := 0
			for k < want && i+k < len(s) && isHex(s[i+k]) {
				k++
			}
			if k < want {
				return "", badEscape(s, i-2, i+k, "truncated \\"+string(c)+strings.Repeat("X", want)+" escape")
			}
			n, _ := strconv.ParseUint(s[i:i+want], 16, 32)
			if n > unicode.MaxRune {
				return "", badEscape(s, i-2, i+want, "illegal Unicode character")
			}
			i += want
			if n >= 0xdc80 && n <= 0xdcff {
				b.WriteByte(byte(n))
			} else {
				b.WriteRune(rune(n))
			}
		case 'N':
			end := strings.IndexByte(s[i:], '}')
			if i >= len(s) || s[i] != '{' || end < 0 {
				return "", badEscape(s, i-2, i, `malformed \N character escape`)
			}
			r, ok := charNamed(s[i+1 : i+end])
			if !ok {
				return "", badEscape(s, i-2, i+end+1, "unknown Unicode character name")
			}
			b.WriteRune(r)
			i += end + 1
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}

// badEscape is Python's complaint about the escape s[from:to]. Positions count
// in the ASCII form that Python decodes.
func badEscape(s string, from, to int, msg string) string {
	at := 0
	for _, r := range s[:from] {
		switch {
		case r < 0x80:
			at++
		case r < 0x100:
			at += 4
		case r < 0x10000:
			at += 6
		default:
			at += 10
		}
	}
	return fmt.Sprintf("%s: 'unicodeescape' codec can't decode bytes in position %d-%d: %s", msg, at, at+to-from-1, msg)
}

func isHex(c byte) bool { return isDecimal(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
