package template

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"

	"volant/controller/jinja"
	"volant/wire/pyre"
	"volant/wire/value"
)

var mathFilters = map[string]*jinja.Plugin{
	"log":            def("logarithm(x, base=2.718281828459045)", logFilter),
	"pow":            def("power(x, y)", powFilter),
	"root":           def("inversepower(x, base=2)", rootFilter),
	"human_readable": def("human_readable(size, isbits=False, unit=None)", humanReadable),
	"human_to_bytes": def("human_to_bytes(size, default_unit=None, isbits=False)", humanToBytes),
}

// real is the number a function of Python's math module takes.
func real(v any) (float64, error) {
	if !value.IsNumber(v) {
		return 0, value.TypeErrorf("must be real number, not %s", value.TypeName(v))
	}
	return value.ToFloat(v)
}

var (
	errDomain  = value.ValueErrorf("math domain error")
	errRange   = value.Raise("OverflowError", "math range error")
	errZeroDiv = value.Raise("ZeroDivisionError", "float division by zero")
)

// onlyNumbers gives a TypeError the reference's words.
func onlyNumbers(err error, name string) error {
	var e *value.Exception
	if errors.As(err, &e) && e.Class == "TypeError" {
		return failBy(err, "%s() can only be used on numbers", name)
	}
	return err
}

func logFilter(_ *jinja.Context, a []any) (any, error) {
	x, err := real(a[0])
	if err != nil {
		return nil, onlyNumbers(err, "log")
	}
	if x <= 0 {
		return nil, errDomain
	}
	base, err := real(a[1])
	switch {
	case err != nil:
		return nil, onlyNumbers(err, "log")
	case x <= 0 || base <= 0:
		return nil, errDomain
	case base == 10:
		return math.Log10(x), nil
	case base == 1:
		return nil, errZeroDiv
	}
	return math.Log(x) / math.Log(base), nil
}

func pow(x, y float64) (float64, error) {
	r := value.Pow64(x, y)
	switch {
	case math.IsInf(x, 0) || math.IsInf(y, 0) || math.IsNaN(x) || math.IsNaN(y):
	case math.IsNaN(r), math.IsInf(r, 0) && x == 0:
		return 0, errDomain
	case math.IsInf(r, 0):
		return 0, errRange
	}
	return r, nil
}

func powFilter(_ *jinja.Context, a []any) (any, error) {
	x, err := real(a[0])
	if err != nil {
		return nil, onlyNumbers(err, "pow")
	}
	y, err := real(a[1])
	if err != nil {
		return nil, onlyNumbers(err, "pow")
	}
	return pow(x, y)
}

func rootFilter(_ *jinja.Context, a []any) (any, error) {
	const name = "root() can only be used on numbers"
	x, err := real(a[0])
	if value.Equal(a[1], int64(2)) {
		if err != nil {
			return nil, failBy(err, name)
		}
		if x < 0 {
			return nil, failBy(errDomain, name)
		}
		return math.Sqrt(x), nil
	}
	xerr := err
	var base float64
	if s, ok := value.Text(a[1]); ok {
		f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil {
			return nil, failBy(value.ValueErrorf("could not convert string to float: %s", value.Repr(s)), name)
		}
		base = f
	} else if base, err = real(a[1]); err != nil {
		return nil, failBy(value.TypeErrorf("float() argument must be a string or a real number, not '%s'", value.TypeName(a[1])), name)
	}
	if base == 0 {
		return nil, errZeroDiv
	}
	if xerr != nil {
		return nil, failBy(xerr, name)
	}
	r, err := pow(x, 1/base)
	if err != nil && errors.Is(err, errDomain) {
		return nil, failBy(err, name)
	}
	return r, err
}

// sizes are the units of human_readable, largest first.
var sizes = []struct {
	letter   string
	shift    uint
	byte, kb string // names of a byte unit
	bit, kbi string // names of a bit unit
}{
	{"Y", 80, "yottabyte", "YB", "yottabit", "Yb"},
	{"Z", 70, "zetabyte", "ZB", "zetabit", "Zb"},
	{"E", 60, "exabyte", "EB", "exabit", "Eb"},
	{"P", 50, "petabyte", "PB", "petabit", "Pb"},
	{"T", 40, "terabyte", "TB", "terabit", "Tb"},
	{"G", 30, "gigabyte", "GB", "gigabit", "Gb"},
	{"M", 20, "megabyte", "MB", "megabit", "Mb"},
	{"K", 10, "kilobyte", "KB", "kilobit", "Kb"},
	{"B", 0, "byte", "B", "bit", "b"},
}

