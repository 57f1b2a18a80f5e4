package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"

	"volant/wire/value"
)

var errShort = errors.New("value cut short")

// DecodeValue decodes one value, which must take up all of b. Depth and number
// of elements are bounded, and no length is believed that b cannot hold.
func DecodeValue(b []byte) (any, error) {
	d := decoder{b: b}
	d.share()
	v, err := d.value(0)
	if err != nil {
		return nil, fmt.Errorf("decoding a value: %w", err)
	}
	if len(d.b) != 0 {
		return nil, fmt.Errorf("decoding a value: %d bytes behind it", len(d.b))
	}
	return v, nil
}

type decoder struct {
	b     []byte
	count int
	whole string // ends where b ends; empty: texts have memory of their own
}

// head reads one initial byte and its argument. Indefinite lengths are refused.
func (d *decoder) head() (major, info byte, n uint64, err error) {
	if len(d.b) == 0 {
		return 0, 0, 0, errShort
	}
	major, info = d.b[0]>>5, d.b[0]&31
	d.b = d.b[1:]
	size := 0
	switch {
	case info < 24:
		return major, info, uint64(info), nil
	case info <= 27:
		size = 1 << (info - 24)
	default:
		return 0, 0, 0, fmt.Errorf("initial byte with information %d", info)
	}
	if len(d.b) < size {
		return 0, 0, 0, errShort
	}
	switch size {
	case 1:
		n = uint64(d.b[0])
	case 2:
		n = uint64(binary.BigEndian.Uint16(d.b))
	case 4:
		n = uint64(binary.BigEndian.Uint32(d.b))
	case 8:
		n = binary.BigEndian.Uint64(d.b)
	}
	d.b = d.b[size:]
	return major, info, n, nil
}

func (d *decoder) bytes(n uint64) ([]byte, error) {
	if n > uint64(len(d.b)) {
		return nil, errShort
	}
	p := d.b[:n:n]
	d.b = d.b[n:]
	return p, nil
}

func (d *decoder) value(depth int) (any, error) {
	d.count++
	if depth > MaxDepth || d.count > MaxElements {
		return nil, errLimits
	}
	major, info, n, err := d.head()
	if err != nil {
		return nil, err
	}
	switch major {
	case 0:
		if n <= math.MaxInt64 {
			return int64(n), nil
		}
		return new(big.Int).SetUint64(n), nil
	case 1:
		if n <= math.MaxInt64 {
			return -1 - int64(n), nil
		}
		return new(big.Int).Not(new(big.Int).SetUint64(n)), nil
	case 2:
		p, err := d.bytes(n)
		return append([]byte{}, p...), err
	case 3:
		p, err := d.bytes(n)
		if err != nil {
			return nil, err
		}
		return d.text(p)
	case 4:
		items, err := d.items(n, depth)
		return value.ListOf(items...), err
	case 5:
		return d.dict(n, depth)
	case 6:
		return d.tagged(n, depth)
	}
	return simple(info, n)
}

func simple(info byte, n uint64) (any, error) {
	switch info {
	case 20, 21:
		return info == 21, nil
	case 22, 23:
		return nil, nil
	case 25:
		return half(uint16(n)), nil
	case 26:
		return float64(math.Float32frombits(uint32(n))), nil
	case 27:
		return math.Float64frombits(n), nil
	}
	return nil, fmt.Errorf("simple value %d", n)
}

// half widens an IEEE 754 half-precision number.
func half(h uint16) float64 {
	exp, frac := int(h>>10&31), float64(h&1023)
	var f float64
	switch exp {
	case 0:
		f = math.Ldexp(frac, -24)
	case 31:
		f = math.Inf(1)
		if frac != 0 {
			f = math.NaN()
		}
	default:
		f = math.Ldexp(frac+1024, exp-25)
	}
	if h>>15 == 1 {
		f = -f
	}
	return f
}

func (d *decoder) items(n uint64, depth int) ([]any, error) {
	if n > uint64(len(d.b)) { // each item is at least a byte
		return nil, errShort
	}
	items := make([]any, 0, min(n, 1024)) // grown as items really arrive
	for range n {
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	return items, nil
}

func (d *decoder) dict(n uint64, depth int) (any, error) {
	if n > uint64(len(d.b)/2) {
		return nil, errShort
	}
	m := value.NewDict(int(min(n, 1024)))
	for range n {
		k, err := d.key(depth + 1)
		if err != nil {
			return nil, err
		}
		if !value.Hashable(k) {
			return nil, errors.New("mapping key that cannot be one")
		}
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if !m.Add(k, v) {
			return nil, errors.New("mapping with a key twice")
		}
	}
	return m, nil
}

// key reads a mapping's key.
func (d *decoder) key(depth int) (any, error) {
	if len(d.b) == 0 || d.b[0]>>5 != 3 {
		return d.value(depth)
	}
	if d.count++; depth > MaxDepth || d.count > MaxElements {
		return nil, errLimits
	}
	_, _, n, err := d.head()
	if err != nil {
		return nil, err
	}
	p, err := d.bytes(n)
	if err != nil {
		return nil, err
	}
	return key(p)
}

func (d *decoder) tagged(tag uint64, depth int) (any, error) {
	v, err := d.value(depth + 1)
	if err != nil {
		return nil, err
	}
	switch tag {
	case tagRawString:
		if p, ok := v.([]byte); ok {
			return string(p), nil
		}
	case tagBigPos, tagBigNeg:
		if p, ok := v.([]byte); ok && len(p) <= MaxText {
			n := new(big.Int).SetBytes(p)
			if tag == tagBigNeg {
				n.Not(n)
			}
			if n.IsInt64() {
				return n.Int64(), nil
			}
			return n, nil
		}
	case tagTuple:
		if l, ok := v.(*value.List); ok {
			return value.Tuple(l.Items), nil
		}
	case tagSet:
		if l, ok := v.(*value.List); ok {
			s := value.SetOf()
			for _, e := range l.Items {
				if !value.Hashable(e) {
					return nil, errors.New("set member that cannot be one")
				}
				s.Add(e)
			}
			return s, nil
		}
	default:
		return nil, fmt.Errorf("unknown tag %d", tag)
	}
	return nil, fmt.Errorf("tag %d on a %T", tag, v)
}
