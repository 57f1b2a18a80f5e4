package main

import (
	"sort"
	"strings"
	"time"

	"volant/wire/pyjson"
	"volant/wire/value"
)

// indentedJSON is Python's json.dumps(v, indent=4, sort_keys=True) with the
// reference's forms of encrypted text and dates. unsafe marks strings that are
// not operator-written, for output that is read back as an inventory.
func indentedJSON(v any, unsafe bool) string {
	var b strings.Builder
	writeJSON(&b, v, "\n", unsafe)
	return b.String()
}

func writeJSON(b *strings.Builder, v any, indent string, unsafe bool) {
	deeper := indent + "    "
	switch v := v.(type) {
	case *value.Dict:
		writeObject(b, v, indent, unsafe)
	case *value.List:
		writeArray(b, v.Items, indent, unsafe)
	case value.Tuple:
		writeArray(b, v, indent, unsafe)
	case *value.Set:
		writeArray(b, v.Items(), indent, unsafe)
	case *value.Vault:
		b.WriteString("{" + deeper + `"__ansible_vault": `)
		b.Write(pyjson.AppendString(nil, v.Ciphertext))
		b.WriteString(indent + "}")
	case string:
		if unsafe {
			b.WriteString("{" + deeper + `"__ansible_unsafe": `)
			b.Write(pyjson.AppendString(nil, v))
			b.WriteString(indent + "}")
			return
		}
		b.Write(pyjson.AppendString(nil, v))
	case *value.Template:
		b.Write(pyjson.AppendString(nil, v.Text))
	case time.Time:
		b.Write(pyjson.AppendString(nil, value.FormatTime(v, "T")))
	case value.Date, value.TimeOfDay:
		b.Write(pyjson.AppendString(nil, value.Str(v)))
	case []byte:
		b.Write(pyjson.AppendString(nil, string(v)))
	default:
		text, err := pyjson.Encode(v)
		if err != nil {
			text = pyjson.AppendString(nil, value.Str(v))
		}
		b.Write(text)
	}
}

func writeArray(b *strings.Builder, items []any, indent string, unsafe bool) {
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
		writeJSON(b, e, deeper, unsafe)
	}
	b.WriteString(indent + "]")
}

func writeObject(b *strings.Builder, d *value.Dict, indent string, unsafe bool) {
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
		b.Write(pyjson.AppendString(nil, e.key))
		b.WriteString(": ")
		writeJSON(b, e.v, deeper, unsafe)
	}
	b.WriteString(indent + "}")
}
