package playbook

import "volant/wire/value"

// Playbook is one playbook file with everything it imports: a list of plays.
type Playbook struct {
	Path string // as given on the command line
	Dir  string // absolute directory of the file
	// Plays are the plays in order, those of imported playbooks in place.
	Plays []*Play
}

// Play is one play.
type Play struct {
	Keywords Keywords // raw, without the lists of tasks and roles
	Pos      value.Pos
	Vars     *value.Dict // raw; never nil; vars of import_playbook included
	// Dir is the directory that relative paths of this play start from; for an
	// imported playbook it is its own directory.
	Dir string
	// IncludedDir is the directory of the import_playbook file the play came
	// from, or empty.
	IncludedDir string
	// Conditional is the `when` of the import_playbook the play came through.
	Conditional []any
	VarsFiles   []any // raw: strings, or lists of alternatives
	VarsPrompt  []*value.Dict
	PreTasks    []*Block
	Roles       []*Role // as listed, then those of import_role and include_role
	Tasks       []*Block
	PostTasks   []*Block
	Handlers    []*Block // each block's Block list holds handlers
	// Collection is the collection the playbook file belongs to, or empty.
	Collection string

	// Values are set by Loader.Finish.
	Values *Values

	gathered    bool // Loader.Variables knows of it
	roleCache   map[string][]*Role
	actionGroup map[string][]string // resolved action -> groups it is in
	groups      map[string][]string // group -> actions
}

// ActionGroups are the module_defaults groups that a resolved action name is
// in, among the groups the play names.
func (p *Play) ActionGroups(resolved string) []string { return p.actionGroup[resolved] }

// CachedRole returns the role of the play that is equal to r: loaded from the
// same path with the same parameters. "Has run" is kept on that one.
func (p *Play) CachedRole(r *Role) *Role {
	for _, c := range p.roleCache[r.realPath] {
		if c.equal(r) {
			return c
		}
	}
	return r
}
