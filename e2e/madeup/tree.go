package madeup

import (
	"fmt"
	"strconv"
	"strings"

	"volant/wire/rx"
)

// Map is a YAML mapping that keeps its order. Keys may repeat.
type Map struct{ Items []Entry }

// Entry is one key of a Map with its value.
type Entry struct {
	Key   string
	Value any
}

// List is a YAML sequence.
type List struct{ Items []any }

// Raw is a scalar written as it is, tags and all.
type Raw string

// M makes a Map of key, value, key, value...
func M(kv ...any) *Map {
	m := &Map{}
	for i := 0; i+1 < len(kv); i += 2 {
		m.Set(kv[i].(string), kv[i+1])
	}
	return m
}

// L makes a List.
func L(items ...any) *List { return &List{items} }

// Set puts or replaces a key.
func (m *Map) Set(key string, v any) *Map {
	for i := range m.Items {
		if m.Items[i].Key == key {
			m.Items[i].Value = v
			return m
		}
	}
	m.Items = append(m.Items, Entry{key, v})
	return m
}

// Has tells whether there is the key.
func (m *Map) Has(key string) bool {
	for _, e := range m.Items {
		if e.Key == key {
			return true
		}
	}
	return false
}

// Add appends items.
func (l *List) Add(items ...any) *List {
	l.Items = append(l.Items, items...)
	return l
}

var (
	plainText = rx.Lazy(`^[A-Za-z_][A-Za-z0-9_ ./-]*[A-Za-z0-9_./-]$|^[a-zA-Z]$`)
	reserved  = map[string]bool{"yes": true, "no": true, "on": true, "off": true, "true": true, "false": true, "null": true, "y": true, "n": true}
)

func scalar(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case Raw:
		return string(v)
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case string:
		if plainText.MatchString(v) && !reserved[strings.ToLower(v)] {
			return v
		}
		if !strings.ContainsAny(v, "\n\t\\'") {
			return "'" + v + "'"
		}
		return strconv.QuoteToASCII(v)
	}
	return fmt.Sprint(v)
}

// block is v as a literal block where it can be one.
func block(v any, indent string) (string, bool) {
	s, ok := v.(string)
	if !ok || !strings.Contains(s, "\n") || strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\n") || strings.ContainsAny(s, "\r\t") {
		return "", false
	}
	head, body := "|", strings.TrimSuffix(s, "\n")
	if body == s {
		head = "|-"
	}
	if strings.HasSuffix(body, "\n") {
		return "", false
	}
	return " " + head + "\n" + indent + "  " + strings.ReplaceAll(body, "\n", "\n"+indent+"  ") + "\n", true
}

func write(b *strings.Builder, v any, indent string) {
	switch v := v.(type) {
	case *Map:
		for i, e := range v.Items {
			if i > 0 {
				b.WriteString(indent)
			}
			b.WriteString(scalar(e.Key) + ":")
			writeValue(b, e.Value, indent)
		}
	case *List:
		for i, e := range v.Items {
			if i > 0 {
				b.WriteString(indent)
			}
			b.WriteString("-")
			switch e := e.(type) {
			case *Map:
				if len(e.Items) > 0 {
					b.WriteString(" ")
					write(b, e, indent+"  ")
					continue
				}
			case *List:
				if len(e.Items) > 0 {
					b.WriteString(" ")
					write(b, e, indent+"  ")
					continue
				}
			}
			writeValue(b, e, indent)
		}
	}
}

func writeValue(b *strings.Builder, v any, indent string) {
	switch v := v.(type) {
	case *Map:
		if len(v.Items) == 0 {
			b.WriteString(" {}\n")
			return
		}
		b.WriteString("\n" + indent + "  ")
		write(b, v, indent+"  ")
	case *List:
		if len(v.Items) == 0 {
			b.WriteString(" []\n")
			return
		}
		b.WriteString("\n" + indent + "  ")
		write(b, v, indent+"  ")
	default:
		if s, ok := block(v, indent); ok {
			b.WriteString(s)
			return
		}
		b.WriteString(" " + scalar(v) + "\n")
	}
}

// YAML is v as a document.
func YAML(v any) string {
	var b strings.Builder
	b.WriteString("---\n")
	switch x := v.(type) {
	case *Map:
		if len(x.Items) == 0 {
			return "---\n{}\n"
		}
		write(&b, v, "")
	case *List:
		if len(x.Items) == 0 {
			return "---\n[]\n"
		}
		write(&b, v, "")
	default:
		b.WriteString(scalar(v) + "\n")
	}
	return b.String()
}

// clone is a deep copy of a tree.
func clone(v any) any {
	switch v := v.(type) {
	case *Map:
		m := &Map{Items: make([]Entry, len(v.Items))}
		for i, e := range v.Items {
			m.Items[i] = Entry{e.Key, clone(e.Value)}
		}
		return m
	case *List:
		l := &List{Items: make([]any, len(v.Items))}
		for i, e := range v.Items {
			l.Items[i] = clone(e)
		}
		return l
	}
	return v
}
