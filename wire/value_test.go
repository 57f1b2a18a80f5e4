package wire

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"volant/wire/value"
)

func big1(s string) *big.Int {
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		panic(s)
	}
	return n
}

// golden pairs values with their bytes, which must never change.
var golden = []struct {
	name string
	in   any
	hex  string
	out  any // what comes back; nil: in
}{
	{"none", nil, "f6", nil},
	{"true", true, "f5", nil},
	{"int", int64(-500), "3901f3", nil},
	{"min int64", int64(math.MinInt64), "3b7fffffffffffffff", nil},
	{"big", big1("18446744073709551616"), "c249010000000000000000", nil},
	{"big negative", big1("-18446744073709551617"), "c349010000000000000000", nil},
	{"float", 1.5, "fb3ff8000000000000", nil},
	{"text", "aé", "6361c3a9", nil},
	{"template", value.NewTemplate("{{ x }}", value.Pos{}), "677b7b2078207d7d", "{{ x }}"},
	{"not UTF-8", "a\xff", "d96b094261ff", nil},
	{"bytes", []byte{1, 2}, "420102", nil},
	{"list", value.ListOf(int64(1), "x"), "82016178", nil},
	{"tuple", value.Tuple{int64(1)}, "d96b088101", nil},
	{"dict in order", value.DictOf("b", int64(1), "a", int64(2)), "a2616201616102", nil},
	{"date", value.NewDate(2026, 11, 30), "6a323032362d31312d3330", "2026-11-30"},
	{"datetime", time.Date(2026, 11, 30, 1, 2, 3, 0, value.Naive), "73323032362d31312d33305430313a30323a3033", "2026-11-30T01:02:03"},
}

func TestValueGolden(t *testing.T) {
	for _, c := range golden {
		t.Run(c.name, func(t *testing.T) {
			b, err := EncodeValue(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := hex.EncodeToString(b); got != c.hex {
				t.Errorf("encoded %s, want %s", got, c.hex)
			}
			back, err := DecodeValue(b)
			if err != nil {
				t.Fatal(err)
			}
			want := c.out
			if want == nil {
				want = c.in
			}
			again, err := EncodeValue(want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := EncodeValue(back)
			if err != nil || !bytes.Equal(got, again) {
				t.Errorf("came back as %#v (%v)", back, err)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	deep := any(int64(1))
	for range MaxDepth + 2 {
		deep = value.ListOf(deep)
	}
	for name, v := range map[string]any{"undefined": &value.Undefined{Hint: "'x' is undefined"}, "omit": value.Omit, "too deep": deep, "go map": map[string]int{}} {
		if b, err := EncodeValue(v); err == nil {
			t.Errorf("%s: encoded as %x", name, b)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, h := range map[string]string{
		"nothing":              "",
		"cut head":             "19",
		"cut text":             "6361",
		"huge text":            "7bffffffffffffffff",
		"huge array":           "9b7fffffffffffffff",
		"huge map":             "bb7fffffffffffffff",
		"indefinite":           "9f01ff",
		"bytes behind":         "0101",
		"text not UTF-8":       "61ff",
		"key twice":            "a2616101616102",
		"list as key":          "a18001",
		"list in a tuple key":  "a1d96b08818001",
		"unknown tag":          "d9ffff01",
		"tuple of text":        "d96b086161",
		"list in a set":        "d90102818001",
		"too deep":             strings.Repeat("81", MaxDepth+2) + "01",
		"reserved information": "1c",
		"simple value":         "f8ff",
	} {
		b, err := hex.DecodeString(h)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := DecodeValue(b); err == nil {
			t.Errorf("%s: decoded as %#v", name, v)
		}
	}
}

func TestHalf(t *testing.T) {
	for bits, want := range map[uint16]float64{0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 0x0001: math.Ldexp(1, -24), 0x7c00: math.Inf(1), 0xfc00: math.Inf(-1)} {
		if got := half(bits); got != want {
			t.Errorf("%04x: %v, want %v", bits, got, want)
		}
	}
	if !math.IsNaN(half(0x7e00)) {
		t.Error("7e00 is a number")
	}
}

func FuzzDecodeValue(f *testing.F) {
	for _, c := range golden {
		b, _ := hex.DecodeString(c.hex)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := DecodeValue(b)
		if err != nil {
			return
		}
		enc, err := EncodeValue(v)
		if err != nil {
			t.Fatalf("decoded %#v does not encode: %v", v, err)
		}
		again, err := DecodeValue(enc)
		if err != nil {
			t.Fatalf("encoded %x does not decode: %v", enc, err)
		}
		if enc2, _ := EncodeValue(again); !bytes.Equal(enc, enc2) {
			t.Fatalf("%x became %x", enc, enc2)
		}
	})
}
