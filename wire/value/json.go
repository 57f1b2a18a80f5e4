package value

import (
	"math"
	"math/big"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// JSONStyle says how EncodeJSON writes, as Python's json.dumps does.
type JSONStyle struct {
	Indent     int    // < 0: one line
	IndentText string // instead of Indent spaces
	Item       string // separator of items; "" means ", ", or "," when indented
	Key        string // separator of key and value; "" means ": "
	SortKeys   bool
	Raw        bool // ensure_ascii=False
	NoNaN      bool // allow_nan=False
	SkipKeys   bool
	// Default gives what to write for a value JSON has no form of.
	Default func(v any) (any, error)
}

// EncodeJSON is Python's json.dumps(v) in the given style. Unrendered text is
// written as it stands.
func EncodeJSON(v any, style JSONStyle) (string, error) {
	e := jsonEncoder{style: style}
	if e.style.Key == "" {
		e.style.Key = ": "
	}
	e.indented = style.Indent >= 0 || style.IndentText != ""
	if e.style.IndentText == "" && style.Indent > 0 {
		e.style.IndentText = strings.Repeat(" ", min(style.Indent, 256))
	}
	if e.style.Item == "" {
		e.style.Item = ", "
		if e.indented {
			e.style.Item = ","
		}
	}
	if err := e.value(v, nil); err != nil {
		return "", err
	}
	return string(e.b), nil
}

type jsonEncoder struct {
	style    JSONStyle
	indented bool
	b        []byte
}

func (e *jsonEncoder) newline(depth int) {
	if e.indented {
		e.b = append(e.b, '\n')
		for range depth {
			e.b = append(e.b, e.style.IndentText...)
		}
	}
}

func (e *jsonEncoder) value(v any, in *chain) error {
	depth := 0
	if in != nil {
		depth = in.deep
	}
	if depth > MaxDepth {
		return errDepth()
	}
	if len(e.b) > MaxText {
		return errText()
	}
	switch v := v.(type) {
	case nil:
		e.b = append(e.b, "null"...)
	case bool:
		e.b = strconv.AppendBool(e.b, v)
	case int64:
		e.b = strconv.AppendInt(e.b, v, 10)
	case int:
		e.b = strconv.AppendInt(e.b, int64(v), 10)
	case *big.Int:
		e.b = v.Append(e.b, 10)
	case float64:
		t, err := e.float(v)
		if err != nil {
			return err
		}
		e.b = append(e.b, t...)
	case string:
		e.text(v)
	case *Template:
		e.text(v.Text)
	case Markup:
		e.text(string(v))
	case *List:
		if in.holds(v) {
			return ValueErrorf("Circular reference detected")
		}
		return e.items(v.Items, in.push(v), depth)
	case Tuple:
		return e.items(v, in.push(nil), depth)
	case *Dict:
		if in.holds(v) {
			return ValueErrorf("Circular reference detected")
		}
		return e.dict(v, in.push(v), depth)
	default:
		if e.style.Default != nil {
			if in.holds(v) {
				return ValueErrorf("Circular reference detected")
			}
			w, err := e.style.Default(v)
			if err != nil {
				return err
			}
			n := in.push(nil)
			n.deep-- // it stands in the place of v, no deeper
			return e.value(w, n)
		}
		return TypeErrorf("Object of type %s is not JSON serializable", TypeName(v))
	}
	return nil
}

func (e *jsonEncoder) float(f float64) (string, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		if e.style.NoNaN {
			return "", ValueErrorf("Out of range float values are not JSON compliant")
		}
		switch {
		case math.IsNaN(f):
			return "NaN", nil
		case f > 0:
			return "Infinity", nil
		}
		return "-Infinity", nil
	}
	return FloatText(f), nil
}

func (e *jsonEncoder) items(items []any, in *chain, depth int) error {
	if len(items) == 0 {
		e.b = append(e.b, "[]"...)
		return nil
	}
	e.b = append(e.b, '[')
	for i, v := range items {
		if i > 0 {
			e.b = append(e.b, e.style.Item...)
		}
		e.newline(depth + 1)
		if err := e.value(v, in); err != nil {
			return err
		}
	}
	e.newline(depth)
	e.b = append(e.b, ']')
	return nil
}

func (e *jsonEncoder) dict(d *Dict, in *chain, depth int) error {
	if d.Len() == 0 {
		e.b = append(e.b, "{}"...)
		return nil
	}
	order := make([]int, d.Len())
	for i := range order {
		order[i] = i
	}
	if e.style.SortKeys {
		var fail error
		sort.SliceStable(order, func(i, j int) bool {
			a, _ := d.At(order[i])
			b, _ := d.At(order[j])
			less, err := Less(a, b)
			if err != nil && fail == nil {
				fail = err
			}
			return less
		})
		if fail != nil {
			return fail
		}
	}
	e.b = append(e.b, '{')
	first := true
	for _, i := range order {
		k, v := d.At(i)
		key, err := e.key(k)
		if err != nil {
			if e.style.SkipKeys {
				continue
			}
			return err
		}
		if !first {
			e.b = append(e.b, e.style.Item...)
		}
		first = false
		e.newline(depth + 1)
		e.text(key)
		e.b = append(e.b, e.style.Key...)
		if err := e.value(v, in); err != nil {
			return err
		}
	}
	if !first {
		e.newline(depth)
	}
	e.b = append(e.b, '}')
	return nil
}

func (e *jsonEncoder) key(k any) (string, error) {
	switch k := k.(type) {
	case string:
		return k, nil
	case *Template:
		return k.Text, nil
	case Markup:
		return string(k), nil
	case nil:
		return "null", nil
	case bool:
		return strconv.FormatBool(k), nil
	case int64, int, *big.Int:
		return Str(k), nil
	case float64:
		return e.float(k)
	}
	return "", TypeErrorf("keys must be str, int, float, bool or None, not %s", TypeName(k))
}

func (e *jsonEncoder) text(s string) {
	e.b = append(e.b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case c == '"' || c == '\\':
				e.b = append(e.b, '\\', c)
			case c == '\n':
				e.b = append(e.b, `\n`...)
			case c == '\r':
				e.b = append(e.b, `\r`...)
			case c == '\t':
				e.b = append(e.b, `\t`...)
			case c == '\b':
				e.b = append(e.b, `\b`...)
			case c == '\f':
				e.b = append(e.b, `\f`...)
			case c < 0x20:
				e.b = append(e.b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			default:
				e.b = append(e.b, c)
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			if e.style.Raw {
				e.b = append(e.b, c)
			} else {
				e.unicode(0xdc00 + rune(c))
			}
		case e.style.Raw:
			e.b = append(e.b, s[i:i+n]...)
		case r >= 0x10000:
			r -= 0x10000
			e.unicode(0xd800 + r>>10)
			e.unicode(0xdc00 + r&0x3ff)
		default:
			e.unicode(r)
		}
		i += n
	}
	e.b = append(e.b, '"')
}

func (e *jsonEncoder) unicode(r rune) {
	e.b = append(e.b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}
