package playbook

import (
	"strings"

	"volant/wire/value"
)

// inheritedKeywords are the keywords that come down to a task.
var inheritedKeywords = func() []Keyword {
	var out []Keyword
	for k := range nKeywords {
		if specs[k].Inherit {
			out = append(out, k)
		}
	}
	return out
}()

// Effective returns every keyword that applies to t: its own and those it
// inherits from the blocks, static imports, roles and the play around it, each
// by the keyword's rule (the nearest wins, or lists are joined). Dynamic
// includes pass nothing on but through their `apply` block, as in the
// reference. Vars and defaults are not in it.
func Effective(t *Task) Keywords {
	out := t.Keywords.Clone()
	parent := surround(t.Parent)
	if parent == nil {
		return out
	}
	around := keywordsOf(parent)
	for _, s := range around {
		own, ok := t.Keywords.Get(s.Key)
		switch {
		case !ok:
			out = append(out, s)
		case s.Key.Spec().Extend:
			out.Set(s.Key, extend(own, s.Value, s.Key.Spec().Prepend), out.PosOf(s.Key))
		}
	}
	return out
}

// Around returns the value that t inherits for k where it has none of its own:
// what an omitted keyword falls back to.
func Around(t *Task, k Keyword) (Setting, bool) {
	parent := surround(t.Parent)
	if parent == nil || !k.Spec().Inherit {
		return Setting{}, false
	}
	for _, s := range keywordsOf(parent) {
		if s.Key == k {
			return s, true
		}
	}
	return Setting{}, false
}

// surround is what a task or block inherits from: its parent, or what is above
// that when the parent is a dynamic include.
func surround(p Parent) Parent {
	for {
		t, ok := p.(*Task)
		if !ok || t.Static() {
			if p == nil || isNil(p) {
				return nil
			}
			return p
		}
		p = t.Parent
	}
}

func isNil(p Parent) bool {
	switch p := p.(type) {
	case *Block:
		return p == nil
	case *Task:
		return p == nil
	}
	return true
}

// keywordsOf are the inheritable keywords of a block or static import with
// everything around it. They are kept on the block.
func keywordsOf(p Parent) Keywords {
	switch p := p.(type) {
	case *Task:
		return onlyInherited(Effective(p))
	case *Block:
		p.once.Do(func() { p.effective = p.inherit() })
		return p.effective
	}
	return nil
}

func onlyInherited(s Keywords) Keywords {
	out := s[:0:0]
	for _, x := range s {
		if x.Key.Spec().Inherit {
			out = append(out, x)
		}
	}
	return out
}

// inherit joins the block's keywords with those of its parent, role, the roles
// that lead to that role, and the play.
func (b *Block) inherit() Keywords {
	levels := []Keywords{b.Keywords}
	if p := surround(b.Parent); p != nil {
		levels = append(levels, keywordsOf(p))
	}
	if b.Role != nil {
		levels = append(levels, b.Role.Keywords)
		chain := depChain(b)
		for i := len(chain) - 1; i >= 0; i-- {
			levels = append(levels, chain[i].Keywords)
		}
	}
	if b.Play != nil {
		levels = append(levels, b.Play.Keywords)
	}
	var out Keywords
	for _, k := range inheritedKeywords {
		spec := k.Spec()
		var v any
		var pos value.Pos
		set := false
		for _, level := range levels {
			lv, ok := level.Get(k)
			if !ok {
				continue
			}
			if !set {
				v, pos, set = lv, level.PosOf(k), true
				if !spec.Extend {
					break
				}
				continue
			}
			v = extend(v, lv, spec.Prepend)
		}
		if set {
			out = append(out, Setting{k, v, pos})
		}
	}
	return out
}

