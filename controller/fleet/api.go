// Package fleet is the controller's side of the links: who is connected, how
// to meet whom (a live agent over QUIC; SSH only where there is none), sub-tasks
// sent and answered, links lost and found again without running anything twice.
//
//	f, err := fleet.New(fleet.Config{...})  one per run
//	l, err := f.Link(ctx, target)           one per (address, port, user); shared
//	a, err := l.Run(ctx, &fleet.Request{})  one sub-task
//	f.Close()                               Goodbye to every agent
package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"volant/bootstrap"
	"volant/bootstrap/enrol"
	"volant/stage"
	"volant/wire"
)

// Target is a host to link to.
type Target struct {
	Name string            // inventory name, for messages
	SSH  bootstrap.Options // how to log in; Host, Port and User also name the link
	// Enrol are wishes for the agent: port, listen address. Controller and
	// Protocol are filled in by the fleet.
	Enrol enrol.Request
	// Transient asks for an agent that ends with the run: enrol.TransientAlways,
	// or enrol.TransientAbsent where none serves.
	Transient string
	// Reconnect is how long a lost link is tried again before the host is
	// unreachable; 0: the fleet's.
	Reconnect time.Duration
}

// Request is one sub-task.
type Request struct {
	// Task says what to run; its Files are filled in from Files.
	Task wire.Task
	// Files are staged on the host before the module runs.
	Files []stage.File
	// Later is staged if what Task.Then says needs it; it is Task.Then.File.
	Later *stage.File
	// Union serves the manifests that Task.Python names and their files.
	Union Opener
	// Sink receives the file that the module sends (wire.GetModule).
	Sink stage.Sink
	// Before is the agent that the sub-task may have been sent to by a process
	// that did not live to hear of it: it is asked first, as after a lost link.
	Before *wire.Hello
	// Sending, when set, is called before the sub-task is sent, each time it is,
	// with the agent it goes to. mortal: that agent ends with this process.
	Sending func(agent *wire.Hello, mortal bool)
	// Hold leaves it to the caller to say Answer.Acknowledge: until then the
	// agent keeps the result for whoever asks again. Where that is a fault, or lost,
	// Run returns the answer along with the error.
	Hold bool
	// Output, when set, receives output of the module while it runs: stream 1
	// is stdout, 2 stderr. It must not block. Pieces are left out where the link is
	// slower than the module; the result has all.
	Output func(stream uint8, p []byte)
}

// Answer is what became of a sub-task that ran.
type Answer struct {
	*wire.Outcome               // Result.Dict is the module's result; Fault is nil
	Total         time.Duration // from Run to the answer, on the controller
	Wait          time.Duration // of it, waiting for a slot
	Reconnects    int           // links lost on the way
	// RoundTrips is how often one side waited for the other: once for the
	// result, once for each request for contents, once more after a lost link.
	RoundTrips int
	// Sent are the bytes of the sub-task's files that the host lacked, Spared
	// those it did not ask for, Received those of the file it sent.
	Sent, Spared, Received int64
	Collected              bool   // the agent had it from before: nothing was sent
	Body                   []byte // of a held answer: the outcome as it came

	Acknowledge func() // of a held answer: the agent may forget it; else nil
}

// Link is the connection to one agent. It outlives lost connections.
type Link interface {
	// Run runs one sub-task and returns its answer. Errors are ErrLost,
	// *Unreachable, *wire.Fault (the module could not be run at all; nothing
	// was changed unless Fault.Started) or the context's, after the agent said
	// that the cancelled sub-task is over (bounded to 15 s).
	Run(ctx context.Context, r *Request) (*Answer, error)
	// Reconnect drops the connection, asks SSH when the agent does not answer,
	// and returns the host's boot id. It tries once, within ctx.
	Reconnect(ctx context.Context) (bootID string, err error)
	// Reset ends what the agent keeps warm for this controller, drops the
	// connection and builds the path anew, over SSH.
	Reset(ctx context.Context) error
	// Info is what the agent said of itself when it was last met.
	Info() wire.Hello
}

// ErrLost says that the agent stopped while the sub-task ran: it may or may not
// have completed, and must never be run again.
var ErrLost = errors.New("the agent stopped while the sub-task ran")

// Unreachable says that a host cannot be reached. Its text is the reference's.
type Unreachable struct {
	Host string
	Err  error
}

// Error is the cause's text, fit to be the host's unreachable message.
func (u *Unreachable) Error() string { return u.Err.Error() }

// Unwrap returns the cause.
func (u *Unreachable) Unwrap() error { return u.Err }

func unreachable(host, format string, args ...any) error {
	return &Unreachable{Host: host, Err: fmt.Errorf(format, args...)}
}
