package value

import (
	"math"
	"math/big"
	"math/bits"
	"strings"
	"time"
)

// Int returns i as the smallest kind of int that holds it.
func Int(i *big.Int) any {
	if i.IsInt64() {
		return i.Int64()
	}
	return i
}

// ToBig converts an int or bool; anything else is zero.
func ToBig(v any) *big.Int {
	switch v := v.(type) {
	case int64:
		return big.NewInt(v)
	case int:
		return big.NewInt(int64(v))
	case *big.Int:
		return v
	case bool:
		if v {
			return big.NewInt(1)
		}
	}
	return new(big.Int)
}

// ToInt converts an int or bool that fits in 64 bits.
func ToInt(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case *big.Int:
		return v.Int64(), v.IsInt64()
	}
	return 0, false
}

// ToFloat converts a number. The error is Python's OverflowError, or a
// TypeError for what is no number.
func ToFloat(v any) (float64, error) {
	switch v := v.(type) {
	case float64:
		return v, nil
	case int64:
		return float64(v), nil
	case int:
		return float64(v), nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		if math.IsInf(f, 0) {
			return 0, Raise("OverflowError", "int too large to convert to float")
		}
		return f, nil
	}
	return 0, TypeErrorf("must be real number, not %s", TypeName(v))
}

// plainNumber turns bool and Go's int into int64.
func plainNumber(v any) any {
	switch v := v.(type) {
	case bool:
		if v {
			return int64(1)
		}
		return int64(0)
	case int:
		return int64(v)
	}
	return v
}

// numbers prepares two operands: both int64, both *big.Int or both float64.
// ok is false when one is no number.
func numbers(a, b any) (x, y any, ok bool, err error) {
	a, b = plainNumber(a), plainNumber(b)
	switch a.(type) {
	case int64, float64, *big.Int:
	default:
		return nil, nil, false, nil
	}
	switch b.(type) {
	case int64, float64, *big.Int:
	default:
		return nil, nil, false, nil
	}
	_, af := a.(float64)
	_, bf := b.(float64)
	if af || bf {
		fx, err := ToFloat(a)
		if err != nil {
			return nil, nil, true, err
		}
		fy, err := ToFloat(b)
		return fx, fy, true, err
	}
	_, ai := a.(int64)
	_, bi := b.(int64)
	if ai && bi {
		return a, b, true, nil
	}
	return ToBig(a), ToBig(b), true, nil
}

func unsupported(op string, a, b any) error {
	return TypeErrorf("unsupported operand type(s) for %s: '%s' and '%s'", op, TypeName(a), TypeName(b))
}

// Add is Python's a + b.
func Add(a, b any) (any, error) {
	if x, ok := a.(int64); ok {
		if y, ok := b.(int64); ok {
			if s := x + y; (s > x) == (y > 0) {
				return s, nil
			}
			return Int(new(big.Int).Add(big.NewInt(x), big.NewInt(y))), nil
		}
	}
	if m, ok := a.(Markup); ok {
		return addMarkup(m, b)
	}
	if x, ok := Text(a); ok {
		if m, ok := b.(Markup); ok {
			return addMarkup(a, m)
		}
		y, ok := Text(b)
		if !ok {
			return nil, TypeErrorf(`can only concatenate str (not "%s") to str`, TypeName(b))
		}
		if len(x)+len(y) > MaxText {
			return nil, errText()
		}
		return x + y, nil
	}
	x, y, ok, err := numbers(a, b)
	if err != nil {
		return nil, err
	}
	if ok {
		switch x := x.(type) {
		case int64:
			return Int(new(big.Int).Add(big.NewInt(x), ToBig(y))), nil
		case float64:
			return x + y.(float64), nil
		case *big.Int:
			return checked(new(big.Int).Add(x, y.(*big.Int)))
		}
	}
	switch x := a.(type) {
	case *List:
		y, ok := b.(*List)
		if !ok {
			return nil, TypeErrorf(`can only concatenate list (not "%s") to list`, TypeName(b))
		}
		items, err := joinItems(x.Items, y.Items)
		return &List{Items: items}, err
	case Tuple:
		y, ok := b.(Tuple)
		if !ok {
			return nil, TypeErrorf(`can only concatenate tuple (not "%s") to tuple`, TypeName(b))
		}
		items, err := joinItems(x, y)
		return Tuple(items), err
	case []byte:
		if y, ok := b.([]byte); ok {
			return append(append([]byte(nil), x...), y...), nil
		}
		return nil, TypeErrorf("can't concat %s to bytes", TypeName(b))
	case time.Time:
		if d, ok := b.(time.Duration); ok {
			return x.Add(d), nil
		}
	case time.Duration:
		switch y := b.(type) {
		case time.Duration:
			return x + y, nil
		case time.Time:
			return y.Add(x), nil
		}
	}
	return nil, unsupported("+", a, b)
}

