package inventory

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"volant/wire/value"
)

var errLiteral = errors.New("not a Python literal")

const maxLiteralDepth = 90 // CPython's parser has about as much

// pyComplex is a complex number: no variable can be one, it turns into text.
type pyComplex string

// literal reads text as Python's ast.literal_eval does: numbers, strings,
// bytes, tuples, lists, dicts, sets, True, False, None. Tuples and sets become
// lists, as the INI inventory makes them. Anything else is an error.
func literal(text string) (any, error) {
	p := &pyParser{s: strings.TrimLeft(text, " \t")}
	v, err := p.tuple()
	if err != nil {
		return nil, err
	}
	p.space()
	if p.i < len(p.s) && p.s[p.i] != '#' {
		return nil, errLiteral
	}
	return v, nil
}

type pyParser struct {
	s     string
	i     int
	depth int
}

func (p *pyParser) space() {
	for p.i < len(p.s) && strings.IndexByte(" \t\f", p.s[p.i]) >= 0 {
		p.i++
	}
}

func (p *pyParser) peek() byte {
	p.space()
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

func (p *pyParser) take(c byte) bool {
	if p.peek() == c && c != 0 {
		p.i++
		return true
	}
	return false
}

// tuple reads values separated by commas; one without a comma is itself.
func (p *pyParser) tuple() (any, error) {
	v, err := p.sum()
	if err != nil || p.peek() != ',' {
		return v, err
	}
	l := &value.List{Items: []any{v}}
	for p.take(',') {
		if c := p.peek(); c == 0 || c == ')' || c == '#' {
			break
		}
		if v, err = p.sum(); err != nil {
			return nil, err
		}
		l.Items = append(l.Items, v)
	}
	return l, nil
}

// sum reads a value, or a complex number written as real+imaginary.
func (p *pyParser) sum() (any, error) {
	v, err := p.signed()
	if err != nil {
		return nil, err
	}
	op := p.peek()
	if op != '+' && op != '-' {
		return v, nil
	}
	p.i++
	im, err := p.signed()
	if err != nil {
		return nil, err
	}
	c, ok := im.(pyComplex)
	if !ok {
		return nil, errLiteral
	}
	switch v := v.(type) {
	case int64, float64:
		text := value.Str(v)
		if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1e16 {
			text = strconv.FormatFloat(f, 'f', -1, 64)
		}
		return pyComplex("(" + text + string(op) + string(c) + ")"), nil
	}
	return nil, errLiteral
}

func (p *pyParser) signed() (any, error) {
	switch p.peek() {
	case '-', '+':
		neg := p.s[p.i] == '-'
		p.i++
		if c := p.peek(); c == '-' || c == '+' {
			// literal_eval takes one sign only
			return nil, errLiteral
		}
		v, err := p.atom()
		if err != nil {
			return nil, err
		}
		switch v := v.(type) {
		case int64:
			if neg && v != math.MinInt64 {
				return -v, nil
			}
			return v, nil
		case *big.Int:
			if neg {
				n := new(big.Int).Neg(v)
				if n.IsInt64() {
					return n.Int64(), nil
				}
				return n, nil
			}
			return v, nil
		case float64:
			if neg {
				return -v, nil
			}
			return v, nil
		case pyComplex:
			if neg {
				return pyComplex("(-0-" + string(v) + ")"), nil
			}
			return v, nil
		}
		return nil, errLiteral
	}
	return p.atom()
}

func (p *pyParser) atom() (any, error) {
	if p.depth++; p.depth > maxLiteralDepth {
		return nil, errLiteral
	}
	defer func() { p.depth-- }()
	switch c := p.peek(); {
	case c == 0:
		return nil, errLiteral
	case c == '(':
		p.i++
		if p.take(')') {
			return &value.List{}, nil
		}
		v, err := p.tuple()
		if err == nil && !p.take(')') {
			err = errLiteral
		}
		return v, err
	case c == '[':
		p.i++
		return p.list(']')
	case c == '{':
		p.i++
		return p.braces()
	case c == '.' && strings.HasPrefix(p.s[p.i:], "..."):
		p.i += 3
		return "...", nil
	case c >= '0' && c <= '9', c == '.':
		return p.number()
	case c == '"', c == '\'':
		return p.strings()
	}
	end := p.i
	for end < len(p.s) && (p.s[end] == '_' || p.s[end] >= '0' && p.s[end] <= '9' || p.s[end]|0x20 >= 'a' && p.s[end]|0x20 <= 'z' || p.s[end] >= utf8.RuneSelf) {
		end++
	}
	word := p.s[p.i:end]
	if end < len(p.s) && (p.s[end] == '"' || p.s[end] == '\'') && len(word) <= 2 && word != "" {
		return p.strings()
	}
	switch word {
	case "None":
		p.i = end
		return nil, nil
	case "True", "False":
		p.i = end
		return word == "True", nil
	case "set":
		p.i = end
		if p.take('(') && p.take(')') {
			return &value.List{}, nil
		}
	}
	return nil, errLiteral
}

// list reads items up to a closing bracket.
func (p *pyParser) list(closing byte) (any, error) {
	l := &value.List{}
	for {
		if p.take(closing) {
			return l, nil
		}
		v, err := p.sum()
		if err != nil {
			return nil, err
		}
		l.Items = append(l.Items, v)
		if !p.take(',') {
			if p.take(closing) {
				return l, nil
			}
			return nil, errLiteral
		}
	}
}

// braces reads a dict or a set.
func (p *pyParser) braces() (any, error) {
	d := value.NewDict(0)
	if p.take('}') {
		return d, nil
	}
	set := value.SetOf()
	for first, isDict := true, false; ; first = false {
		if p.take('}') && !first {
			break
		}
		k, err := p.sum()
		if err != nil || !value.Hashable(k) {
			return nil, errLiteral
		}
		if c, ok := k.(pyComplex); ok {
			k = string(c)
		}
		if first {
			isDict = p.peek() == ':'
		}
		if isDict {
			if !p.take(':') {
				return nil, errLiteral
			}
			v, err := p.sum()
			if err != nil {
				return nil, err
			}
			d.Set(k, v)
		} else {
			set.Add(k)
		}
		if !p.take(',') {
			if !p.take('}') {
				return nil, errLiteral
			}
			break
		}
	}
	if set.Len() > 0 {
		return value.ListOf(set.Items()...), nil
	}
	return d, nil
}

func (p *pyParser) number() (any, error) {
	start := p.i
	for p.i < len(p.s) {
		c := p.s[p.i]
		exp := p.i > start && (p.s[p.i-1]|0x20) == 'e' && !strings.HasPrefix(strings.ToLower(p.s[start:]), "0x")
		if c == '.' || c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || (c == '+' || c == '-') && exp {
			p.i++
			continue
		}
		break
	}
	text := strings.ToLower(p.s[start:p.i])
	imaginary := strings.HasSuffix(text, "j") && !strings.HasPrefix(text, "0x")
	text = strings.TrimSuffix(text, "j")
	if strings.HasPrefix(text, "_") || strings.HasSuffix(text, "_") || strings.Contains(text, "__") {
		return nil, errLiteral
	}
	plain := strings.ReplaceAll(text, "_", "")
	base := 10
	digits := plain
	if len(plain) > 2 && plain[0] == '0' {
		switch plain[1] {
		case 'x':
			base, digits = 16, plain[2:]
		case 'o':
			base, digits = 8, plain[2:]
		case 'b':
			base, digits = 2, plain[2:]
		}
	}
	if base == 10 && strings.ContainsAny(plain, ".e") || imaginary && base == 10 {
		f, err := strconv.ParseFloat(plain, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) || strings.ContainsAny(plain, "xpin") {
			return nil, errLiteral
		}
		if imaginary {
			return pyComplex(strconv.FormatFloat(f, 'g', -1, 64) + "j"), nil
		}
		return f, nil
	}
	const maxDigits = 4300
	if base == 10 && len(digits) > 1 && digits[0] == '0' && strings.Trim(digits, "0") != "" || len(digits) > maxDigits {
		return nil, errLiteral
	}
	n, ok := new(big.Int).SetString(digits, base)
	if !ok {
		return nil, errLiteral
	}
	if n.IsInt64() {
		return n.Int64(), nil
	}
	return n, nil
}

// strings reads one or more string literals that stand side by side.
func (p *pyParser) strings() (any, error) {
	var out strings.Builder
	bytes, first := false, true
	for {
		p.space()
		start := p.i
		raw, b, unicode := false, false, false
		for p.i < len(p.s) && p.i-start < 2 {
			switch p.s[p.i] | 0x20 {
			case 'r':
				raw = true
			case 'b':
				b = true
			case 'u':
				unicode = true
			default:
				goto quote
			}
			p.i++
		}
	quote:
		if p.i >= len(p.s) || p.s[p.i] != '"' && p.s[p.i] != '\'' || unicode && (raw || b) {
			if first {
				return nil, errLiteral
			}
			p.i = start
			break
		}
		if !first && b != bytes {
			return nil, errLiteral
		}
		bytes = b
		if err := p.quoted(&out, raw, b); err != nil {
			return nil, err
		}
		first = false
		if c := p.peek(); c == 0 || !strings.ContainsRune(`"'rRbBuU`, rune(c)) {
			break
		}
	}
	return out.String(), nil // bytes become text too
}

var simpleEscapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', '\\': '\\', '\'': '\'', '"': '"', 'a': 7, 'b': 8, 'f': 12, 'v': 11}

