// Package shlex quotes and splits words of a POSIX shell as Python's module of
// that name does.
package shlex

import (
	"errors"
	"strings"
)

const safe = "_@%+=:,./-"

// Quote is shlex.quote.
func Quote(s string) string {
	if s == "" {
		return "''"
	}
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(safe, c) >= 0 {
			continue
		}
		return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'"
	}
	return s
}

// Split errors, in shlex's words.
var (
	ErrQuotation = errors.New("No closing quotation") //nolint:staticcheck // Python's text
	ErrEscape    = errors.New("No escaped character") //nolint:staticcheck // Python's text
)

// Split is shlex.split.
func Split(s string) ([]string, error) {
	words := []string{}
	var b []byte
	inWord := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case ' ', '\t', '\r', '\n':
			if inWord {
				words, b, inWord = append(words, string(b)), b[:0], false
			}
		case '\\':
			if i++; i >= len(s) {
				return nil, ErrEscape
			}
			b, inWord = append(b, s[i]), true
		case '\'':
			end := strings.IndexByte(s[i+1:], '\'')
			if end < 0 {
				return nil, ErrQuotation
			}
			b, inWord = append(b, s[i+1:i+1+end]...), true
			i += end + 1
		case '"':
			inWord = true
			for i++; ; i++ {
				if i >= len(s) {
					return nil, ErrQuotation
				}
				if s[i] == '"' {
					break
				}
				if s[i] == '\\' {
					if i++; i >= len(s) {
						return nil, ErrEscape
					}
					if s[i] != '"' && s[i] != '\\' {
						b = append(b, '\\')
					}
				}
				b = append(b, s[i])
			}
		default:
			b, inWord = append(b, c), true
		}
	}
	if inWord {
		words = append(words, string(b))
	}
	return words, nil
}
