package union

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrNotFound says that no file stands for a module name. Whether an action
// plugin does is for the caller to know.
var ErrNotFound = errors.New("module not found")

// RemovedError is a module that its collection took out; the text is the reference's.
type RemovedError struct{ Msg, Version, Date, Collection string }

// Error is the tombstone's text.
func (e *RemovedError) Error() string { return e.Msg }

// found is where a name led.
type found struct {
	name     string // canonical
	path     string
	builtin  bool
	warnings []string
}

// ignoredExts are files beside modules that are never modules.
var ignoredExts = []string{".pyo", ".pyc", ".swp", ".bak", "~", ".rpm", ".md", ".txt", ".rst", ".yaml", ".yml", ".ini", ".ps1"}

// Resolve finds the module a task's name stands for and what it needs. The
// error wraps ErrNotFound when there is none, or is a *RemovedError.
func (u *Union) Resolve(name string, scope Scope) (*Module, error) {
	f, err := u.find(name, scope)
	if err != nil {
		return nil, err
	}
	m, err := u.build(f, scope)
	if err != nil {
		return nil, err
	}
	m.Name, m.Warnings = f.name, f.warnings
	m.Short = f.name[strings.LastIndexByte(f.name, '.')+1:]
	return m, nil
}

// Has reports whether a file stands for the name.
func (u *Union) Has(name string, scope Scope) bool {
	_, err := u.find(name, scope)
	return err == nil
}

// Names returns what a name leads to, the name itself first: what
// module_defaults and action groups may call it by.
func (u *Union) Names(name string, scope Scope) ([]string, error) {
	var names []string
	_, err := u.follow(name, scope, func(step string) { names = append(names, step) })
	return names, err
}

func (u *Union) find(name string, scope Scope) (*found, error) {
	return u.follow(name, scope, func(string) {})
}

const maxRedirects = 32

func (u *Union) follow(name string, scope Scope, step func(string)) (*found, error) {
	seen := []string{name}
	var warnings []string
	collections := scope.Collections
	for {
		step(name)
		f, redirect, err := u.step(name, collections, scope, &warnings)
		if err != nil {
			return nil, err
		}
		if redirect == "" {
			if f.name != name {
				step(f.name)
			}
			f.warnings = warnings
			return f, nil
		}
		if slices.Contains(seen, redirect) || len(seen) > maxRedirects {
			return nil, fmt.Errorf("plugin redirect loop resolving %s (path: ['%s'])", seen[0], strings.Join(seen, "', '"))
		}
		seen = append(seen, redirect)
		name = redirect
	}
}

// step looks a name up once: a file, or the name to go on with.
func (u *Union) step(name string, collections []string, scope Scope, warnings *[]string) (*found, string, error) {
	dotted := strings.Count(name, ".") >= 2
	if !dotted && len(collections) == 0 {
		return u.legacy(name, scope, warnings)
	}
	candidates := []string{name}
	if !strings.Contains(name, ".") {
		candidates = candidates[:0]
		for _, c := range collections {
			candidates = append(candidates, c+"."+name)
		}
	}
	for _, c := range candidates {
		var f *found
		var redirect string
		var err error
		if short, ok := strings.CutPrefix(c, "ansible.legacy."); ok {
			f, redirect, err = u.legacy(short, scope, warnings)
		} else {
			f, redirect, err = u.qualified(c, warnings)
		}
		if err == nil || !errors.Is(err, ErrNotFound) {
			return f, redirect, err
		}
	}
	if !dotted { // the collections keyword does not hide what is found without it
		return u.legacy(name, scope, warnings)
	}
	return nil, "", fmt.Errorf("%w: %s", ErrNotFound, name)
}

