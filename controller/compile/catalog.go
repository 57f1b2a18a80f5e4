package compile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"volant/actions"
	"volant/controller/fault"
	"volant/controller/playbook"
	"volant/controller/union"
	"volant/controller/yaml"
	"volant/wire/value"
)

// Catalog answers what the names of a project mean, from what is installed:
// ansible-core, collections, and the library directories of the project. It is
// the playbook.Plugins of a run. It is safe for concurrent use.
type Catalog struct {
	// Union resolves modules; nil when no ansible-core is installed: then every
	// name is taken for a module, and Preflight says what is missing.
	Union *union.Union
	// Files reads the metadata of ansible-core and collections.
	Files *yaml.Files
	// Lookups reports whether we have a lookup.
	Lookups func(name string) bool
	Sink    fault.Sink // warnings; nil drops them
	// Actions reports whether an action plugin in Python runs the action of
	// that full name. May be nil.
	Actions func(resolved string) bool
	// UncheckedGroups leaves out warnings about the metadata of action groups.
	UncheckedGroups bool
	// Dir is told of each directory whose plugins become known. May be nil.
	Dir func(dir string)

	mu             sync.Mutex // guards what follows
	library, utils []string
	resolved       map[string]resolved
	moved          map[string]string // by kind and name: what ansible-core sends elsewhere
}

type resolved struct {
	name    string
	ok      bool
	err     error
	missing string // a name in a collection that is not installed
}

var _ playbook.Plugins = (*Catalog)(nil)