func joinItems(x, y []any) ([]any, error) {
	if len(x)+len(y) > MaxItems {
		return nil, errItems()
	}
	return append(append(make([]any, 0, len(x)+len(y)), x...), y...), nil
}

func checked(i *big.Int) (any, error) {
	if i.BitLen() > MaxBits {
		return nil, errBits()
	}
	return Int(i), nil
}

// Sub is Python's a - b.
func Sub(a, b any) (any, error) {
	x, y, ok, err := numbers(a, b)
	if err != nil {
		return nil, err
	}
	if ok {
		switch x := x.(type) {
		case int64:
			y := y.(int64)
			if d := x - y; (d < x) == (y > 0) {
				return d, nil
			}
			return Int(new(big.Int).Sub(big.NewInt(x), big.NewInt(y))), nil
		case float64:
			return x - y.(float64), nil
		case *big.Int:
			return checked(new(big.Int).Sub(x, y.(*big.Int)))
		}
	}
	switch x := a.(type) {
	case *Set:
		if y, ok := b.(*Set); ok {
			out := new(Set)
			for _, m := range x.Items() {
				if !y.Has(m) {
					out.Add(m)
				}
			}
			return out, nil
		}
	case time.Time:
		switch y := b.(type) {
		case time.Time:
			if IsNaive(x) != IsNaive(y) {
				return nil, TypeErrorf("can't subtract offset-naive and offset-aware datetimes")
			}
			return x.Sub(y), nil
		case time.Duration:
			return x.Add(-y), nil
		}
	case Date:
		if y, ok := b.(Date); ok {
			return x.Time().Sub(y.Time()), nil
		}
	case time.Duration:
		if y, ok := b.(time.Duration); ok {
			return x - y, nil
		}
	}
	return nil, unsupported("-", a, b)
}

// Mul is Python's a * b, repetition included.
func Mul(a, b any) (any, error) {
	x, y, ok, err := numbers(a, b)
	if err != nil {
		return nil, err
	}
	if ok {
		switch x := x.(type) {
		case int64:
			y := y.(int64)
			hi, lo := bits.Mul64(abs64(x), abs64(y))
			if hi == 0 && lo < 1<<63 {
				return x * y, nil
			}
			return Int(new(big.Int).Mul(big.NewInt(x), big.NewInt(y))), nil
		case float64:
			return x * y.(float64), nil
		case *big.Int:
			if x.BitLen()+y.(*big.Int).BitLen() > MaxBits {
				return nil, errBits()
			}
			return Int(new(big.Int).Mul(x, y.(*big.Int))), nil
		}
	}
	if m, ok := a.(Markup); ok {
		return mulMarkup(m, b)
	}
	if m, ok := b.(Markup); ok {
		return mulMarkup(m, a)
	}
	left, right := a, b
	if IsInt(a) {
		a, b = b, a
	}
	if !IsInt(b) {
		switch a.(type) {
		case string, *Template, *List, Tuple, []byte:
			return nil, TypeErrorf("can't multiply sequence by non-int of type '%s'", TypeName(b))
		}
		switch b.(type) {
		case string, *Template, *List, Tuple, []byte:
			return nil, TypeErrorf("can't multiply sequence by non-int of type '%s'", TypeName(a))
		}
		return nil, unsupported("*", a, b)
	}
	n, fits := ToInt(b)
	if !fits {
		if ToBig(b).Sign() > 0 {
			switch a.(type) {
			case string, *Template, *List, Tuple, []byte:
				return nil, Raise("OverflowError", "cannot fit 'int' into an index-sized integer")
			}
		}
		n = 0
	}
	if n < 0 {
		n = 0
	}
	switch x := a.(type) {
	case string, *Template:
		s, _ := Text(x)
		if err := fit(len(s), n, MaxText, errText); err != nil {
			return nil, err
		}
		return strings.Repeat(s, int(n)), nil
	case []byte:
		if err := fit(len(x), n, MaxText, errText); err != nil {
			return nil, err
		}
		return []byte(strings.Repeat(string(x), int(n))), nil
	case *List:
		items, err := repeatItems(x.Items, n)
		return &List{Items: items}, err
	case Tuple:
		items, err := repeatItems(x, n)
		return Tuple(items), err
	case time.Duration:
		return x * time.Duration(n), nil
	}
	return nil, unsupported("*", left, right)
}

func fit(size int, n int64, limit int, fail func() error) error {
	if size > 0 && n > int64(limit/size) {
		return fail()
	}
	return nil
}

func repeatItems(items []any, n int64) ([]any, error) {
	if err := fit(len(items), n, MaxItems, errItems); err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, nil
	}
	out := make([]any, 0, len(items)*int(n))
	for range n {
		out = append(out, items...)
	}
	return out, nil
}

func abs64(x int64) uint64 {
	if x < 0 {
		return uint64(-x)
	}
	return uint64(x)
}
