package value

import (
	"math/big"
	"time"
)

// TimeOfDay is a Python time without a zone.
type TimeOfDay struct{ Hour, Minute, Second, Microsecond int }

// Typed is a runtime value of another package that knows its Python type name.
type Typed interface{ TypeName() string }

// TypeName is Python's type(v).__name__.
func TypeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, int, *big.Int:
		return "int"
	case float64:
		return "float"
	case string, *Template, *Vault:
		return "str"
	case Markup:
		return "Markup"
	case []byte:
		return "bytes"
	case *List:
		return "list"
	case Tuple:
		return "tuple"
	case *Dict:
		return "dict"
	case *Set:
		return "set"
	case time.Time:
		return "datetime"
	case Date:
		return "date"
	case TimeOfDay:
		return "time"
	case time.Duration:
		return "timedelta"
	case *Undefined:
		if v.Err != nil {
			return "CapturedExceptionMarker"
		}
		return "UndefinedMarker"
	case Omitted:
		return "_OmitType"
	case Typed:
		return v.TypeName()
	}
	return "object"
}

// Truth is Python's bool(v). A marker counts as false; callers that must fail
// on one check first.
func Truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case int:
		return v != 0
	case *big.Int:
		return v.Sign() != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case *Template:
		return v.Text != ""
	case Markup:
		return v != ""
	case []byte:
		return len(v) > 0
	case *List:
		return v.Len() > 0
	case Tuple:
		return len(v) > 0
	case *Dict:
		return v.Len() > 0
	case *Set:
		return v.Len() > 0
	case time.Duration:
		return v != 0
	case *Undefined:
		return false
	case interface{ Len() int }:
		return v.Len() > 0
	}
	return true
}

// Copy returns a deep copy: new containers all through, the same scalars.
// Containers met again are copied once, so shared and recursive shapes stay.
func Copy(v any) any {
	c := copier{}
	return c.copy(v)
}

type copier struct{ seen map[any]any }

func (c *copier) note(from, to any) {
	if c.seen == nil {
		c.seen = map[any]any{}
	}
	c.seen[from] = to
}

func (c *copier) copy(v any) any {
	switch v := v.(type) {
	case *List:
		if n, ok := c.seen[v]; ok {
			return n
		}
		n := &List{Items: make([]any, len(v.Items))}
		c.note(v, n)
		for i, e := range v.Items {
			n.Items[i] = c.copy(e)
		}
		return n
	case *Dict:
		if n, ok := c.seen[v]; ok {
			return n
		}
		n := v.Clone()
		c.note(v, n)
		for i := range n.vals {
			n.vals[i] = c.copy(n.vals[i])
		}
		return n
	case Tuple:
		n := make(Tuple, len(v))
		for i, e := range v {
			n[i] = c.copy(e)
		}
		return n
	case *Set:
		return SetOf(v.Items()...)
	}
	return v
}
