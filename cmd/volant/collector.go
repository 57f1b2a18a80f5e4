package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// collectorSlack is memory that is asked for and never touched, so that none is
	// used: the garbage collector counts it and waits until that much more was
	// allocated. Most runs end before it starts.
	collectorSlack = 64 << 20
	// largeHeap is from where the collector may not let as much again pile up: a
	// run with so much has thousands of hosts, and memory matters more than a few
	// seconds of it.
	largeHeap      = 256 << 20
	largePercent   = 40
	collectorLooks = 2 * time.Second
	// quietBytes allocated between two looks are no burst, nor is a thirty-second of
	// what lives: thousands of links are kept alive with so much. worthGiving are what
	// is worth a collection to be given back after a burst.
	quietBytes  = 4 << 20
	worthGiving = 64 << 20
)

// heapState is what the collector is steered by, in bytes.
type heapState struct {
	live      uint64 // marked by the last collection
	held      uint64 // of the heap, used or not, and not given back to the system
	allocated uint64 // since the process began
}

// percent is how much garbage may pile up over what lives.
func (h heapState) percent() int {
	if h.live > largeHeap {
		return largePercent
	}
	return 100
}

// gives tells whether memory is to be given back: what a burst of connections
// needed is over and would be kept for as long as the run lasts.
func (h heapState) gives(before heapState) bool {
	return h.allocated-before.allocated < max(quietBytes, h.live/32) && h.held > max(h.live, collectorSlack)+worthGiving
}

// collect steers the garbage collector until the function it returns is called.
func collect() (stop func()) {
	slack := make([]byte, collectorSlack)
	end, ended := make(chan struct{}), make(chan struct{})
	go func() { // ends with end
		defer close(ended)
		ticks := time.NewTicker(collectorLooks)
		defer ticks.Stop()
		before, given, percent := readHeap(), uint64(0), 100
		for {
			select {
			case <-end:
				return
			case <-ticks.C:
			}
			now := readHeap()
			if p := now.percent(); p != percent {
				debug.SetGCPercent(p)
				percent = p
			}
			// Again only after as much was allocated as made it worth it.
			if now.gives(before) && now.allocated-given > worthGiving {
				debug.FreeOSMemory()
				now = readHeap()
				given = now.allocated
			}
			before = now
		}
	}()
	return func() {
		close(end)
		<-ended
		runtime.KeepAlive(slack)
	}
}

func readHeap() heapState {
	s := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/gc/heap/allocs:bytes"},
	}
	metrics.Read(s)
	n := func(i int) uint64 { return s[i].Value.Uint64() }
	return heapState{live: n(0), held: n(1) + n(2) + n(3), allocated: n(4)}
}
