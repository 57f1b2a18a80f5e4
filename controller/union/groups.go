package union

import (
	"os"
	"path/filepath"
)

// ActionGroup returns what the collection's metadata says of a module_defaults
// group: the action names as written and the groups it extends. ok is false
// when the collection is not installed or has no such group. group is its name
// without the collection.
func (u *Union) ActionGroup(collection, group string) (members, extends []string, ok bool) {
	_, runtime := u.collection(collection)
	if runtime == "" {
		return nil, nil, false
	}
	r, err := u.cache.routing(runtime)
	if err != nil {
		return nil, nil, false
	}
	list, ok := r.Groups[collection+"."+group]
	if !ok {
		list, ok = r.Groups[group]
	}
	for _, item := range list {
		switch item := item.(type) {
		case string:
			members = append(members, item)
		case map[string]any:
			extends = append(extends, extended(item["metadata"])...)
		case map[any]any:
			extends = append(extends, extended(item["metadata"])...)
		}
	}
	return members, extends, ok
}

// extended reads extend_group of a group's metadata: a name or a list of them.
func extended(metadata any) []string {
	var v any
	switch m := metadata.(type) {
	case map[string]any:
		v = m["extend_group"]
	case map[any]any:
		v = m["extend_group"]
	}
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, x := range v {
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
