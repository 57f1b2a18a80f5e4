package argspec

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"volant/wire/value"
)

var errLiteral = errors.New("not a Python literal")

// maxLiteralDepth bounds nesting, as Python's own parser does.
const maxLiteralDepth = 100

// literalDict reads a Python literal that is a dict, as ast.literal_eval does
// for the values that arguments have.
func literalDict(s string) (*value.Dict, error) {
	p := &literal{s: s}
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	p.space()
	d, ok := v.(*value.Dict)
	if !ok || p.i != len(s) {
		return nil, errLiteral
	}
	return d, nil
}

type literal struct {
	s string
	i int
}

func (p *literal) space() {
	for p.i < len(p.s) && strings.IndexByte(" \t\r\n", p.s[p.i]) >= 0 {
		p.i++
	}
}

func (p *literal) value(depth int) (any, error) {
	p.space()
	if p.i >= len(p.s) || depth > maxLiteralDepth {
		return nil, errLiteral
	}
	switch c := p.s[p.i]; {
	case c == '{':
		return p.dict(depth)
	case c == '[', c == '(':
		return p.items(depth)
	case c == '\'' || c == '"':
		return p.str()
	}
	start := p.i
	for p.i < len(p.s) && strings.IndexByte(" \t\r\n,:}])", p.s[p.i]) < 0 {
		p.i++
	}
	switch word := p.s[start:p.i]; word {
	case "True":
		return true, nil
	case "False":
		return false, nil
	case "None":
		return nil, nil
	default:
		if n, err := strconv.ParseInt(strings.ReplaceAll(word, "_", ""), 10, 64); err == nil {
			return n, nil
		}
		if f, err := strconv.ParseFloat(word, 64); err == nil && strings.IndexByte("+-.0123456789", word[0]) >= 0 {
			return f, nil
		}
	}
	return nil, errLiteral
}

func (p *literal) dict(depth int) (any, error) {
	p.i++
	d := value.NewDict(4)
	for {
		p.space()
		if p.take('}') {
			return d, nil
		}
		k, err := p.value(depth + 1)
		if err != nil || !value.Hashable(k) {
			return nil, errLiteral
		}
		p.space()
		if !p.take(':') {
			return nil, errLiteral
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		d.Set(k, v)
		p.space()
		if !p.take(',') && (p.i >= len(p.s) || p.s[p.i] != '}') {
			return nil, errLiteral
		}
	}
}

func (p *literal) items(depth int) (any, error) {
	end := byte(']')
	if p.s[p.i] == '(' {
		end = ')'
	}
	p.i++
	var items []any
	comma := false
	for {
		p.space()
		if p.take(end) {
			if end == ')' {
				if len(items) == 1 && !comma {
					return items[0], nil
				}
				return value.Tuple(items), nil
			}
			return value.ListOf(items...), nil
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
		p.space()
		comma = p.take(',')
		if !comma && (p.i >= len(p.s) || p.s[p.i] != end) {
			return nil, errLiteral
		}
	}
}

func (p *literal) take(c byte) bool {
	if p.i < len(p.s) && p.s[p.i] == c {
		p.i++
		return true
	}
	return false
}

var pyEscapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', '\\': '\\', '\'': '\'', '"': '"', 'a': 7, 'b': 8, 'f': 12, 'v': 11, '0': 0}

func (p *literal) str() (any, error) {
	q := p.s[p.i]
	p.i++
	var b []byte
	for p.i < len(p.s) {
		c := p.s[p.i]
		p.i++
		switch {
		case c == q:
			return string(b), nil
		case c == '\n':
			return nil, errLiteral
		case c != '\\':
			b = append(b, c)
			continue
		}
		if p.i >= len(p.s) {
			break
		}
		e := p.s[p.i]
		p.i++
		size := map[byte]int{'x': 2, 'u': 4, 'U': 8}[e]
		switch r, known := pyEscapes[e]; {
		case known:
			b = append(b, r)
		case size > 0 && p.i+size <= len(p.s):
			n, err := strconv.ParseUint(p.s[p.i:p.i+size], 16, 32)
			if err != nil {
				return nil, errLiteral
			}
			b = utf8.AppendRune(b, rune(n))
			p.i += size
		default:
			b = append(b, '\\', e)
		}
	}
	return nil, errLiteral
}
