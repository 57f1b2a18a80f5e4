// Package template is what the reference puts on top of Jinja: filters, tests
// and lookups, variables that are templates themselves, trust, conditionals,
// `omit`, final values, and the errors of all that.
//
// Only a *value.Template is ever rendered; every other string is data. An
// Engine serves a run; a Scope is one task on one host and renders for it.
package template

import (
	"context"
	"iter"
	"sync"
	"time"

	"volant/controller/jinja"
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

// Secrets decrypts and encrypts with the run's vault secrets.
type Secrets interface {
	// Decrypt returns the plain bytes of a whole vault text.
	Decrypt(text []byte) ([]byte, error)
}

// Messages takes what templating tells the user besides results. Its methods
// are called from many goroutines; repeated texts are its business.
type Messages interface {
	Warn(text string, pos value.Pos, help string)
	Deprecate(text string, pos value.Pos, help, version string)
}

// Settings gives the values of configuration settings to the config lookup.
type Settings interface {
	// Setting returns a setting's value and where it came from; plugin type
	// and name are empty for the global ones. ok is false for unknown names.
	Setting(name, pluginType, pluginName string) (v any, origin string, ok bool, err error)
}

// Options are what an Engine is made with. The zero Options work: no secrets,
// no settings, messages dropped.
type Options struct {
	Secrets  Secrets
	Messages Messages
	Settings Settings
	// Plugins resolves a project's and its collections' own filters and tests;
	// it is asked for names that are not built in. May be nil.
	Plugins jinja.Table
	// Lookups resolves a project's own lookups likewise. May be nil.
	Lookups func(name string) (Lookup, bool)
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Getenv is the environment of the env lookup; nil is os.LookupEnv.
	Getenv func(name string) (string, bool)
	// AllowBrokenConditionals and AllowEmbeddedTemplates are the settings of
	// those names. The latter's default is on: NoEmbeddedTemplates turns it off.
	AllowBrokenConditionals bool
	NoEmbeddedTemplates     bool
	// Managed is the ansible_managed text of template files.
	Managed string
	// Verbosity of the run.
	Verbosity int
}

// Engine is the templating of one run. It is safe for concurrent use.
type Engine struct {
	opt      Options
	programs sync.Map // programKey -> *jinja.Program, for texts that are no *value.Template
}

// New returns an Engine.
func New(opt Options) *Engine { return &Engine{opt: opt} }

// ScopeOptions say where a scope is.
type ScopeOptions struct {
	// SearchPath lists the directories files are looked for in, most specific
	// first: role, task file's directory, playbook's directory
	// (ansible_search_path).
	SearchPath []string
	// Basedir is the playbook's directory (or the working directory).
	Basedir string
	// Hosts gives `hostvars`; may be nil.
	Hosts Hosts
	// Host is the inventory name of the scope's own host.
	Host string
	// Known replaces a variable's value by the Engine owner's own copy of it
	// with its mark removed (DESIGN.md section 4: facts from closed tables);
	// may be nil.
	Environ map[string]string
}

// Scope renders for one task on one host. It is used by one goroutine at a
// time and is cheap to make. Variables that are templates are rendered once.
// Everything it runs ends with the context it was made with.
type Scope struct {
	e    *Engine
	ctx  context.Context //nolint:containedctx // a scope lives as long as one task
	vars Vars
	opt  ScopeOptions
}

// Scope returns a scope over vars.
func (e *Engine) Scope(ctx context.Context, vars Vars, opt ScopeOptions) *Scope {
	return &Scope{e: e, ctx: ctx, vars: vars, opt: opt}
}

// Render renders v deeply and returns final data: no *value.Template,
// *value.Undefined or *value.Vault is left in it. The result may be value.Omit;
// inside containers omitted entries are gone. marked says that a value a
// managed host sent was read. Errors are *fault.Error chains.
func (s *Scope) Render(v any) (out any, marked bool, err error) { return nil, false, nil }

// Args are a task's rendered arguments.
type Args struct {
	Dict *value.Dict
	// Marked holds the names of the arguments whose render read a value that a
	// managed host sent.
	Marked map[string]bool
}

// ArgError says which argument could not be rendered.
type ArgError struct {
	Arg string
	Err error
}

// Error is the reference's text for it.
func (e *ArgError) Error() string { return e.Err.Error() }

// Unwrap returns the *fault.Error.
func (e *ArgError) Unwrap() error { return e.Err }

// RenderArgs renders a task's arguments, each on its own; omitted ones are
// left out. The error is an *ArgError around a *fault.Error whose message is
// "Error while resolving value for 'ARG'" with what caused it.
func (s *Scope) RenderArgs(args *value.Dict) (Args, error) { return Args{}, nil }

// Condition evaluates a when, failed_when, changed_when, until or assert
// expression by the reference's rule: the result must be a bool.
func (s *Scope) Condition(v any) (bool, error) { return false, nil }

// Expression evaluates the text of t as a bare expression (`debug: var`).
func (s *Scope) Expression(t *value.Template) (out any, marked bool, err error) {
	return nil, false, nil
}

// Lookup runs a lookup as `with_NAME` does; terms are rendered already.
func (s *Scope) Lookup(name string, terms []any, kw *value.Dict) (out any, marked bool, err error) {
	return nil, false, nil
}
