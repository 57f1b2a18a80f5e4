package inventory

import (
	"cmp"
	"slices"

	"volant/wire/value"
)

// Host is one host. Vars are those its sources gave it, without host_vars
// files and without those of its groups.
type Host struct {
	Name     string
	Vars     *value.Dict
	Groups   []*Group // all it is in, ancestors included
	Implicit bool     // localhost that no source named
}

func (h *Host) join(g *Group) {
	if !slices.Contains(h.Groups, g) {
		h.Groups = append(h.Groups, g)
	}
}

// SortedGroups are the host's groups in the order their variables apply: by
// depth, priority, name.
func (h *Host) SortedGroups() []*Group { return SortGroups(h.Groups) }

// SortGroups returns groups in the order their variables apply.
func SortGroups(groups []*Group) []*Group {
	out := slices.Clone(groups)
	slices.SortStableFunc(out, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(a.Depth, b.Depth), cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// setVar sets one variable, whose name stands at pos; a mapping given for a
// mapping is merged where merge says so.
func setVar(vars *value.Dict, key, v any, pos value.Pos, merge bool) {
	if merge {
		if a, ok := vars.Lookup(key).(*value.Dict); ok {
			if b, ok := v.(*value.Dict); ok {
				v = CombineVars(a, b, true)
			}
		}
	}
	if pos.Line > 0 && !vars.Has(key) {
		if vars.Places == nil {
			vars.Places = &value.Places{File: pos.File}
		}
		if vars.Places.File == pos.File { // one file a mapping is all that is kept
			at := value.EntryPlace{Key: value.Str(key), KeyLine: int32(pos.Line), KeyColumn: int32(pos.Column)} //nolint:gosec // bounded by the file's size
			if p := value.PosOf(v); p.File == pos.File {
				at.ValueLine, at.ValueColumn = int32(p.Line), int32(p.Column) //nolint:gosec // as above
			} else {
				at.ValueLine, at.ValueColumn = at.KeyLine, at.KeyColumn
			}
			vars.Places.Entries = append(vars.Places.Entries, at)
		}
	}
	vars.Set(key, v)
}

// CombineVars merges b over a, deeply if merge (DEFAULT_HASH_BEHAVIOUR), and
// returns a new Dict, or one of the two when the other is empty.
func CombineVars(a, b *value.Dict, merge bool) *value.Dict {
	switch {
	case a.Len() == 0 && b != nil:
		return b
	case b.Len() == 0:
		return a
	}
	out := a.Clone()
	for k, v := range b.All() {
		if merge {
			if old, ok := out.Lookup(k).(*value.Dict); ok {
				if d, ok := v.(*value.Dict); ok {
					v = CombineVars(old, d, true)
				}
			}
		}
		out.Set(k, v)
	}
	return out
}
