package cores

import (
	"os"
	"runtime"
	"testing"
)

func expect(t *testing.T, what string, n int) {
	t.Helper()
	if got := runtime.GOMAXPROCS(0); got != n {
		t.Errorf("%s: %d processors, not %d", what, got, n)
	}
}

func TestFewAndAll(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	os.Unsetenv("GOMAXPROCS")
	runtime.SetDefaultGOMAXPROCS()
	most := runtime.GOMAXPROCS(0)
	defer runtime.SetDefaultGOMAXPROCS()
	All()()
	expect(t, "All alone", most)
	few := Few()
	expect(t, "Few", 1)
	a, b := All(), All()
	expect(t, "All within", most)
	a()
	a()
	expect(t, "one of two over, twice", most)
	b()
	expect(t, "both over", 1)
	inner := Few()
	inner()
	expect(t, "Few within Few", 1)
	c := All()
	few()
	expect(t, "Few over, All not", most)
	c()
	expect(t, "all over", most)
}

// TestWanted: what the environment says is not changed.
func TestWanted(t *testing.T) {
	t.Setenv("GOMAXPROCS", "3")
	old := runtime.GOMAXPROCS(3)
	defer runtime.GOMAXPROCS(old)
	few := Few()
	expect(t, "Few", 3)
	All()()
	expect(t, "All", 3)
	few()
	expect(t, "over", 3)
	runtime.GOMAXPROCS(1)
	All()()
	expect(t, "one wanted", 1)
}
