// Package modules holds the native modules: Go code that stands in for the
// reference's Python modules, key for key equal in result, one file each,
// listed in table.go. A native module decides by reading and only then acts;
// what it does not cover it hands back, before the first write, and the Python
// module runs instead.
package modules

import (
	"context"
	"fmt"
	"time"

	"volant/wire/value"
)

// Result is a module's result dict, as the Python module would print it.
type Result = *value.Dict

// Module is one native module.
type Module func(ctx context.Context, env *Env, args *value.Dict) (Result, error)

// HandBack is the error of a native module that leaves the case to the Python
// module. Nothing was changed.
type HandBack struct{ Reason string }

// Error returns the reason.
func (h *HandBack) Error() string { return "handed back to Python: " + h.Reason }

func handBack(format string, args ...any) error {
	return &HandBack{Reason: fmt.Sprintf(format, args...)}
}

// Env is what a module may know and touch besides its arguments. It is made
// per sub-task.
type Env struct {
	Name      string // module name as the task wrote it, for messages: "copy", "ansible.builtin.copy"
	Check     bool
	Diff      bool
	NoLog     bool
	Verbosity int
	Version   string // ansible-core's, such as "2.19.12"

	Environ         []string // the sub-task's environment, KEY=VALUE: login's plus the task's
	Cwd             string   // working directory; empty: the process's
	Umask           int      // -1: the process's
	Tmpdir          string   // the sub-task's staging directory
	RemoteTmp       string   // where modules make temporary files of their own, "~/.ansible/tmp"
	ShellExecutable string   // "/bin/sh"
	SELinuxSpecial  []string // file systems that SELinux treats specially
	IgnoreUnknown   bool     // unknown arguments are ignored
	Python          string   // interpreter for facts about Python, when known

	Now func() time.Time // nil: time.Now
	// Output receives pieces of a command's output while it runs, when set.
	Output func(stream int, p []byte)

	warnings     []string
	deprecations []any
}

// Getenv returns the value of a variable of the sub-task's environment.
func (e *Env) Getenv(key string) string {
	for i := len(e.Environ) - 1; i >= 0; i-- {
		if kv := e.Environ[i]; len(kv) > len(key) && kv[len(key)] == '=' && kv[:len(key)] == key {
			return kv[len(key)+1:]
		}
	}
	return ""
}

func (e *Env) now() time.Time {
	if e.Now != nil {
		return e.Now()
	}
	return time.Now()
}

// Warn adds a warning to the result.
func (e *Env) Warn(format string, args ...any) {
	e.warnings = append(e.warnings, fmt.Sprintf(format, args...))
}
