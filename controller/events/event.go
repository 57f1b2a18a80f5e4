// Package events is what a run tells the world: typed events, and the callbacks
// that make output of them. Callbacks run on the coordinator's goroutine, one
// event at a time, in the order users see.
package events

import (
	"time"

	"volant/wire/value"
)

// Event is one of the types of this file.
type Event interface{ event() }

// Callback receives every event of a run.
type Callback interface{ Event(e Event) }

// Bus hands every event to its callbacks in order.
type Bus struct {
	callbacks []Callback
	// muted: events are those of a run that is resumed, shown before. What they
	// began is told once it is not.
	muted bool
	book  *PlaybookStart
	play  *PlayStart
}

// NewBus returns a Bus of the given callbacks.
func NewBus(callbacks ...Callback) *Bus { return &Bus{callbacks: callbacks} }

// Add puts a callback behind those already there. It must not be called once
// events flow.
func (b *Bus) Add(c Callback) { b.callbacks = append(b.callbacks, c) }

// Mute keeps events to itself, or ends that: callbacks are then told which
// playbook and play are in progress.
func (b *Bus) Mute(on bool) {
	b.muted = on
	if on {
		return
	}
	if b.book != nil {
		b.Event(*b.book)
	}
	if b.play != nil {
		b.Event(*b.play)
	}
	b.book, b.play = nil, nil
}

// silent notes an event that is not passed on.
func (b *Bus) silent(e Event) {
	switch e := e.(type) {
	case PlaybookStart:
		b.book, b.play = &e, nil
	case PlayStart:
		b.play = &e
	case StatsReady:
		b.book, b.play = nil, nil
	}
}

// Event passes e on.
func (b *Bus) Event(e Event) {
	if b.muted {
		b.silent(e)
		return
	}
	for _, c := range b.callbacks {
		c.Event(e)
	}
}

// Task is what callbacks know of a task. The executor makes one per task shown
// and, where fields differ by host or item, a copy with the same ID.
type Task struct {
	ID     uint64 // the same for one task of a play on every host; never 0
	Name   string // as shown in the banner, role included, rendered
	Bare   string // the name without its role; empty when the task has none
	Action string // as written
	Path   string // FILE:LINE of the task
	// Args is what display_args_to_stdout shows: " a=1, b=2" text made on demand.
	Args              func() string
	Loop              bool // the task has a loop
	NoItems           bool // the loop is written as an empty list
	Include           bool // include_tasks or include_role: no result lines
	Handler           bool
	Implicit          bool
	Check             bool
	Diff              bool
	NoLog             bool
	NoLogSet          bool // no_log was given in any form, rendered or not
	DelegateTo        string
	IgnoreUnreachable bool
	Register          string
	Role              string
}

// Play is what callbacks know of a play.
type Play struct {
	Name     string
	Strategy string
	Check    bool
	Hosts    []string // in batch order
}

// Status is how an item, or a task on a host, ended.
type Status int

// The statuses.
const (
	OK          Status = 0
	Failed      Status = 1
	Skipped     Status = 2
	Unreachable Status = 3
)

// String names the status as metrics and journals write it.
func (s Status) String() string {
	switch s {
	case Failed:
		return "failed"
	case Skipped:
		return "skipped"
	case Unreachable:
		return "unreachable"
	}
	return "ok"
}

// Warning is a warning as display shows it: text and, when known, its origin.
type Warning struct {
	Msg  string
	Help string
	Pos  value.Pos
	// Excerpt is shown below an unknown origin, see fault.Error.
	Excerpt string
	Cause   error
}

// Deprecation is a deprecation as a task result carries it.
type Deprecation struct {
	Msg, Help, Version, Date string
	// Collection is who deprecates ("ansible.builtin" for the reference
	// itself), empty when not known; Plugin and PluginType narrow it down.
	Collection, Plugin, PluginType string
	Pos                            value.Pos
}

