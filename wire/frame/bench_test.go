package frame

import (
	"fmt"
	"testing"

	"volant/wire"
	"volant/wire/value"
)

// BenchmarkOutcome is what results cost of the size that the modules ping, systemd and
// setup have.
func BenchmarkOutcome(b *testing.B) {
	for _, n := range []int{4, 250, 1000} {
		d := value.NewDict(n)
		for i := range n {
			d.Set(fmt.Sprint("PropertyNameNumber", i), fmt.Sprintf("value of %d, 18446744073709551615", i))
		}
		out := &wire.Outcome{Path: "native", Result: wire.Dict{Dict: value.DictOf("changed", false, "status", d)}}
		body, err := Marshal(out)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("encode/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = Marshal(out)
			}
		})
		b.Run(fmt.Sprintf("decode/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = Unmarshal(body, new(wire.Outcome))
			}
		})
		b.Run(fmt.Sprintf("head/%d", n), func(b *testing.B) {
			for b.Loop() {
				_ = new(wire.Outcome).ParseHead(body)
			}
		})
	}
}
