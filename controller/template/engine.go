// Package template is what the reference puts on top of Jinja: filters, tests
// and lookups, variables that are templates themselves, trust, conditionals,
// `omit`, final values, and the errors of all that.
//
// Only a *value.Template is ever rendered; every other string is data. An
// Engine serves a run; a Scope is one task on one host and renders for it.
//
// Errors are *fault.Error chains with the reference's texts; Class names the
// reference's exception.
package template

import (
	"context"
	"iter"
	"os"
	"sync"
	"time"

	"volant/controller/fault"
	"volant/controller/jinja"
	"volant/controller/vault"
	"volant/wire/value"
)

// Vars are the variables of one host for one task, unrendered: values may hold
// *value.Template and *value.Vault at any depth. Nothing reached through Vars
// is changed by rendering.
type Vars interface {
	// Lookup returns the variable called name. marked says that it came from
	// a managed host.
	Lookup(name string) (v any, marked, ok bool)
	// Names iterates over the names of all variables, once each, in a stable
	// order.
	Names() iter.Seq[string]
}

// Hosts gives templates `hostvars`. A host's variables are rendered in that
// host's own scope.
type Hosts interface {
	// HostVars returns the variables of a host of the inventory.
	HostVars(host string) (Vars, bool)
	// Hosts lists the inventory's hosts in its order.
	Hosts() []string
	// Match resolves a host pattern, for the inventory_hostnames lookup.
	Match(pattern string) ([]string, error)
}

// Settings gives the values of configuration settings to the config lookup.
type Settings interface {
	// Setting returns a setting's value and where it came from, for the task
	// that l belongs to; plugin type and name are empty for the global ones.
	// ok is false for unknown names.
	Setting(l *LookupCall, name, pluginType, pluginName string) (v any, origin string, ok bool, err error)
}

// Options are what an Engine is made with. The zero Options work: no secrets,
// no settings, messages dropped.
type Options struct {
	// Vault decrypts files; nil refuses encrypted ones.
	Vault *vault.Vault
	// Sink takes warnings and deprecations; nil drops them.
	Sink fault.Sink
	// Settings answers the config lookup; may be nil.
	Settings Settings
	// Plugins resolves a project's and its collections' own filters, tests and
	// globals; it is asked for names that are not built in. May be nil.
	Plugins jinja.Table
	// Lookups resolves a project's own lookups likewise. May be nil.
	Lookups func(name string) (*Lookup, bool)
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Environ is the environment of commands that lookups run; nil is our own.
	Environ []string
	// Getenv is the environment lookups see; nil is os.LookupEnv.
	Getenv func(name string) (string, bool)
	// AllowBrokenConditionals is the setting of that name.
	AllowBrokenConditionals bool
	// NoEmbeddedTemplates turns ALLOW_EMBEDDED_TEMPLATES off.
	NoEmbeddedTemplates bool
	// ManagedString is DEFAULT_MANAGED_STR; "" is its default.
	ManagedString string
	// Limits bound one render; zero fields mean jinja's defaults.
	Limits jinja.Limits
}

// Engine is the templating of one run. It is safe for concurrent use.
type Engine struct {
	opt   Options
	table *table
	files sync.Map // fileKey -> *fileProgram: template files, by content
}

// New returns an Engine.
func New(opt Options) *Engine {
	if opt.Sink == nil {
		opt.Sink = fault.Discard
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Getenv == nil {
		opt.Getenv = os.LookupEnv
	}
	if opt.ManagedString == "" {
		opt.ManagedString = "Ansible managed"
	}
	e := &Engine{opt: opt}
	e.table = &table{project: opt.Plugins}
	return e
}

// ScopeOptions say where a scope is.
type ScopeOptions struct {
	// SearchPath lists the directories files are looked for in, most specific
	// first: role, task file's directory, playbook's directory
	// (ansible_search_path).
	SearchPath []string
	// Basedir is the playbook's directory (or the working directory).
	Basedir string
	// BaseName is Basedir as messages have it where that is not its path.
	BaseName string
	// RolePath is the directory of the task's role, or "".
	RolePath string
	// Hosts gives `hostvars`; may be nil.
	Hosts Hosts
	// Fetched reports whether a path is where a file of the host's own was
	// filed, which the host may name; may be nil.
	Fetched func(path string) bool
	// Sink takes the warnings and deprecations of this scope; nil is the
	// Engine's.
	Sink fault.Sink
}

// Scope renders for one task on one host. It is used by one goroutine at a
// time and is cheap to make. Variables that are templates are rendered once.
// Everything it runs ends with the context it was made with.
type Scope struct {
	e    *Engine
	ctx  context.Context //nolint:containedctx // a scope lives as long as one task
	vars Vars
	opt  ScopeOptions

	done    map[templateKey]*rendered
	others  map[string]*Scope // scopes of other hosts, for hostvars
	secrets map[*value.Vault]any
	origins map[textID]origin
	// mark says that the render in progress read what a managed host sent.
	mark bool
	// saw says that a render that is over did.
	saw     bool
	depth   int
	at      value.Pos   // of the template being rendered
	include *fileLoader // for templates in values, made when first needed
	replace *replacing  // nil: what is undefined fails
}

// Scope returns a scope over vars.
func (e *Engine) Scope(ctx context.Context, vars Vars, opt ScopeOptions) *Scope {
	return &Scope{e: e, ctx: ctx, vars: vars, opt: opt}
}
