// Package hostagent is the managed host's side: sessions, slots, the journal,
// the agent's home and its life. What runs modules is a Runner, given by the
// command that wires everything.
package hostagent

import (
	"context"
	"log/slog"

	"volant/stage"
	"volant/wire"
)

// Runner runs modules. One serves a whole process; Run is called concurrently.
type Runner interface {
	// Run runs one sub-task as the process's own user and returns its outcome.
	// When the outcome has no Result it has a Fault. An error of env.Layout must
	// be returned as it is, and only while nothing was changed on the host: the
	// sub-task then counts as never started and the controller sends it again.
	// ctx ends with cancel and timeout; Run returns when every process it
	// started for the sub-task is gone (TERM, then KILL).
	Run(ctx context.Context, env *Env, t *wire.Task) (*wire.Outcome, error)
	// Close ends warm servers and whatever else Run left waiting. Run may be
	// called again after it.
	Close() error
}

// A Finder is a Runner that finds Python on the host.
type Finder interface {
	// Find looks in a login's environment, with the task's own on top. It returns
	// nil when the sub-task does not ask for that.
	Find(ctx context.Context, environ []string, t *wire.Task) *wire.Interpreter
}

// Env is what a sub-task may use on the host. It is made per sub-task.
type Env struct {
	Session string        // names the session: controller key and run
	Staging func() string // directory of this sub-task only, mode 0700, emptied when it ends if it was asked for
	Cache   string        // directory for what is kept between runs
	Home    string        // home directory of the user
	Cwd     string        // where a login would start (locally: the playbook's directory)
	Environ []string      // a login's environment, KEY=VALUE, without the task's own
	Umask   int           // of a login; -1: the process's
	Log     *slog.Logger

	// Layout lays the manifest's files out, once per distinct manifest, and
	// returns the directory. What is missing is fetched from the controller.
	Layout func(ctx context.Context, manifest stage.Hash) (dir string, err error)
	// Forked journals the process group the sub-task runs in, so that an agent
	// that starts again knows whether it still runs.
	Forked func(pgid int)
	// Output sends output while the module runs; it may drop it, never blocks long.
	Output func(stream uint8, p []byte)
	// Send streams a file to the controller's sink.
	Send func(ctx context.Context, path string) (size int64, err error)
}
