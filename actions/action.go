// Package actions holds the controller side of every task: one file per action
// plugin of the reference, listed in table.go. An action is straight-line code
// over Host, whose calls are sub-tasks: decode, look, decide (one switch), act.
// The executor sees each call as an event and may cancel at each.
package actions

import (
	"context"
	"errors"
	"fmt"

	"volant/stage"
	"volant/wire/value"
)

// Result is what a task ends with: the reference's result dict (changed, msg,
// failed, skipped, ansible_facts, ...). Values are data, never templates.
type Result = *value.Dict

// ErrLost is returned by Host calls when the agent stopped while the sub-task
// ran: it may or may not have completed, and is never run again.
var ErrLost = errors.New("The agent on this host stopped while the task ran; it may or may not have completed.") //nolint:staticcheck // shown to users as written

// Host is the managed host a task works on. Every call is one sub-task sent
// over the link the task already has; all block and end early with ctx. An
// error is about reaching the host or running at all (*Unreachable is made by
// the executor); a module that fails says so in its Result.
type Host interface {
	// Module runs the named module with args; files are staged first and
	// their paths put into the arguments they name.
	Module(ctx context.Context, name string, args *value.Dict, files ...stage.File) (Result, error)
	// Job starts the module as an asynchronous job on the host, bounded by the
	// task's async seconds, and returns its ansible_job_id.
	Job(ctx context.Context, name string, args *value.Dict, files ...stage.File) (Result, error)
	// Raw runs cmd with the task user's shell (executable, or /bin/sh),
	// without Python and without the task's environment unless files are
	// given. Each file is staged executable and its path replaces every
	// occurrence of its Arg in cmd. The result has rc, stdout, stdout_lines,
	// stderr, stderr_lines.
	Raw(ctx context.Context, cmd, executable string, files ...stage.File) (Result, error)
	// Get streams the host's file at path into sink.
	Get(ctx context.Context, path string, sink stage.Sink) error
	// Reconnect drops the link and builds a new one; it returns the host's boot id.
	Reconnect(ctx context.Context) (bootID string, err error)
	// Facts is what is known of the host the modules run on (the delegate's
	// when delegated), without the ansible_ prefix. Never nil, not to be changed.
	Facts() *value.Dict
}

// StatHost is a Host that may go on after the stat module in the same sub-task.
type StatHost interface {
	Host
	// StatThen runs the stat module, and what follows from it where the host can
	// do that at once; then is nil where not.
	StatThen(ctx context.Context, args *value.Dict, next Then) (stat, then Result, err error)
}

// Then is what follows from what the stat module says of a file: one with the
// checksum calls for the file module, another or none for the copy module. No
// arguments: nothing follows. Without a checksum a file that exists stays.
type Then struct {
	Checksum      string
	Same, Differs *value.Dict
	File          *stage.File // content for Differs, sent if it is lacking
}

// Controller is what an action may use of the controller: the task's own
// variables and templates, and files below the search path of the task.
type Controller interface {
	// Find looks a file up as the reference does: role, task file and playbook
	// directories, each with dir ("files", "templates", "vars") and without.
	// The error carries the reference's "Could not find or access" text.
	Find(dir, name string) (string, error)
	// Open returns the file's content, decrypted when it is vaulted and
	// decrypt is set, and a File ready to be staged.
	Open(path string, decrypt bool) (Source, error)
	// Content makes a Source of bytes in memory.
	Content(b []byte) Source
	// Render renders v in the task's scope; marked says that a value a
	// managed host sent was read.
	Render(v any) (out any, marked bool, err error)
	// Condition evaluates a conditional as `when` does.
	Condition(v any) (bool, error)
	// TemplateFile renders the template at path with the extra variables on top.
	TemplateFile(path string, opt TemplateOptions, extra *value.Dict) ([]byte, error)
	// LoadVars loads a YAML or JSON file of variables, decrypted; vaulted says
	// whether it was encrypted.
	LoadVars(path string) (v any, vaulted bool, err error)
	// Var returns a variable of the host, rendered, or ok false.
	Var(name string) (v any, ok bool)
	// Resolve evaluates an operator-written conditional list entry by entry
	// lazily: a value that is wholly a template is rendered one level deep.
	Resolve(v any) (any, error)
	// Expression evaluates source (RawArgs' own value) as an expression;
	// undefined parts are replaced by their error text. Its errors are those
	// of the `var` of debug.
	Expression(source any) (any, error)
	// Vars lists the names of the variables that Var returns.
	Vars() []string
	// Basedir is the playbook's directory; RolePath the role's, or empty.
	Basedir() string
	RolePath() string
	// VarOrError is Var with the error of rendering it.
	VarOrError(name string) (v any, ok bool, err error)
	// HasModule reports whether the run can send the module of that name.
	HasModule(name string) bool
	// Warn shows a warning once.
	Warn(text string)
	// Prompt shows text and waits for the operator's keys. interactive is false,
	// at once, when no terminal is attached. The error is ErrInterrupted when
	// the operator interrupts.
	Prompt(ctx context.Context, text string, keys Keys) (typed string, interactive bool, err error)
	// Display shows a line as the play goes on.
	Display(text string)
}

