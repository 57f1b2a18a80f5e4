package value

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Percent is Python's format % args for text.
func Percent(format string, args any) (string, error) { return percentFormat(format, args, false) }

// percentFormat is Percent; escape is how Markup does it.
func percentFormat(format string, args any, escape bool) (string, error) {
	p := percent{args: Tuple{args}, escape: escape}
	if t, ok := args.(Tuple); ok {
		p.args = t
	} else if d, ok := args.(*Dict); ok {
		p.dict = d
	} else {
		switch args.(type) {
		case *Set:
		case *List, *Undefined, []byte, interface{ Len() int }: // a list also counts as a mapping: leftovers are no error
			p.loose = true
		}
	}
	var b strings.Builder
	for i := 0; i < len(format); {
		c := format[i]
		if c != '%' {
			j := strings.IndexByte(format[i:], '%')
			if j < 0 {
				j = len(format) - i
			}
			b.WriteString(format[i : i+j])
			i += j
			continue
		}
		n, err := p.verb(&b, format, i+1)
		if err != nil {
			return "", err
		}
		i = n
		if b.Len() > MaxText {
			return "", errText()
		}
	}
	if p.dict == nil && !p.loose && p.next < len(p.args) {
		return "", TypeErrorf("not all arguments converted during string formatting")
	}
	return b.String(), nil
}

type percent struct {
	args  Tuple
	dict  *Dict
	next  int
	loose bool
	used  bool
	// escape makes what is formatted safe in HTML.
	escape bool
}

func (p *percent) take() (any, error) {
	if p.dict != nil && !p.used {
		p.used = true
		return p.dict, nil
	}
	if p.dict != nil || p.next >= len(p.args) {
		return nil, TypeErrorf("not enough arguments for format string")
	}
	v := p.args[p.next]
	p.next++
	return v, nil
}

// verb formats one conversion that starts after the % at i-1 and returns where
// the format goes on.
func (p *percent) verb(b *strings.Builder, f string, i int) (int, error) {
	incomplete := ValueErrorf("incomplete format")
	var arg any
	have := false
	if i < len(f) && f[i] == '(' {
		depth, j := 1, i+1
		for ; j < len(f) && depth > 0; j++ {
			switch f[j] {
			case '(':
				depth++
			case ')':
				depth--
			}
		}
		if depth > 0 {
			return 0, ValueErrorf("incomplete format key")
		}
		if p.dict == nil {
			return 0, TypeErrorf("format requires a mapping")
		}
		key := f[i+1 : j-1]
		v, ok := p.dict.Get(key)
		if !ok {
			return 0, &Exception{"KeyError", Repr(key)}
		}
		arg, have, i = v, true, j
		p.used = true
	}
	var s spec
	s.fill, s.align = " ", '>'
flags:
	for ; i < len(f); i++ {
		switch f[i] {
		case '-':
			s.align = '<'
		case '+':
			s.sign = '+'
		case ' ':
			if s.sign == 0 {
				s.sign = ' '
			}
		case '#':
			s.alt = true
		case '0':
			s.zero = true
		default:
			break flags
		}
	}
	number := func() (int, bool, error) {
		if i < len(f) && f[i] == '*' {
			i++
			v, err := p.take()
			if err != nil {
				return 0, false, err
			}
			n, ok := ToInt(v)
			if !ok {
				return 0, false, TypeErrorf("* wants int")
			}
			return int(n), true, nil
		}
		n, any := 0, false
		for ; i < len(f) && f[i] >= '0' && f[i] <= '9'; i++ {
			n, any = n*10+int(f[i]-'0'), true
			if n > MaxText {
				return 0, false, ValueErrorf("width too big")
			}
		}
		return n, any, nil
	}
	w, _, err := number()
	if err != nil {
		return 0, err
	}
	if w < 0 {
		s.align, w = '<', -w
	}
	s.width = w
	s.prec = -1
	if i < len(f) && f[i] == '.' {
		i++
		n, _, err := number()
		if err != nil {
			return 0, err
		}
		s.prec = max(n, 0)
	}
	if s.width > MaxText || s.prec > MaxText {
		return 0, errText()
	}
	for i < len(f) && (f[i] == 'l' || f[i] == 'h' || f[i] == 'L') {
		i++
	}
	if i >= len(f) {
		return 0, incomplete
	}
	verb, n := utf8.DecodeRuneInString(f[i:])
	if verb == '%' {
		b.WriteByte('%')
		return i + n, nil
	}
	if !have {
		if arg, err = p.take(); err != nil {
			return 0, err
		}
	}
	if p.escape {
		if arg, err = escapedArg(verb, arg); err != nil {
			return 0, err
		}
	}
	text, err := percentArg(verb, i, arg, &s)
	if err != nil {
		return 0, err
	}
	b.WriteString(text)
	return i + n, nil
}

// escapedArg is what Markup formats in place of arg.
func escapedArg(verb rune, arg any) (any, error) {
	switch verb {
	case 's':
		if _, ok := arg.(*Undefined); !ok {
			return string(ToMarkup(arg)), nil
		}
	case 'r', 'a':
		if _, ok := arg.(*Undefined); !ok {
			return escapedRepr(Escape(Repr(arg))), nil
		}
	}
	return arg, nil
}

// escapedRepr is text that is its own repr.
type escapedRepr string

// Text implements the text of Str and Repr.
func (e escapedRepr) Text() string { return string(e) }

