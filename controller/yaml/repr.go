package yaml

import (
	"fmt"
	"strings"

	"volant/wire/pyjson"
	"volant/wire/value"
)

// quote is Python's repr of a str without control characters.
func quote(s string) string {
	q := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		q = `"`
	}
	s = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(s)
	if q == "'" {
		s = strings.ReplaceAll(s, "'", `\'`)
	}
	return q + s + q
}

// repr is Python's repr of a mapping's key.
func repr(k any) string {
	switch k := k.(type) {
	case nil:
		return "None"
	case bool:
		if k {
			return "True"
		}
		return "False"
	case float64:
		return pyjson.FloatRepr(k)
	case string:
		return quote(k)
	case *value.Template:
		return quote(k.Text)
	}
	return fmt.Sprint(k)
}
