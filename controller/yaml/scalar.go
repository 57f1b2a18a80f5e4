package yaml

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"volant/wire/rx"
	"volant/wire/value"
)

// Tags of YAML's core types, in go-yaml's short form.
const (
	tagNull      = "!!null"
	tagBool      = "!!bool"
	tagInt       = "!!int"
	tagFloat     = "!!float"
	tagTimestamp = "!!timestamp"
	tagStr       = "!!str"
	tagMerge     = "!!merge"
	tagValue     = "!!value"
	tagBinary    = "!!binary"
	tagMap       = "!!map"
	tagSeq       = "!!seq"
	tagSet       = "!!set"
	tagOmap      = "!!omap"
	tagPairs     = "!!pairs"
)

// The patterns by which PyYAML tells plain scalars apart (yaml/resolver.py).
var (
	floatPattern = rx.Lazy(`^(?:[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+][0-9]+)?` +
		`|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?` +
		`|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*` +
		`|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
	intPattern = rx.Lazy(`^(?:[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)` +
		`|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$`)
	timestampPattern = rx.Lazy(`^(?:[0-9]{4}-[0-9]{2}-[0-9]{2}` +
		`|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?` +
		`(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?)$`)
	timestampParts = rx.Lazy(`^([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})` +
		`(?:(?:[Tt]|[ \t]+)([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]*))?` +
		`(?:[ \t]*(Z|([-+])([0-9]{1,2})(?::([0-9]{2}))?))?)?$`)
)

// resolvePlain returns the tag of a plain scalar.
func resolvePlain(s string) string {
	if s == "" {
		return tagNull
	}
	switch s[0] {
	case 'y', 'Y', 'n', 'N', 't', 'T', 'f', 'F', 'o', 'O':
		if _, ok := boolWords[s]; ok {
			return tagBool
		}
		switch s {
		case "null", "Null", "NULL":
			return tagNull
		}
	case '~':
		if s == "~" {
			return tagNull
		}
	case '<':
		if s == "<<" {
			return tagMerge
		}
	case '=':
		if s == "=" {
			return tagValue
		}
	case '-', '+', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		switch {
		case floatPattern.MatchString(s):
			return tagFloat
		case s[0] == '.':
		case intPattern.MatchString(s):
			return tagInt
		case s[0] >= '0' && s[0] <= '9' && timestampPattern.MatchString(s):
			return tagTimestamp
		}
	}
	return tagStr
}

// boolWords are the plain scalars that are bools; as an explicit !!bool any
// mix of cases is.
var boolWords = map[string]bool{
	"yes": true, "Yes": true, "YES": true, "no": false, "No": false, "NO": false,
	"true": true, "True": true, "TRUE": true, "false": false, "False": false, "FALSE": false,
	"on": true, "On": true, "ON": true, "off": false, "Off": false, "OFF": false,
}

// errScalar marks a scalar that its tag's type cannot read; PyYAML raises the
// constructor's own exception there, which has no place.
var errScalar = errors.New("scalar")

type scalarError struct{ msg string }

func (e scalarError) Error() string        { return e.msg }
func (e scalarError) Is(target error) bool { return target == errScalar }

func makeBool(s string) (any, error) {
	if b, ok := boolWords[strings.ToLower(s)]; ok {
		return b, nil
	}
	return nil, scalarError{"'" + strings.ToLower(s) + "'"}
}

func invalidInt(base int, s string) error {
	return scalarError{fmt.Sprintf("invalid literal for int() with base %d: %s", base, value.Repr(s))}
}

func makeInt(text string) (any, error) {
	s := strings.ReplaceAll(text, "_", "")
	if s == "" {
		return nil, scalarError{"string index out of range"}
	}
	neg := s[0] == '-'
	if s[0] == '-' || s[0] == '+' {
		s = s[1:]
	}
	switch {
	case s == "":
		return nil, scalarError{"string index out of range"}
	case s == "0":
		return int64(0), nil
	case strings.HasPrefix(s, "0b"):
		return parseInt(s[2:], 2, neg)
	case strings.HasPrefix(s, "0x"):
		return parseInt(s[2:], 16, neg)
	case s[0] == '0':
		return parseInt(s, 8, neg)
	case strings.Contains(s, ":"):
		total := new(big.Int)
		for _, part := range strings.Split(s, ":") {
			n, ok := new(big.Int).SetString(part, 10)
			if !ok {
				return nil, invalidInt(10, part)
			}
			total.Mul(total, big.NewInt(60)).Add(total, n)
		}
		if neg {
			total.Neg(total)
		}
		return shrink(total), nil
	}
	return parseInt(s, 10, neg)
}

func parseInt(s string, base int, neg bool) (any, error) {
	s = strings.TrimSpace(s)
	n, ok := new(big.Int).SetString(s, base)
	if !ok || strings.ContainsAny(s, "+-") {
		return nil, invalidInt(base, s)
	}
	if neg {
		n.Neg(n)
	}
	return shrink(n), nil
}

func shrink(n *big.Int) any {
	if n.IsInt64() {
		return n.Int64()
	}
	return n
}

func makeFloat(text string) (any, error) {
	s := strings.ToLower(strings.ReplaceAll(text, "_", ""))
	if s == "" {
		return nil, scalarError{"string index out of range"}
	}
	sign := 1.0
	if s[0] == '-' {
		sign = -1
	}
	if s[0] == '-' || s[0] == '+' {
		s = s[1:]
	}
	switch {
	case s == ".inf":
		return sign * math.Inf(1), nil
	case s == ".nan":
		return math.NaN(), nil
	case strings.Contains(s, ":"):
		total := 0.0
		for _, part := range strings.Split(s, ":") {
			f, err := parseFloat(part)
			if err != nil {
				return nil, err
			}
			total = total*60 + f
		}
		return sign * total, nil
	}
	f, err := parseFloat(s)
	if err != nil {
		return nil, err
	}
	return sign * f, nil
}

func parseFloat(s string) (float64, error) {
	t := strings.TrimSpace(s)
	if t == "" || strings.ContainsAny(t, "xXpP_") {
		return 0, scalarError{"could not convert string to float: " + value.Repr(s)}
	}
	f, err := strconv.ParseFloat(t, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, scalarError{"could not convert string to float: " + value.Repr(s)}
	}
	return f, nil
}

func makeBinary(s string) ([]byte, error) {
	// Python drops what is not in the alphabet.
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '+', r == '/', r == '=':
			return r
		}
		return -1
	}, s)
	if b, err := base64.StdEncoding.DecodeString(clean); err == nil {
		return b, nil
	}
	if n := len(strings.TrimRight(clean, "=")); n%4 == 1 {
		return nil, fmt.Errorf("Invalid base64-encoded string: number of data characters (%d) cannot be 1 more than a multiple of 4", n) //nolint:staticcheck // Python's text
	}
	return nil, errors.New("Incorrect padding") //nolint:staticcheck // Python's text
}

func makeTimestamp(s string) (any, error) {
	m := timestampParts.FindStringSubmatch(s)
	if m == nil {
		return nil, scalarError{"'NoneType' object has no attribute 'groupdict'"}
	}
	num := func(i int) int { n, _ := strconv.Atoi(m[i]); return n }
	year, month, day := num(1), num(2), num(3)
	switch {
	case year < 1:
		return nil, scalarError{"year 0 is out of range"}
	case month < 1 || month > 12:
		return nil, scalarError{"month must be in 1..12"}
	case day < 1 || day > time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day():
		return nil, scalarError{"day is out of range for month"}
	case m[4] == "":
		return value.NewDate(year, month, day), nil
	case num(4) > 23:
		return nil, scalarError{"hour must be in 0..23"}
	case num(5) > 59:
		return nil, scalarError{"minute must be in 0..59"}
	case num(6) > 59:
		return nil, scalarError{"second must be in 0..59"}
	}
	micro, _ := strconv.Atoi((m[7] + "000000")[:6])
	zone := value.Naive
	switch {
	case m[9] != "":
		offset := num(10)*3600 + num(11)*60
		if m[9] == "-" {
			offset = -offset
		}
		if offset == 0 {
			zone = time.UTC
		} else {
			zone = time.FixedZone("", offset)
		}
	case m[8] != "":
		zone = time.UTC
	}
	return time.Date(year, time.Month(month), day, num(4), num(5), num(6), micro*1000, zone), nil
}
