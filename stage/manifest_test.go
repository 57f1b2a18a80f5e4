package stage

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestManifestRoundTrip(t *testing.T) {
	m := &Manifest{Files: []ManifestFile{
		{Path: "b/c.py", Hash: HashBytes([]byte("x")), Size: 1},
		{Path: "a.py", Hash: HashBytes([]byte("yy")), Size: 2},
	}}
	m.Sort()
	got, err := DecodeManifest(m.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m, got); d != "" {
		t.Error(d)
	}
}

func TestDecodeManifestRefuses(t *testing.T) {
	one := func(p string) []byte {
		return (&Manifest{Files: []ManifestFile{{Path: p}}}).Encode()
	}
	for name, b := range map[string][]byte{
		"absolute":  one("/etc/passwd"),
		"dotdot":    one("../x"),
		"unclean":   one("a/../../b"),
		"backslash": one(`a\b`),
		"dot":       one("."),
		"cut":       one("abc")[:10],
		"twice":     append(one("a"), one("a")...),
		"huge":      {0xff, 0xff, 0xff, 0xff, 0x7f},
	} {
		if _, err := DecodeManifest(b); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
