package plugindoc

import "testing"

func TestTexts(t *testing.T) {
	src := "# x\nDOCUMENTATION = r'''\na: \\n\n'''\nEXAMPLES = \"\"\"\none\\ttwo \\u00e9\n\"\"\"\nclass A:\n    FILES = r'''\n  b: 1\n'''\n"
	got := texts(src, false)
	if got["DOCUMENTATION"] != "\na: \\n\n" || got["EXAMPLES"] != "\none\ttwo é\n" || len(got) != 2 {
		t.Errorf("%q", got)
	}
	if got := texts(src, true); got["FILES"] != "\n  b: 1\n" || len(got) != 1 {
		t.Errorf("%q", got)
	}
}

func TestFilled(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{"one two three", "> one two\n- three"},
		{"one  two\nthree", "> one  two\n- three"},
		{"abcdefghijklmno x", "> abcdefghijklmno\n- x"},
	} {
		if got := filled(tt.text, 10, "> ", "- ", 0); got != tt.want {
			t.Errorf("%q gives %q", tt.text, got)
		}
	}
	if got := filled("a b c d e f g h", 10, "", "", 1); got != "a b [...]" {
		t.Errorf("%q", got)
	}
}

func TestMarkup(t *testing.T) {
	l := &Look{NoColor: true}
	for in, want := range map[string]string{
		"I(a) B(b) M(ns.c.d) C(e)":     "`a` *b* [ns.c.d] `e'",
		"O(path=x) V(a\\)b) RV(stat)":  "`path=x' `a)b' `stat'",
		"O(ns.c.mod#module:opt)":       "`opt' (of module ns.c.mod)",
		"L(site, https://x.y) U(http)": "site <https://x.y> http",
	} {
		if got := l.markup(in); got != want {
			t.Errorf("%q gives %q", in, got)
		}
	}
}
