package plugindoc

import (
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
	// ModulePath are directories of modules.
	ModulePath []string
	// Collections are the places collections are installed in.
	Collections []string
	// HasAction reports whether an action plugin stands before a module.
	HasAction func(name string) bool
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
	parts, err := read(file)
	if err != nil {
		return nil, err
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
		return nil, err
	}
	d := &Doc{Name: p.name, Type: kind, File: file, Collection: p.collection, Doc: parts.doc, Examples: parts.examples, Returns: parts.returns}
	if module {
		d.Action = l.hasAction(name)
	}
	return d, nil
}

func (l *Library) hasAction(name string) bool {
	if l.HasAction != nil && l.HasAction(name) {
		return true
	}
	if ns := strings.SplitN(name, ".", 3); len(ns) == 3 && ns[0] != "ansible" {
		_, err := os.Stat(filepath.Join(l.Union.CollectionDir(ns[0]+"."+ns[1]), "plugins", "action", ns[2]+".py"))
		return err == nil
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
	short := strings.TrimPrefix(strings.TrimPrefix(name, "ansible.builtin."), "ansible.legacy.")
	if ns := strings.SplitN(short, ".", 3); len(ns) == 3 {
		collection := ns[0] + "." + ns[1]
		if root := l.Union.CollectionDir(collection); root != "" {
			if file := inDir(filepath.Join(root, "plugins", kind), ns[2]); file != "" {
				return &plugin{short, file, collection}, nil
			}
		}
		return nil, fmt.Errorf("%s was %w", name, ErrNotFound)
	}
	if strings.ContainsAny(short, "./") {
		return nil, fmt.Errorf("%s was %w", name, ErrNotFound)
	}
	for _, dir := range l.Dirs {
		if file := inDir(filepath.Join(dir, kind+"_plugins"), short); file != "" {
			return &plugin{short, file, ""}, nil
		}
	}
	if file := inDir(filepath.Join(l.Union.Core().Path, "plugins", kind), short); file != "" {
		return &plugin{"ansible.builtin." + short, file, "ansible.builtin"}, nil
	}
	return nil, fmt.Errorf("%s was %w", name, ErrNotFound)
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