func (p *pyParser) quoted(out *strings.Builder, raw, bytes bool) error {
	q := p.s[p.i : p.i+1]
	if strings.HasPrefix(p.s[p.i:], strings.Repeat(q, 3)) {
		q = strings.Repeat(q, 3)
	}
	p.i += len(q)
	for p.i < len(p.s) {
		if strings.HasPrefix(p.s[p.i:], q) {
			p.i += len(q)
			return nil
		}
		c := p.s[p.i]
		if c != '\\' {
			if bytes && c >= utf8.RuneSelf {
				return errLiteral
			}
			out.WriteByte(c)
			p.i++
			continue
		}
		if p.i+1 >= len(p.s) {
			return errLiteral
		}
		e := p.s[p.i+1]
		if raw {
			out.WriteString(p.s[p.i : p.i+2])
			p.i += 2
			continue
		}
		p.i += 2
		if r, ok := simpleEscapes[e]; ok {
			out.WriteByte(r)
			continue
		}
		hex := map[byte]int{'x': 2}
		if !bytes {
			hex['u'], hex['U'] = 4, 8
		}
		switch {
		case hex[e] > 0:
			n := hex[e]
			if p.i+n > len(p.s) {
				return errLiteral
			}
			r, err := strconv.ParseUint(p.s[p.i:p.i+n], 16, 32)
			if err != nil || r > utf8.MaxRune {
				return errLiteral
			}
			out.WriteRune(rune(r)) //nolint:gosec // bounded above
			p.i += n
		case e >= '0' && e <= '7':
			n := 1
			for n < 3 && p.i-1+n < len(p.s) && p.s[p.i-1+n] >= '0' && p.s[p.i-1+n] <= '7' {
				n++
			}
			r, _ := strconv.ParseUint(p.s[p.i-1:p.i-1+n], 8, 32)
			out.WriteRune(rune(r)) //nolint:gosec // three octal digits
			p.i += n - 1
		case e == 'N' && !bytes:
			return errLiteral // names of characters: nobody writes them here
		default:
			out.WriteByte('\\')
			out.WriteByte(e)
		}
	}
	return errLiteral
}
