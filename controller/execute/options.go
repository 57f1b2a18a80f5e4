// Package execute runs compiled plays: a coordinator, and a driver per host
// that works on one task at a time. The coordinator alone decides who does what
// next, changes variables and inventory, counts, and emits events; drivers
// evaluate conditions, loops and arguments, run the action, and send back what
// came of it.
//
//	coordinator --job--> driver (one per host) --sub-tasks--> link
//	     ^                  |
//	     +---- messages ----+
//
// In the linear strategy all hosts meet at each step, and its results are shown
// in the order of the hosts; a result that would be held back for more than a
// second is shown as it comes.
package execute

import (
	"context"
	"io"
	"log/slog"
	"time"

	"volant/actions"
	"volant/bootstrap"
	"volant/controller/compile"
	"volant/controller/config"
	"volant/controller/events"
	"volant/controller/fleet"
	"volant/controller/inventory"
	"volant/controller/journal"
	"volant/controller/playbook"
	"volant/controller/template"
	"volant/controller/union"
	"volant/controller/vars"
	"volant/controller/yaml"
	"volant/wire"
	"volant/wire/value"
)

// Transport carries sub-tasks to one host; fleet.Link is one.
type Transport interface {
	// Run runs one sub-task, see fleet.Link.
	Run(ctx context.Context, r *fleet.Request) (*fleet.Answer, error)
	// Reconnect drops the connection and makes a new one.
	Reconnect(ctx context.Context) (bootID string, err error)
}

// Transports makes connections. It is safe for concurrent use.
type Transports interface {
	// Local is the session of the controller's own machine.
	Local(ctx context.Context) (Transport, error)
	// Remote links to a host over the network.
	Remote(ctx context.Context, t fleet.Target) (Transport, error)
	// Reset ends what an account's agent keeps warm (meta: reset_connection).
	Reset(ctx context.Context, t Transport) error
}

// Modules resolves module names; *union.Union is one.
type Modules interface {
	// Resolve finds the module that name means in scope.
	Resolve(name string, scope union.Scope) (*union.Module, error)
	// Has reports whether a file stands for the name.
	Has(name string, scope union.Scope) bool
	// Python says what m needs on the Python path.
	Python(m *union.Module) (*wire.Python, error)
	fleet.Opener
}

// Login are connection options of the command line and its passwords.
type Login struct {
	User, Connection, PrivateKey string
	SSHCommonArgs, SSHExtraArgs  string
	Timeout                      time.Duration
	Become                       bool
	BecomeMethod, BecomeUser     string
	Password, BecomePassword     string
	KnownHosts                   string
	LocalUser                    string                     // who runs the controller, and what is local
	Host                         func(o *bootstrap.Options) // last word on how a host is reached; may be nil
}

// Options are what a Runner needs.
type Options struct {
	Config    *config.Config
	Inventory *inventory.Inventory
	Store     *vars.Store
	Engine    *template.Engine
	Loader    *playbook.Loader
	Names     *Names
	Files     *yaml.Files
	Display   *events.Display
	Bus       *events.Bus
	Transport Transports
	// Actions finds an action that is not ours by its full name. May be nil.
	Actions func(resolved string) (actions.Spec, bool)
	Modules Modules // nil: no Python modules and no natives of ansible.builtin
	Compile compile.Options
	Journal *journal.Writer // where the run is written down; nil keeps nothing
	// Past is what the journal says of a run that is resumed.
	Past   *journal.Past
	Unpack journal.Unpacker
	BootID string // of the controller's machine
	Login  Login
	Log    *slog.Logger

	Check, Diff   bool
	Verbosity     int
	Forks         int // 0: as many as the machine drives
	StartAt       string
	Step          bool
	ForceHandlers bool
	Stdin         io.Reader // nil: not interactive
	// Prompt asks on the terminal; nil when there is none.
	Prompt func(ctx context.Context, text string, echo bool, seconds int) (string, error)
	// Line asks for a line of standard input, be it a terminal or not; nil when
	// there is none. At its end the error is io.EOF.
	Line func(ctx context.Context, text string) (string, error)
	// Keys asks there key by key, as actions.Controller.Prompt; nil when there
	// is none.
	Keys     func(ctx context.Context, text string, keys actions.Keys) (typed string, interactive bool, err error)
	AsyncDir string // of background jobs where no variable says; empty: ~/.ansible_async
	// Becomes are the become methods there are; nil for any.
	Becomes []string
	// Excerpt is shown as the source of tasks that are in no file (ad hoc).
	Excerpt string
	// Python is the path shown as ansible_playbook_python and used for
	// implicit localhost.
	Python string
}

// Dict is shorthand for the type results are made of.
type Dict = *value.Dict
