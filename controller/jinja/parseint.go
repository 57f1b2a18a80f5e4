package jinja

import (
	"math/big"
	"strings"
	"unicode"

	"volant/wire/value"
)

// ParseInt is Python's int(s, base).
func ParseInt(s string, base int) (any, error) {
	if base != 0 && (base < 2 || base > 36) {
		return nil, value.ValueErrorf("int() base must be >= 2 and <= 36, or 0")
	}
	bad := value.ValueErrorf("invalid literal for int() with base %d: %s", base, value.Repr(s))
	t := strings.TrimFunc(s, pySpace)
	neg := false
	if t != "" && (t[0] == '-' || t[0] == '+') {
		neg = t[0] == '-'
		t = t[1:]
	}
	prefix := 0
	if len(t) > 1 && t[0] == '0' {
		prefix = map[byte]int{'x': 16, 'o': 8, 'b': 2}[t[1]|0x20]
	}
	switch {
	case prefix != 0 && (base == prefix || base == 0):
		t, base = strings.TrimPrefix(t[2:], "_"), prefix
	case base == 0:
		base = 10
		if len(t) > 1 && t[0] == '0' && strings.Trim(t, "0_") != "" {
			return nil, bad
		}
	}
	var b strings.Builder
	under := true // an underscore is only allowed between digits
	for _, r := range t {
		if r == '_' {
			if under {
				return nil, bad
			}
			under = true
			continue
		}
		under = false
		if r >= 0x80 && unicode.IsDigit(r) {
			r = '0' + digitValue(r)
		}
		b.WriteRune(r)
	}
	digits := b.String()
	if digits == "" || under || digits[0] == '+' || digits[0] == '-' {
		return nil, bad
	}
	if len(digits) > 4300 && base&(base-1) != 0 {
		return nil, value.ValueErrorf("Exceeds the limit (4300 digits) for integer string conversion: value has %d digits; use sys.set_int_max_str_digits() to increase the limit", len(digits))
	}
	if len(digits) > value.MaxBits {
		return nil, value.Raise("OverflowError", "integer would exceed the limit of %d bits", value.MaxBits)
	}
	n, ok := new(big.Int).SetString(digits, base)
	if !ok {
		return nil, bad
	}
	if neg {
		n.Neg(n)
	}
	return value.Int(n), nil
}

// digitValue is the value of a decimal digit of any script: digits come in
// runs of ten.
func digitValue(r rune) rune {
	n := rune(0)
	for n < 9 && unicode.IsDigit(r-n-1) {
		n++
	}
	return n
}
