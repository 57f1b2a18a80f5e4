package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"sync"
	"time"
	"unicode/utf8"

	"volant/wire/value"
)

// Tags of values that CBOR has no type of its own for.
const (
	tagBigPos    = 2     // big integer
	tagBigNeg    = 3     // big integer, -1-n
	tagSet       = 258   // array: set
	tagTuple     = 27400 // array: tuple
	tagRawString = 27401 // byte string: str that is not valid UTF-8
)

// EncodeValue encodes a value in Python's shape. Templates travel as plain
// strings: operator-written text ends at the controller. Dates and times travel
// as their isoformat, which is what modules get. Undefined and Omit
// have no encoding and are an error.
func EncodeValue(v any) ([]byte, error) {
	return Encoded(func(b []byte) ([]byte, error) { return AppendValue(b, v) })
}

// drafts are buffers that encodings are made in: one that grows with what it is
// given takes five times the memory.
var drafts = sync.Pool{New: func() any { return new([]byte) }}

// keptDraft is the largest that is kept.
const keptDraft = 256 << 10

// Encoded is what f appends to an empty buffer, which it must not keep.
func Encoded(f func(b []byte) ([]byte, error)) ([]byte, error) {
	d := drafts.Get().(*[]byte)
	b, err := f((*d)[:0])
	switch {
	case err != nil:
		b = nil
	case cap(b) <= keptDraft: // else it is not kept, and no copy is needed
		*d, b = b, bytes.Clone(b)
	}
	drafts.Put(d)
	return b, err
}

// AppendValue appends the encoding of v to b.
func AppendValue(b []byte, v any) ([]byte, error) { return appendValue(b, v, 0) }

func appendHead(b []byte, major byte, n uint64) []byte {
	major <<= 5
	switch {
	case n < 24:
		return append(b, major|byte(n))
	case n <= math.MaxUint8:
		return append(b, major|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, major|25), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, major|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, major|27), n)
}

func appendInt(b []byte, n int64) []byte {
	if n < 0 {
		return appendHead(b, 1, uint64(-1-n))
	}
	return appendHead(b, 0, uint64(n))
}

func appendText(b []byte, s string) []byte {
	if utf8.ValidString(s) {
		return append(appendHead(b, 3, uint64(len(s))), s...)
	}
	b = appendHead(b, 6, tagRawString)
	return append(appendHead(b, 2, uint64(len(s))), s...)
}

func appendBig(b []byte, n *big.Int) []byte {
	if n.IsInt64() {
		return appendInt(b, n.Int64())
	}
	tag, m := uint64(tagBigPos), n
	if n.Sign() < 0 {
		tag, m = tagBigNeg, new(big.Int).Not(n)
	}
	raw := m.Bytes()
	return append(appendHead(appendHead(b, 6, tag), 2, uint64(len(raw))), raw...)
}

func appendItems(b []byte, items []any, depth int) ([]byte, error) {
	b = appendHead(b, 4, uint64(len(items)))
	var err error
	for _, e := range items {
		if b, err = appendValue(b, e, depth+1); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func appendValue(b []byte, v any, depth int) ([]byte, error) {
	if depth > MaxDepth {
		return nil, errLimits
	}
	switch v := v.(type) {
	case nil:
		return append(b, 0xf6), nil
	case bool:
		if v {
			return append(b, 0xf5), nil
		}
		return append(b, 0xf4), nil
	case int64:
		return appendInt(b, v), nil
	case int:
		return appendInt(b, int64(v)), nil
	case *big.Int:
		return appendBig(b, v), nil
	case float64:
		return binary.BigEndian.AppendUint64(append(b, 0xfb), math.Float64bits(v)), nil
	case string:
		return appendText(b, v), nil
	case *value.Template:
		return appendText(b, v.Text), nil
	case []byte:
		return append(appendHead(b, 2, uint64(len(v))), v...), nil
	case *value.List:
		if v == nil {
			return append(b, 0x80), nil
		}
		return appendItems(b, v.Items, depth)
	case value.Tuple:
		return appendItems(appendHead(b, 6, tagTuple), v, depth)
	case *value.Set:
		return appendItems(appendHead(b, 6, tagSet), v.Items(), depth)
	case *value.Dict:
		return appendDict(b, v, depth)
	case time.Time:
		return appendText(b, value.FormatTime(v, "T")), nil
	case value.Date:
		return appendText(b, v.String()), nil
	case value.TimeOfDay:
		return appendText(b, v.String()), nil
	case *value.Vault:
		if v.Decrypt == nil {
			return nil, fmt.Errorf("encoding a value: encrypted text without its secret")
		}
		s, err := v.Decrypt()
		if err != nil {
			return nil, err
		}
		return appendText(b, s), nil
	case error: // *value.Undefined is the error its use raises
		return nil, v
	}
	return nil, fmt.Errorf("encoding a value: %T has no encoding", v)
}

func appendDict(b []byte, d *value.Dict, depth int) ([]byte, error) {
	b = appendHead(b, 5, uint64(d.Len()))
	var err error
	for k, v := range d.All() {
		if b, err = appendValue(b, k, depth+1); err != nil {
			return nil, err
		}
		if b, err = appendValue(b, v, depth+1); err != nil {
			return nil, err
		}
	}
	return b, nil
}
