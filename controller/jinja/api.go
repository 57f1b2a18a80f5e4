// Package jinja is the template language: Jinja2 3.1 as the reference's
// environment speaks it, parsed to an AST with positions and compiled to
// closures over values in Python's shape (package value). It knows nothing of
// playbooks: variables come through a Resolver, filters, tests and globals
// through a Table, and what a *value.Template inside data means is decided by
// Resolver.Template.
//
// # Errors and markers
//
// As in the reference, most failures are values. A name nobody set, a missing
// key, or a filter that failed yields a *value.Undefined (a marker) that flows
// on until it is used; using it raises it, and a raised marker is the Go error
// itself (*value.Undefined implements error). A filter, test or call never
// raises: its error becomes a marker whose Err is that error. Only operators,
// statements and limits raise.
package jinja

import (
	"context"

	"volant/wire/value"
)

// Resolver gives a render its variables. It is used by one render at a time.
type Resolver interface {
	// Resolve returns the variable name as the template sees it, already
	// rendered if it was a template itself, or ok false when nobody set it.
	// A failed render of it is returned as a marker (*value.Undefined with
	// Err set), not as err: err ends the whole render. Containers it returns
	// may hold *value.Template items; they are rendered through Template when
	// read. What it returns is never changed by the template.
	Resolve(name string) (v any, ok bool, err error)
	// Template renders operator-written text found inside data (a nested
	// variable). It is where recursion is detected. Text without template
	// syntax may come back as the same *value.Template, so that it stays
	// known as operator-written. Failures are markers, as with Resolve.
	Template(t *value.Template) (any, error)
}

// Loader finds the templates that include, import and extends name.
type Loader interface {
	// Load returns the compiled template called name as seen from the
	// template called from. A missing one is an error for which
	// errors.Is(err, ErrNotFound).
	Load(c *Context, name, from string) (*Template, error)
}

// Args are the evaluated arguments of a call to a filter, test, function or
// method. For a filter or test Pos[0] is the value it is applied to.
type Args struct {
	Pos []any
	Kw  []Kwarg // in the order written; names are unique
	// Entered is what Plugin.Enter's function returned, nil without one.
	Entered any
}

// Kwarg is one keyword argument.
type Kwarg struct {
	Name  string
	Value any
}

// Func is the code of a filter, test, function or method. The error's text is
// the reference's. c is the render in progress and must not be kept after the
// call: it is used again. Arguments are never *value.Template unless the plugin
// wants them: text arrives as string.
type Func func(c *Context, a Args) (any, error)

// Plugin is a filter, test or global function.
type Plugin struct {
	Name string // full name as error messages print it
	Call Func
	// Markers says that arguments may be *value.Undefined. Otherwise the
	// first undefined argument is the result and Call is not reached.
	Markers bool
	// Lazy says that Call reads container items through c (Read, Items,
	// GetItem, Realize): items may be *value.Template, *value.Vault or
	// *value.Undefined. Otherwise containers arrive rendered all through, and
	// an undefined item inside one is the result.
	Lazy bool
	// Markup says that arguments may be value.Markup, as those of a Lazy one
	// may. Otherwise it arrives as string.
	Markup bool
	// Keys says that of a dict given as first argument only the keys are read.
	Keys bool
	// Embedded says that positional string literals that look like templates
	// arrive as *value.Template (lookup, query).
	Embedded bool
	// Texts says that arguments may be *value.Template.
	Texts bool
	// Direct says that a global function gets its arguments just as they are,
	// markers and unrendered items included (lookup, query, undef).
	Direct bool
	// Enter, of a global function called by its name, runs before the
	// arguments are evaluated and what it returns runs after that. names are
	// the variables the arguments mention; local says that they also mention
	// names a template assigned.
	Enter func(c *Context, names []string, local bool) func() any
}

// Table resolves the names of filters, tests and global functions when a
// template is compiled. The language's own are used for names the table does
// not have; Builtins is them alone.
type Table interface {
	Filter(name string) (*Plugin, bool)
	Test(name string) (*Plugin, bool)
	// Global returns a value or a *Plugin.
	Global(name string) (any, bool)
}

// Options are the settings of the lexer and compiler. They are comparable, to
// serve as part of a cache key. The zero value of each string means Jinja2's
// default.
type Options struct {
	BlockStart, BlockEnd       string // {% %}
	VariableStart, VariableEnd string // {{ }}
	CommentStart, CommentEnd   string // {# #}
	LineStatement, LineComment string // off when empty
	NewlineSequence            string // \n, \r\n or \r
	TrimBlocks                 bool   // the reference sets it
	LstripBlocks               bool
	KeepTrailingNewline        bool
	// EscapeBackslashes keeps backslashes in string literals inside {{ }} (not
	// in {% %}) as they are, as for values written in YAML.
	EscapeBackslashes bool
	// RenderConsts renders string literals that look like templates, through
	// Render.Const (the reference does it in conditionals).
	RenderConsts bool
}

// Render is what one render works with. It may be reused but not shared by
// renders that run at the same time.
type Render struct {
	Vars  Resolver
	Load  Loader          // nil: nothing can be included
	Ctx   context.Context // nil: Background; checked in loops
	Table Table           // for names only known at run time (map('x')); nil: the one compiled with
	// Pos is where the template being rendered was written; markers made by
	// the render carry it.
	Pos value.Pos
	// Marker says what stands for a marker when it becomes text. nil: the
	// marker is the result of the render.
	Marker func(u *value.Undefined) any
	// Converted is told when a result is of a type that variables do not hold
	// and becomes one of another; both are Python's names. nil: nobody is.
	Converted func(from, to string)
	// Const renders a string literal that looks like a template; see
	// Options.RenderConsts.
	Const func(t *value.Template) (any, error)
	// Data is the caller's own, for its filters and lookups: Context.Data.
	Data   any
	Limits Limits // zero fields mean the default
}

// Limits bound what a template may use. Exceeding one is an error naming it.
type Limits struct {
	Output   int // bytes of output of one render: 64 MiB
	Sequence int // items of one list, range, split...: 10 million
	Text     int // bytes of one string: 64 MiB
	Depth    int // nested macro calls, includes, recursive loops: 200
	Steps    int // loop iterations in one render: 50 million
}

// Object is a runtime value of the language or of a caller that is not one of
// package value's: a range, a macro, a loop, hostvars. What it can do it says
// through the other interfaces here.
type Object interface {
	// TypeName is Python's name of its type.
	TypeName() string
}

// Attributer is an Object with attributes (x.name). ok false: no such one.
type Attributer interface {
	Attr(c *Context, name string) (v any, ok bool, err error)
}

// Indexer is an Object with items (x[key], and x.key where no attribute is
// called so). ok false: no such item.
type Indexer interface {
	Item(c *Context, key any) (v any, ok bool, err error)
}

// Iterator is an Object that can be looped over, or turned into a list.
type Iterator interface {
	Iterate(c *Context) ([]any, error)
}

// Sized is an Object with a length.
type Sized interface{ Len() int }

// Caller is an Object that can be called.
type Caller interface {
	Call(c *Context, a Args) (any, error)
}

// Texter is an Object with its own text (Python's str).
type Texter interface{ Text() string }

// Mapping is an Object that stands for a dict that is too dear to build before
// it is read (hostvars). It is also an Indexer.
type Mapping interface {
	Indexer
	Keys(c *Context) ([]any, error)
}
