package value

import "fmt"

// Exception is a failure that Python would raise as Class; Msg is its text.
type Exception struct {
	Class string // TypeError, ValueError, ZeroDivisionError...
	Msg   string
}

func (e *Exception) Error() string { return e.Msg }

// TypeErrorf returns a Python TypeError.
func TypeErrorf(format string, args ...any) error {
	return &Exception{"TypeError", fmt.Sprintf(format, args...)}
}

// ValueErrorf returns a Python ValueError.
func ValueErrorf(format string, args ...any) error {
	return &Exception{"ValueError", fmt.Sprintf(format, args...)}
}

// Raise returns a Python exception of the given class.
func Raise(class, format string, args ...any) error {
	return &Exception{class, fmt.Sprintf(format, args...)}
}

// Bounds on what one operation may make, so that a short expression cannot
// take all memory. Exceeding one is a Python MemoryError or OverflowError that
// names the limit.
const (
	MaxText  = 64 << 20 // bytes of one string
	MaxItems = 10 << 20 // items of one list or tuple
	MaxBits  = 1 << 18  // bits of one integer
	MaxDepth = 400      // nesting followed by repr, comparison, copy and JSON
)

func errText() error {
	return Raise("MemoryError", "string would exceed the limit of %d bytes", MaxText)
}

func errItems() error {
	return Raise("MemoryError", "sequence would exceed the limit of %d items", MaxItems)
}

func errBits() error {
	return Raise("OverflowError", "integer would exceed the limit of %d bits", MaxBits)
}

func errDepth() error {
	return Raise("RecursionError", "maximum recursion depth exceeded")
}
