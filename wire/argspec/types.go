package argspec

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"os/user"
	"strconv"
	"strings"

	"volant/wire/value"
)

// Convert turns v into the named type; the error's text is the end of the
// reference's message.
func (e Environment) Convert(name string, v any) (any, error) {
	if t, ok := v.(*value.Template); ok {
		v = t.Text
	}
	out, err := e.convert(name, v)
	var other *classError
	if e.Tagged && errors.As(err, &other) {
		other.tagged = true
	}
	return out, err
}

func (e Environment) convert(name string, v any) (any, error) {
	switch name {
	case "", "str":
		return toStr(v), nil
	case "bool":
		return toBool(v)
	case "int":
		return toInt(v)
	case "float":
		return toFloat(v)
	case "path":
		return e.expand(toStr(v)), nil
	case "raw":
		return v, nil
	case "list":
		return toList(v)
	case "dict":
		return toDict(v)
	case "json", "jsonarg":
		return toJSON(v)
	case "bytes", "bits":
		return toBytes(v, name == "bits")
	}
	return nil, errors.New("'NoneType' object is not callable") // the reference has no function for it
}

// classError says that a value of this class becomes nothing of the kind named.
type classError struct {
	of     any
	kind   string // "a float"
	tagged bool
}

// Error names the class as Python does.
func (c *classError) Error() string {
	class := "<class '" + value.TypeName(c.of) + "'>"
	if c.tagged {
		class = value.TaggedClass(c.of)
	}
	return class + " cannot be converted to " + c.kind
}

func toStr(v any) string {
	if v == nil {
		return "" // as templating made of None before 2.19
	}
	return value.Str(v)
}

// Boolean reads the reference's words for true and false.
func Boolean(v any) (bool, error) {
	switch x := v.(type) {
	case bool:
		return x, nil
	case int64:
		if x == 0 || x == 1 {
			return x == 1, nil
		}
	case float64:
		if x == 0 || x == 1 {
			return x == 1, nil
		}
	case string:
		switch strings.ToLower(strings.TrimSpace(x)) {
		case "y", "yes", "on", "1", "true", "t":
			return true, nil
		case "n", "no", "off", "0", "false", "f":
			return false, nil
		}
	}
	return false, fmt.Errorf("The value '%s' is not a valid boolean. Valid booleans include: 'f', 0, 't', 'y', 'true', 'on', 'no', 1, 'off', 'n', '1', 'false', '0', 'yes'", value.Str(v)) //nolint:staticcheck // the reference's text
}

func toBool(v any) (any, error) {
	switch v.(type) {
	case bool, int64, float64, string, *big.Int:
		return Boolean(v)
	}
	return nil, &classError{of: v, kind: "a bool"}
}

func toInt(v any) (any, error) {
	bad := fmt.Errorf(`"%s" cannot be converted to an int`, value.Repr(v))
	switch x := v.(type) {
	case bool, int64, *big.Int:
		return v, nil
	case float64:
		if x == math.Trunc(x) && !math.IsInf(x, 0) {
			return value.FloatToInt(x)
		}
	case string:
		text := strings.ReplaceAll(strings.TrimSpace(x), "_", "")
		if n, ok := decimal(text); ok {
			return n, nil
		}
	}
	return nil, bad
}

// decimal reads a decimal number that has no fraction: "10", "1e3", "5.0".
func decimal(s string) (any, bool) {
	if s == "" || len(s) > 400 {
		return nil, false
	}
	for _, c := range s {
		if !(c >= '0' && c <= '9' || strings.ContainsRune("+-.eE", c)) {
			return nil, false
		}
	}
	if _, exp, ok := strings.Cut(strings.ToLower(s), "e"); ok {
		if n, err := strconv.Atoi(exp); err != nil || n > 400 || n < -400 {
			return nil, false
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok || !r.IsInt() {
		return nil, false
	}
	return value.Int(r.Num()), true
}

func toFloat(v any) (any, error) {
	if f, ok := v.(float64); ok {
		return f, nil
	}
	switch x := v.(type) {
	case string:
		if f, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(x), "_", ""), 64); err == nil {
			return f, nil
		}
	case bool, int64, *big.Int:
		if f, err := value.ToFloat(v); err == nil {
			return f, nil
		}
	}
	return nil, &classError{of: v, kind: "a float"}
}

