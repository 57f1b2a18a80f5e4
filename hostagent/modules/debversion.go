package modules

import (
	"cmp"
	"strings"
)

// compareDeb compares two versions of Debian packages as apt and dpkg do: the
// epoch, the upstream version, the revision. It is negative where a is older.
func compareDeb(a, b string) int {
	ea, a := debEpoch(a)
	eb, b := debEpoch(b)
	if c := compareDebPart(ea, eb); c != 0 {
		return c
	}
	ua, ra := debRevision(a)
	ub, rb := debRevision(b)
	if c := compareDebPart(ua, ub); c != 0 {
		return c
	}
	return compareDebPart(ra, rb)
}

func debEpoch(v string) (epoch, rest string) {
	if epoch, rest, ok := strings.Cut(v, ":"); ok {
		return epoch, rest
	}
	return "", v
}

func debRevision(v string) (upstream, revision string) {
	if i := strings.LastIndexByte(v, '-'); i >= 0 {
		return v[:i], v[i+1:]
	}
	return v, ""
}

// compareDebPart compares texts and numbers in turn: letters come before other
// characters, and a tilde before everything, the end too.
func compareDebPart(a, b string) int {
	for a != "" || b != "" {
		for a != "" && !debDigit(a[0]) || b != "" && !debDigit(b[0]) {
			if c := cmp.Compare(debOrder(a), debOrder(b)); c != 0 {
				return c
			}
			a, b = a[1:], b[1:] // neither is at its end, for both have the same order
		}
		na, nb := debNumber(&a), debNumber(&b)
		if c := cmp.Compare(len(na), len(nb)); c != 0 {
			return c
		}
		if c := cmp.Compare(na, nb); c != 0 {
			return c
		}
	}
	return 0
}

func debDigit(c byte) bool { return c >= '0' && c <= '9' }

// debOrder is the rank of what a text goes on with; its end and a digit are 0.
func debOrder(s string) int {
	switch {
	case s == "" || debDigit(s[0]):
		return 0
	case s[0] == '~':
		return -1
	case s[0] >= 'A' && s[0] <= 'Z' || s[0] >= 'a' && s[0] <= 'z':
		return int(s[0])
	}
	return int(s[0]) + 256
}

// debNumber takes the digits that s begins with, without leading zeros.
func debNumber(s *string) string {
	end := 0
	for end < len(*s) && debDigit((*s)[end]) {
		end++
	}
	n := strings.TrimLeft((*s)[:end], "0")
	*s = (*s)[end:]
	return n
}
