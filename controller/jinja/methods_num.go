package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"volant/wire/value"
)

func intOp(op func(z, x, y *big.Int) *big.Int) func(*Context, any, []any) (any, error) {
	return func(_ *Context, r any, a []any) (any, error) {
		if !value.IsInt(a[0]) {
			return nil, value.TypeErrorf("unsupported operand type(s): 'int' and '%s'", typeName(a[0]))
		}
		return value.Int(op(new(big.Int), value.ToBig(r), value.ToBig(a[0]))), nil
	}
}

func shift(left bool) func(*Context, any, []any) (any, error) {
	return func(_ *Context, r any, a []any) (any, error) {
		n, ok := value.ToInt(a[0])
		switch {
		case !value.IsInt(a[0]):
			return nil, value.TypeErrorf("unsupported operand type(s): 'int' and '%s'", typeName(a[0]))
		case ok && n < 0:
			return nil, value.ValueErrorf("negative shift count")
		case !left:
			return value.Int(new(big.Int).Rsh(value.ToBig(r), uint(min(n, 1<<32)))), nil
		case !ok || n > value.MaxBits:
			return nil, value.Raise("OverflowError", "integer would exceed the limit of %d bits", value.MaxBits)
		}
		return value.Int(new(big.Int).Lsh(value.ToBig(r), uint(n))), nil
	}
}

var intMethods = methods(map[string]func(*Context, any, []any) (any, error){
	"bit_length()": func(_ *Context, r any, _ []any) (any, error) { return int64(value.ToBig(r).BitLen()), nil },
	"bit_count()": func(_ *Context, r any, _ []any) (any, error) {
		return int64(strings.Count(new(big.Int).Abs(value.ToBig(r)).Text(2), "1")), nil
	},
	"conjugate()":          func(_ *Context, r any, _ []any) (any, error) { return value.Positive(r) },
	"is_integer()":         func(*Context, any, []any) (any, error) { return true, nil },
	"as_integer_ratio()":   func(_ *Context, r any, _ []any) (any, error) { return value.Tuple{r, int64(1)}, nil },
	"__and__(value, /)":    intOp((*big.Int).And),
	"__or__(value, /)":     intOp((*big.Int).Or),
	"__xor__(value, /)":    intOp((*big.Int).Xor),
	"__lshift__(value, /)": shift(true),
	"__rshift__(value, /)": shift(false),
	"to_bytes(length=1, byteorder='big', *, signed=False)": toBytesMethod,
})

func toBytesMethod(_ *Context, r any, a []any) (any, error) {
	n, err := wantInt(a[0])
	if err != nil {
		return nil, err
	}
	i := value.ToBig(r)
	signed := value.Truth(a[2])
	if i.Sign() < 0 && !signed {
		return nil, value.Raise("OverflowError", "can't convert negative int to unsigned")
	}
	bits := i.BitLen()
	if signed {
		bits++
	}
	if n < 0 || n > value.MaxText || bits > 8*n {
		return nil, value.Raise("OverflowError", "int too big to convert")
	}
	if i.Sign() < 0 {
		i = new(big.Int).Add(i, new(big.Int).Lsh(big.NewInt(1), uint(8*n)))
	}
	out := i.FillBytes(make([]byte, n))
	if order, _ := value.Text(a[1]); order == "little" {
		for x, y := 0, n-1; x < y; x, y = x+1, y-1 {
			out[x], out[y] = out[y], out[x]
		}
	}
	return out, nil
}

var floatMethods = methods(map[string]func(*Context, any, []any) (any, error){
	"is_integer()": func(_ *Context, r any, _ []any) (any, error) { return r.(float64) == math.Trunc(r.(float64)), nil },
	"conjugate()":  func(_ *Context, r any, _ []any) (any, error) { return r, nil },
	"as_integer_ratio()": func(_ *Context, r any, _ []any) (any, error) {
		q := new(big.Rat)
		if q.SetFloat64(r.(float64)) == nil {
			return nil, value.ValueErrorf("cannot convert Infinity or NaN to integer ratio")
		}
		return value.Tuple{value.Int(q.Num()), value.Int(q.Denom())}, nil
	},
	"hex()": func(_ *Context, r any, _ []any) (any, error) {
		f := r.(float64)
		if f == 0 {
			return "0x0.0p+0", nil
		}
		m, e, _ := strings.Cut(strconv.FormatFloat(f, 'x', 13, 64), "p")
		exp, _ := strconv.Atoi(e)
		sign := "+"
		if exp < 0 {
			sign, exp = "-", -exp
		}
		return m + "p" + sign + strconv.Itoa(exp), nil
	},
})
