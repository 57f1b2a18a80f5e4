package python

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"volant/wire/value"
)

// serverState is what a server holds: descriptors, resident memory in KiB, children.
func serverState(t *testing.T, pid int) (fds, rss, children int) {
	t.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	// Page by page: what status says is off by a share of every processor there is.
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		t.Skip("the kernel does not add up mappings")
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Rss:" {
			rss, _ = strconv.Atoi(f[1])
		}
	}
	b, err = os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Skip("the kernel does not list children")
	}
	return len(open), rss, len(strings.Fields(string(b)))
}

// TestNothingLeaks runs a module a thousand times in one server.
func TestNothingLeaks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	r := newRig(t)
	req := r.source(t, "quick", "import sys\nprint('{\"changed\": false}')\nsys.exit(0)\n", value.DictOf("text", strings.Repeat("x", 10_000)))
	runs := func(n int) {
		for range n {
			if _, err := r.pool.Run(context.Background(), req, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	ours := func() int {
		open, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(open)
	}
	runs(200)
	var s *server
	for _, e := range r.pool.servers {
		s = e.s
	}
	r.ahead(t)
	before := ours()
	fds, rss, _ := serverState(t, s.cmd.Process.Pid)
	runs(1000)
	r.ahead(t)
	fds2, rss2, children := serverState(t, s.cmd.Process.Pid)
	// What leaks grows with every run; a huge page the kernel makes grows it once.
	for range 2 {
		if rss2 <= rss+1024 {
			break
		}
		rss = rss2
		runs(1000)
		r.ahead(t)
		_, rss2, _ = serverState(t, s.cmd.Process.Pid)
	}
	if fds2 != fds || children != 1 { // the one that is ahead
		t.Errorf("descriptors %d, then %d; %d children left", fds, fds2, children)
	}
	if rss2 > rss+1024 {
		t.Errorf("memory grew from %d to %d KiB", rss, rss2)
	}
	if after := ours(); after > before {
		t.Errorf("our descriptors: %d, then %d", before, after)
	}
	if n := len(s.waiting); n != 0 {
		t.Errorf("%d requests are still waited for", n)
	}
}
