package yaml

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"sort"
	"strings"
	"testing"
	"time"

	"volant/controller/fault"
	"volant/wire/pyjson"
	"volant/wire/value"
)

// collect is a Sink that keeps what it is told.
type collect struct{ got []string }

func (c *collect) Warning(err error) {
	var e *fault.Error
	if !errors.As(err, &e) {
		c.got = append(c.got, err.Error())
		return
	}
	origin, _, _ := strings.Cut(fault.Origin(e.Pos), "\n")
	if e.Pos.IsZero() {
		origin = "Origin: <unknown>"
	}
	c.got = append(c.got, e.Msg+"|"+origin)
}

func (c *collect) Deprecated(d fault.Deprecation) {
	origin, _, _ := strings.Cut(fault.Origin(d.Pos), "\n")
	c.got = append(c.got, "DEP "+d.Msg+"|"+origin)
}
func (c *collect) Verbose(int, string) {}

// describe writes a value with its types, trust and places, in the form of
// testdata/load.json.
func describe(v any) string {
	at := func(p value.Pos) string {
		if p.Line == 0 {
			return ""
		}
		return fmt.Sprintf("@%d:%d", p.Line, p.Column)
	}
	js := func(s string) string { return string(pyjson.AppendString(nil, s)) }
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprint(v)
	case string:
		return "S" + js(v)
	case *value.Template:
		return "T" + js(v.Text) + at(v.Pos)
	case *value.Vault:
		return "vault(" + js(v.Ciphertext) + ")" + at(v.Pos)
	case float64:
		switch {
		case math.IsNaN(v):
			return "fnan"
		case math.IsInf(v, 1):
			return "finf"
		case math.IsInf(v, -1):
			return "f-inf"
		}
		return "f" + pyjson.FloatRepr(v)
	case []byte:
		return "b'" + string(v) + "'"
	case value.Date:
		return "d" + v.String()
	case time.Time:
		return "dt" + value.FormatTime(v, "T")
	case *value.List:
		var parts []string
		for _, e := range v.Items {
			parts = append(parts, describe(e))
		}
		return "[" + strings.Join(parts, ", ") + "]" + at(v.Pos())
	case value.Tuple:
		var parts []string
		for _, e := range v {
			parts = append(parts, describe(e))
		}
		return "(" + strings.Join(parts, ", ") + ")"
	case *value.Set:
		var parts []string
		for _, e := range v.Items() {
			parts = append(parts, describe(e))
		}
		sort.Strings(parts)
		return "set(" + strings.Join(parts, ", ") + ")"
	case *value.Dict:
		var parts []string
		for k, e := range v.All() {
			name := describe(k)
			if s, ok := k.(string); ok {
				name = js(s)
				if p := v.KeyPos(s); p.Line != 0 && v.Pos().Line != 0 {
					name += at(p)
				}
			}
			parts = append(parts, name+": "+describe(e))
		}
		return "{" + strings.Join(parts, ", ") + "}" + at(v.Pos())
	}
	return "i" + fmt.Sprint(v)
}

// departures are documents we read differently, knowingly.
var departures = map[string]bool{
	"a: &a [*a]\n":         true, // the reference's own recursion fails later
	"a: &a\n  b: *a\n":     true,
	"? !vault x\n: y":      true, // an encrypted key cannot be hashed there
	"- : b\n":              true, // go-yaml accepts an empty key
	": b\n":                true,
	"{\"a\": \"\\ud800\"}": true, // a lone surrogate
	"a: !!str\\":           true,
}

// TestLoadAsReference reads documents whose results were recorded from the
// reference: values, types, places, trust, warnings and error texts.
func TestLoadAsReference(t *testing.T) {
	data, err := os.ReadFile("testdata/load.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Text, Want string
		Warnings   []string
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	const file = "/nowhere/FILE"
	for _, c := range cases {
		if departures[c.Text] {
			continue
		}
		sink := &collect{}
		v, err := Load([]byte(c.Text), Options{File: file, Trusted: true, Sink: sink})
		got := ""
		if err == nil {
			got = describe(v)
		} else {
			var e *fault.Error
			if !errors.As(err, &e) {
				t.Errorf("%q: error %T", c.Text, err)
				continue
			}
			got = "ERR " + e.Error() + " | " + e.Pos.String() + " | " + string(pyjson.AppendString(nil, e.Help))
		}
		got = strings.ReplaceAll(got, file, "FILE")
		if got != c.Want {
			t.Errorf("%q:\n got  %s\n want %s", c.Text, got, c.Want)
		}
		if w := strings.ReplaceAll(strings.Join(sink.got, "\n"), file, "FILE"); w != strings.Join(c.Warnings, "\n") {
			t.Errorf("%q: warnings\n got  %s\n want %s", c.Text, w, strings.Join(c.Warnings, "\n"))
		}
	}
}