// Keys is how a prompt reads: key by key.
type Keys struct {
	Echo      bool   // what is typed is shown
	Seconds   int    // it ends by itself after so long, when above 0
	End       string // keys that end it, letters in lower case
	Interrupt string // keys that interrupt it; none: what interrupts on that terminal, Ctrl-C
}

// ErrInterrupted is returned by Controller.Prompt when the operator interrupts.
var ErrInterrupted = errors.New("interrupted by the operator")

// Source is a controller file, open for staging and comparing.
type Source struct {
	stage.File
	Path string // where it was found, or the name that stands for what was decrypted; empty for content in memory
	Mode uint32 // permission bits of the controller file, 0 for content
	SHA1 string // hex, what the reference's stat and copy modules compare
	Data func() ([]byte, error)
}

// TemplateOptions are the options of the template module.
type TemplateOptions struct {
	NewlineSequence            string
	TrimBlocks, LstripBlocks   bool
	BlockStart, BlockEnd       string
	VariableStart, VariableEnd string
	CommentStart, CommentEnd   string
	OutputEncoding             string
}

// Task is what an action is asked to do.
type Task struct {
	Action string      // as written in the playbook
	Args   *value.Dict // rendered; omitted arguments are gone; free-form text under _raw_params
	// Fetched reports whether a controller path is where fetch filed a file of
	// this host: one that the host may name as what is sent to it.
	Fetched func(path string) bool
	// RawArgs are the arguments before rendering, for actions that evaluate
	// them themselves (assert, debug var).
	RawArgs *value.Dict
	// Marked reports whether the render of that argument read a value that a
	// managed host sent. Never nil.
	Marked                 func(arg string) bool
	Name                   string
	Check                  bool
	Diff                   bool
	NoLog                  bool
	Async                  int // seconds, 0 when not async
	Poll                   int
	AsyncDir               string // where background jobs keep their status, such as ~/.ansible_async
	Become                 bool
	Local                  bool // the connection is local
	Delegated              bool
	DelegateFacts          bool
	Verbosity              int
	Env                    bool // the task has a non-empty environment
	BecomeUser, RemoteUser string
	// MaxDiff is the size above which a file is not shown in a diff, in bytes;
	// below 0 for none, 0 for the reference's default.
	MaxDiff  int64
	TaskFile string // the file the task was written in; empty for ad hoc
	// FactModules is what gather_facts runs, the FACTS_MODULES setting.
	FactModules []string
	// NetworkOS is the platform that variables say the host is, "" for none;
	// NetworkFacts are the modules that gather facts of platforms, by name. Both
	// may be nil.
	NetworkOS      func() string
	NetworkFacts   *value.Dict
	Hostname       string // inventory_hostname
	HostnameMarked bool
	// Defaults are the module_defaults that apply to a module name, for
	// actions that choose the module themselves.
	Defaults func(module string) *value.Dict
}

// Run is one action on one host and item.
type Run struct {
	*Task
	Host       Host
	Controller Controller
	// Spec, when set, is the action, whatever its name: one that is not ours.
	Spec *Spec
}

// Action runs one task on one host.
type Action func(ctx context.Context, r *Run) (Result, error)

// Failure is an error that fails the task with Msg as the result's msg: what
// the reference's plugins raise as AnsibleActionFail. Any other error fails it
// too, with "Task failed: " in front, as the reference's other errors do.
type Failure struct {
	Msg    string
	Result Result    // keys for the task's result; may be nil
	Cause  error     // what lies behind Msg, shown below it; may be nil
	Pos    value.Pos // what is to blame, zero when the task is
	// During says that it came up while another error was handled, which is not
	// shown: it is then never shown in one line with what it caused.
	During bool
}

// Error returns the message.
func (f *Failure) Error() string { return f.Msg }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Cause }

// Fail makes a Failure.
func Fail(format string, args ...any) error { return &Failure{Msg: fmt.Sprintf(format, args...)} }

// Skip is an error that skips the task with Msg as the result's msg.
type Skip struct {
	Msg    string
	Result Result // keys for the task's result; may be nil
}

// Error returns the message.
func (s *Skip) Error() string { return s.Msg }

// Unreachable is returned by Host calls when the host cannot be reached. The
// executor turns it into an unreachable host; reboot and wait_for_connection
// expect it.
type Unreachable struct{ Err error }

// Error returns the text that the unreachable result shows as msg.
func (u *Unreachable) Error() string { return u.Err.Error() }

// Unwrap returns the cause.
func (u *Unreachable) Unwrap() error { return u.Err }
