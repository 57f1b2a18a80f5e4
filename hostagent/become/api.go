// Package become starts workers under another user. A worker is the agent's own
// binary in `worker` mode, speaking frames on its standard input and output; it
// is reached through sudo, su, doas or another become method whose command line
// is built as the reference builds it around
//
//	/bin/sh -c 'echo MARK ; exec BINARY worker'
//
// so that no locale or version of the method's own messages matters: once MARK
// appears, everything that follows on the pipe is the worker's.
//
// The package knows nothing of the frames; it hands out pipes.
package become

import (
	"context"
	"io"
	"log/slog"
	"time"
)

// Params say how to become whom, from the task's become keywords and variables.
// Empty fields take the reference's defaults of the method.
type Params struct {
	Method   string   // "sudo", "su", "doas", ...; "": sudo
	User     string   // "": root
	Exe      string   // become_exe
	Flags    *string  // become_flags; nil: the method's default
	Password string   // never logged, never in argv or environment; "": none
	Chdir    string   // ansible_sudo_chdir
	Prompts  []string // localized_prompts of su, doas and ksu
	// Wrap is wrap_execution of pbrun and pfexec, alternative_method of sudosu.
	Wrap bool
	// Timeout is for a prompt or success; 0: the Config's.
	Timeout time.Duration
}

// Error is a failure to become, in the reference's words.
type Error struct {
	Msg     string // such as "Missing sudo password"; fit to be a task's msg
	Timeout bool   // no prompt and no success in time: the reference counts this host as unreachable
	// Exited says that the become command ended on its own before the worker
	// began; the reference shows what it printed as module_stdout and
	// module_stderr, and its status as rc.
	Exited         bool
	Code           int
	Stdout, Stderr string
}

// Error returns Msg.
func (e *Error) Error() string { return e.Msg }

// Config is what an agent knows that all its workers share.
type Config struct {
	Binary  string        // path of the agent's executable
	Args    []string      // arguments for worker mode; nil: ["worker"]
	Dir     string        // agent's own directory: remembers where the copy is that other users can reach; "": not remembered
	Timeout time.Duration // for prompt or success; 0: 12 s, as the reference (10 + 2)
	Env     []string      // environment for the become command; nil: the agent's
	Log     *slog.Logger  // nil discards
	// Local words failures as the connection "local" of the reference does.
	Local bool

	public []string // where a copy may lie that every user can run; nil: publicDirs
}

// Worker is a running worker. Read gives its standard output from right behind
// MARK; Write goes to its standard input.
type Worker interface {
	io.Reader
	io.Writer
	// Stderr returns the last bytes (at most 8 KiB) of its standard error.
	Stderr() string
	// Command is what /bin/sh was given to start it; it holds no password.
	Command() string
	// PID is that of the become command (sudo), which leads a process group of its own.
	PID() int
	// Done is closed when the become command has ended.
	Done() <-chan struct{}
	// Close ends the worker: stdin is closed, after a second TERM, then KILL.
	Close() error
}

// Starter starts a worker as p says. Errors are *Error, or of the context.
type Starter func(ctx context.Context, cfg Config, p Params) (Worker, error)
