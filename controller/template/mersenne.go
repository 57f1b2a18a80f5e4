package template

import (
	"crypto/rand"
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"math/bits"

	"volant/controller/jinja"
	"volant/wire/value"
)

// random is Python's random.Random, seeded or not: the numbers a seed gives are
// part of what playbooks rely on (`60 | random(seed=inventory_hostname)`).
type random struct {
	state [624]uint32
	index int
	real  bool // drawn from the system
}

// newRandom seeds as Python does. nil draws from the system.
func newRandom(seed any) (*random, error) {
	r := &random{}
	switch s := seed.(type) {
	case nil:
		r.real = true
		return r, nil
	case string:
		sum := sha512.Sum512([]byte(s))
		r.seed(new(big.Int).SetBytes(append([]byte(s), sum[:]...)))
	case []byte:
		sum := sha512.Sum512(s)
		r.seed(new(big.Int).SetBytes(append(append([]byte(nil), s...), sum[:]...)))
	case float64:
		r.seed(new(big.Int).SetUint64(uint64(hashFloat(s))))
	default:
		if !value.IsInt(s) {
			return nil, value.TypeErrorf("The only supported seed types are: None,\nint, float, str, bytes, and bytearray.")
		}
		r.seed(new(big.Int).Abs(value.ToBig(s)))
	}
	return r, nil
}

// hashFloat is Python's hash of a float on 64-bit machines, read as unsigned.
func hashFloat(f float64) int64 {
	switch {
	case math.IsInf(f, 1):
		return 314159
	case math.IsInf(f, -1):
		return -314159
	case math.IsNaN(f):
		return 0
	}
	const mod, width = 1<<61 - 1, 61
	m, e := math.Frexp(math.Abs(f))
	var x uint64
	for m != 0 {
		x = x<<28&mod | x>>(width-28)
		m *= 1 << 28
		e -= 28
		y := uint64(m)
		m -= float64(y)
		if x += y; x >= mod {
			x -= mod
		}
	}
	if e >= 0 {
		e %= width
	} else {
		e = width - 1 - (-1-e)%width
	}
	x = x<<e&mod | x>>(width-e)
	h := int64(x)
	if f < 0 {
		h = -h
	}
	if h == -1 {
		h = -2
	}
	return h
}

func (r *random) init(s uint32) {
	r.state[0] = s
	for i := uint32(1); i < 624; i++ {
		r.state[i] = 1812433253*(r.state[i-1]^r.state[i-1]>>30) + i
	}
	r.index = 624
}

func (r *random) seed(n *big.Int) {
	var key []uint32
	mask := big.NewInt(math.MaxUint32)
	for n = new(big.Int).Set(n); n.Sign() > 0; n.Rsh(n, 32) {
		key = append(key, uint32(new(big.Int).And(n, mask).Uint64()))
	}
	if len(key) == 0 {
		key = []uint32{0}
	}
	r.init(19650218)
	i, j := 1, 0
	for k := max(624, len(key)); k > 0; k-- {
		r.state[i] = (r.state[i] ^ (r.state[i-1]^r.state[i-1]>>30)*1664525) + key[j] + uint32(j)
		i++
		j++
		if i >= 624 {
			r.state[0] = r.state[623]
			i = 1
		}
		if j >= len(key) {
			j = 0
		}
	}
	for k := 623; k > 0; k-- {
		r.state[i] = (r.state[i] ^ (r.state[i-1]^r.state[i-1]>>30)*1566083941) - uint32(i)
		i++
		if i >= 624 {
			r.state[0] = r.state[623]
			i = 1
		}
	}
	r.state[0] = 0x80000000
}

