package plugindoc

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"volant/controller/union"
	"volant/wire/value"
)

// Types are the types of plugins that have documentation.
var Types = []string{
	"become", "cache", "callback", "cliconf", "connection", "httpapi", "inventory", "lookup", "netconf", "shell", "vars",
	"module", "strategy", "test", "filter",
}

// Library finds documentation in what is installed.
type Library struct {
	Union *union.Union
	// Dirs are directories (of a project) that have library, filter_plugins and
	// so on below them.
	Dirs []string
	// Paths are the configured directories of plugins, by type.
	Paths map[string][]string
	// ModulePath are directories of modules.
	ModulePath []string
	// Collections are the places collections are installed in.
	Collections []string
	// HasAction reports whether an action plugin stands before a module.
	HasAction func(name string) bool
	// Warn and Deprecated take what is said of names that are looked up; nil
	// drops it. version and date are when the name goes, one of them "".
	Warn       func(text string)
	Deprecated func(collection, text, version, date string)

	routing map[string]*value.Dict // by file
}

// Doc is everything known of one plugin.
type Doc struct {
	Name       string      // full name
	Type       string      // one of Types
	File       string      // that the documentation is in
	Collection string      // "ansible.builtin", "ns.coll"; "" for a project's own
	Doc        *value.Dict // DOCUMENTATION with its fragments
	Examples   any         // text, or what a YAML file has; nil for none
	Returns    *value.Dict
	Action     bool // an action plugin stands before the module
}

// ErrNotFound is a name that nothing stands for.
var ErrNotFound = errors.New("not found")

// plugin is where a plugin is.
type plugin struct{ name, file, collection string }

// Load reads the documentation of a plugin. The error wraps ErrNotFound when
// there is none of that name.
func (l *Library) Load(kind, name string) (*Doc, error) {
	d, err := l.load(kind, name)
	if err != nil {
		if own := l.jinjaDoc(kind, name); own != nil {
			return own, nil
		}
	}
	return d, err
}

func (l *Library) load(kind, name string) (*Doc, error) {
	p, err := l.find(kind, name)
	if err != nil {
		return nil, err
	}
	file := p.file
	if !slices.Contains([]string{".py", ".yml", ".yaml"}, filepath.Ext(file)) {
		if file = beside(p.file, last(p.name)); file == "" {
			return nil, fmt.Errorf("%s cannot contain DOCUMENTATION nor does it have a companion documentation file", name)
		}
	}
	unreadable := func(err error) error {
		return fmt.Errorf("%s plugin '%s' did not contain a DOCUMENTATION attribute in '%s': %w", kind, name, file, err)
	}
	parts, err := read(file)
	if err != nil {
		return nil, unreadable(err)
	}
	if parts.doc == nil {
		if other := beside(file, last(p.name)); other != "" {
			file = other
			if parts, err = read(file); err != nil {
				return nil, err
			}
		}
	}
	if parts.doc == nil {
		return nil, fmt.Errorf("No documentation available for %s plugin '%s' in '%s'.", kind, name, file) //nolint:staticcheck // the reference's text
	}
	module := kind == "module"
	stamp(parts.doc, p.collection, module)
	stampReturns(parts.returns, p.collection)
	if err := l.extend(parts.doc, file, module); err != nil {
		return nil, unreadable(err)
	}
	d := &Doc{Name: p.name, Type: kind, File: file, Collection: p.collection, Doc: parts.doc, Examples: parts.examples, Returns: parts.returns}
	if module {
		d.Action = l.hasAction(name)
	}
	return d, nil
}

// hasAction reports whether an action plugin is found by the name that a module
// was asked for.
func (l *Library) hasAction(name string) bool {
	if l.HasAction != nil && l.HasAction(name) {
		return true
	}
	if !strings.Contains(name, ".") {
		name = "ansible.builtin." + name
	}
	for range maxRoutes {
		ns := strings.SplitN(name, ".", 3)
		if len(ns) != 3 {
			return false
		}
		collection := ns[0] + "." + ns[1]
		route, _ := l.routes(collection, "action").Lookup(ns[2]).(*value.Dict)
		if to, ok := route.Str("redirect"); ok {
			name = to
			continue
		}
		_, err := os.Stat(filepath.Join(l.Union.CollectionDir(collection), "plugins", "action", ns[2]+".py"))
		return err == nil && collection != "ansible.builtin"
	}
	return false
}

