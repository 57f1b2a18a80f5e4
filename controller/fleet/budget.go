package fleet

import (
	"fmt"

	"volant/wire"
)

// Bounds of what an agent says of a sub-task on one slot, beside its result:
// what it has to say is far below.
const (
	maxStarted = 1000
	maxOutput  = 2 * wire.MaxResult // bytes; an agent sends no more than a result may hold
	outputCost = 256                // what a piece of output counts at least
	maxRefused = 256                // blobs that are no part of the sub-task
)

// budget is what an agent said so far on one slot.
type budget struct {
	started, output, refused int
	wanted                   map[wire.Hash]int
}

// unasked is an agent that says what nobody asked for, or does not stop.
func unasked(format string, args ...any) error {
	return &lostSlot{fmt.Errorf("the agent "+format, args...)}
}

// said counts a message that is no part of the result and asks for nothing.
func (x *exchange) said(b *budget, m wire.Message) error {
	switch m := m.(type) {
	case *wire.Started:
		if b.started++; b.started > maxStarted {
			return unasked("says that it started without end")
		}
	case *wire.Output:
		if b.output += max(len(m.Data), outputCost); b.output > maxOutput {
			return unasked("sends output without end")
		}
	case *wire.Data:
		if x.r.Sink == nil || x.got.done != nil || len(m.Data) == 0 {
			return unasked("sends a piece of a file that is not asked for")
		}
	case *wire.FileDone:
		if x.r.Sink == nil || x.got.done != nil {
			return unasked("sends the end of a file that is not asked for")
		}
	}
	return nil
}

// wants counts a blob that is asked for: once each would do, and as often as the
// sub-task has it among its files.
func (x *exchange) wants(b *budget, h wire.Hash) error {
	most, part := 2, false
	for f := range x.r.files() {
		if f.Hash == h {
			most, part = most+1, true
		}
	}
	if !part && !x.mayServe(h) {
		if b.refused++; b.refused > maxRefused {
			return unasked("asks for files without end that are no part of the sub-task")
		}
		return nil
	}
	if b.wanted == nil {
		b.wanted = map[wire.Hash]int{}
	}
	if b.wanted[h]++; b.wanted[h] > most {
		return unasked("asks for the same file again and again")
	}
	return nil
}
