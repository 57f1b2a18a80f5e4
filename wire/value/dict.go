package value

import (
	"hash/maphash"
	"iter"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// smallDict is the size up to which a Dict is searched linearly: below it a
// scan beats hashing and the index costs memory for nothing.
const smallDict = 8

// Dict is an ordered mapping with Python's key rules: keys are any hashable
// value, and 1, 1.0 and True are the same key. Insertion order is kept;
// replacing a value keeps the key's place. The zero Dict is empty and ready.
// A Dict is not safe for concurrent writes.
type Dict struct {
	keys []any
	vals []any
	// index has 1 + the position of each key, where its hash points to or behind;
	// a power of two in length, never full; nil while small.
	index []int32
	// Places is where the mapping was written, when a file loader made it.
	Places *Places
}

// NewDict returns an empty Dict with room for n entries.
func NewDict(n int) *Dict {
	return &Dict{keys: make([]any, 0, n), vals: make([]any, 0, n)}
}

// DictOf builds a Dict from alternating keys and values.
func DictOf(kv ...any) *Dict {
	d := NewDict(len(kv) / 2)
	for i := 0; i+1 < len(kv); i += 2 {
		d.Set(kv[i], kv[i+1])
	}
	return d
}

// tupleKey is the comparable stand-in for a tuple used as a key.
type tupleKey string

// bigKey is the comparable stand-in for a big integer used as a key.
type bigKey string

// Hashable reports whether v may be a Dict key or a Set member.
func Hashable(v any) bool {
	switch v := v.(type) {
	case *List, *Dict, *Set:
		return false
	case Tuple:
		for _, e := range v {
			if !Hashable(e) {
				return false
			}
		}
	}
	return true
}

// hashKey maps a key to a comparable Go value such that keys equal in Python
// map to equal values.
func hashKey(key any) any {
	switch k := key.(type) {
	case string:
		return key // as it came: no other allocation
	case *Template:
		return k.Text
	case Markup:
		return string(k)
	case bool:
		if k {
			return int64(1)
		}
		return int64(0)
	case int:
		return int64(k)
	case float64:
		if k == math.Trunc(k) && math.Abs(k) < 1<<63 {
			return int64(k)
		}
		return key
	case *big.Int:
		if k.IsInt64() {
			return k.Int64()
		}
		return bigKey(k.String())
	case []byte:
		return tupleKey("b" + string(k))
	case time.Time:
		return tupleKey("t" + k.String())
	case Tuple:
		var b strings.Builder
		for _, e := range k {
			h := hashKey(e)
			switch h := h.(type) {
			case string:
				b.WriteString("s" + strconv.Itoa(len(h)) + ":" + h)
			case int64:
				b.WriteString("i" + strconv.FormatInt(h, 10) + ";")
			case float64:
				b.WriteString("f" + strconv.FormatFloat(h, 'g', -1, 64) + ";")
			case tupleKey:
				b.WriteString("t" + strconv.Itoa(len(h)) + ":" + string(h))
			case bigKey:
				b.WriteString("I" + string(h) + ";")
			default:
				b.WriteString("n;")
			}
		}
		return tupleKey("(" + b.String())
	case *List, *Dict, *Set:
		return nil // callers check Hashable where user data can reach
	}
	return key
}

// seed keeps who writes keys from choosing those that collide.
var seed = maphash.MakeSeed()

// hash is the same for keys that are equal in Python.
func hash(key any) uint64 {
	if s, ok := text(key); ok {
		return maphash.String(seed, s)
	}
	return maphash.Comparable(seed, hashKey(key))
}

// text is the text of a key that is one, of whatever kind.
func text(key any) (string, bool) {
	switch k := key.(type) {
	case string:
		return k, true
	case *Template:
		return k.Text, true
	case Markup:
		return string(k), true
	}
	return "", false
}

func (d *Dict) find(key any) int {
	if d == nil {
		return -1
	}
	if s, ok := text(key); ok {
		return d.findText(s)
	}
	h := hashKey(key)
	if d.index == nil {
		for i, k := range d.keys {
			if hashKey(k) == h {
				return i
			}
		}
		return -1
	}
	mask := uint64(len(d.index) - 1)
	for at := hash(key) & mask; ; at = (at + 1) & mask {
		i := d.index[at] - 1
		if i < 0 || hashKey(d.keys[i]) == h {
			return int(i)
		}
	}
}

func (d *Dict) findText(s string) int {
	if d.index == nil {
		for i, k := range d.keys {
			if t, ok := text(k); ok && t == s {
				return i
			}
		}
		return -1
	}
	mask := uint64(len(d.index) - 1)
	for at := maphash.String(seed, s) & mask; ; at = (at + 1) & mask {
		i := d.index[at] - 1
		if i < 0 {
			return -1
		}
		if t, ok := text(d.keys[i]); ok && t == s {
			return int(i)
		}
	}
}

// Len is the number of entries; a nil Dict has none.
func (d *Dict) Len() int {
	if d == nil {
		return 0
	}
	return len(d.keys)
}

// Get returns the value of key.
func (d *Dict) Get(key any) (any, bool) {
	if i := d.find(key); i >= 0 {
		return d.vals[i], true
	}
	return nil, false
}

// Lookup returns the value of key, or nil.
func (d *Dict) Lookup(key any) any {
	v, _ := d.Get(key)
	return v
}

// Has reports whether key is present.
func (d *Dict) Has(key any) bool { return d.find(key) >= 0 }

// Set puts v under key, in place if key is present, else at the end.
func (d *Dict) Set(key, v any) {
	if i := d.find(key); i >= 0 {
		d.vals[i] = v
		return
	}
	d.put(key, v)
}

// put puts v under key, which is not there.
func (d *Dict) put(key, v any) {
	d.keys = append(d.keys, key)
	d.vals = append(d.vals, v)
	switch {
	case len(d.keys) <= smallDict:
	case len(d.keys)*2 > len(d.index):
		d.reindex()
	default:
		d.enter(len(d.keys) - 1)
	}
}

// Add puts v under key at the end, and reports whether key was not present; if
// it was, nothing changes.
func (d *Dict) Add(key, v any) bool {
	if d.find(key) >= 0 {
		return false
	}
	d.put(key, v)
	return true
}

// reindex makes the index anew, with room for as many keys as there is for keys.
func (d *Dict) reindex() {
	if len(d.keys) <= smallDict {
		d.index = nil
		return
	}
	size := 4 * smallDict
	for size < 2*cap(d.keys) {
		size *= 2
	}
	d.index = make([]int32, size)
	for i := range d.keys {
		d.enter(i)
	}
}

// enter puts key i into the index, which has room for it.
func (d *Dict) enter(i int) {
	mask := uint64(len(d.index) - 1)
	at := hash(d.keys[i]) & mask
	for d.index[at] != 0 {
		at = (at + 1) & mask
	}
	d.index[at] = int32(i + 1)
}

// Delete removes key and reports whether it was present.
func (d *Dict) Delete(key any) bool {
	i := d.find(key)
	if i < 0 {
		return false
	}
	d.keys = append(d.keys[:i], d.keys[i+1:]...)
	d.vals = append(d.vals[:i], d.vals[i+1:]...)
	d.reindex()
	return true
}

// Clear removes every entry.
func (d *Dict) Clear() { d.keys, d.vals, d.index = nil, nil, nil }

// At returns entry i in order, 0 <= i < Len.
func (d *Dict) At(i int) (key, v any) { return d.keys[i], d.vals[i] }

// SetAt replaces the value of entry i.
func (d *Dict) SetAt(i int, v any) { d.vals[i] = v }

// All iterates over the entries in order. The Dict must not change meanwhile.
func (d *Dict) All() iter.Seq2[any, any] {
	return func(yield func(any, any) bool) {
		if d == nil {
			return
		}
		for i, k := range d.keys {
			if !yield(k, d.vals[i]) {
				return
			}
		}
	}
}

// Keys returns a fresh slice of the keys in order.
func (d *Dict) Keys() []any {
	if d == nil {
		return nil
	}
	return append([]any(nil), d.keys...)
}

// Clone returns a shallow copy: a new Dict with the same values.
func (d *Dict) Clone() *Dict {
	c := NewDict(d.Len())
	if d == nil {
		return c
	}
	c.keys = append(c.keys, d.keys...)
	c.vals = append(c.vals, d.vals...)
	c.index = slices.Clone(d.index)
	return c
}

// Update sets every entry of o, in o's order.
func (d *Dict) Update(o *Dict) {
	for k, v := range o.All() {
		d.Set(k, v)
	}
}

// Str returns the text of key's value when it is a string of either kind.
func (d *Dict) Str(key string) (string, bool) {
	v, ok := d.Get(key)
	if !ok {
		return "", false
	}
	return Text(v)
}

// Bool returns the value of key when it is a bool, else false.
func (d *Dict) Bool(key string) bool {
	b, _ := d.Lookup(key).(bool)
	return b
}
