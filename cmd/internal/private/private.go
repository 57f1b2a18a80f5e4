// Package private keeps a process's memory to itself: passwords pass through it.
package private

import (
	"os"

	"golang.org/x/sys/unix"
)

// Core is the variable that, set to anything, leaves core dumps on and lets
// debuggers of the same user in.
const Core = "VOLANT_CORE"

// Keep turns core dumps of this process off, and its memory and environment
// away from other processes of its user. What it starts is not affected: the
// kernel forgets it at exec, and limits stay those of the login.
func Keep() {
	if os.Getenv(Core) == "" {
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // cannot fail with this value
	}
}