// extend joins two values of a list keyword, leaving out nil and items that
// are there already (the same value met on two ways up).
func extend(own, around any, prepend bool) any {
	first, second := asItems(own), asItems(around)
	if prepend {
		first, second = second, first
	}
	out := &value.List{Items: make([]any, 0, len(first)+len(second))}
	seen := func(v any) bool {
		for _, o := range out.Items {
			if same(o, v) {
				return true
			}
		}
		return false
	}
	for _, list := range [][]any{first, second} {
		for _, v := range list {
			if v != nil && !seen(v) {
				out.Items = append(out.Items, v)
			}
		}
	}
	return out
}

// same reports whether two items are one: the same object, or equal scalars.
func same(a, b any) bool {
	switch a.(type) {
	case *value.Dict, *value.List, *value.Template, *value.Vault, string, bool, int64, float64:
		return a == b
	}
	return false
}

func asItems(v any) []any {
	if l, ok := v.(*value.List); ok {
		return l.Items
	}
	return []any{v}
}

// Chain are the `vars` that apply to the task, outermost first: of the blocks
// and includes around it, then its own. None is nil.
func (t *Task) Chain() []*value.Dict {
	var out []*value.Dict
	for p := t.Parent; p != nil && !isNil(p); p = p.up() {
		switch p := p.(type) {
		case *Block:
			out = append(out, p.Vars)
		case *Task:
			out = append(out, p.Vars)
		}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return append(out, t.Vars)
}

// IncludeParams are the vars of the dynamic includes around the task and its
// own if it is one, outermost first; they rank above set_fact. parents are the
// roles of include_role statements, innermost first, for
// ansible_parent_role_names.
func (t *Task) IncludeParams() (vars []*value.Dict, parents []*Role) {
	for p := Parent(t); p != nil && !isNil(p); p = p.up() {
		inc, ok := p.(*Task)
		if !ok || inc.Include != IncludeTasks && inc.Include != IncludeRole && inc.Include != ImportRole {
			continue
		}
		if inc.RoleArgs != nil && inc.RoleArgs.ParentRole != nil {
			parents = append(parents, inc.RoleArgs.ParentRole)
		}
		if inc.Include != ImportRole {
			vars = append(vars, inc.Vars)
		}
	}
	for i, j := 0, len(vars)-1; i < j; i, j = i+1, j-1 {
		vars[i], vars[j] = vars[j], vars[i]
	}
	return vars, parents
}

// DepChain are the roles that lead to the task, outermost first, its own last.
func (t *Task) DepChain() []*Role { return depChain(t.Parent) }

func depChain(p Parent) []*Role {
	for ; p != nil && !isNil(p); p = p.up() {
		if b, ok := p.(*Block); ok && b.DepChain != nil {
			return b.DepChain
		}
	}
	return nil
}

// SearchPath are the directories in which files of the task are looked for:
// its roles, innermost first, and that of its own file.
func (t *Task) SearchPath() []string {
	var out []string
	chain := t.DepChain()
	for i := len(chain) - 1; i >= 0; i-- {
		out = append(out, chain[i].Path)
	}
	if strings.HasPrefix(t.Pos.File, "/") { // an ad hoc task is in no file
		if dir := dirname(t.Pos.File); !contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}

// inherited is the value of a keyword for something that stands in p.
func inherited(p Parent, k Keyword) (any, bool) {
	if p = surround(p); p == nil {
		return nil, false
	}
	for p != nil {
		switch x := p.(type) {
		case *Task:
			if v, ok := x.Keywords.Get(k); ok {
				return v, true
			}
		case *Block:
			if v, ok := x.Keywords.Get(k); ok {
				return v, true
			}
			if up := surround(x.Parent); up == nil {
				if x.Role != nil {
					if v, ok := x.Role.Keywords.Get(k); ok {
						return v, true
					}
					if k == Collections {
						return value.Strings(x.Role.Collections...), len(x.Role.Collections) > 0
					}
				}
				if x.Play != nil {
					return x.Play.Keywords.Get(k)
				}
				return nil, false
			}
		}
		p = surround(p.up())
	}
	return nil, false
}
