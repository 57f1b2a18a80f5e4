package bootstrap

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzSplitWords(f *testing.F) {
	for _, s := range []string{`-o "A B" 'c'`, `a\ b`, `"x`, "\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		words, err := splitWords(s)
		if err != nil {
			return
		}
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = quote(w)
		}
		again, err := splitWords(strings.Join(quoted, " "))
		if err != nil || !cmp.Equal(words, again) {
			t.Errorf("%q became %q, %v", words, again, err)
		}
		var args sshArgs
		_ = parseArgs(s, &args)
	})
}

func FuzzParseProbe(f *testing.F) {
	f.Add("VOLANT-PROBE-BEGIN\nsystem Linux\nmachine x86_64\nhome /h\nfree 1\nrefused /x: y\nVOLANT-PROBE-END")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parseProbe(s)
		if err == nil && (len(p.refused) > 16 || p.freeKiB < -1) {
			t.Errorf("%+v", p)
		}
	})
}
