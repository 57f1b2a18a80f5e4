package value

import (
	"bytes"
	"math"
	"math/big"
	"time"
)

// Equal is Python's a == b for values without markers and unrendered text.
// Shapes nested deeper than MaxDepth compare as unequal.
func Equal(a, b any) bool { return equal(a, b, 0) }

// EqualTo is Equal for values that may hold markers: one that has to be
// compared is the error. Like Python it stops at the first difference.
func EqualTo(a, b any) (bool, error) {
	var u *Undefined
	eq := equalMarked(a, b, 0, &u)
	if u != nil {
		return false, u
	}
	return eq, nil
}

// equalMarked sets met to the first marker compared.
func equalMarked(a, b any, depth int, met **Undefined) bool {
	if *met != nil || depth > MaxDepth {
		return false
	}
	if u, ok := a.(*Undefined); ok {
		*met = u
		return false
	}
	if u, ok := b.(*Undefined); ok {
		*met = u
		return false
	}
	items := func(x, y []any) bool {
		if len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equalMarked(x[i], y[i], depth+1, met) {
				return false
			}
		}
		return true
	}
	switch x := a.(type) {
	case *List:
		y, ok := b.(*List)
		return ok && (x == y || items(x.Items, y.Items))
	case Tuple:
		y, ok := b.(Tuple)
		return ok && items(x, y)
	case *Dict:
		y, ok := b.(*Dict)
		if !ok || x.Len() != y.Len() {
			return false
		}
		for k, v := range x.All() {
			w, ok := y.Get(k)
			if !ok || !equalMarked(v, w, depth+1, met) {
				return false
			}
		}
		return true
	}
	return equal(a, b, depth)
}

func equal(a, b any, depth int) bool {
	if depth > MaxDepth {
		return false
	}
	switch x := a.(type) {
	case nil:
		return b == nil
	case string:
		switch y := b.(type) {
		case string:
			return x == y
		case *Template:
			return x == y.Text
		case Markup:
			return x == string(y)
		}
		return false
	case Markup:
		s, ok := Text(b)
		return ok && s == string(x)
	case *Template:
		s, ok := Text(b)
		return ok && s == x.Text
	case *List:
		y, ok := b.(*List)
		return ok && (x == y || equalItems(x.Items, y.Items, depth))
	case Tuple:
		y, ok := b.(Tuple)
		return ok && equalItems(x, y, depth)
	case *Dict:
		y, ok := b.(*Dict)
		if !ok || x.Len() != y.Len() {
			return false
		}
		if x == y {
			return true
		}
		for k, v := range x.All() {
			w, ok := y.Get(k)
			if !ok || !equal(v, w, depth+1) {
				return false
			}
		}
		return true
	case *Set:
		y, ok := b.(*Set)
		return ok && x.Len() == y.Len() && subset(x, y)
	case []byte:
		y, ok := b.([]byte)
		return ok && bytes.Equal(x, y)
	case time.Time:
		y, ok := b.(time.Time)
		return ok && IsNaive(x) == IsNaive(y) && x.Equal(y)
	case Date, TimeOfDay, time.Duration, Omitted:
		return a == b
	}
	if IsNumber(a) {
		return IsNumber(b) && compareNumbers(a, b) == 0
	}
	if _, ok := a.(Typed); ok {
		if e, ok := a.(interface{ EqualTo(any) bool }); ok {
			return e.EqualTo(b)
		}
		return a == b
	}
	if u, ok := a.(*Undefined); ok {
		return a == b && u != nil
	}
	return false
}

func equalItems(x, y []any, depth int) bool {
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if !equal(x[i], y[i], depth+1) {
			return false
		}
	}
	return true
}

func subset(x, y *Set) bool {
	for _, m := range x.Items() {
		if !y.Has(m) {
			return false
		}
	}
	return true
}

// IsNumber reports whether v is a bool, int or float.
func IsNumber(v any) bool {
	switch v.(type) {
	case bool, int64, int, float64, *big.Int:
		return true
	}
	return false
}

// IsInt reports whether v is an int or bool.
func IsInt(v any) bool {
	switch v.(type) {
	case bool, int64, int, *big.Int:
		return true
	}
	return false
}

// nan is what compareNumbers returns when either side is not a number.
const nan = 2