// expand is os.path.expanduser(os.path.expandvars(s)).
func (e Environment) expand(s string) string {
	s = e.expandVars(s)
	if !strings.HasPrefix(s, "~") {
		return s
	}
	name, rest, _ := strings.Cut(s[1:], "/")
	home, ok := e.home(name)
	if !ok {
		return s
	}
	home = strings.TrimRight(home, "/")
	if strings.Contains(s, "/") {
		return home + "/" + rest
	}
	if home == "" {
		return "/"
	}
	return home
}

func (e Environment) home(name string) (string, bool) {
	if e.Home != nil {
		return e.Home(name)
	}
	if name == "" {
		if h, ok := e.getenv("HOME"); ok {
			return h, true
		}
		h, err := os.UserHomeDir()
		return h, err == nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return "", false
	}
	return u.HomeDir, true
}

// expandVars replaces $NAME and ${NAME}; what is not set stays as it is.
func (e Environment) expandVars(s string) string {
	if !strings.Contains(s, "$") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '$' {
			b.WriteByte(s[i])
			continue
		}
		name, end := "", i+1
		if end < len(s) && s[end] == '{' {
			if j := strings.IndexByte(s[end:], '}'); j > 0 {
				name, end = s[end+1:end+j], end+j+1
			}
		} else {
			for end < len(s) && (s[end] == '_' || s[end] >= '0' && s[end] <= '9' || s[end] >= 'a' && s[end] <= 'z' || s[end] >= 'A' && s[end] <= 'Z') {
				end++
			}
			name = s[i+1 : end]
		}
		if v, ok := e.getenv(name); name != "" && ok {
			b.WriteString(v)
			i = end - 1
			continue
		}
		b.WriteByte('$')
	}
	return b.String()
}

func toList(v any) (any, error) {
	switch x := v.(type) {
	case *value.List:
		return x, nil
	case string:
		return value.Strings(strings.Split(x, ",")...), nil
	case bool, int64, *big.Int, float64:
		return value.Strings(value.Str(v)), nil
	}
	return nil, &classError{of: v, kind: "a list"}
}

func toJSON(v any) (any, error) {
	switch x := v.(type) {
	case string:
		return strings.TrimSpace(x), nil
	case *value.List, *value.Dict, value.Tuple:
		return value.EncodeJSON(v, value.JSONStyle{Indent: -1})
	}
	return nil, &classError{of: v, kind: "a json string"}
}

// sizes are the factors of the suffixes of human-readable sizes.
var sizes = map[byte]float64{
	'Y': 1 << 80, 'Z': 1 << 70, 'E': 1 << 60, 'P': 1 << 50, 'T': 1 << 40, 'G': 1 << 30, 'M': 1 << 20, 'K': 1 << 10, 'B': 1,
}

func toBytes(v any, bits bool) (any, error) {
	kind := "Byte"
	if bits {
		kind = "Bit"
	}
	bad := &classError{of: v, kind: "a " + kind + " value"}
	text := strings.TrimSpace(toStr(v))
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || text[end] == '.') {
		end++
	}
	n, err := strconv.ParseFloat(text[:end], 64)
	if err != nil {
		return nil, bad
	}
	unit := strings.TrimSpace(text[end:])
	if unit == "" {
		return value.FloatToInt(math.RoundToEven(n))
	}
	factor, ok := sizes[strings.ToUpper(unit[:1])[0]]
	lower := strings.ToLower(unit)
	long := map[bool]string{false: "byte", true: "bit"}[bits]
	short := map[bool]string{false: "B", true: "b"}[bits]
	switch {
	case !ok:
		return nil, bad
	case len(unit) == 1, lower == long, lower == long+"s":
	case len(unit) == 2 && unit[1:] == short, strings.HasSuffix(lower, long), strings.HasSuffix(lower, long+"s"):
	default:
		return nil, bad
	}
	return value.FloatToInt(math.RoundToEven(n * factor))
}
