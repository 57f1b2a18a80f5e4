package union

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"volant/wire/value"
)

// Group is a module_defaults group as a collection's metadata has it.
type Group struct {
	Members []string // names of actions as they are written
	Extends []string // the groups it extends
	Wrong   []string // what is wrong with its metadata, in the reference's words
}

// ActionGroup returns a group of a collection; ok is false when the collection
// is not installed or has no such group. group is its name without the
// collection.
func (u *Union) ActionGroup(collection, group string) (g Group, ok bool) {
	_, runtime := u.collection(collection)
	if runtime == "" {
		return g, false
	}
	r, err := u.cache.routing(runtime)
	if err != nil {
		return g, false
	}
	list, ok := r.Groups[collection+"."+group]
	if !ok {
		list, ok = r.Groups[group]
	}
	seen := false
	for _, item := range list {
		if name, ok := item.(string); ok {
			g.Members = append(g.Members, name)
			continue
		}
		entry, _ := plain(item).(*value.Dict)
		wrong := wrongEntry(entry, seen)
		if metadata, ok := entry.Lookup("metadata").(*value.Dict); ok {
			seen = true
			g.Extends = extended(metadata)
		}
		if len(wrong) > 0 {
			g.Wrong = append(g.Wrong, "Invalid metadata was found for action_group "+collection+"."+group+" while loading module_defaults. "+strings.Join(wrong, " "))
		}
	}
	return g, ok
}

// wrongEntry says what is wrong with an entry of a group that is not a name;
// again says that another came before it.
func wrongEntry(entry *value.Dict, again bool) (wrong []string) {
	if entry.Len() != 1 || !entry.Has("metadata") {
		var keys []string
		for k := range entry.All() {
			keys = append(keys, value.Str(k))
		}
		slices.Sort(keys)
		return []string{"The only expected key is metadata, but got keys: " + strings.Join(keys, ", ")}
	}
	if again {
		wrong = append(wrong, "The group contains multiple metadata entries.")
	}
	metadata, ok := entry.Lookup("metadata").(*value.Dict)
	if !ok {
		return append(wrong, "The metadata is not a dictionary. Got "+value.Str(entry.Lookup("metadata")))
	}
	var unexpected []string
	for k := range metadata.All() {
		if k != "extend_group" {
			unexpected = append(unexpected, value.Str(k))
		}
	}
	if len(unexpected) > 0 {
		wrong = append(wrong, "The metadata contains unexpected keys: "+strings.Join(unexpected, ", "))
	}
	switch v := metadata.Lookup("extend_group").(type) {
	case string, *value.List:
	default:
		if metadata.Has("extend_group") {
			wrong = append(wrong, "The metadata contains unexpected key types: extend_group is "+value.Str(v)+" (expected type list)")
		}
	}
	return wrong
}

// plain makes values of what the YAML library read.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		d := value.NewDict(len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			d.Set(k, plain(v[k]))
		}
		return d
	case map[any]any:
		named := make(map[string]any, len(v))
		for k, e := range v {
			named[fmt.Sprint(k)] = e
		}
		return plain(named)
	case []any:
		out := &value.List{}
		for _, e := range v {
			out.Items = append(out.Items, plain(e))
		}
		return out
	case int:
		return int64(v)
	case nil, string, bool, float64, int64:
		return v
	}
	return fmt.Sprint(v)
}

// extended reads extend_group of a group's metadata: a name or a list of them.
func extended(metadata *value.Dict) []string {
	switch v := metadata.Lookup("extend_group").(type) {
	case string:
		return []string{v}
	case *value.List:
		var out []string
		for _, x := range v.Items {
			if s, ok := x.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// NamespaceInstalled reports whether any collection of the namespace is
// installed.
func (u *Union) NamespaceInstalled(namespace string) bool {
	if namespace == "ansible" { // of ansible.builtin
		return true
	}
	for _, p := range u.collectionPlaces() {
		if filepath.Base(p) != "ansible_collections" {
			p = filepath.Join(p, "ansible_collections")
		}
		if st, err := os.Stat(filepath.Join(p, namespace)); err == nil && st.IsDir() {
			return true
		}
	}
	return false
}
