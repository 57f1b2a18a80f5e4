package value

import (
	"fmt"
	"testing"
)

// BenchmarkDict is what mappings of a task's arguments, of its variables and of facts cost.
func BenchmarkDict(b *testing.B) {
	for _, n := range []int{6, 30, 300} {
		keys := make([]any, n)
		d := NewDict(n)
		for i := range keys {
			keys[i] = fmt.Sprintf("ansible_name_%d", i)
			d.Set(keys[i], i)
		}
		b.Run(fmt.Sprintf("set/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d := NewDict(n)
				for _, k := range keys {
					d.Set(k, nil)
				}
			}
		})
		b.Run(fmt.Sprintf("get/%d", n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if _, ok := d.Get(keys[i%n]); !ok {
					b.Fatal("lost")
				}
			}
		})
		b.Run(fmt.Sprintf("miss/%d", n), func(b *testing.B) {
			for b.Loop() {
				if d.Has("ansible_name") {
					b.Fatal("found")
				}
			}
		})
		b.Run(fmt.Sprintf("clone/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d.Clone()
			}
		})
	}
}
