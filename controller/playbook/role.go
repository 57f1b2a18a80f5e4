package playbook

import "volant/wire/value"

// Role is one use of a role: loaded once per use, since its parameters differ.
type Role struct {
	ID         uint64
	Name       string // as in the role's directory, without collection
	Collection string // namespace.name, or empty
	Path       string // directory
	Keywords   Keywords
	Vars       *value.Dict // the vars keyword of the use
	Params     *value.Dict // keys of the use that are not keywords
	Defaults   *value.Dict // defaults/main, raw; never nil
	RoleVars   *value.Dict // vars/main, raw; never nil
	// AllowDuplicates is raw: meta/main's value, or that of include_role.
	AllowDuplicates any
	Dependencies    []*Role
	Parents         []*Role // roles that depend on or include this one
	Blocks          []*Block
	HandlerBlocks   []*Block
	// Public says whether its defaults and vars are seen by the rest of the play.
	Public      bool
	FromInclude bool // through include_role or import_role
	Static      bool // not through include_role
	FromFiles   map[string]string
	Collections []string // search list of its tasks
	Play        *Play
	Pos         value.Pos

	realPath string
	compiled []*Block // its own blocks for where it is used, see RoleBlocks
}

// FullName is the role's name, with its collection when fqcn.
func (r *Role) FullName(fqcn bool) string {
	if fqcn && r.Collection != "" {
		return r.Collection + "." + r.Name
	}
	return r.Name
}

// DepChain are the roles above r, outermost first, without r.
func (r *Role) DepChain() []*Role {
	var out []*Role
	for _, p := range r.Parents {
		out = append(out, p.DepChain()...)
		out = append(out, p)
	}
	return out
}

// AllDependencies are the dependencies of r, recursively, in the order in
// which they run.
func (r *Role) AllDependencies() []*Role {
	var out []*Role
	for _, d := range r.Dependencies {
		out = append(out, d.AllDependencies()...)
		out = append(out, d)
	}
	return out
}
