package main

import (
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"volant/wire/pyjson"
	"volant/wire/value"
)

// jsonStyle is a way to write JSON.
type jsonStyle struct {
	ascii bool // escape what is not ASCII
}

// indentedJSON is Python's json.dumps(v, indent=4, sort_keys=True) with the
// reference's forms of encrypted text and dates.
func indentedJSON(v any, style jsonStyle) string {
	var b strings.Builder
	style.write(&b, v, "\n")
	return b.String()
}

// text writes a string.
func (j jsonStyle) text(b *strings.Builder, s string) {
	if j.ascii {
		b.Write(pyjson.AppendString(nil, s))
		return
	}
	b.WriteByte('"')
	for s != "" { // runs of ASCII as pyjson has them, the rest as it is
		n := strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
		if n < 0 {
			n = len(s)
		}
		if n > 0 {
			quoted := pyjson.AppendString(nil, s[:n])
			b.Write(quoted[1 : len(quoted)-1])
			s = s[n:]
			continue
		}
		_, n = utf8.DecodeRuneInString(s)
		b.WriteString(s[:n])
		s = s[n:]
	}
	b.WriteByte('"')
}

func (j jsonStyle) write(b *strings.Builder, v any, indent string) {
	deeper := indent + "    "
	switch v := v.(type) {
	case *value.Dict:
		j.object(b, v, indent)
	case *value.List:
		j.array(b, v.Items, indent)
	case value.Tuple:
		j.array(b, v, indent)
	case *value.Set:
		j.array(b, v.Items(), indent)
	case *value.Vault:
		b.WriteString("{" + deeper + `"__ansible_vault": `)
		j.text(b, v.Ciphertext)
		b.WriteString(indent + "}")
	case string:
		j.text(b, v)
	case *value.Template:
		j.text(b, v.Text)
	case time.Time:
		j.text(b, value.FormatTime(v, "T"))
	case value.Date, value.TimeOfDay:
		j.text(b, value.Str(v))
	case []byte:
		j.text(b, string(v))
	default:
		text, err := pyjson.Encode(v)
		if err != nil {
			text = pyjson.AppendString(nil, value.Str(v))
		}
		b.Write(text)
	}
}

func (j jsonStyle) array(b *strings.Builder, items []any, indent string) {
	if len(items) == 0 {
		b.WriteString("[]")
		return
	}
	deeper := indent + "    "
	for i, e := range items {
		if i == 0 {
			b.WriteString("[" + deeper)
		} else {
			b.WriteString("," + deeper)
		}
		j.write(b, e, deeper)
	}
	b.WriteString(indent + "]")
}

func (j jsonStyle) object(b *strings.Builder, d *value.Dict, indent string) {
	if d.Len() == 0 {
		b.WriteString("{}")
		return
	}
	type entry struct {
		key string
		v   any
	}
	entries := make([]entry, 0, d.Len())
	for k, v := range d.All() {
		key, ok := value.Text(k)
		if !ok {
			text, err := pyjson.Encode(k)
			if key = string(text); err != nil {
				key = value.Str(k)
			}
		}
		entries = append(entries, entry{key, v})
	}
	sort.SliceStable(entries, func(i, j int) bool { return entries[i].key < entries[j].key })
	deeper := indent + "    "
	for i, e := range entries {
		if i == 0 {
			b.WriteString("{" + deeper)
		} else {
			b.WriteString("," + deeper)
		}
		j.text(b, e.key)
		b.WriteString(": ")
		j.write(b, e.v, deeper)
	}
	b.WriteString(indent + "}")
}

// markUnsafe marks the strings below v that the operator did not write, for
// output that is read back as an inventory.
func markUnsafe(v any) any {
	switch v := v.(type) {
	case string:
		return value.DictOf("__ansible_unsafe", v)
	case *value.List:
		out := &value.List{Items: make([]any, len(v.Items))}
		for i, e := range v.Items {
			out.Items[i] = markUnsafe(e)
		}
		return out
	case *value.Dict:
		out := value.NewDict(v.Len())
		for k, e := range v.All() {
			out.Set(k, markUnsafe(e))
		}
		return out
	}
	return v
}
