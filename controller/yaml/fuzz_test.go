package yaml

import (
	"testing"
)

// FuzzLoad reads anything without a panic, and what it could read it can write
// and read again.
func FuzzLoad(f *testing.F) {
	for _, s := range []string{"a: 1", "- &x [1, *x]", "a: &b {c: 1}\nd: {<<: *b}", "{\"a\": [1.5e3]}", "a: |\n x\n", "? [a]\n: b", "!!set {a}", "a: !vault |\n  x", "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Load(data, Options{File: "/f", Trusted: true, Duplicates: DuplicatesIgnore})
		if err != nil {
			_ = err.Error()
			return
		}
		text, err := Dump(v, Block(2))
		if err != nil {
			return
		}
		if _, err := LoadYAML([]byte(text), Options{Duplicates: DuplicatesIgnore}); err != nil {
			t.Errorf("%q was written as %q: %v", data, text, err)
		}
	})
}
