package pyjson

import (
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"volant/wire/value"
)

func TestRoundTrip(t *testing.T) {
	for _, s := range []string{
		`null`, `true`, `-5`, `1.5`, `1e+16`, `1e-05`, `100000.0`, `0.0001`, `[]`, `{}`,
		`{"b": 1, "a": [1, "x", null]}`, `"\u00e9\ud83d\ude00\udcff\ud800\n\"\\\u0001"`,
		`123456789012345678901234567890`, `NaN`, `-Infinity`, `"/"`, "\"\x7f\"",
	} {
		v, err := DecodeString(s)
		if err != nil {
			t.Errorf("%s: %v", s, err)
			continue
		}
		b, err := Encode(v)
		if err != nil || string(b) != s {
			t.Errorf("%s became %s, %v", s, b, err)
		}
	}
}

func TestDecodeShapes(t *testing.T) {
	v, err := DecodeString(`{"a": "\udcc3", "n": 12345678901234567890, "a": 2}`)
	if err != nil {
		t.Fatal(err)
	}
	d := v.(*value.Dict)
	if d.Lookup("a") != int64(2) || d.Lookup("n").(*big.Int).String() != "12345678901234567890" {
		t.Errorf("got %v", d)
	}
	if s, _ := DecodeString(`"\udcc3x"`); s != "\xc3x" {
		t.Errorf("surrogateescape gave %q", s)
	}
}

// The texts are those of CPython's json module.
func TestDecodeErrors(t *testing.T) {
	for s, want := range map[string]string{
		``:           "Expecting value: line 1 column 1 (char 0)",
		`{"a" 1}`:    "Expecting ':' delimiter: line 1 column 6 (char 5)",
		`[1 2]`:      "Expecting ',' delimiter: line 1 column 4 (char 3)",
		"{\n'a'":     "Expecting property name enclosed in double quotes: line 2 column 1 (char 2)",
		`"abc`:       "Unterminated string starting at: line 1 column 1 (char 0)",
		`1 2`:        "Extra data: line 1 column 3 (char 2)",
		"\"a\nb\"":   "Invalid control character at: line 1 column 3 (char 2)",
		`"\x"`:       `Invalid \escape: line 1 column 2 (char 1)`,
		`"\u12"`:     `Invalid \uXXXX escape: line 1 column 3 (char 2)`,
		"{\"a\": é}": "Expecting value: line 1 column 7 (char 6)",
	} {
		_, err := DecodeString(s)
		if err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", s, err, want)
		}
	}
	if _, err := DecodeString(strings.Repeat("[", 100000)); err == nil {
		t.Error("endless nesting accepted")
	}
}

func TestEncodeValues(t *testing.T) {
	b, err := Encode(value.DictOf(int64(1), value.Tuple{"x", []byte("y")}, nil, value.NewTemplate("t", value.Pos{})))
	if d := cmp.Diff(`{"1": ["x", "y"], "null": "t"}`, string(b)); err != nil || d != "" {
		t.Error(err, d)
	}
	if _, err := Encode(&value.Undefined{}); err == nil {
		t.Error("undefined was encoded")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"a": [1, 2.5e3, "\u00e9"]}`)
	f.Fuzz(func(t *testing.T, s string) {
		v, err := DecodeString(s)
		if err != nil {
			return
		}
		if _, err := Encode(v); err != nil {
			t.Errorf("%q decoded but does not encode: %v", s, err)
		}
	})
}
