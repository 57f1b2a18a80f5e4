package main

import "testing"

func TestCollector(t *testing.T) {
	for name, c := range map[string]struct {
		before, now heapState
		percent     int
		gives       bool
	}{
		"small":            {heapState{70 << 20, 80 << 20, 1 << 30}, heapState{70 << 20, 100 << 20, 1 << 30}, 100, false},
		"after a burst":    {heapState{500 << 20, 700 << 20, 3 << 30}, heapState{500 << 20, 700 << 20, 3<<30 + 1<<20}, largePercent, true},
		"within a burst":   {heapState{500 << 20, 700 << 20, 3 << 30}, heapState{500 << 20, 720 << 20, 3<<30 + 50<<20}, largePercent, false},
		"quiet, all lives": {heapState{500 << 20, 520 << 20, 3 << 30}, heapState{500 << 20, 520 << 20, 3 << 30}, largePercent, false},
	} {
		if got := c.now.percent(); got != c.percent {
			t.Errorf("%s: %d percent", name, got)
		}
		if got := c.now.gives(c.before); got != c.gives {
			t.Errorf("%s: gives %v", name, got)
		}
	}
	if h := readHeap(); h.allocated == 0 || h.held == 0 {
		t.Errorf("nothing is read: %+v", h)
	}
}
