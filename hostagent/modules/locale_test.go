package modules

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestCoerceLocale(t *testing.T) {
	if musl, _ := filepath.Glob("/lib/ld-musl-*"); musl != nil {
		t.Skip("musl starts in a UTF-8 locale")
	}
	const added = "LC_CTYPE=C.UTF-8"
	for _, c := range []struct {
		environ []string
		want    bool
	}{
		{[]string{"A=1"}, true},
		{[]string{"LANG=C"}, true},
		{[]string{"LANG=POSIX", "LC_CTYPE="}, true},
		{[]string{"LANG=xx_NOSUCH.UTF-8"}, true},
		{[]string{"LANG=../../etc"}, true},
		{[]string{"LANG=C.UTF-8"}, false},
		{[]string{"LANG=xx", "LC_CTYPE=C.utf8"}, false},
		{[]string{"LC_ALL=C"}, false},
		{[]string{"PYTHONCOERCECLOCALE=0"}, false},
	} {
		out := coerceLocale(c.environ)
		if got := slices.Contains(out, added); got != c.want {
			t.Errorf("%v: %v", c.environ, out)
		}
		if c.want && slices.Contains(out, "LC_CTYPE=") {
			t.Errorf("%v: two LC_CTYPE in %v", c.environ, out)
		}
	}
}
