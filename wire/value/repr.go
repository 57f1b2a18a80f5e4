package value

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Str is Python's str(v). Text of either kind is itself, unrendered.
func Str(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case *Template:
		return v.Text
	case Markup:
		return string(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case time.Time:
		return FormatTime(v, " ")
	case Date:
		return v.String()
	case TimeOfDay:
		return v.String()
	case time.Duration:
		return deltaText(v)
	case interface{ Text() string }:
		return v.Text()
	}
	return Repr(v)
}

// String is Python's isoformat.
func (t TimeOfDay) String() string {
	s := fmt.Sprintf("%02d:%02d:%02d", t.Hour, t.Minute, t.Second)
	if t.Microsecond != 0 {
		s += fmt.Sprintf(".%06d", t.Microsecond)
	}
	return s
}

// Repr is Python's repr(v).
func Repr(v any) string { return string(AppendRepr(nil, v)) }

// AppendRepr appends Python's repr(v) to b.
func AppendRepr(b []byte, v any) []byte { return appendRepr(b, v, nil) }

// chain is the containers being printed, innermost first: what is met again
// inside itself prints as [...] or {...}.
type chain struct {
	at   any
	up   *chain
	deep int
}

func (c *chain) holds(v any) bool {
	for ; c != nil; c = c.up {
		if c.at == v {
			return true
		}
	}
	return false
}

func (c *chain) push(v any) *chain {
	n := &chain{at: v, up: c, deep: 1}
	if c != nil {
		n.deep = c.deep + 1
	}
	return n
}

func appendRepr(b []byte, v any, in *chain) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "None"...)
	case bool:
		if v {
			return append(b, "True"...)
		}
		return append(b, "False"...)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case *big.Int:
		return v.Append(b, 10)
	case float64:
		return appendFloat(b, v)
	case string:
		return appendStrRepr(b, v)
	case *Template:
		return appendStrRepr(b, v.Text)
	case Markup:
		return append(appendStrRepr(append(b, "Markup("...), string(v)), ')')
	case []byte:
		return appendBytesRepr(b, v)
	case *List:
		if in.holds(v) || in != nil && in.deep > MaxDepth {
			return append(b, "[...]"...)
		}
		return append(appendItems(append(b, '['), v.Items, in.push(v)), ']')
	case Tuple:
		if in != nil && in.deep > MaxDepth {
			return append(b, "(...)"...)
		}
		b = appendItems(append(b, '('), v, in.push(nil))
		if len(v) == 1 {
			b = append(b, ',')
		}
		return append(b, ')')
	case *Set:
		if v.Len() == 0 {
			return append(b, "set()"...)
		}
		return append(appendItems(append(b, '{'), v.Items(), in.push(v)), '}')
	case *Dict:
		if in.holds(v) || in != nil && in.deep > MaxDepth {
			return append(b, "{...}"...)
		}
		b = append(b, '{')
		inner := in.push(v)
		first := true
		for k, e := range v.All() {
			if !first {
				b = append(b, ", "...)
			}
			first = false
			b = append(appendRepr(b, k, inner), ": "...)
			b = appendRepr(b, e, inner)
		}
		return append(b, '}')
	case time.Time:
		return append(b, timeRepr(v)...)
	case Date:
		return fmt.Appendf(b, "datetime.date(%d, %d, %d)", v.Year, v.Month, v.Day)
	case TimeOfDay:
		b = fmt.Appendf(b, "datetime.time(%d, %d", v.Hour, v.Minute)
		if v.Second != 0 || v.Microsecond != 0 {
			b = fmt.Appendf(b, ", %d", v.Second)
		}
		if v.Microsecond != 0 {
			b = fmt.Appendf(b, ", %d", v.Microsecond)
		}
		return append(b, ')')
	case time.Duration:
		return append(b, deltaRepr(v)...)
	case Omitted:
		return append(b, "<<Omit>>"...)
	case *Undefined:
		return append(b, "Undefined"...)
	case *Vault:
		return appendStrRepr(b, v.Ciphertext)
	case interface{ Text() string }:
		return append(b, v.Text()...)
	}
	return fmt.Appendf(b, "<%s object>", TypeName(v))
}

func appendItems(b []byte, items []any, in *chain) []byte {
	for i, e := range items {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = appendRepr(b, e, in)
	}
	return b
}