// Timing says where the time of a task on a host went.
type Timing struct {
	Queue   time.Duration // from the step's start until the driver began
	Render  time.Duration // conditionals, loop, arguments, post-processing
	Union   time.Duration // finding modules and what they import
	Connect time.Duration // sub-tasks: waiting for the link, built if need be
	Wire    time.Duration // sub-tasks: sent to answered, less Host and Connect
	Host    time.Duration // sub-tasks: work on the managed host
	Barrier time.Duration // from the host's end to the step's end
	Total   time.Duration
}

// Outcome is what a task, or one item of its loop, ended with on a host.
type Outcome struct {
	Status Status
	// Value is the result dict with its internal _ansible_ keys. Callbacks must
	// not change it.
	Value        *value.Dict
	Err          error // the error block's content; nil when there is none
	Warnings     []Warning
	Deprecations []Deprecation
	Timing       Timing
}

// The events.
type (
	// PlaybookStart begins a playbook file.
	PlaybookStart struct{ Path string }
	// PlayStart begins a play or one batch of it.
	PlayStart struct{ Play *Play }
	// NoHostsMatched says that the play's pattern matched nothing.
	NoHostsMatched struct{}
	// NoHostsRemaining says that every host of the play is out.
	NoHostsRemaining struct{}
	// TaskStart begins a step.
	TaskStart struct{ Task *Task }
	// HostStart says that a host begins the task.
	HostStart struct {
		Host string
		Task *Task
	}
	// Item is one item of a loop done.
	Item struct {
		Host string
		Task *Task
		*Outcome
	}
	// FileDiff precedes the Item or Result whose diff is to be shown.
	FileDiff struct {
		Host string
		Task *Task
		*Outcome
	}
	// Result is a task done on a host.
	Result struct {
		Host         string
		Task         *Task
		IgnoreErrors bool
		*Outcome
	}
	// Retry says that an attempt failed and another follows.
	Retry struct {
		Host string
		Task *Task
		*Outcome
	}
	// AsyncPoll, AsyncOK and AsyncFailed follow a polled job.
	AsyncPoll struct {
		Host string
		*Outcome
	}
	// AsyncOK says that the job ended well.
	AsyncOK struct {
		Host string
		*Outcome
	}
	// AsyncFailed says that the job failed or never ended.
	AsyncFailed struct {
		Host string
		*Outcome
	}
	// Include says that a file or role was spliced in for hosts.
	Include struct {
		File  string
		Hosts []string
		Label any // the loop item's label, nil without loop
	}
	// Notify says that a handler was notified on a host.
	Notify struct{ Host, Handler string }
	// SubTask is one exchange with a host, for metrics and the journal.
	SubTask struct {
		Host, Action, Module string
		Path                 string // "native", "python", "raw", with the reason of a hand-back
		Union, Connect       time.Duration
		Wire, Work           time.Duration
		RoundTrips           int   // how often one side waited for the other
		Sent, Received       int64 // bytes of files, to the host and from it
		Err                  error
	}
	// Phase is work of the controller that belongs to no task.
	Phase struct {
		Name string // "load", "compile"
		Took time.Duration
	}
	// StepDone ends a step of a lockstep strategy.
	StepDone struct {
		Task  *Task
		Hosts int
		Wall  time.Duration
	}
	// VarsPrompt says that a variable is about to be asked for.
	VarsPrompt struct{ Name, Prompt string }
	// StatsReady ends a playbook file.
	StatsReady struct{ Stats *Stats }
)

func (PlaybookStart) event()    {}
func (PlayStart) event()        {}
func (NoHostsMatched) event()   {}
func (NoHostsRemaining) event() {}
func (TaskStart) event()        {}
func (HostStart) event()        {}
func (Item) event()             {}
func (FileDiff) event()         {}
func (Result) event()           {}
func (Retry) event()            {}
func (AsyncPoll) event()        {}
func (AsyncOK) event()          {}
func (AsyncFailed) event()      {}
func (Include) event()          {}
func (Notify) event()           {}
func (SubTask) event()          {}
func (Phase) event()            {}
func (StepDone) event()         {}
func (VarsPrompt) event()       {}
func (StatsReady) event()       {}
