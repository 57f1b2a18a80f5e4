package wire

import "testing"

func TestNewerRelease(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"1.2.3", "1.2.3", false}, {"1.2.4", "1.2.3", true}, {"v1.10.0", "1.9.9", true}, {"1.2.3", "1.2.4", false},
		{"1.2.3-5-gabc", "1.2.3", false}, {"devel", "1.0.0", false}, {"1.0.0", "devel", false}, {"1.2", "1.1.0", false}, {"1.2.x", "1.1.0", false}, {"", "", false},
	} {
		if got := NewerRelease(c.a, c.b); got != c.want {
			t.Errorf("%s newer than %s: %v", c.a, c.b, got)
		}
	}
}