// AddDir makes the library and module_utils directories below dir (a playbook's
// or a role's) known.
func (c *Catalog) AddDir(dir string) {
	if c.Dir != nil {
		c.Dir(dir)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for sub, to := range map[string]*[]string{"library": &c.library, "module_utils": &c.utils} {
		path := filepath.Join(dir, sub)
		if st, err := os.Stat(path); err == nil && st.IsDir() && !has(*to, path) {
			*to = append(*to, path)
			clear(c.resolved)
		}
	}
}

// Scope is where the union looks for the names of a task with that search list.
func (c *Catalog) Scope(collections []string) union.Scope {
	c.mu.Lock()
	defer c.mu.Unlock()
	return union.Scope{Collections: collections, Library: slices.Clone(c.library), ModuleUtils: slices.Clone(c.utils)}
}

// Action implements playbook.Plugins.
func (c *Catalog) Action(name string, collections []string) (string, bool, error) {
	r := c.lookUp(name, collections)
	c.warnMissing(r.missing)
	return r.name, r.ok, r.err
}

// Silent is the same catalog without warnings, to look ahead with.
func (c *Catalog) Silent() playbook.Plugins { return silent{c} }

type silent struct{ *Catalog }

// Action is Catalog.Action without warnings.
func (s silent) Action(name string, collections []string) (string, bool, error) {
	r := s.lookUp(name, collections)
	return r.name, r.ok, r.err
}

func (c *Catalog) lookUp(name string, collections []string) resolved {
	key := name + "\x00" + strings.Join(collections, "\x00")
	c.mu.Lock()
	r, ok := c.resolved[key]
	c.mu.Unlock()
	if !ok {
		r = c.resolve(name, collections)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.resolved == nil {
			c.resolved = map[string]resolved{}
		}
		c.resolved[key] = r
	}
	return r
}

func (c *Catalog) resolve(name string, collections []string) resolved {
	if !validName(name) {
		return resolved{}
	}
	short := actions.Short(name)
	_, own := actions.Lookup(name)
	own = own || builtinStatement(short)
	if c.Union == nil {
		if strings.Contains(short, ".") {
			return resolved{name: name, ok: true}
		}
		return resolved{name: "ansible.builtin." + short, ok: true}
	}
	if !builtinStatement(short) {
		// An action comes before a module of its name, and is what
		// module_defaults know. The project's own replace those of ansible-core
		// but where ansible.builtin is asked for.
		legacy := "ansible.legacy." + short
		has := c.Actions != nil && (name == short || name == legacy) && c.Actions(legacy)
		if has && len(collections) == 0 {
			return resolved{name: legacy, ok: true}
		}
		if full, err := c.Union.Action(name, c.Scope(collections)); err == nil {
			return resolved{name: full, ok: true}
		}
		if has {
			return resolved{name: legacy, ok: true}
		}
	}
	names, err := c.Union.Names(name, c.Scope(collections))
	switch removed := (*union.RemovedError)(nil); {
	case err == nil && len(names) > 0:
		full := names[len(names)-1]
		if own && strings.HasPrefix(full, "ansible.legacy.") {
			// Our action of that name wins over a module beside the playbook.
			full = "ansible.builtin." + short
		}
		return resolved{name: full, ok: true}
	case errors.As(err, &removed):
		return resolved{err: fault.New(fault.Generic, value.Pos{}, "%s", removed.Msg)}
	case own:
		return resolved{name: "ansible.builtin." + short, ok: true}
	}
	if len(names) > 0 { // where ansible-core's routing sends it
		return resolved{missing: names[len(names)-1]}
	}
	return resolved{}
}

// builtinStatement reports whether the executor itself does what is named.
func builtinStatement(short string) bool {
	switch short {
	case "meta", "include_tasks", "include_role", "import_tasks", "import_role":
		return true
	}
	return false
}

// warnMissing warns of a name in a collection that is not installed.
func (c *Catalog) warnMissing(name string) {
	ns := strings.SplitN(name, ".", 3)
	if len(ns) < 3 || c.Sink == nil || ns[0] == "ansible" && (ns[1] == "builtin" || ns[1] == "legacy") || c.collection(ns[0]+"."+ns[1]) != "" {
		return
	}
	missing := "ansible_collections." + ns[0]
	if c.Union.NamespaceInstalled(ns[0]) {
		missing += "." + ns[1]
	}
	c.Sink.Warning(&fault.Error{Msg: "Error loading plugin '" + name + "': No module named '" + missing + "'"})
}

// validName reports whether text can name a plugin: no spaces, slashes or
// templates.
func validName(name string) bool {
	for _, r := range name {
		if r != '_' && r != '.' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return name != ""
}

// plugin finds a Python plugin file of a kind in collections and returns its
// full name, or "".
func (c *Catalog) plugin(kind, name string, collections []string) string {
	for _, full := range qualified(name, collections) {
		ns := strings.SplitN(full, ".", 3)
		if len(ns) < 3 || ns[0]+"."+ns[1] == "ansible.builtin" || ns[0]+"."+ns[1] == "ansible.legacy" {
			continue
		}
		dir := c.collection(ns[0] + "." + ns[1])
		if dir == "" {
			continue
		}
		file := filepath.Join(dir, "plugins", kind, strings.ReplaceAll(ns[2], ".", "/")+".py")
		if _, err := os.Stat(file); err == nil {
			return full
		}
	}
	return ""
}

// qualified are the full names that a name may stand for.
func qualified(name string, collections []string) []string {
	if strings.Count(name, ".") >= 2 {
		return []string{name}
	}
	var out []string
	for _, coll := range collections {
		out = append(out, coll+"."+name)
	}
	return out
}

func (c *Catalog) collection(name string) string {
	if c.Union == nil {
		return ""
	}
	return c.Union.CollectionDir(name)
}

// Lookup implements playbook.Plugins.
func (c *Catalog) Lookup(name string) bool {
	if c.Lookups != nil && c.Lookups(actions.Short(name)) {
		return true
	}
	if c.Union != nil && !strings.Contains(actions.Short(name), ".") {
		if _, err := os.Stat(filepath.Join(c.Union.Core().Path, "plugins", "lookup", actions.Short(name)+".py")); err == nil {
			return true
		}
	}
	if to := c.movedLookup(actions.Short(name)); to != "" {
		name = to
	}
	return c.plugin("lookup", name, nil) != ""
}

// RolePath implements playbook.Plugins.
func (c *Catalog) RolePath(name string, collections []string) (role, path, collection string, ok bool) {
	if strings.Count(name, ".") >= 2 {
		collections = nil
	}
	for _, full := range qualified(name, collections) {
		ns := strings.SplitN(full, ".", 3)
		if len(ns) < 3 || !validName(full) {
			continue
		}
		coll := ns[0] + "." + ns[1]
		dir := c.collection(coll)
		if dir == "" {
			continue
		}
		path := filepath.Join(dir, "roles", strings.ReplaceAll(ns[2], ".", "/"))
		if st, err := os.Stat(path); err == nil && st.IsDir() {
			return ns[2], path, coll, true
		}
	}
	return "", "", "", false
}

// PlaybookPath implements playbook.Plugins.
func (c *Catalog) PlaybookPath(name string) (path, collection string, ok bool) {
	ns := strings.SplitN(name, ".", 3)
	if len(ns) < 3 || !validName(name) {
		return "", "", false
	}
	coll := ns[0] + "." + ns[1]
	dir := c.collection(coll)
	if dir == "" {
		return "", "", false
	}
	base := filepath.Join(dir, "playbooks", strings.ReplaceAll(ns[2], ".", "/"))
	for _, ext := range []string{".yml", ".yaml", ".json"} {
		if _, err := os.Stat(base + ext); err == nil {
			return base + ext, coll, true
		}
	}
	return "", "", false
}

// CollectionOf implements playbook.Plugins.
func (c *Catalog) CollectionOf(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	parts := strings.Split(abs, "/")
	for i := len(parts) - 4; i >= 0; i-- {
		if parts[i] != "ansible_collections" {
			continue
		}
		name := parts[i+1] + "." + parts[i+2]
		if dir := c.collection(name); dir != "" && strings.HasPrefix(abs, dir+"/") {
			return name
		}
		return ""
	}
	return ""
}

// ActionGroup implements playbook.Plugins.
func (c *Catalog) ActionGroup(group string) (members, extends []string, ok bool) {
	g, ok := c.group(group)
	if c.Sink != nil && !c.UncheckedGroups {
		for _, w := range g.Wrong {
			c.Sink.Warning(&fault.Error{Msg: w})
		}
	}
	return g.Members, g.Extends, ok
}

// ActionGroup is Catalog.ActionGroup without warnings.
func (s silent) ActionGroup(group string) (members, extends []string, ok bool) {
	g, ok := s.group(group)
	return g.Members, g.Extends, ok
}

func (c *Catalog) group(group string) (union.Group, bool) {
	i := strings.LastIndexByte(group, '.')
	if c.Union == nil || i < 0 {
		return union.Group{}, false
	}
	return c.Union.ActionGroup(group[:i], group[i+1:])
}
