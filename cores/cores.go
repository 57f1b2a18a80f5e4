// Package cores decides on how many processors this process runs Go code at once.
//
// An agent, a worker and the controller of one host mostly do one small thing
// after another, each handed from goroutine to goroutine. With a processor for
// each, the Go runtime wakes a thread on another one at every such step, which
// takes longer than what it is woken for: 30 to 60 µs on a virtual machine. So
// such a process stays on one (Few), but for what is worth more (All).
package cores

import (
	"os"
	"runtime"
	"sync"
)

var state struct {
	sync.Mutex // guards what follows
	few        bool
	all        int // calls of All that are not over
}

// Few keeps the process on one processor wherever nothing called All, until over
// is called. It does nothing where GOMAXPROCS is set in the environment: who set
// it wants so.
func Few() (over func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	state.Lock()
	defer state.Unlock()
	was := state.few
	state.few = true
	apply()
	return sync.OnceFunc(func() {
		state.Lock()
		defer state.Unlock()
		state.few = was
		apply()
	})
}

// All lets the process use every processor it may until over is called. It costs
// some 50 µs where Few was called, so it is for work of a millisecond and more
// that is done by several goroutines.
func All() (over func()) {
	state.Lock()
	defer state.Unlock()
	state.all++
	apply()
	return sync.OnceFunc(func() {
		state.Lock()
		defer state.Unlock()
		state.all--
		apply()
	})
}

// apply makes it so. The state is locked.
func apply() {
	one := state.few && state.all == 0
	switch now := runtime.GOMAXPROCS(0) == 1; {
	case one == now:
	case one:
		runtime.GOMAXPROCS(1)
	case state.few || os.Getenv("GOMAXPROCS") == "":
		runtime.SetDefaultGOMAXPROCS() // follows the limits of the system again
	}
}
