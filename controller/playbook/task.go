package playbook

import "volant/wire/value"

// Include says what kind of include or import a task is.
type Include uint8

// The kinds of include.
const (
	NotInclude Include = iota
	IncludeTasks
	ImportTasks
	IncludeRole
	ImportRole
)

// Task is a task or handler, or the statement of an include or import.
type Task struct {
	// ID is the same for every copy of the task that one statement of one file
	// loaded once has (the reference's uuid).
	ID       uint64
	Keywords Keywords // raw, own ones only: see Effective
	Vars     *value.Dict
	Pos      value.Pos // of the task's mapping
	// Action is the module or action as written, a *value.Template when it
	// may be one. Resolved is its full name, empty while Action is a template.
	Action   any
	Resolved string
	// Args are the raw arguments. Free-form text is under _raw_params, a
	// template given to `args:` under _variable_params.
	Args *value.Dict
	// LoopControl is never nil for a task with a loop.
	LoopControl *LoopControl
	Parent      Parent
	Role        *Role
	Handler     bool
	Listen      []string // topics, with those of its role's names added
	Implicit    bool     // made by us: flush_handlers, role_complete, noop
	Include     Include
	// RoleArgs are the options of include_role and import_role.
	RoleArgs *RoleArgs
	// Excerpt stands for the source of a task that is in no file (the
	// validation of a role's arguments) in messages.
	Excerpt string
}

// RoleArgs are the options of include_role and import_role, raw.
type RoleArgs struct {
	Name any
	From map[string]any // "tasks", "vars", "defaults", "handlers"
	// Public, AllowDuplicates and Validate are nil when not given.
	Public, AllowDuplicates, Validate any
	// ParentRole is the role the statement stands in.
	ParentRole *Role
	// Path is the directory of the role, once it has been loaded.
	Path string
}

// LoopControl is loop_control, raw; nil values are not given.
type LoopControl struct {
	LoopVar, IndexVar, Label, Pause, Extended, ExtendedAllitems, BreakWhen any
	Pos                                                                    value.Pos
}

func (*Task) node()        {}
func (t *Task) up() Parent { return t.Parent }

// Static reports whether the task is an import, resolved when loaded.
func (t *Task) Static() bool { return t.Include == ImportTasks || t.Include == ImportRole }

// Meta returns the free-form argument of a meta task, or empty.
func (t *Task) Meta() string {
	switch a, _ := value.Text(t.Action); a {
	case "meta", "ansible.builtin.meta", "ansible.legacy.meta":
		s, _ := t.Args.Str("_raw_params")
		return s
	}
	return ""
}

// ActionName is the action as written.
func (t *Task) ActionName() string {
	s, _ := value.Text(t.Action)
	return s
}

// RawName is the name keyword as written (unrendered), or empty.
func (t *Task) RawName() string {
	s, _ := value.Text(t.Keywords.Value(Name))
	return s
}

// Title is the name as shown, before rendering: "role : name", or the action
// when there is none. name is the rendered name keyword, or RawName.
func (t *Task) Title(name string, fqcn bool) string {
	if t.RoleArgs != nil {
		if name != "" {
			return name
		}
		role, _ := value.Text(t.RoleArgs.Name)
		return t.ActionName() + " : " + role
	}
	if name == "" {
		name = t.ActionName()
	}
	if t.Role != nil {
		return t.Role.FullName(fqcn) + " : " + name
	}
	return name
}
