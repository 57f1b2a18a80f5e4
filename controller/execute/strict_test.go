package execute

import (
	"testing"

	"volant/wire/value"
)

func TestStrictText(t *testing.T) {
	for in, want := range map[string]string{
		"caf\u00e9":       "",
		"\xff\u00e9":      `'utf-8' codec can't encode character '\udcff' in position 0: surrogates not allowed`,
		"a\u00e9\xff\xfe": `'utf-8' codec can't encode characters in position 2-3: surrogates not allowed`,
		"x\xed\xa0\x80y":  `'utf-8' codec can't encode character '\ud800' in position 1: surrogates not allowed`,
	} {
		got := ""
		if err := strictText(value.DictOf("rc", int64(0), "stdout_lines", value.ListOf("ok", in)), 0); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
