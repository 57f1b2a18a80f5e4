package playbook

// Kind is the type a keyword's value is converted to once rendered.
type Kind uint8

// The kinds of a keyword.
const (
	String Kind = iota
	Int
	Float
	Bool
	Percent
	List
	Mapping
	Class // loop_control
)

// String is the reference's word for the kind.
func (k Kind) String() string {
	return [...]string{"string", "int", "float", "bool", "percent", "list", "dict", "class"}[k]
}

// Keyword names one keyword of a play, block, role, task or handler.
type Keyword uint8

// Every keyword of the reference, in no particular order. Those of one object
// only (hosts, serial, loop, ...) are here too, so that one type reads them all.
const (
	NoKeyword Keyword = iota
	Name
	Vars

	// Inherited by tasks from blocks, roles and the play.
	Connection
	Port
	RemoteUser
	ModuleDefaults
	Environment
	NoLog
	RunOnce
	IgnoreErrors
	IgnoreUnreachable
	CheckMode
	Diff
	AnyErrorsFatal
	Throttle
	Timeout
	Debugger
	Become
	BecomeMethod
	BecomeUser
	BecomeFlags
	BecomeExe
	When
	Tags
	Collections
	Notify
	DelegateTo
	DelegateFacts

	// Tasks and handlers.
	Action
	ArgsKeyword
	Async
	ChangedWhen
	Delay
	FailedWhen
	Loop
	LoopWith // the lookup of with_X; set by the loader only
	LoopControlKeyword
	Poll
	Register
	Retries
	Until
	Listen

	// Plays.
	Hosts
	GatherFacts
	GatherSubset
	GatherTimeout
	FactPath
	VarsFiles
	VarsPrompt
	Roles
	Handlers
	PreTasks
	Tasks
	PostTasks
	ForceHandlers
	MaxFailPercentage
	Serial
	Strategy
	Order

	// Blocks, roles, import_playbook, role metadata, loop_control.
	BlockKeyword
	Rescue
	Always
	RoleKeyword
	ImportPlaybook
	AllowDuplicates
	Dependencies
	GalaxyInfo
	ArgumentSpecs
	LoopVar
	IndexVar
	Label
	Pause
	Extended
	ExtendedAllitems
	BreakWhen
	Public
	RolespecValidate

	nKeywords
)

// String is the keyword as written in a playbook.
func (k Keyword) String() string { return specs[k].Name }

// Spec describes a keyword.
type Spec struct {
	Name string
	Kind Kind
	// Inherit says that a task without it takes it from its parents.
	Inherit bool
	// Extend joins the values of all levels into one list, the innermost
	// first unless Prepend, which puts the outermost first.
	Extend, Prepend bool
	// Static values are never rendered.
	Static bool
	// Items restricts what a list may hold: "str" or "str or int".
	Items string
	// Required keywords may hold no empty items.
	Required bool
}

// Spec describes the keyword.
func (k Keyword) Spec() *Spec { return &specs[k] }
