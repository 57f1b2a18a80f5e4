// Package pyjson reads and writes JSON as Python's json module does, to and
// from package value: objects keep their order, a later duplicate key wins in
// the place of the first, integers keep every digit, NaN and Infinity pass,
// and bytes that are not UTF-8 travel as the surrogates Python's
// surrogateescape makes of them.
package pyjson

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"volant/wire/value"
)

// maxDepth bounds nesting: far above what any module returns, far below what
// would exhaust the stack.
const maxDepth = 1000

// SyntaxError says where the input is not JSON, in the words of Python's
// JSONDecodeError.
type SyntaxError struct {
	Msg    string
	Offset int // in bytes
	Line   int // from 1
	Column int // from 1, in characters
	Char   int // from 0, in characters
}

// Error is the text of JSONDecodeError.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s: line %d column %d (char %d)", e.Msg, e.Line, e.Column, e.Char)
}

type decoder struct {
	s     string
	i     int
	depth int
	keys  map[string]string // interned object keys
}

// Decode reads one JSON document.
func Decode(b []byte) (any, error) { return DecodeString(string(b)) }

// DecodeString reads one JSON document.
func DecodeString(s string) (any, error) {
	d := &decoder{s: s}
	d.space()
	v, err := d.value()
	if err != nil {
		return nil, err
	}
	d.space()
	if d.i != len(s) {
		return nil, d.fail("Extra data", d.i)
	}
	return v, nil
}

func (d *decoder) fail(msg string, at int) error {
	if at > len(d.s) {
		at = len(d.s)
	}
	e := &SyntaxError{Msg: msg, Offset: at, Line: 1, Column: 1}
	for _, r := range d.s[:at] {
		e.Char++
		if r == '\n' {
			e.Line++
			e.Column = 1
		} else {
			e.Column++
		}
	}
	return e
}

func (d *decoder) space() {
	for d.i < len(d.s) {
		switch d.s[d.i] {
		case ' ', '\t', '\n', '\r':
			d.i++
		default:
			return
		}
	}
}

func (d *decoder) literal(word string) bool {
	if len(d.s)-d.i >= len(word) && d.s[d.i:d.i+len(word)] == word {
		d.i += len(word)
		return true
	}
	return false
}

func (d *decoder) value() (any, error) {
	if d.i >= len(d.s) {
		return nil, d.fail("Expecting value", d.i)
	}
	switch c := d.s[d.i]; c {
	case '"':
		d.i++
		return d.str()
	case '{', '[':
		if d.depth++; d.depth > maxDepth {
			return nil, d.fail("Nesting too deep", d.i)
		}
		defer func() { d.depth-- }()
		d.i++
		if c == '{' {
			return d.object()
		}
		return d.array()
	case 'n':
		if d.literal("null") {
			return nil, nil
		}
	case 't':
		if d.literal("true") {
			return true, nil
		}
	case 'f':
		if d.literal("false") {
			return false, nil
		}
	case 'N':
		if d.literal("NaN") {
			return math.NaN(), nil
		}
	case 'I':
		if d.literal("Infinity") {
			return math.Inf(1), nil
		}
	case '-':
		if d.literal("-Infinity") {
			return math.Inf(-1), nil
		}
		return d.number()
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return d.number()
	}
	return nil, d.fail("Expecting value", d.i)
}

func (d *decoder) digits() int {
	start := d.i
	for d.i < len(d.s) && d.s[d.i] >= '0' && d.s[d.i] <= '9' {
		d.i++
	}
	return d.i - start
}

func (d *decoder) number() (any, error) {
	start := d.i
	if d.s[d.i] == '-' {
		d.i++
	}
	if d.i < len(d.s) && d.s[d.i] == '0' {
		d.i++
	} else if d.digits() == 0 {
		d.i = start
		return nil, d.fail("Expecting value", start)
	}
	float := false
	if d.i+1 < len(d.s) && d.s[d.i] == '.' && d.s[d.i+1] >= '0' && d.s[d.i+1] <= '9' {
		d.i++
		d.digits()
		float = true
	}
	if d.i < len(d.s) && (d.s[d.i] == 'e' || d.s[d.i] == 'E') {
		mark := d.i
		d.i++
		if d.i < len(d.s) && (d.s[d.i] == '+' || d.s[d.i] == '-') {
			d.i++
		}
		if d.digits() == 0 {
			d.i = mark
		} else {
			float = true
		}
	}
	text := d.s[start:d.i]
	if float {
		f, _ := strconv.ParseFloat(text, 64) // out of range gives an infinity, as in Python
		return f, nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	if len(text) > 4300 { // Python's own limit on str to int
		return nil, d.fail("Exceeds the limit (4300 digits) for integer string conversion", start)
	}
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return nil, d.fail("Expecting value", start)
	}
	return n, nil
}

