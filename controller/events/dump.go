package events

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"volant/wire/value"
)

// Dump writes v as Python's json.dumps with ensure_ascii off: indent spaces a
// level, or one line when negative. With sort, keys are in order.
func Dump(v any, indent int, sort bool) string {
	var b strings.Builder
	dumper{b: &b, indent: indent, sort: sort}.write(v, 0)
	return b.String()
}

type dumper struct {
	b      *strings.Builder
	indent int
	sort   bool
}

// maxDump bounds the depth of what is written.
const maxDump = 200

func (d dumper) newline(depth int) {
	if d.indent >= 0 {
		d.b.WriteByte('\n')
		d.b.WriteString(strings.Repeat(" ", d.indent*depth))
	}
}

func (d dumper) comma(depth int) {
	if d.indent >= 0 {
		d.b.WriteByte(',')
		d.newline(depth)
		return
	}
	d.b.WriteString(", ")
}

func (d dumper) write(v any, depth int) {
	if depth > maxDump {
		d.b.WriteString(`"..."`)
		return
	}
	switch v := v.(type) {
	case nil:
		d.b.WriteString("null")
	case bool:
		d.b.WriteString(strconv.FormatBool(v))
	case int64:
		d.b.WriteString(strconv.FormatInt(v, 10))
	case int:
		d.b.WriteString(strconv.Itoa(v))
	case *big.Int:
		d.b.WriteString(v.String())
	case float64:
		d.b.WriteString(floatText(v))
	case string:
		quote(d.b, v)
	case *value.Template:
		quote(d.b, v.Text)
	case []byte:
		quote(d.b, string(v))
	case *value.List:
		d.list(v.Items, depth)
	case value.Tuple:
		d.list(v, depth)
	case *value.Set:
		d.list(v.Items(), depth)
	case *value.Dict:
		d.dict(v, depth)
	case value.Omitted:
		quote(d.b, "<<Omit>>")
	case *value.Undefined:
		quote(d.b, v.Hint)
	case *value.Vault:
		if s, err := v.Decrypt(); err == nil {
			quote(d.b, s)
			return
		}
		quote(d.b, v.Ciphertext)
	case time.Time:
		quote(d.b, v.Format("2006-01-02T15:04:05"))
	case interface{ String() string }:
		quote(d.b, v.String())
	default:
		quote(d.b, "<object>")
	}
}

func (d dumper) list(items []any, depth int) {
	if len(items) == 0 {
		d.b.WriteString("[]")
		return
	}
	d.b.WriteByte('[')
	d.newline(depth + 1)
	for i, e := range items {
		if i > 0 {
			d.comma(depth + 1)
		}
		d.write(e, depth+1)
	}
	d.newline(depth)
	d.b.WriteByte(']')
}

func (d dumper) dict(v *value.Dict, depth int) {
	if v.Len() == 0 {
		d.b.WriteString("{}")
		return
	}
	type entry struct {
		key string
		val any
	}
	entries := make([]entry, 0, v.Len())
	for k, e := range v.All() {
		entries = append(entries, entry{keyText(k), e})
	}
	if d.sort {
		slices.SortStableFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	}
	d.b.WriteByte('{')
	d.newline(depth + 1)
	for i, e := range entries {
		if i > 0 {
			d.comma(depth + 1)
		}
		quote(d.b, e.key)
		d.b.WriteString(": ")
		d.write(e.val, depth+1)
	}
	d.newline(depth)
	d.b.WriteByte('}')
}

// keyText is a dict key as JSON writes it.
func keyText(k any) string {
	switch k := k.(type) {
	case string:
		return k
	case *value.Template:
		return k.Text
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(k)
	case int64:
		return strconv.FormatInt(k, 10)
	case *big.Int:
		return k.String()
	case float64:
		return floatText(k)
	}
	var b strings.Builder
	dumper{b: &b, indent: -1}.write(k, 0)
	return b.String()
}

// floatText is a float as Python's json writes it.
func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	a := math.Abs(f)
	if a != 0 && (a < 1e-4 || a >= 1e16) {
		s := strconv.FormatFloat(f, 'e', -1, 64)
		return s
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.ContainsRune(s, '.') {
		s += ".0"
	}
	return s
}

const hexDigits = "0123456789abcdef"

// quote writes a JSON string that escapes only what must be. What is no UTF-8
// stays: a display replaces it, and says so.
func quote(b *strings.Builder, s string) {
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\b':
			b.WriteString(`\b`)
		case c == '\f':
			b.WriteString(`\f`)
		case c < 0x20:
			b.WriteString(`\u00`)
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
}