func last(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// beside finds the YAML file beside a plugin that has its documentation.
func beside(file, name string) string {
	for _, ext := range []string{".yml", ".yaml"} {
		other := filepath.Join(filepath.Dir(file), name+ext)
		if _, err := os.Stat(other); err == nil && other != file {
			return other
		}
	}
	return ""
}

func (l *Library) find(kind, name string) (*plugin, error) {
	if kind == "module" {
		return l.module(name)
	}
	asked := name
	short := strings.TrimPrefix(strings.TrimPrefix(name, "ansible.builtin."), "ansible.legacy.")
	if !strings.Contains(short, ".") && l.own(kind, short) == nil {
		name = "ansible.builtin." + short
	}
	if name = l.routed(kind, name); strings.Count(name, ".") > 1 {
		short = strings.TrimPrefix(strings.TrimPrefix(name, "ansible.builtin."), "ansible.legacy.")
	}
	if ns := strings.SplitN(short, ".", 3); len(ns) == 3 {
		collection := ns[0] + "." + ns[1]
		if root := l.Union.CollectionDir(collection); root != "" {
			dir := filepath.Join(root, "plugins", kind)
			if file := cmp.Or(inDir(dir, ns[2]), holding(kind, dir, ns[2])); file != "" {
				return &plugin{short, file, collection}, nil
			}
		}
		return nil, fmt.Errorf("%s was %w", asked, ErrNotFound)
	}
	if p := l.own(kind, short); p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s was %w", asked, ErrNotFound)
}

// holding is the Python file in dir that brings the filter or test; "" for none.
func holding(kind, dir, name string) string {
	if kind != "filter" && kind != "test" {
		return ""
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.py"))
	for _, f := range files {
		if slices.Contains(contained(f), name) {
			return f
		}
	}
	return ""
}

// own finds a plugin of the project or of ansible-core; nil for none.
func (l *Library) own(kind, short string) *plugin {
	if strings.ContainsAny(short, "./") {
		return nil
	}
	dirs := l.project(kind)
	for _, dir := range dirs { // a YAML file may be anything
		if st, err := os.Stat(filepath.Join(dir, short+".py")); err == nil && st.Mode().IsRegular() {
			return &plugin{short, filepath.Join(dir, short+".py"), ""}
		}
	}
	for _, dir := range dirs {
		if file := inDir(dir, short); file != "" {
			return &plugin{short, file, ""}
		}
	}
	if file := inDir(filepath.Join(l.Union.Core().Path, "plugins", kind), short); file != "" {
		return &plugin{"ansible.builtin." + short, file, "ansible.builtin"}
	}
	return nil
}

// project are the directories of plugins that are not ansible-core's: the
// project's and the configured ones, with two levels below each.
func (l *Library) project(kind string) []string {
	var tops []string
	for _, dir := range l.Dirs {
		tops = append(tops, filepath.Join(dir, kind+"_plugins"))
	}
	var out []string
	for _, top := range append(tops, l.Paths[kind]...) {
		out = append(out, top)
		for _, pattern := range []string{"*", "*/*"} {
			found, _ := filepath.Glob(filepath.Join(top, pattern))
			for _, f := range found {
				if st, err := os.Stat(f); err == nil && st.IsDir() && filepath.Base(f) != "__pycache__" {
					out = append(out, f)
				}
			}
		}
	}
	return out
}

// inDir finds the file of a plugin: Python, or else the YAML file that
// documents one of several in a Python file.
func inDir(dir, name string) string {
	for _, file := range []string{name + ".py", name + ".yml", name + ".yaml", "_" + name + ".py"} {
		path := filepath.Join(dir, file)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

func (l *Library) module(name string) (*plugin, error) {
	if len(l.library()) == 0 || strings.Count(name, ".") > 1 { // else it may be the project's own
		full := strings.TrimPrefix(name, "ansible.legacy.")
		if !strings.Contains(full, ".") {
			full = "ansible.builtin." + full
		}
		l.routed("modules", full)
	}
	m, err := l.Union.Resolve(name, union.Scope{Library: l.library()})
	switch {
	case errors.Is(err, union.ErrNotFound):
		return nil, fmt.Errorf("%s was %w", name, ErrNotFound)
	case err != nil:
		return nil, err
	}
	p := &plugin{m.Name, m.Path, ""}
	switch ns := strings.SplitN(m.Name, ".", 3); {
	case strings.HasPrefix(m.Name, "ansible.legacy."):
		p.name = strings.TrimPrefix(m.Name, "ansible.legacy.")
	case len(ns) == 3:
		p.collection = ns[0] + "." + ns[1]
	}
	return p, nil
}

func (l *Library) library() []string {
	var out []string
	for _, d := range l.Dirs {
		out = append(out, filepath.Join(d, "library"))
	}
	return append(out, l.ModulePath...)
}
