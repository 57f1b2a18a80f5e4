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
func Percent(format string, args any) (string, error) {
	p := percent{args: Tuple{args}}
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
	text, err := percentArg(verb, i, arg, &s)
	if err != nil {
		return 0, err
	}
	b.WriteString(text)
	return i + n, nil
}

func percentArg(verb rune, at int, arg any, s *spec) (string, error) {
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
	return "", ValueErrorf("unsupported format character '%c' (0x%x) at index %d", verb, verb, at)
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

// spec is a format specification: [[fill]align][sign][#][0][width][,][.prec][type].
type spec struct {
	fill  string
	align byte // < > ^ = or 0
	sign  byte // + space - or 0
	alt   bool
	zero  bool // pad numbers with zeros after the sign (percent)
	width int
	group byte // , _ or 0
	prec  int  // -1: none
	verb  byte // 0: none
}

func (s *spec) signOf(neg bool) string {
	switch {
	case neg:
		return "-"
	case s.sign == '+':
		return "+"
	case s.sign == ' ':
		return " "
	}
	return ""
}

// pad fits sign+body into the width.
func (s *spec) pad(body, sign string) string {
	n := s.width - utf8.RuneCountInString(body) - utf8.RuneCountInString(sign)
	if n <= 0 {
		return sign + body
	}
	switch {
	case s.zero && s.align != '<':
		return sign + strings.Repeat("0", n) + body
	case s.align == '=':
		return sign + strings.Repeat(s.fill, n) + body
	case s.align == '<':
		return sign + body + strings.Repeat(s.fill, n)
	case s.align == '^':
		return strings.Repeat(s.fill, n/2) + sign + body + strings.Repeat(s.fill, n-n/2)
	}
	return strings.Repeat(s.fill, n) + sign + body
}

func parseSpec(f string) (*spec, error) {
	s := &spec{fill: " ", prec: -1}
	isAlign := func(c byte) bool { return c == '<' || c == '>' || c == '^' || c == '=' }
	_, n := utf8.DecodeRuneInString(f)
	i := 0
	explicit := false
	if f != "" && len(f) > n && isAlign(f[n]) {
		s.fill, s.align, i, explicit = f[:n], f[n], n+1, true
	} else if f != "" && isAlign(f[0]) {
		s.align, i = f[0], 1
	}
	if i < len(f) && (f[i] == '+' || f[i] == '-' || f[i] == ' ') {
		s.sign = f[i]
		i++
	}
	if i < len(f) && f[i] == 'z' {
		i++
	}
	if i < len(f) && f[i] == '#' {
		s.alt = true
		i++
	}
	if !explicit && i < len(f) && f[i] == '0' {
		s.fill = "0"
		if s.align == 0 {
			s.align = '='
		}
		i++
	}
	num := func() (int, error) {
		n := 0
		for ; i < len(f) && f[i] >= '0' && f[i] <= '9'; i++ {
			if n = n*10 + int(f[i]-'0'); n > MaxText {
				return 0, ValueErrorf("Too many decimal digits in format string")
			}
		}
		return n, nil
	}
	var err error
	if s.width, err = num(); err != nil {
		return nil, err
	}
	if i < len(f) && (f[i] == ',' || f[i] == '_') {
		s.group = f[i]
		i++
		if i < len(f) && (f[i] == ',' || f[i] == '_') {
			if f[i] == s.group {
				return nil, ValueErrorf("Cannot specify both '%c' and '%c'.", s.group, f[i])
			}
			return nil, ValueErrorf("Cannot specify both ',' and '_'.")
		}
	}
	if i < len(f) && f[i] == '.' {
		i++
		start := i
		if s.prec, err = num(); err != nil {
			return nil, err
		}
		if i == start {
			return nil, ValueErrorf("Format specifier missing precision")
		}
	}
	if len(f)-i > 1 {
		return nil, ValueErrorf("Invalid format specifier")
	}
	if i < len(f) {
		s.verb = f[i]
	}
	return s, nil
}

// Format is Python's format(v, spec).
func Format(v any, f string) (string, error) {
	if f == "" {
		return Str(v), nil
	}
	switch x := v.(type) {
	case string, *Template:
		t, _ := Text(x)
		return formatText(t, f)
	case bool:
		s, err := parseSpec(f)
		if err != nil {
			return "", err
		}
		if s.verb == 0 || s.verb == 's' {
			if s.verb == 0 {
				return formatText(Str(v), f)
			}
			return "", unknownCode(s.verb, "bool")
		}
		return formatInt(ToBig(x), s)
	case int64, int, *big.Int:
		s, err := parseSpec(f)
		if err != nil {
			return "", err
		}
		return formatInt(ToBig(x), s)
	case float64:
		s, err := parseSpec(f)
		if err != nil {
			return "", err
		}
		return formatFloat(x, s, "float")
	}
	return "", TypeErrorf("unsupported format string passed to %s.__format__", TypeName(v))
}

func unknownCode(verb byte, typ string) error {
	return ValueErrorf("Unknown format code '%c' for object of type '%s'", verb, typ)
}

func formatText(t, f string) (string, error) {
	s, err := parseSpec(f)
	if err != nil {
		return "", err
	}
	switch {
	case s.verb != 0 && s.verb != 's':
		return "", unknownCode(s.verb, "str")
	case s.sign != 0:
		return "", ValueErrorf("Sign not allowed in string format specifier")
	case s.alt:
		return "", ValueErrorf("Alternate form (#) not allowed in string format specifier")
	case s.group != 0:
		return "", ValueErrorf("Cannot specify '%c' with 's'.", s.group)
	case s.align == '=' && s.fill != "0":
		return "", ValueErrorf("'=' alignment not allowed in string format specifier")
	}
	if s.prec >= 0 {
		t = firstRunes(t, s.prec)
	}
	if s.align == 0 || s.align == '=' {
		s.align = '<'
	}
	return s.pad(t, ""), nil
}

func formatInt(i *big.Int, s *spec) (string, error) {
	switch s.verb {
	case 0, 'd', 'b', 'o', 'x', 'X', 'n', 'c':
		if s.prec >= 0 {
			return "", ValueErrorf("Precision not allowed in integer format specifier")
		}
	case 'e', 'E', 'f', 'F', 'g', 'G', '%':
		f, err := ToFloat(Int(i))
		if err != nil {
			return "", err
		}
		return formatFloat(f, s, "int")
	default:
		return "", unknownCode(s.verb, "int")
	}
	if s.verb == 'c' {
		if !i.IsInt64() || i.Int64() < 0 || i.Int64() > 0x10ffff {
			return "", Raise("OverflowError", "%%c arg not in range(0x110000)")
		}
		if s.align == 0 {
			s.align = '<'
		}
		return s.pad(string(rune(i.Int64())), ""), nil
	}
	digits, prefix := intDigits(i, s.verb, s.alt)
	every := 3
	if s.verb == 'b' || s.verb == 'o' || s.verb == 'x' || s.verb == 'X' {
		every = 4
		if s.group == ',' {
			return "", ValueErrorf("Cannot specify ',' with '%c'.", s.verb)
		}
	}
	return s.number(digits, "", s.signOf(i.Sign() < 0)+prefix, every), nil
}

// number groups and pads a number made of whole digits and a tail.
func (s *spec) number(whole, tail, sign string, every int) string {
	if s.group != 0 {
		if s.fill == "0" && s.align == '=' {
			want := s.width - len(sign) - len(tail)
			for grouped(len(whole)+1, every) <= want {
				whole = "0" + whole
			}
		}
		whole = groupDigits(whole, s.group, every)
	}
	if s.align == 0 {
		s.align = '>'
	}
	return s.pad(whole+tail, sign)
}

func grouped(n, every int) int { return n + (n-1)/every }

func groupDigits(d string, sep byte, every int) string {
	var b strings.Builder
	for i := range len(d) {
		if i > 0 && (len(d)-i)%every == 0 {
			b.WriteByte(sep)
		}
		b.WriteByte(d[i])
	}
	return b.String()
}

func formatFloat(f float64, s *spec, typ string) (string, error) {
	neg := math.Signbit(f) && !math.IsNaN(f)
	a := math.Abs(f)
	var t string
	switch s.verb {
	case 'e', 'E', 'f', 'F', 'g', 'G':
		p := s.prec
		if p < 0 {
			p = 6
		}
		t = floatDigits(a, s.verb, p, s.alt)
	case '%':
		p := s.prec
		if p < 0 {
			p = 6
		}
		t = floatDigits(a*100, 'f', p, s.alt) + "%"
	case 'n':
		p := s.prec
		if p < 0 {
			p = 6
		}
		t = floatDigits(a, 'g', p, s.alt)
	case 0:
		if s.prec < 0 {
			t = FloatText(a)
		} else {
			p := max(s.prec, 1)
			t = floatDigits(a, 'g', p, s.alt)
			if e := strconv.FormatFloat(a, 'e', p-1, 64); !strings.Contains(t, "e") && !math.IsInf(a, 0) && !math.IsNaN(a) {
				if exp, _ := strconv.Atoi(e[strings.IndexByte(e, 'e')+1:]); exp >= p-1 && exp >= p {
					t = e
				} else if !strings.Contains(t, ".") {
					t += ".0"
				}
			}
		}
	default:
		return "", unknownCode(s.verb, typ)
	}
	end := 0
	for end < len(t) && t[end] >= '0' && t[end] <= '9' {
		end++
	}
	return s.number(t[:end], t[end:], s.signOf(neg), 3), nil
}
