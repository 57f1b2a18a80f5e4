package main

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"volant/wire/pyjson"
	"volant/wire/value"
)

// tomlText writes a document of tables as TOML: plain values first, then the
// tables below, each under its own heading.
func tomlText(d *value.Dict) (string, error) {
	var b strings.Builder
	if err := tomlTable(&b, d, ""); err != nil {
		return "", err
	}
	return b.String(), nil
}

func tomlKey(k any) string {
	s := value.Str(k)
	bare := s != ""
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-') {
			bare = false
		}
	}
	if bare {
		return s
	}
	return tomlString(s)
}

func tomlTable(b *strings.Builder, d *value.Dict, name string) error {
	var tables []int
	plain := 0
	for i := range d.Len() {
		if _, v := d.At(i); isTable(v) {
			tables = append(tables, i)
		} else {
			plain++
		}
	}
	if name != "" && (plain > 0 || len(tables) == 0) {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("[" + name + "]\n")
	}
	for k, v := range d.All() {
		if isTable(v) {
			continue
		}
		text, err := tomlValue(v)
		if err != nil {
			return err
		}
		b.WriteString(tomlKey(k) + " = " + text + "\n")
	}
	for _, i := range tables {
		k, v := d.At(i)
		full := tomlKey(k)
		if name != "" {
			full = name + "." + full
		}
		if err := tomlTable(b, v.(*value.Dict), full); err != nil {
			return err
		}
	}
	return nil
}

func isTable(v any) bool {
	_, ok := v.(*value.Dict)
	return ok
}

func tomlValue(v any) (string, error) {
	switch v := v.(type) {
	case bool:
		return fmt.Sprint(v), nil
	case int64:
		return fmt.Sprint(v), nil
	case *big.Int:
		return v.String(), nil
	case float64:
		return pyjson.FloatRepr(v), nil
	case string:
		return tomlString(v), nil
	case *value.Template:
		return tomlString(v.Text), nil
	case time.Time:
		return value.FormatTime(v, " "), nil
	case value.Date, value.TimeOfDay:
		return value.Str(v), nil
	case *value.List:
		if len(v.Items) == 0 {
			return "[]", nil
		}
		var b strings.Builder
		b.WriteString("[\n")
		for _, e := range v.Items {
			text, err := tomlValue(e)
			if err != nil {
				return "", err
			}
			b.WriteString("    " + strings.ReplaceAll(text, "\n", "\n    ") + ",\n")
		}
		return b.String() + "]", nil
	case *value.Dict:
		if v.Len() == 0 {
			return "{}", nil
		}
		var parts []string
		for k, e := range v.All() {
			text, err := tomlValue(e)
			if err != nil {
				return "", err
			}
			parts = append(parts, tomlKey(k)+" = "+text)
		}
		return "{ " + strings.Join(parts, ", ") + " }", nil
	}
	return "", plainError("Object of type '%s' is not TOML serializable", value.TypeName(v))
}

func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\b':
			b.WriteString(`\b`)
		case r == '\f':
			b.WriteString(`\f`)
		case r < 0x20 && r != '\t' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}
