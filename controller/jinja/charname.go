package jinja

import (
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/runenames"
)

// charNames are Unicode's names of characters, built when the first \N{...} is
// compiled.
var charNames = sync.OnceValue(func() map[string]rune {
	names := make(map[string]rune, 40_000)
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if n := runenames.Name(r); n != "" && n[0] != '<' {
			names[n] = r
		}
	}
	return names
})

// charNamed is the character that \N{name} stands for.
func charNamed(name string) (rune, bool) {
	name = strings.ToUpper(name)
	if r, ok := charNames()[name]; ok {
		return r, true
	}
	const ideograph = "CJK UNIFIED IDEOGRAPH-"
	if hex, ok := strings.CutPrefix(name, ideograph); ok && (len(hex) == 4 || len(hex) == 5) {
		r := rune(0)
		for i := range len(hex) {
			d := strings.IndexByte("0123456789ABCDEF", hex[i])
			if d < 0 {
				return 0, false
			}
			r = r<<4 | rune(d)
		}
		return r, unicode.Is(unicode.Unified_Ideograph, r)
	}
	return 0, false
}