// str reads a string whose opening quote was taken.
func (d *decoder) str() (string, error) {
	begin := d.i - 1
	start := d.i
	for d.i < len(d.s) {
		switch c := d.s[d.i]; {
		case c == '"':
			s := d.s[start:d.i]
			d.i++
			return s, nil
		case c == '\\':
			return d.escaped(begin, start)
		case c < 0x20:
			return "", d.fail("Invalid control character at", d.i)
		}
		d.i++
	}
	return "", d.fail("Unterminated string starting at", begin)
}

var simpleEscape = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (d *decoder) escaped(begin, start int) (string, error) {
	b := append(make([]byte, 0, d.i-start+64), d.s[start:d.i]...)
	for d.i < len(d.s) {
		c := d.s[d.i]
		switch {
		case c == '"':
			d.i++
			return string(b), nil
		case c < 0x20:
			return "", d.fail("Invalid control character at", d.i)
		case c != '\\':
			b = append(b, c)
			d.i++
			continue
		}
		d.i++
		if d.i >= len(d.s) {
			return "", d.fail("Unterminated string starting at", begin)
		}
		if r, ok := simpleEscape[d.s[d.i]]; ok {
			b = append(b, r)
			d.i++
			continue
		}
		if d.s[d.i] != 'u' {
			return "", d.fail(`Invalid \escape`, d.i-1)
		}
		r, ok := d.hex4(d.i + 1)
		if !ok {
			return "", d.fail(`Invalid \uXXXX escape`, d.i)
		}
		d.i += 5
		if utf16.IsSurrogate(r) && d.i+6 <= len(d.s) && d.s[d.i] == '\\' && d.s[d.i+1] == 'u' {
			if low, ok := d.hex4(d.i + 2); ok {
				if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
					b = utf8.AppendRune(b, full)
					d.i += 6
					continue
				}
			}
		}
		switch {
		case r >= 0xDC80 && r <= 0xDCFF: // surrogateescape: a byte that was not UTF-8
			b = append(b, byte(r-0xDC00))
		case utf16.IsSurrogate(r):
			b = append(b, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return "", d.fail("Unterminated string starting at", begin)
}

func (d *decoder) hex4(at int) (rune, bool) {
	if at+4 > len(d.s) {
		return 0, false
	}
	n, err := strconv.ParseUint(d.s[at:at+4], 16, 16)
	return rune(n), err == nil
}

func (d *decoder) object() (any, error) {
	o := value.NewDict(8)
	d.space()
	if d.i < len(d.s) && d.s[d.i] == '}' {
		d.i++
		return o, nil
	}
	for {
		if d.i >= len(d.s) || d.s[d.i] != '"' {
			return nil, d.fail("Expecting property name enclosed in double quotes", d.i)
		}
		d.i++
		k, err := d.str()
		if err != nil {
			return nil, err
		}
		if d.keys == nil {
			d.keys = make(map[string]string)
		}
		if same, ok := d.keys[k]; ok {
			k = same
		} else {
			d.keys[k] = k
		}
		d.space()
		if d.i >= len(d.s) || d.s[d.i] != ':' {
			return nil, d.fail("Expecting ':' delimiter", d.i)
		}
		d.i++
		d.space()
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		o.Set(k, v)
		d.space()
		if d.i < len(d.s) && d.s[d.i] == '}' {
			d.i++
			return o, nil
		}
		if d.i >= len(d.s) || d.s[d.i] != ',' {
			return nil, d.fail("Expecting ',' delimiter", d.i)
		}
		d.i++
		d.space()
	}
}

func (d *decoder) array() (any, error) {
	l := value.ListOf()
	d.space()
	if d.i < len(d.s) && d.s[d.i] == ']' {
		d.i++
		return l, nil
	}
	for {
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		l.Items = append(l.Items, v)
		d.space()
		if d.i < len(d.s) && d.s[d.i] == ']' {
			d.i++
			return l, nil
		}
		if d.i >= len(d.s) || d.s[d.i] != ',' {
			return nil, d.fail("Expecting ',' delimiter", d.i)
		}
		d.i++
		d.space()
	}
}
