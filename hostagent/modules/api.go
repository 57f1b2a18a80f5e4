// Package modules holds the native modules: Go code that stands in for the
// reference's Python modules, key for key equal in result, one file each,
// listed in table.go. A native module decides by reading and only then acts;
// what it does not cover it hands back, before the first write, and the Python
// module runs instead.
package modules

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"volant/hostagent/proc"
	"volant/wire/argspec"
	"volant/wire/value"
)

// Result is a module's result dict, as the Python module would print it.
type Result = *value.Dict

// Module is one native module. Its error is a *HandBack, or a fault of ours
// or of the host that is no result: a module that fails says so in its Result.
type Module func(ctx context.Context, env *Env, args *value.Dict) (Result, error)

// HandBack is the error of a native module that leaves the case to the Python
// module. Nothing was changed.
type HandBack struct{ Reason string }

// Error returns the reason.
func (h *HandBack) Error() string { return "handed back to Python: " + h.Reason }

func handBack(format string, args ...any) error {
	return &HandBack{Reason: fmt.Sprintf(format, args...)}
}

// afterChange makes a failure of a hand-back that comes too late.
func afterChange(err error) error {
	var h *HandBack
	if errors.As(err, &h) {
		return fail(h.Reason)
	}
	return err
}

func isHandBack(err error) bool {
	var h *HandBack
	return errors.As(err, &h)
}

// Env is what a module may know and touch besides its arguments. It is made
// per sub-task.
type Env struct {
	Name    string // module name as the task has it, for messages: "copy", "ansible.legacy.copy"
	Check   bool
	Diff    bool
	NoLog   bool
	Version string // ansible-core's, such as "2.19.12"

	Environ         []string      // the sub-task's environment, KEY=VALUE: login's plus the task's
	Cwd             string        // working directory; empty: the process's
	Umask           int           // -1: the process's
	Tmpdir          func() string // the sub-task's staging directory; nil: the system's for temporary files
	ShellExecutable string        // "/bin/sh" when empty
	IgnoreUnknown   bool          // unknown arguments are ignored
	Cache           string        // private directory of this user's, kept between tasks; empty: there is none
	Python          string        // interpreter that a hand-back would use, when known

	Now func() time.Time // nil: time.Now
	// Output receives pieces of a command's output (stream 1 or 2) while it
	// runs, Forked the process group of what was started. Both may be nil.
	Output func(stream int, p []byte)
	Forked func(pgid int)

	warnings     []string
	deprecations []any
	truncated    bool // a command's output went beyond the limit
}

// Getenv returns the value of a variable of the sub-task's environment.
func (e *Env) Getenv(key string) string {
	v, _ := proc.Getenv(e.Environ, key)
	return v
}

func (e *Env) now() time.Time {
	now := time.Now()
	if e.Now != nil {
		now = e.Now()
	}
	if tz, ok := proc.Getenv(e.Environ, "TZ"); ok && tz != os.Getenv("TZ") {
		if loc, err := time.LoadLocation(strings.TrimPrefix(tz, ":")); err == nil {
			return now.In(loc)
		}
	}
	return now
}

// Warn adds a warning to the result.
func (e *Env) Warn(format string, args ...any) {
	e.warnings = append(e.warnings, fmt.Sprintf(format, args...))
}

// args is what argument types expand ~ and $VAR with.
func (e *Env) args() argspec.Environment { return argspec.Environment{Getenv: e.Getenv} }

// p is path as system calls of this process need it: the sub-task's working
// directory is not the process's.
func (e *Env) p(path string) string {
	if filepath.IsAbs(path) || e.Cwd == "" {
		return path
	}
	return e.Cwd + "/" + path
}

// tmpdir is where the module may put temporary files.
func (e *Env) tmpdir() string {
	if e.Tmpdir == nil {
		return ""
	}
	return e.Tmpdir()
}
