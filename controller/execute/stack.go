package execute

import "runtime/debug"

// stack is the stack of a driver that panicked, for our own bug report.
func stack() []byte { return debug.Stack() }
