package execute

import (
	"fmt"
	"unicode/utf8"

	"volant/wire/value"
)

// maxNested bounds how deep a result is looked into; deeper ones do not arrive.
const maxNested = 200

// strictText returns Python's error for the first text of a module's result
// that is not UTF-8, keys included.
func strictText(v any, depth int) error {
	if depth > maxNested {
		return nil
	}
	switch v := v.(type) {
	case string:
		return encodeError(v)
	case *value.Dict:
		for k, e := range v.All() {
			if err := strictText(k, depth+1); err != nil {
				return err
			}
			if err := strictText(e, depth+1); err != nil {
				return err
			}
		}
	case *value.List:
		for _, e := range v.Items {
			if err := strictText(e, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// encodeError is Python's error for a text with what UTF-8 cannot encode:
// bytes that were none, which surrogates stand for.
func encodeError(s string) error {
	if utf8.ValidString(s) {
		return nil
	}
	chars, first, count := 0, "", 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			code := 0xDC00 + rune(s[i])
			if i+2 < len(s) && s[i] == 0xED && s[i+1] >= 0xA0 && s[i+1] <= 0xBF && s[i+2]&0xC0 == 0x80 {
				code, n = rune(s[i]&0xF)<<12|rune(s[i+1]&0x3F)<<6|rune(s[i+2]&0x3F), 3
			}
			if count == 0 {
				first = fmt.Sprintf(`'\u%04x'`, code)
			}
			count++
		} else if count > 0 {
			break
		} else {
			chars++
		}
		i += n
	}
	if count > 1 {
		return fmt.Errorf("'utf-8' codec can't encode characters in position %d-%d: surrogates not allowed", chars, chars+count-1)
	}
	return fmt.Errorf("'utf-8' codec can't encode character %s in position %d: surrogates not allowed", first, chars)
}
