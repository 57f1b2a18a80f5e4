package yaml

import (
	"os"
	"strings"
	"testing"
	"time"

	"volant/wire/pyjson"
	"volant/wire/value"
)

// unpack makes the value that testdata/dump.json describes in JSON.
func unpack(v any, shared map[int64]any) any {
	switch v := v.(type) {
	case *value.List:
		l := &value.List{}
		for _, e := range v.Items {
			l.Items = append(l.Items, unpack(e, shared))
		}
		return l
	case *value.Dict:
		if s, ok := v.Lookup("__date").(string); ok {
			t, _ := time.Parse(time.DateOnly, s)
			return value.NewDate(t.Year(), int(t.Month()), t.Day())
		}
		if s, ok := v.Lookup("__dt").(string); ok {
			if t, err := time.ParseInLocation("2006-01-02T15:04:05", s, value.Naive); err == nil {
				return t
			}
			t, _ := time.Parse(time.RFC3339Nano, s)
			return t
		}
		if s, ok := v.Lookup("__bytes").(string); ok {
			var b []byte
			for _, r := range s {
				b = append(b, byte(r))
			}
			return b
		}
		if id, ok := v.Lookup("__share").(int64); ok {
			if shared[id] == nil {
				shared[id] = unpack(v.Lookup("v"), shared)
			}
			return shared[id]
		}
		d := value.NewDict(0)
		if pairs, ok := v.Lookup("__pairs").(*value.List); ok {
			for _, p := range pairs.Items {
				k, e := p.(*value.List).Items[0], p.(*value.List).Items[1]
				if l, ok := k.(*value.List); ok {
					k = value.Tuple(l.Items)
				}
				d.Set(k, unpack(e, shared))
			}
			return d
		}
		for k, e := range v.All() {
			d.Set(k, unpack(e, shared))
		}
		return d
	}
	return v
}

func styleOf(kw *value.Dict) Style {
	s := Style{AllowUnicode: kw.Bool("allow_unicode"), ExplicitStart: kw.Bool("explicit_start"),
		ExplicitEnd: kw.Bool("explicit_end"), Canonical: kw.Bool("canonical")}
	if n, ok := kw.Lookup("indent").(int64); ok {
		s.Indent = int(n)
	}
	if n, ok := kw.Lookup("width").(int64); ok {
		s.Width = int(n)
	}
	flow := false
	switch v, ok := kw.Get("default_flow_style"); {
	case !ok:
		s.FlowStyle = &flow
	case v != nil:
		flow = v.(bool)
		s.FlowStyle = &flow
	}
	s.DefaultStyle, _ = kw.Str("default_style")
	s.LineBreak, _ = kw.Str("line_break")
	if v, ok := kw.Get("sort_keys"); ok {
		s.UnsortedKeys = !v.(bool)
	}
	if kw.Has("version") {
		s.Version = &[2]int{1, 1}
	}
	return s
}

// TestDumpAsReference writes values whose YAML was recorded from PyYAML's C
// dumper.
func TestDumpAsReference(t *testing.T) {
	data, err := os.ReadFile("testdata/dump.json")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := pyjson.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	bad := 0
	for i, c := range cases.(*value.List).Items {
		c := c.(*value.Dict)
		want, _ := c.Str("want")
		kw := c.Lookup("kw").(*value.Dict)
		got, err := Dump(unpack(c.Lookup("value"), map[int64]any{}), styleOf(kw))
		if err != nil {
			t.Errorf("case %d: %v", i, err)
			continue
		}
		if got != want {
			in, _ := pyjson.Encode(c.Lookup("value"))
			opts, _ := pyjson.Encode(kw)
			t.Errorf("case %d %s %s:\n got  %q\n want %q", i, in, opts, got, want)
			if bad++; bad > 10 {
				t.FailNow()
			}
		}
	}
}

func TestDumpVaultAndLossy(t *testing.T) {
	v := value.DictOf("a", &value.Vault{Ciphertext: "$ANSIBLE_VAULT;1.1;AES256\n6162\n",
		Decrypt: func() (string, error) { return "secret", nil }})
	got, err := Dump(v, Block(2))
	if want := "a: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  6162\n"; err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	s := Block(2)
	s.Reveal = true
	if got, _ := Dump(v, s); got != "a: secret\n" {
		t.Errorf("revealed: %q", got)
	}
	s.BlockStrings, s.Lossy = true, true
	if got, _ := Dump(value.DictOf("a", "x \n\ty  \n"), s); got != "a: |-\n  x\n          y\n" {
		t.Errorf("lossy: %q", got)
	}
	if _, err := Dump(value.Omit, s); err == nil || !strings.Contains(err.Error(), "cannot represent an object") {
		t.Errorf("omit: %v", err)
	}
}
