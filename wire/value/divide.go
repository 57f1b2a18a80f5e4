package value

import (
	"math"
	"math/big"
	"time"
)

// Div is Python's a / b.
func Div(a, b any) (any, error) {
	x, y, ok, err := numbers(a, b)
	if err != nil {
		return nil, err
	}
	if !ok {
		if d, isD := a.(time.Duration); isD {
			switch y := b.(type) {
			case time.Duration:
				if y == 0 {
					return nil, zeroDivision("division by zero")
				}
				return float64(d) / float64(y), nil
			case int64:
				if y == 0 {
					return nil, zeroDivision("division by zero")
				}
				return d / time.Duration(y), nil
			}
		}
		return nil, unsupported("/", a, b)
	}
	switch x := x.(type) {
	case float64:
		if y.(float64) == 0 {
			return nil, zeroDivision("float division by zero")
		}
		return x / y.(float64), nil
	case int64:
		y := y.(int64)
		if y == 0 {
			return nil, zeroDivision("division by zero")
		}
		const exact = 1 << 53
		if x >= -exact && x <= exact && y >= -exact && y <= exact {
			return float64(x) / float64(y), nil
		}
		return divBig(big.NewInt(x), big.NewInt(y))
	}
	if y.(*big.Int).Sign() == 0 {
		return nil, zeroDivision("division by zero")
	}
	return divBig(x.(*big.Int), y.(*big.Int))
}

func divBig(x, y *big.Int) (any, error) {
	f, _ := new(big.Rat).SetFrac(x, y).Float64()
	if math.IsInf(f, 0) {
		return nil, Raise("OverflowError", "integer division result too large for a float")
	}
	return f, nil
}

func zeroDivision(msg string) error { return &Exception{"ZeroDivisionError", msg} }

// FloorDiv is Python's a // b: rounded down.
func FloorDiv(a, b any) (any, error) {
	x, y, ok, err := numbers(a, b)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, unsupported("//", a, b)
	}
	switch x := x.(type) {
	case float64:
		y := y.(float64)
		if y == 0 {
			return nil, zeroDivision("float floor division by zero")
		}
		q, _ := floatDivMod(x, y)
		return q, nil
	case int64:
		y := y.(int64)
		if y == 0 {
			return nil, zeroDivision("integer division or modulo by zero")
		}
		if x == math.MinInt64 && y == -1 {
			return Int(new(big.Int).Neg(big.NewInt(x))), nil
		}
		q := x / y
		if x%y != 0 && (x < 0) != (y < 0) {
			q--
		}
		return q, nil
	}
	if y.(*big.Int).Sign() == 0 {
		return nil, zeroDivision("integer division or modulo by zero")
	}
	q, _ := floorBig(x.(*big.Int), y.(*big.Int))
	return Int(q), nil
}

func floorBig(x, y *big.Int) (q, r *big.Int) {
	q, r = new(big.Int).QuoRem(x, y, new(big.Int))
	if r.Sign() != 0 && r.Sign() != y.Sign() {
		q.Sub(q, big.NewInt(1))
		r.Add(r, y)
	}
	return q, r
}

func floatDivMod(x, y float64) (q, r float64) {
	r = math.Mod(x, y)
	q = (x - r) / y
	if r != 0 {
		if (y < 0) != (r < 0) {
			r += y
			q--
		}
	} else {
		r = math.Copysign(0, y)
	}
	if q != 0 {
		f := math.Floor(q)
		if q-f > 0.5 {
			f++
		}
		q = f
	} else {
		q = math.Copysign(0, x/y)
	}
	return q, r
}

// Mod is Python's a % b for numbers; text is formatted with Percent.
func Mod(a, b any) (any, error) {
	if m, ok := a.(Markup); ok {
		return m.Percent(b)
	}
	if s, ok := Text(a); ok {
		return Percent(s, b)
	}
	x, y, ok, err := numbers(a, b)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, unsupported("%", a, b)
	}
	switch x := x.(type) {
	case float64:
		if y.(float64) == 0 {
			return nil, zeroDivision("float modulo")
		}
		_, r := floatDivMod(x, y.(float64))
		return r, nil
	case int64:
		y := y.(int64)
		if y == 0 {
			return nil, zeroDivision("integer modulo by zero")
		}
		if y == -1 {
			return int64(0), nil
		}
		r := x % y
		if r != 0 && (r < 0) != (y < 0) {
			r += y
		}
		return r, nil
	}
	if y.(*big.Int).Sign() == 0 {
		return nil, zeroDivision("integer modulo by zero")
	}
	_, r := floorBig(x.(*big.Int), y.(*big.Int))
	return Int(r), nil
}

// Pow is Python's a ** b.
func Pow(a, b any) (any, error) {
	x, y, ok, err := numbers(a, b)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, TypeErrorf("unsupported operand type(s) for ** or pow(): '%s' and '%s'", TypeName(a), TypeName(b))
	}
	if fx, ok := x.(float64); ok {
		return powFloat(fx, y.(float64))
	}
	base, exp := ToBig(x), ToBig(y)
	if exp.Sign() < 0 {
		fx, err := ToFloat(x)
		if err != nil {
			return nil, err
		}
		fy, err := ToFloat(y)
		if err != nil {
			return nil, err
		}
		return powFloat(fx, fy)
	}
	if base.BitLen() > 1 {
		if !exp.IsInt64() || exp.Int64() > MaxBits || int64(base.BitLen()-1)*exp.Int64() > MaxBits {
			return nil, errBits()
		}
	} else if base.Sign() < 0 { // -1
		if exp.Bit(0) == 0 {
			return int64(1), nil
		}
		return int64(-1), nil
	} else if base.Sign() > 0 { // 1
		return int64(1), nil
	}
	return checked(new(big.Int).Exp(base, exp, nil))
}

func powFloat(x, y float64) (any, error) {
	switch {
	case x == 0 && y < 0:
		return nil, zeroDivision("0.0 cannot be raised to a negative power")
	case x < 0 && y != math.Trunc(y) && !math.IsInf(x, 0):
		return nil, TypeErrorf("complex results of ** are not supported")
	}
	r := Pow64(x, y)
	if math.IsInf(r, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		return nil, Raise("OverflowError", "(34, 'Numerical result out of range')")
	}
	return r, nil
}

// Neg is Python's -a.
func Neg(a any) (any, error) {
	switch x := plainNumber(a).(type) {
	case int64:
		if x == math.MinInt64 {
			return Int(new(big.Int).Neg(big.NewInt(x))), nil
		}
		return -x, nil
	case float64:
		return -x, nil
	case *big.Int:
		return Int(new(big.Int).Neg(x)), nil
	case time.Duration:
		return -x, nil
	}
	return nil, TypeErrorf("bad operand type for unary -: '%s'", TypeName(a))
}

// Positive is Python's +a.
func Positive(a any) (any, error) {
	switch x := plainNumber(a).(type) {
	case int64, float64, *big.Int, time.Duration:
		return x, nil
	}
	return nil, TypeErrorf("bad operand type for unary +: '%s'", TypeName(a))
}

// Abs is Python's abs(a).
func Abs(a any) (any, error) {
	switch x := plainNumber(a).(type) {
	case int64:
		if x < 0 {
			return Neg(x)
		}
		return x, nil
	case float64:
		return math.Abs(x), nil
	case *big.Int:
		return new(big.Int).Abs(x), nil
	case time.Duration:
		if x < 0 {
			x = -x
		}
		return x, nil
	}
	return nil, TypeErrorf("bad operand type for abs(): '%s'", TypeName(a))
}
