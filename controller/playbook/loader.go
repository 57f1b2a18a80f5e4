package playbook

import (
	"volant/controller/fault"
	"volant/wire/value"
)

// Files reads YAML and JSON files of the project, decrypted, with positions.
// Errors are *fault.Error in the reference's words.
type Files interface {
	LoadFile(path string) (v any, encrypted bool, err error)
}

// Renderer renders the few values that must be known at load time. play and
// task give the scope: extra variables, the play's vars and vars_files, role
// defaults and vars; no inventory variables or facts. Either may be nil. vars
// (of an import_playbook statement) come below the extra variables and may be
// nil.
type Renderer interface {
	Render(play *Play, task *Task, vars *value.Dict, v any) (any, error)
	// RenderName renders the name of a task for the warnings alone that what is
	// undefined in it gives.
	RenderName(play *Play, task *Task, name any) error
}

// Plugins answers what names mean. Names are as written; collections is the
// search list of the task, may be empty.
type Plugins interface {
	// Action resolves the name of a module or action plugin to its full name.
	// ok is false when nothing of that name is installed. A redirect or
	// removal that the reference refuses is an error.
	Action(name string, collections []string) (resolved string, ok bool, err error)
	// AddDir makes the plugin directories (library, ...) below dir known: that
	// of a playbook or of a role.
	AddDir(dir string)
	// Lookup reports whether a lookup plugin of that name exists (with_X).
	Lookup(name string) bool
	// RolePath finds a collection role: "ns.coll.role", or a plain name in one
	// of the collections.
	RolePath(name string, collections []string) (role, path, collection string, ok bool)
	// PlaybookPath finds a collection playbook "ns.coll.name".
	PlaybookPath(name string) (path, collection string, ok bool)
	// CollectionOf names the collection that a file belongs to, or "".
	CollectionOf(path string) string
	// ActionGroup returns the members of a module_defaults group by full name
	// (ansible.builtin.x when plain): action names and groups it extends.
	ActionGroup(group string) (actions, extends []string, ok bool)
}

// Config are the settings that loading depends on.
type Config struct {
	RolesPath             []string // DEFAULT_ROLES_PATH, absolute
	PrivateRoleVars       *bool    // DEFAULT_PRIVATE_ROLE_VARS, nil when default
	InvalidTaskAttrFailed bool     // INVALID_TASK_ATTRIBUTE_FAILED
	// Combine joins variables by the hash_behaviour setting; nil replaces.
	Combine func(a, b *value.Dict) *value.Dict
}

// Loader reads playbooks, roles and task files. It is used by one goroutine at
// a time.
type Loader struct {
	Files   Files
	Render  Renderer
	Plugins Plugins
	Sink    fault.Sink // warnings; nil drops them
	Config  Config
	// Hosts is told of the host patterns of each play that Finish is called
	// for, unless they are templates: there the reference matches them first,
	// and warns. May be nil.
	Hosts func(patterns []string) error
	// Variables is told of a play once, when the reference first gathers its
	// variables, and warns of them. May be nil.
	Variables func(p *Play) error

	play              *Play  // being loaded
	basedir           string // what relative paths start from now
	defaultCollection string
	nextID            uint64
	depth             int // of static imports and dependencies inside each other
}

// NewID returns an identity for a task that is made rather than loaded.
func (l *Loader) NewID() uint64 { return l.id() }

// Quiet returns a loader that shows no warnings, to look ahead with.
func (l *Loader) Quiet() *Loader {
	c := *l
	c.Sink, c.Hosts, c.Variables = nil, nil, nil
	if p, ok := l.Plugins.(interface{ Silent() Plugins }); ok {
		c.Plugins = p.Silent()
	}
	return &c
}
