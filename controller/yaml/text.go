package yaml

import (
	"math"
	"strings"

	"volant/wire/pyjson"
)

// floatText is PyYAML's text of a float: Python's repr, with a fraction before
// an exponent.
func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return ".nan"
	case math.IsInf(f, 1):
		return ".inf"
	case math.IsInf(f, -1):
		return "-.inf"
	}
	s := strings.ToLower(pyjson.FloatRepr(f))
	if !strings.Contains(s, ".") && strings.Contains(s, "e") {
		s = strings.Replace(s, "e", ".0e", 1)
	}
	return s
}
