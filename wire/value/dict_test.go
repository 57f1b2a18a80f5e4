package value

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestDictIsAList: whatever is done to a mapping, it holds what a list searched
// from its start would.
func TestDictIsAList(t *testing.T) {
	var keys []any
	for i := range 40 {
		keys = append(keys, fmt.Sprint("k", i), int64(i), float64(i)+0.5)
	}
	keys = append(keys, nil, true, 0, 3.0, big.NewInt(7), new(big.Int).Lsh(big.NewInt(1), 90), NewTemplate("k1", Pos{}), Markup("k2"),
		[]byte("k3"), Tuple{"a", int64(1)}, Tuple{"a", true}, Tuple{}, "")
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		d := NewDict(rng.IntN(20))
		var list [][2]any
		at := func(k any) int {
			return slices.IndexFunc(list, func(e [2]any) bool { return hashKey(e[0]) == hashKey(k) })
		}
		for n := range rng.IntN(200) {
			k := keys[rng.IntN(len(keys))]
			i := at(k)
			switch rng.IntN(8) {
			case 0:
				if d.Delete(k) != (i >= 0) {
					t.Fatalf("Delete(%v)", k)
				}
				if i >= 0 {
					list = slices.Delete(list, i, i+1)
				}
			case 1:
				d = d.Clone()
			default:
				if d.Set(k, n); i >= 0 {
					list[i][1] = n
				} else {
					list = append(list, [2]any{k, n})
				}
			}
		}
		if d.Len() != len(list) {
			t.Fatalf("%d entries, want %d", d.Len(), len(list))
		}
		for i, e := range list {
			k, v := d.At(i)
			if hashKey(k) != hashKey(e[0]) || v != e[1] {
				t.Fatalf("entry %d is %v: %v, want %v", i, k, v, e)
			}
		}
		for _, k := range keys {
			v, ok := d.Get(k)
			if i := at(k); ok != (i >= 0) || ok && v != list[i][1] {
				t.Fatalf("%T %v: %v, %v", k, k, v, ok)
			}
		}
	}
}