// compareNumbers compares exactly, also an int with a float.
func compareNumbers(a, b any) int {
	a, b = plainNumber(a), plainNumber(b)
	switch x := a.(type) {
	case int64:
		switch y := b.(type) {
		case int64:
			switch {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		case float64:
			if x >= -1<<53 && x <= 1<<53 {
				return compareFloats(float64(x), y)
			}
		}
	case float64:
		if y, ok := b.(float64); ok {
			return compareFloats(x, y)
		}
		return flip(compareNumbers(b, a))
	}
	if y, ok := b.(float64); ok {
		switch {
		case math.IsNaN(y):
			return nan
		case math.IsInf(y, 1):
			return -1
		case math.IsInf(y, -1):
			return 1
		}
		return new(big.Float).SetPrec(MaxBits).SetInt(ToBig(a)).Cmp(new(big.Float).SetFloat64(y))
	}
	return ToBig(a).Cmp(ToBig(b))
}

func flip(c int) int {
	if c == nan {
		return nan
	}
	return -c
}

func compareFloats(x, y float64) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	case x == y:
		return 0
	}
	return nan
}

// Compare is Python's a OP b for the ordering operators <, <=, > and >=.
func Compare(op string, a, b any) (bool, error) { return compare(op, a, b, 0) }

// Less is Python's a < b.
func Less(a, b any) (bool, error) { return compare("<", a, b, 0) }

func compare(op string, a, b any, depth int) (bool, error) {
	if depth > MaxDepth {
		return false, Raise("RecursionError", "maximum recursion depth exceeded in comparison")
	}
	if IsNumber(a) && IsNumber(b) {
		c := compareNumbers(a, b)
		return c != nan && holds(op, c), nil
	}
	if x, ok := Text(a); ok {
		if y, ok := Text(b); ok {
			switch {
			case x < y:
				return holds(op, -1), nil
			case x > y:
				return holds(op, 1), nil
			}
			return holds(op, 0), nil
		}
		return false, notSupported(op, a, b)
	}
	switch x := a.(type) {
	case *List:
		if y, ok := b.(*List); ok {
			return compareItems(op, x.Items, y.Items, depth)
		}
	case Tuple:
		if y, ok := b.(Tuple); ok {
			return compareItems(op, x, y, depth)
		}
	case []byte:
		if y, ok := b.([]byte); ok {
			return holds(op, bytes.Compare(x, y)), nil
		}
	case *Set:
		if y, ok := b.(*Set); ok {
			switch op {
			case "<":
				return x.Len() < y.Len() && subset(x, y), nil
			case "<=":
				return subset(x, y), nil
			case ">":
				return x.Len() > y.Len() && subset(y, x), nil
			}
			return subset(y, x), nil
		}
	case time.Time:
		if y, ok := b.(time.Time); ok {
			if IsNaive(x) != IsNaive(y) {
				return false, TypeErrorf("can't compare offset-naive and offset-aware datetimes")
			}
			return holds(op, x.Compare(y)), nil
		}
	case Date:
		if y, ok := b.(Date); ok {
			return holds(op, x.Time().Compare(y.Time())), nil
		}
	case TimeOfDay:
		if y, ok := b.(TimeOfDay); ok {
			return holds(op, compareInts(x.Hour, y.Hour, x.Minute, y.Minute, x.Second, y.Second, x.Microsecond, y.Microsecond)), nil
		}
	case time.Duration:
		if y, ok := b.(time.Duration); ok {
			return holds(op, compareInts(int(x), int(y))), nil
		}
	}
	return false, notSupported(op, a, b)
}

func compareInts(pairs ...int) int {
	for i := 0; i+1 < len(pairs); i += 2 {
		switch {
		case pairs[i] < pairs[i+1]:
			return -1
		case pairs[i] > pairs[i+1]:
			return 1
		}
	}
	return 0
}

func compareItems(op string, x, y []any, depth int) (bool, error) {
	for i := 0; i < len(x) && i < len(y); i++ {
		eq, err := EqualTo(x[i], y[i])
		if err != nil {
			return false, err
		}
		if !eq {
			return compare(op, x[i], y[i], depth+1)
		}
	}
	return holds(op, compareInts(len(x), len(y))), nil
}

func holds(op string, c int) bool {
	switch op {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}

func notSupported(op string, a, b any) error {
	return TypeErrorf("'%s' not supported between instances of '%s' and '%s'", op, TypeName(a), TypeName(b))
}
