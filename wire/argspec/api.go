// Package argspec handles module arguments as the reference's
// module_utils.common.arg_spec does: aliases, types, choices, dependencies
// between options, sub-options, defaults, no_log, and the texts of its errors.
// A native module's argument struct is the spec: see Reflect.
package argspec

// Spec is a module's argument_spec with its rules.
type Spec struct {
	Options           []Option // in the order of the Python module's argument_spec
	MutuallyExclusive [][]string
	RequiredTogether  [][]string
	RequiredOneOf     [][]string
	RequiredIf        []RequiredIf
	RequiredBy        []RequiredBy
	CheckMode         bool // supports_check_mode
}

// Option is one argument.
type Option struct {
	Name          string
	Type          string // str when empty
	Elements      string // type of a list's elements
	Default       any
	HasDef        bool // Default was given (None counts as given only when set)
	Required      bool
	Choices       []any
	Aliases       []string
	NoLog         bool
	Options       *Spec    // sub-options of a dict or a list of dicts
	Fallback      []string // environment variables, the reference's env_fallback
	ApplyDefaults bool
}

// RequiredIf says: when Key equals Value, all (or with Any one) of Need.
type RequiredIf struct {
	Key   string
	Value any
	Need  []string
	Any   bool
}

// RequiredBy says: when Key is set, all of Need are required.
type RequiredBy struct {
	Key  string
	Need []string
}
