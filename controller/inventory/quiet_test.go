package inventory

import (
	"strings"
	"testing"
)

// TestAny asks in silence, and leaves the telling to who selects.
func TestAny(t *testing.T) {
	inv, m, _ := load(t, map[string]string{"hosts": sample}, "hosts")
	for pattern, want := range map[string]bool{"web": true, "nosuch": false, "w1:!w1": false, "w9:w1": true} {
		if got := inv.Any(pattern); got != want {
			t.Errorf("%s: %t", pattern, got)
		}
	}
	if len(m.text) > 0 {
		t.Errorf("it was said: %q", m.text)
	}
	if _, err := inv.Select("nosuch"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(m.text, "\n"); !strings.Contains(got, "Could not match supplied host pattern, ignoring: nosuch") {
		t.Errorf("who selects is told %q", got)
	}
}