func (r *random) word() uint32 {
	if r.real {
		var b [4]byte
		_, _ = rand.Read(b[:]) // never fails
		return binary.LittleEndian.Uint32(b[:])
	}
	if r.index >= 624 {
		for k := range 624 {
			y := r.state[k]&0x80000000 | r.state[(k+1)%624]&0x7fffffff
			r.state[k] = r.state[(k+397)%624] ^ y>>1 ^ (y&1)*0x9908b0df
		}
		r.index = 0
	}
	y := r.state[r.index]
	r.index++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// bits returns k random bits, 0 < k <= 64.
func (r *random) bits(k int) uint64 {
	if k <= 32 {
		return uint64(r.word() >> (32 - k))
	}
	lo := uint64(r.word())
	return lo | uint64(r.word()>>(64-k))<<32
}

// below returns a number in [0, n).
func (r *random) below(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	k := bits.Len64(n)
	for {
		if v := r.bits(k); v < n {
			return v
		}
	}
}

// belowBig is below for numbers of any size.
func (r *random) belowBig(n *big.Int) *big.Int {
	if n.IsUint64() {
		return new(big.Int).SetUint64(r.below(n.Uint64()))
	}
	k := n.BitLen()
	for {
		v := new(big.Int)
		for i, left := 0, k; left > 0; i, left = i+1, left-32 {
			w := r.word()
			if left < 32 {
				w >>= 32 - left
			}
			v.Or(v, new(big.Int).Lsh(new(big.Int).SetUint64(uint64(w)), uint(32*i)))
		}
		if v.Cmp(n) < 0 {
			return v
		}
	}
}

func (r *random) shuffle(items []any) {
	for i := len(items) - 1; i > 0; i-- {
		j := r.below(uint64(i) + 1)
		items[i], items[j] = items[j], items[i]
	}
}

var randomFilters = map[string]*jinja.Plugin{
	"random":  lazy(def("rand(end, start=None, step=None, seed=None)", randomFilter)),
	"shuffle": lazy(def("randomize_list(mylist, seed=None)", shuffleFilter)),
}

func randomFilter(c *jinja.Context, a []any) (any, error) {
	r, err := newRandom(a[3])
	if err != nil {
		return nil, err
	}
	if value.IsInt(a[0]) {
		return randRange(c, r, a[1], a[0], a[2])
	}
	items, err := iterate(c, a[0])
	if err != nil {
		var u *value.Undefined
		if errors.As(err, &u) {
			return nil, err
		}
		return nil, failf("random can only be used on sequences and integers")
	}
	if truth(c, a[1]) || truth(c, a[2]) {
		return nil, failf("start and step can only be used with integer values")
	}
	if len(items) == 0 {
		return nil, value.Raise("IndexError", "Cannot choose from an empty sequence")
	}
	i := int64(r.below(uint64(len(items))))
	if d, ok := a[0].(*value.Dict); ok {
		v, ok := d.Get(i)
		if !ok {
			return nil, value.Raise("KeyError", "%d", i)
		}
		return v, nil
	}
	return items[i], nil
}

func randRange(c *jinja.Context, r *random, start, end, step any) (any, error) {
	if !truth(c, start) {
		start = int64(0)
	}
	if !truth(c, step) {
		step = int64(1)
	}
	for _, v := range []any{start, step} {
		if !value.IsInt(v) {
			return nil, value.TypeErrorf("'%s' object cannot be interpreted as an integer", value.TypeName(v))
		}
	}
	lo, hi, by := value.ToBig(start), value.ToBig(end), value.ToBig(step)
	width := new(big.Int).Sub(hi, lo)
	if by.IsInt64() && by.Int64() == 1 {
		if width.Sign() <= 0 {
			return nil, value.ValueErrorf("empty range for randrange() (%s, %s, %s)", lo, hi, width)
		}
		return value.Int(new(big.Int).Add(lo, r.belowBig(width))), nil
	}
	if by.Sign() == 0 {
		return nil, value.ValueErrorf("zero step for randrange()")
	}
	n := new(big.Int).Add(width, by)
	n.Sub(n, big.NewInt(int64(by.Sign())))
	n.Quo(n, by)
	if n.Sign() <= 0 {
		return nil, value.ValueErrorf("empty range for randrange()")
	}
	v := r.belowBig(n)
	return value.Int(v.Add(lo, v.Mul(v, by))), nil
}

func shuffleFilter(c *jinja.Context, a []any) (any, error) {
	items, err := iterate(c, a[0])
	if err != nil {
		var u *value.Undefined
		if errors.As(err, &u) {
			return nil, err
		}
		return a[0], nil // as in the reference: what is no list stays as it is
	}
	out := append([]any(nil), items...)
	seed := a[1]
	if !truth(c, seed) {
		seed = nil
	}
	r, err := newRandom(seed)
	if err == nil {
		r.shuffle(out)
	}
	return value.ListOf(out...), nil
}
