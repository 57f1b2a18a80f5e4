package inventory

import (
	"volant/controller/yaml"
	"volant/wire/value"
)

// VarsDirs reads the group_vars and host_vars beside the inventory sources and
// beside the playbook, lazily and each once.
type VarsDirs struct {
	files *yaml.Files
}

// GroupVars returns the variables of group files below base (base/group_vars/NAME,
// .yml, .yaml, .json, or a directory of them), later ones over earlier ones;
// nil when there are none. The result is shared and must not be changed.
func (d *VarsDirs) GroupVars(base, group string) (*value.Dict, error) { return nil, nil }

// HostVars is GroupVars for base/host_vars.
func (d *VarsDirs) HostVars(base, host string) (*value.Dict, error) { return nil, nil }

// NewVarsDirs returns a reader of files.
func NewVarsDirs(opt Options) *VarsDirs { return &VarsDirs{files: opt.Files} }

// Bases are the directories whose group_vars and host_vars belong to the
// inventory: of each source, in order.
func (inv *Inventory) Bases() []string { return nil }

// CombineVars merges b over a as the setting DEFAULT_HASH_BEHAVIOUR says and
// returns a new Dict, or one of the two when the other is empty.
func CombineVars(a, b *value.Dict, merge bool) *value.Dict { return nil }