// legacy searches library directories, then the core.
func (u *Union) legacy(name string, scope Scope, warnings *[]string) (*found, string, error) {
	for _, dirs := range [][]string{u.opt.Adjacent, scope.Library, u.opt.ModulePath} {
		for _, dir := range dirs {
			if path := u.inLibrary(dir, name); path != "" {
				return &found{name: "ansible.legacy." + name, path: path}, "", nil
			}
		}
	}
	if path := u.inDir(u.coreModules(), name); path != "" {
		return &found{name: "ansible.builtin." + name, path: path, builtin: true}, "", nil
	}
	if !strings.HasPrefix(name, "_") {
		if path := u.inDir(u.coreModules(), "_"+name); path != "" {
			return &found{name: "ansible.builtin._" + name, path: path, builtin: true}, "", nil
		}
	}
	if strings.Contains(name, ".") {
		return nil, "", fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	return u.qualified("ansible.builtin."+name, warnings)
}

func (u *Union) coreModules() string { return filepath.Join(u.opt.Core.Path, "modules") }

// qualified looks up NAMESPACE.COLLECTION.[SUBDIRS.]NAME.
func (u *Union) qualified(name string, warnings *[]string) (*found, string, error) {
	parts := strings.Split(name, ".")
	if len(parts) < 3 || slices.ContainsFunc(parts, func(p string) bool { return !identifier(p) }) {
		return nil, "", fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	collection, rest := parts[0]+"."+parts[1], parts[2:]
	root, runtime := u.collection(collection)
	if root == "" {
		return nil, "", fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	r, err := u.cache.routing(runtime)
	if err != nil {
		return nil, "", err
	}
	if to := r.Modules[strings.Join(rest, ".")]; to != nil {
		if t := to.Tombstone; t != nil {
			return nil, "", &RemovedError{Msg: t.removed(name, "module", collection), Version: t.Version, Date: t.Date, Collection: collection}
		}
		if d := to.Deprecated; d != nil {
			*warnings = append(*warnings, d.deprecation(name, collection))
		}
		if to.Redirect != "" {
			if strings.Count(to.Redirect, ".") < 2 {
				return nil, "", fmt.Errorf("Collection %s contains invalid redirect for %s: %s. Redirects must use fully qualified collection names.", //nolint:staticcheck // the reference's text
					collection, name, to.Redirect)
			}
			return nil, to.Redirect, nil
		}
	}
	dir := filepath.Join(append([]string{root}, rest[:len(rest)-1]...)...)
	if path := u.inDir(dir, rest[len(rest)-1]); path != "" {
		return &found{name: name, path: path, builtin: collection == "ansible.builtin"}, "", nil
	}
	if to := r.Actions[strings.Join(rest, ".")]; to != nil && to.Tombstone != nil {
		t := to.Tombstone
		return nil, "", &RemovedError{Msg: t.removed(name, "action plugin", collection), Version: t.Version, Date: t.Date, Collection: collection}
	}
	return nil, "", fmt.Errorf("%w: %s", ErrNotFound, name)
}

// deprecation is what is shown of a name that will go.
func (n *notice) deprecation(name, collection string) string {
	text := name + " has been deprecated."
	if n.Text != "" {
		text += " " + n.Text
	}
	from := owner(collection)
	switch {
	case n.Date != "":
		text += " This feature will be removed from " + from + " in a release after " + n.Date + "."
	case n.Version != "":
		text += " This feature will be removed from " + from + " version " + n.Version + "."
	default:
		text += " This feature will be removed from " + from + " in a future release."
	}
	return text
}

func identifier(s string) bool {
	for i, c := range s {
		if c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c > 0x7f || i > 0 && c >= '0' && c <= '9' {
			continue
		}
		return false
	}
	return s != ""
}

// collection returns where a collection's modules and routing are, or "".
func (u *Union) collection(name string) (modules, runtime string) {
	if name == "ansible.builtin" {
		return u.coreModules(), filepath.Join(u.opt.Core.Path, "config", "ansible_builtin_runtime.yml")
	}
	dir := u.CollectionDir(name)
	if dir == "" {
		return "", ""
	}
	return filepath.Join(dir, "plugins", "modules"), filepath.Join(dir, "meta", "runtime.yml")
}

// collectionPlaces are the directories that collections are searched in, in
// order; the last one has those of the `ansible` package.
func (u *Union) collectionPlaces() []string {
	places := slices.Clone(u.opt.Collections)
	if !u.opt.NoSysPath {
		places = append(places, filepath.Dir(u.opt.Core.Path))
	}
	return places
}

// CollectionDir returns the directory of an installed collection, or "".
func (u *Union) CollectionDir(name string) string {
	ns, coll, ok := strings.Cut(name, ".")
	if !ok {
		return ""
	}
	for _, p := range u.collectionPlaces() {
		if filepath.Base(p) != "ansible_collections" {
			p = filepath.Join(p, "ansible_collections")
		}
		dir := filepath.Join(p, ns, coll)
		if st, err := os.Stat(dir); err == nil && st.IsDir() {
			return dir
		}
	}
	return ""
}

// inLibrary looks in a library directory and two levels below it.
func (u *Union) inLibrary(dir, name string) string {
	if path := u.inDir(dir, name); path != "" {
		return path
	}
	for _, d := range u.below(dir) {
		if path := u.inDir(d, name); path != "" {
			return path
		}
	}
	return ""
}

// below lists what is in a library directory and one level deeper. It is
// looked at once a run: every task of every host asks.
func (u *Union) below(dir string) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	list, ok := u.subdirs[dir]
	if !ok {
		for _, pattern := range []string{"*", "*/*"} {
			found, _ := filepath.Glob(filepath.Join(dir, pattern))
			list = append(list, found...)
		}
		u.subdirs[dir] = list
	}
	return list
}

// inDir finds the file of a module name in one directory: with any extension,
// or the name as it is.
func (u *Union) inDir(dir, name string) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	names, ok := u.dirs[dir]
	if !ok {
		names = listModules(dir)
		u.dirs[dir] = names
	}
	return names[name]
}

func listModules(dir string) map[string]string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	names := make(map[string]string, 2*len(entries))
	for _, e := range entries {
		file := e.Name()
		if file == "__init__.py" || slices.ContainsFunc(ignoredExts, func(x string) bool { return strings.HasSuffix(file, x) }) {
			continue
		}
		path := filepath.Join(dir, file)
		if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
			continue
		}
		base := strings.TrimSuffix(file, filepath.Ext(file))
		if _, taken := names[base]; !taken {
			names[base] = path
		}
		if _, taken := names[file]; !taken {
			names[file] = path
		}
	}
	return names
}
