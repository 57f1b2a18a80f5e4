package shlex

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What Python's shlex gives.
func TestSplit(t *testing.T) {
	for s, want := range map[string][]string{
		``:                              {},
		`a  b	c`:                        {"a", "b", "c"},
		`a 'b c' "d e"`:                 {"a", "b c", "d e"},
		`a\ b "x\"y\z" 'p\q'`:           {"a b", `x"y\z`, `p\q`},
		`'' ""`:                         {"", ""},
		`a"b"'c'd # no comment`:         {"abcd", "#", "no", "comment"},
		"line1\nline2":                  {"line1", "line2"},
		`é "ü"`:                         {"é", "ü"},
		`  a  b `:                       {"a", "b"},
		`-o "A B" 'c"d' e\ f ""`:        {"-o", "A B", `c"d`, "e f", ""},
		`-o ProxyCommand="x \"%h\" \$"`: {"-o", `ProxyCommand=x "%h" \$`},
		`echo $HOME > f; rm *`:          {"echo", "$HOME", ">", "f;", "rm", "*"},
	} {
		got, err := Split(s)
		if err != nil {
			t.Errorf("%q: %v", s, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", s, d)
		}
	}
	for s, want := range map[string]error{`'a`: ErrQuotation, `"a`: ErrQuotation, `a\`: ErrEscape, `"a\`: ErrEscape} {
		if _, err := Split(s); err != want { //nolint:errorlint // the very value
			t.Errorf("%q: got %v", s, err)
		}
	}
}

func TestQuote(t *testing.T) {
	for s, want := range map[string]string{"": "''", "a-b/c": "a-b/c", "a b": "'a b'", "it's": `'it'"'"'s'`, "é": "'é'", "$x": "'$x'"} {
		if got := Quote(s); got != want {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{`-o "A B" 'c'`, `a\ b`, `"x`, "\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		words, err := Split(s)
		if err != nil {
			return
		}
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = Quote(w)
		}
		again, err := Split(strings.Join(quoted, " "))
		if err != nil || !cmp.Equal(words, again) {
			t.Errorf("%q became %q, %v", words, again, err)
		}
	})
}
