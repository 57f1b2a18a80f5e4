package plugindoc

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"volant/wire/value"
)

// Role is a role that has a file with its arguments.
type Role struct {
	Name       string
	Collection string // "" for a role of its own
	Path       string // of the role, or of its collection
}

// FullName is the role's name with its collection's.
func (r *Role) FullName() string {
	if r.Collection == "" {
		return r.Name
	}
	return r.Collection + "." + r.Name
}

func (r *Role) meta() string {
	if r.Collection != "" {
		return filepath.Join(r.Path, "roles", r.Name, "meta")
	}
	return filepath.Join(r.Path, "meta")
}

var (
	mainFiles = []string{"main.yml", "main.yaml", "main.json"}
	specFiles = append([]string{"argument_specs.yml", "argument_specs.yaml", "argument_specs.json"}, mainFiles...)
)

// firstFile is the first of the files that is there; "" for none.
func firstFile(dir string, names []string) string {
	for _, n := range names {
		if _, err := os.Stat(filepath.Join(dir, n)); err == nil {
			return filepath.Join(dir, n)
		}
	}
	return ""
}

// Roles are the roles in paths and in collections that have a file with
// arguments, sorted by full name. names keeps those of that name, with or
// without their collection; collections keeps those of these collections. Empty
// both keep all.
func (l *Library) Roles(paths, names, collections []string) []*Role {
	var out []*Role
	seen := map[string]bool{}
	if len(collections) > 0 {
		paths = nil
	}
	for _, path := range paths {
		for _, r := range within(path, "") {
			if !seen[r.Name] && (len(names) == 0 || slices.Contains(names, r.Name)) {
				seen[r.Name] = true
				out = append(out, r)
			}
		}
	}
	for _, root := range l.collections() {
		collection := filepath.Base(filepath.Dir(root)) + "." + filepath.Base(root)
		if len(collections) > 0 && !slices.Contains(collections, collection) {
			continue
		}
		for _, r := range within(root, collection) {
			if len(names) == 0 || slices.Contains(names, r.Name) || slices.Contains(names, r.FullName()) {
				out = append(out, r)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *Role) int { return strings.Compare(a.FullName(), b.FullName()) })
	return out
}

// within are the roles of a directory of roles, or of a collection.
func within(path, collection string) []*Role {
	dir := path
	if collection != "" {
		dir = filepath.Join(path, "roles")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []*Role
	for _, e := range entries {
		r := &Role{Name: e.Name(), Collection: collection, Path: path}
		if collection == "" {
			r.Path = filepath.Join(path, e.Name())
		}
		if firstFile(r.meta(), specFiles) != "" {
			out = append(out, r)
		}
	}
	return out
}

// loadFirst reads the first of the files that is there: an empty mapping for
// none.
func loadFirst(dir string, names []string) (*value.Dict, error) {
	path := firstFile(dir, names)
	if path == "" {
		return value.NewDict(0), nil
	}
	v, err := readYAML(path)
	if err != nil {
		return nil, err
	}
	switch d := v.(type) {
	case nil:
		return value.NewDict(0), nil
	case *value.Dict:
		return d, nil
	}
	return nil, fmt.Errorf("'%s' object has no attribute 'get'", value.TypeName(v))
}

// Specs are the role's entry points with their arguments.
func (r *Role) Specs() (*value.Dict, error) {
	data, err := loadFirst(r.meta(), specFiles)
	if err != nil {
		return nil, err
	}
	switch d := data.Lookup("argument_specs").(type) {
	case *value.Dict:
		return d, nil
	case nil:
		if !data.Has("argument_specs") {
			return value.NewDict(0), nil
		}
	}
	return nil, fmt.Errorf("argument_specs of role %s is no mapping", r.Name)
}

// Summary is what a list of roles has of one: what its galaxy_info says, its
// collection and its entry points with a line each.
func (r *Role) Summary(specs *value.Dict) *value.Dict {
	out := value.DictOf("description", "UNDOCUMENTED")
	// What galaxy_info says counts only where the same file has the arguments.
	if data, err := loadFirst(r.meta(), mainFiles); err == nil && data.Has("argument_specs") {
		if info, ok := data.Lookup("galaxy_info").(*value.Dict); ok && info.Len() > 0 {
			out = info.Clone()
		}
	}
	entries := value.NewDict(specs.Len())
	for name, v := range specs.All() {
		text := any("")
		if d, ok := v.(*value.Dict); ok && d.Has("short_description") {
			text = d.Lookup("short_description")
		}
		entries.Set(name, text)
	}
	out.Set("entry_points", entries)
	if r.Collection != "" {
		out.Set("collection", r.Collection)
	}
	return out
}

// Doc is everything known of the role, or of one of its entry points; nil when
// it has none of that name.
func (r *Role) Doc(specs *value.Dict, entry string) *value.Dict {
	entries := value.NewDict(specs.Len())
	for name, v := range specs.All() {
		if entry != "" && value.Str(name) != entry {
			continue
		}
		if !value.Truth(v) {
			v = value.NewDict(0)
		}
		entries.Set(name, v)
	}
	if entries.Len() == 0 {
		return nil
	}
	var collection any
	if r.Collection != "" {
		collection = r.Collection
	}
	return value.DictOf("path", r.Path, "collection", collection, "entry_points", entries)
}
