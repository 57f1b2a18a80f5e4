package value

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

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
	case string, *Template, Markup:
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