func humanReadable(c *jinja.Context, a []any) (any, error) {
	fail := func(err error) error {
		var e *value.Exception
		if errors.As(err, &e) && e.Class == "TypeError" {
			return failBy(err, "human_readable() failed on bad input")
		}
		return failBy(err, "human_readable() can't interpret the input")
	}
	base := "Bytes"
	if truth(c, a[1]) {
		base = "bits"
	}
	unit := ""
	if a[2] != nil {
		s, ok := value.Text(a[2])
		if !ok {
			return nil, fail(value.Raise("AttributeError", "'%s' object has no attribute 'upper'", value.TypeName(a[2])))
		}
		unit = strings.ToUpper(s)
	}
	for i, size := range sizes {
		limit := value.Int(new(big.Int).Lsh(big.NewInt(1), size.shift))
		if a[2] == nil {
			ok, err := value.Compare(">=", a[0], limit)
			if err != nil {
				return nil, fail(err)
			}
			if !ok && i < len(sizes)-1 {
				continue
			}
		} else if unit != size.letter && i < len(sizes)-1 {
			continue
		}
		suffix := base
		if size.shift != 0 {
			suffix = size.letter + base[:1]
		}
		q, err := value.Div(a[0], limit)
		if err != nil {
			return nil, fail(err)
		}
		out, err := value.Percent("%.2f %s", value.Tuple{q, suffix})
		if err != nil {
			return nil, fail(err)
		}
		return out, nil
	}
	return nil, nil
}

var humanPattern, _ = pyre.Compile(`^([0-9]*\.?[0-9]+)(?:\s*([A-Za-z]+))?\s*$`, 0)

func humanToBytes(c *jinja.Context, a []any) (any, error) {
	fail := func(format string, args ...any) error {
		return failBy(value.ValueErrorf(format, args...), "human_to_bytes() can't interpret the input")
	}
	in, err := c.Str(a[0])
	if err != nil {
		return nil, err
	}
	m, err := humanPattern.Search(in)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, fail("human_to_bytes() can't interpret following string: %s", in)
	}
	digits, _ := m.Group(1)
	num, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return nil, fail("human_to_bytes() can't interpret following number: %s (original input string: %s)", digits, in)
	}
	unit, ok := m.Group(2)
	if !ok {
		if a[1] == nil {
			return roundInt(num)
		}
		if unit, ok = value.Text(a[1]); !ok {
			return nil, failBy(value.TypeErrorf("'%s' object is not subscriptable", value.TypeName(a[1])), "human_to_bytes() failed on bad input")
		}
		if unit == "" {
			return nil, fail("string index out of range")
		}
	}
	bits := truth(c, a[2])
	letter := strings.ToUpper(unit[:1])
	for _, size := range sizes {
		if size.letter != letter {
			continue
		}
		long, short, class, className := size.byte, size.kb, "B", "byte"
		if bits {
			long, short, class, className = size.bit, size.kbi, "b", "bit"
		}
		if len(unit) > 1 && strings.ToLower(unit) != long && unit != short {
			expect := "expect " + letter + class + " or " + letter
			if letter == "B" {
				expect = "expect " + class + " or " + className
			}
			return nil, fail("human_to_bytes() failed to convert %s. Value is not a valid string (%s)", in, expect)
		}
		return roundInt(num * math.Ldexp(1, int(size.shift)))
	}
	letters := make([]string, len(sizes))
	for i, s := range sizes {
		letters[i] = s.letter
	}
	return nil, fail("human_to_bytes() failed to convert %s (unit = %s). The suffix must be one of %s", in, unit, strings.Join(letters, ", "))
}

// roundInt is Python's int(round(f)).
func roundInt(f float64) (any, error) { return value.FloatToInt(math.RoundToEven(f)) }