func percentArg(verb rune, at int, arg any, s *spec) (string, error) {
	unknown := ValueErrorf("unsupported format character '%c' (0x%x) at index %d", verb, verb, at)
	if !strings.ContainsRune("sraciduxXoeEfFgG", verb) {
		return "", unknown
	}
	if u, ok := arg.(*Undefined); ok {
		return "", u
	}
	switch verb {
	case 's', 'r', 'a':
		var t string
		switch verb {
		case 's':
			t = Str(arg)
		case 'r':
			t = Repr(arg)
		default:
			t = ASCII(arg)
		}
		if s.prec >= 0 {
			t = firstRunes(t, s.prec)
		}
		s.zero = false
		return s.pad(t, ""), nil
	case 'c':
		if t, ok := Text(arg); ok && utf8.RuneCountInString(t) == 1 {
			return s.pad(t, ""), nil
		}
		if n, ok := ToInt(arg); ok {
			if n < 0 || n > 0x10ffff {
				return "", Raise("OverflowError", "%%c arg not in range(0x110000)")
			}
			return s.pad(string(rune(n)), ""), nil
		}
		return "", TypeErrorf("%%c requires int or char")
	case 'd', 'i', 'u', 'x', 'X', 'o':
		if fl, ok := arg.(float64); ok && (verb == 'd' || verb == 'i' || verb == 'u') {
			i, err := FloatToInt(fl)
			if err != nil {
				return "", err
			}
			arg = i
		}
		if !IsInt(arg) {
			if verb == 'd' || verb == 'i' || verb == 'u' {
				return "", TypeErrorf("%%%c format: a real number is required, not %s", verb, TypeName(arg))
			}
			return "", TypeErrorf("%%%c format: an integer is required, not %s", verb, TypeName(arg))
		}
		if verb == 'i' || verb == 'u' {
			verb = 'd'
		}
		digits, prefix := intDigits(ToBig(arg), byte(verb), s.alt)
		for len(digits) < s.prec {
			digits = strings.Repeat("0", s.prec-len(digits)) + digits
		}
		return s.pad(digits, s.signOf(ToBig(arg).Sign() < 0)+prefix), nil
	case 'e', 'E', 'f', 'F', 'g', 'G':
		fl, err := ToFloat(arg)
		if err != nil {
			return "", err
		}
		if s.prec < 0 {
			s.prec = 6
		}
		digits := floatDigits(math.Abs(fl), byte(verb), s.prec, s.alt)
		return s.pad(digits, s.signOf(math.Signbit(fl) && !math.IsNaN(fl))), nil
	}
	return "", unknown
}

// ASCII is Python's ascii(v).
func ASCII(v any) string {
	var b strings.Builder
	for _, r := range Repr(v) {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// FloatToInt is Python's int(f).
func FloatToInt(f float64) (any, error) {
	switch {
	case math.IsNaN(f):
		return nil, ValueErrorf("cannot convert float NaN to integer")
	case math.IsInf(f, 0):
		return nil, Raise("OverflowError", "cannot convert float infinity to integer")
	case math.Abs(f) < 1<<62:
		return int64(f), nil
	}
	i, _ := new(big.Float).SetFloat64(f).Int(nil)
	return Int(i), nil
}

func intDigits(i *big.Int, verb byte, alt bool) (digits, prefix string) {
	a := new(big.Int).Abs(i)
	switch verb {
	case 'x':
		digits, prefix = a.Text(16), "0x"
	case 'X':
		digits, prefix = strings.ToUpper(a.Text(16)), "0X"
	case 'o':
		digits, prefix = a.Text(8), "0o"
	case 'b':
		digits, prefix = a.Text(2), "0b"
	default:
		return a.Text(10), ""
	}
	if !alt {
		prefix = ""
	}
	return digits, prefix
}

func floatDigits(f float64, verb byte, prec int, alt bool) string {
	upper := verb == 'E' || verb == 'F' || verb == 'G'
	var t string
	switch {
	case math.IsNaN(f):
		t = "nan"
	case math.IsInf(f, 0):
		t = "inf"
	default:
		prec = min(prec, 100000)
		switch verb | 0x20 {
		case 'e':
			t = strconv.FormatFloat(f, 'e', prec, 64)
		case 'f':
			t = strconv.FormatFloat(f, 'f', prec, 64)
		default:
			if prec == 0 {
				prec = 1
			}
			t = generalFloat(f, prec, alt)
		}
		if alt && !strings.Contains(t, ".") {
			if e := strings.IndexByte(t, 'e'); e >= 0 {
				t = t[:e] + "." + t[e:]
			} else {
				t += "."
			}
		}
	}
	if upper {
		t = strings.ToUpper(t)
	}
	return t
}

// generalFloat is C's %g.
func generalFloat(f float64, prec int, alt bool) string {
	e := strconv.FormatFloat(f, 'e', prec-1, 64)
	exp, _ := strconv.Atoi(e[strings.IndexByte(e, 'e')+1:])
	if exp < -4 || exp >= prec {
		if alt {
			return e
		}
		m, x, _ := strings.Cut(e, "e")
		if strings.Contains(m, ".") {
			m = strings.TrimRight(strings.TrimRight(m, "0"), ".")
		}
		return m + "e" + x
	}
	t := strconv.FormatFloat(f, 'f', max(prec-1-exp, 0), 64)
	if !alt && strings.Contains(t, ".") {
		t = strings.TrimRight(strings.TrimRight(t, "0"), ".")
	}
	return t
}