// FloatText is Python's repr of a float: the shortest text that reads back,
// with an exponent from 1e16 on and below 1e-4.
func FloatText(f float64) string { return string(appendFloat(nil, f)) }

func appendFloat(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, "nan"...)
	case math.IsInf(f, 1):
		return append(b, "inf"...)
	case math.IsInf(f, -1):
		return append(b, "-inf"...)
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.AppendFloat(b, f, 'e', -1, 64)
	}
	n := len(b)
	b = strconv.AppendFloat(b, f, 'f', -1, 64)
	for _, c := range b[n:] {
		if c == '.' {
			return b
		}
	}
	return append(b, ".0"...)
}

const hexDigits = "0123456789abcdef"

func appendStrRepr(b []byte, s string) []byte {
	quote := byte('\'')
	if strings.IndexByte(s, '\'') >= 0 && strings.IndexByte(s, '"') < 0 {
		quote = '"'
	}
	b = append(b, quote)
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case c == quote || c == '\\':
				b = append(b, '\\', c)
			case c == '\n':
				b = append(b, `\n`...)
			case c == '\r':
				b = append(b, `\r`...)
			case c == '\t':
				b = append(b, `\t`...)
			case c < 0x20 || c == 0x7f:
				b = append(b, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
			default:
				b = append(b, c)
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1: // an undecodable byte, as Python's surrogateescape shows it
			b = fmt.Appendf(b, `\udc%02x`, c)
		case unicode.IsPrint(r):
			b = append(b, s[i:i+n]...)
		case r < 0x100:
			b = fmt.Appendf(b, `\x%02x`, r)
		case r < 0x10000:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = fmt.Appendf(b, `\U%08x`, r)
		}
		i += n
	}
	return append(b, quote)
}

func appendBytesRepr(b, s []byte) []byte {
	quote := byte('\'')
	if strings.IndexByte(string(s), '\'') >= 0 && strings.IndexByte(string(s), '"') < 0 {
		quote = '"'
	}
	b = append(b, 'b', quote)
	for _, c := range s {
		switch {
		case c == quote || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < 0x20 || c >= 0x7f:
			b = append(b, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, quote)
}

func timeRepr(t time.Time) string {
	s := fmt.Sprintf("datetime.datetime(%d, %d, %d, %d, %d", t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute())
	us := t.Nanosecond() / 1000
	if t.Second() != 0 || us != 0 {
		s += fmt.Sprintf(", %d", t.Second())
	}
	if us != 0 {
		s += fmt.Sprintf(", %d", us)
	}
	if !IsNaive(t) {
		if _, off := t.Zone(); off == 0 {
			s += ", tzinfo=datetime.timezone.utc"
		} else {
			s += ", tzinfo=datetime.timezone(" + deltaRepr(time.Duration(off)*time.Second) + ")"
		}
	}
	return s + ")"
}

// deltaParts splits d as Python's timedelta does: days may be negative, the
// rest is not.
func deltaParts(d time.Duration) (days, secs, micros int64) {
	us := d.Microseconds()
	const day = 86400 * 1e6
	days = us / day
	rest := us % day
	if rest < 0 {
		days--
		rest += day
	}
	return days, rest / 1e6, rest % 1e6
}

// DeltaParts are the days, seconds and microseconds attributes of a timedelta.
func DeltaParts(d time.Duration) (days, secs, micros int64) { return deltaParts(d) }

func deltaText(d time.Duration) string {
	days, secs, us := deltaParts(d)
	var s string
	if days != 0 {
		s = fmt.Sprintf("%d day", days)
		if days != 1 && days != -1 {
			s += "s"
		}
		s += ", "
	}
	s += fmt.Sprintf("%d:%02d:%02d", secs/3600, secs/60%60, secs%60)
	if us != 0 {
		s += fmt.Sprintf(".%06d", us)
	}
	return s
}

func deltaRepr(d time.Duration) string {
	days, secs, us := deltaParts(d)
	var parts []string
	if days != 0 {
		parts = append(parts, fmt.Sprintf("days=%d", days))
	}
	if secs != 0 {
		parts = append(parts, fmt.Sprintf("seconds=%d", secs))
	}
	if us != 0 {
		parts = append(parts, fmt.Sprintf("microseconds=%d", us))
	}
	if parts == nil {
		return "datetime.timedelta(0)"
	}
	return "datetime.timedelta(" + strings.Join(parts, ", ") + ")"
}
