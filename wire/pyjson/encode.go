package pyjson

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"volant/wire/value"
)

// Append writes v as json.dumps(v) does: ASCII only, ", " and ": " between
// items. Tuples and sets become arrays, bytes strings, datetimes ISO text, and
// Templates their text. Undefined and other values that JSON has no word for
// are an error.
func Append(b []byte, v any) ([]byte, error) { return appendValue(b, v, 0) }

// Encode is Append to a new slice.
func Encode(v any) ([]byte, error) { return Append(nil, v) }

func appendValue(b []byte, v any, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, errors.New("value nested too deep for JSON")
	}
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case *big.Int:
		return v.Append(b, 10), nil
	case float64:
		return appendFloat(b, v), nil
	case string:
		return AppendString(b, v), nil
	case *value.Template:
		return AppendString(b, v.Text), nil
	case []byte:
		return AppendString(b, string(v)), nil
	case time.Time:
		return AppendString(b, value.FormatTime(v, "T")), nil
	case value.Date, value.TimeOfDay:
		return AppendString(b, value.Str(v)), nil
	case *value.List:
		return appendItems(b, v.Items, depth)
	case value.Tuple:
		return appendItems(b, v, depth)
	case *value.Set:
		return appendItems(b, v.Items(), depth)
	case *value.Dict:
		b = append(b, '{')
		first := true
		for k, e := range v.All() {
			if !first {
				b = append(b, ", "...)
			}
			first = false
			key, err := keyText(k)
			if err != nil {
				return nil, err
			}
			b = AppendString(b, key)
			b = append(b, ": "...)
			if b, err = appendValue(b, e, depth+1); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	}
	return nil, fmt.Errorf("value of type %T has no JSON form", v)
}

func appendItems(b []byte, items []any, depth int) ([]byte, error) {
	b = append(b, '[')
	for i, e := range items {
		if i > 0 {
			b = append(b, ", "...)
		}
		var err error
		if b, err = appendValue(b, e, depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// keyText is how json.dumps writes a key that is not a string.
func keyText(k any) (string, error) {
	switch k := k.(type) {
	case string:
		return k, nil
	case *value.Template:
		return k.Text, nil
	case nil:
		return "null", nil
	case bool, int, int64, *big.Int, float64:
		b, err := appendValue(nil, k, 0)
		return string(b), err
	case []byte:
		return string(k), nil
	}
	return "", fmt.Errorf("keys must be str, int, float, bool or None, not %T", k)
}

func appendFloat(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, "NaN"...)
	case math.IsInf(f, 1):
		return append(b, "Infinity"...)
	case math.IsInf(f, -1):
		return append(b, "-Infinity"...)
	}
	return append(b, FloatRepr(f)...)
}

// FloatRepr is Python's repr of a finite float: the shortest digits that read
// back the same, with an exponent below 1e-4 and from 1e16.
func FloatRepr(f float64) string {
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		s := strconv.FormatFloat(f, 'e', -1, 64)
		return s // Go writes at least two exponent digits, as Python does
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.ContainsRune(s, '.') {
		s += ".0"
	}
	return s
}

const hexDigits = "0123456789abcdef"

// AppendString writes s as a JSON string in ASCII.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		if c < utf8.RuneSelf {
			b = appendASCIIEscape(b, c)
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1 && isSurrogate(s[i:]):
			r, n = rune(c&0xF)<<12|rune(s[i+1]&0x3F)<<6|rune(s[i+2]&0x3F), 3
			b = appendU(b, r)
		case r == utf8.RuneError && n == 1:
			b = appendU(b, 0xDC00+rune(c))
		case r > 0xFFFF:
			b = appendU(b, 0xD800+(r-0x10000)>>10)
			b = appendU(b, 0xDC00+(r-0x10000)&0x3FF)
		default:
			b = appendU(b, r)
		}
		i += n
		start = i
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

// isSurrogate reports whether s starts with a surrogate in three bytes, as
// Decode writes those that are not surrogateescape's.
func isSurrogate(s string) bool {
	return len(s) >= 3 && s[0] == 0xED && s[1] >= 0xA0 && s[1] <= 0xBF && s[2]&0xC0 == 0x80
}

func appendASCIIEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	case '\b':
		return append(b, `\b`...)
	case '\f':
		return append(b, `\f`...)
	case 0x7f:
		return append(b, c)
	}
	return appendU(b, rune(c))
}

func appendU(b []byte, r rune) []byte {
	return append(b, '\\', 'u', hexDigits[r>>12&0xF], hexDigits[r>>8&0xF], hexDigits[r>>4&0xF], hexDigits[r&0xF])
}
