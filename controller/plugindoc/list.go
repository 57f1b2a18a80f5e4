package plugindoc

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"volant/controller/yaml"
	"volant/wire/value"
)

// Entry is one plugin of a list.
type Entry struct {
	Name    string
	File    string // "" for what Jinja itself brings
	Summary string
}

// List lists the plugins of a kind by name, with their summaries when asked
// for. only are the collections to list; none lists everything.
func (l *Library) List(kind string, only []string, summaries bool) []Entry {
	found := map[string]string{}
	within := func(collection string) bool {
		return len(only) == 0 || slices.Contains(only, collection)
	}
	if within("ansible.builtin") || within("ansible.legacy") {
		dir := filepath.Join(l.Union.Core().Path, "plugins", kind)
		if kind == "module" {
			dir = filepath.Join(l.Union.Core().Path, "modules")
		}
		l.dir(found, dir, "ansible.builtin.", kind, true, 0)
	}
	if within("ansible.legacy") {
		dirs := l.library()
		if kind != "module" {
			dirs = l.project(kind)
		}
		for _, d := range dirs {
			l.dir(found, d, "ansible.legacy.", kind, true, 0)
		}
	}
	for _, root := range l.collections() {
		if collection := filepath.Base(filepath.Dir(root)) + "." + filepath.Base(root); within(collection) {
			sub := kind
			if kind == "module" {
				sub = "modules"
			}
			l.dir(found, filepath.Join(root, "plugins", sub), collection+".", kind, false, 0)
		}
	}
	builtins := map[string]string{}
	if within("ansible.builtin") || within("ansible.legacy") {
		for name, text := range l.jinjaBuiltins(kind) {
			builtins["ansible.builtin."+name] = text
			if _, taken := found["ansible.builtin."+name]; !taken {
				found["ansible.builtin."+name] = ""
			}
		}
	}
	if kind != "module" && kind != "filter" && kind != "test" { // ansible-doc loads them, and so hears of those that go
		for _, name := range slices.Sorted(maps.Keys(found)) {
			if ns := strings.SplitN(name, ".", 3); len(ns) == 3 && ns[0] != "ansible" {
				route, _ := l.routes(ns[0]+"."+ns[1], kind).Lookup(ns[2]).(*value.Dict)
				l.deprecated(name, ns[0]+"."+ns[1], route)
			}
		}
	}
	var out []Entry
	for name, file := range found {
		e := Entry{Name: name, File: file}
		if summaries {
			text, documented := summary(file, last(name))
			if own, ok := builtins[name]; ok && !documented {
				text = own
			}
			e.Summary = text
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// collections are the directories of installed collections.
func (l *Library) collections() []string {
	var out []string
	seen := map[string]bool{}
	for _, p := range append(slices.Clone(l.Collections), filepath.Dir(l.Union.Core().Path)) {
		if filepath.Base(p) != "ansible_collections" {
			p = filepath.Join(p, "ansible_collections")
		}
		dirs, _ := filepath.Glob(filepath.Join(p, "*", "*"))
		for _, d := range dirs {
			name := filepath.Base(filepath.Dir(d)) + "." + filepath.Base(d)
			if st, err := os.Stat(d); err == nil && st.IsDir() && !seen[name] {
				seen[name] = true
				out = append(out, d)
			}
		}
	}
	return out
}

// notPlugins are files among plugins that are none.
var notPlugins = map[string]bool{"module async_wrapper": true, "cache base": true}

// notNamed are names of files among plugins that are none, by what is before
// the extension and by extension.
var notNamed = map[string]bool{
	"COPYING": true, "CONTRIBUTING": true, "LICENSE": true, "README": true, "VERSION": true, "GUIDELINES": true, "MANIFEST": true, "Makefile": true,
	".pyc": true, ".pyo": true, ".swp": true, ".bak": true, "~": true, ".rpm": true, ".md": true, ".txt": true, ".rst": true,
	".yml": true, ".yaml": true, ".json": true, ".ini": true, ".orig": true, ".retry": true, ".cfg": true, ".toml": true,
}

// maxDirs bounds directories of plugins within each other.
const maxDirs = 8

// dir adds the plugins of a directory and of those below it. own is a
// directory of ansible-core or of a project: below it only packages count.
func (l *Library) dir(found map[string]string, dir, prefix, kind string, own bool, depth int) {
	entries, err := os.ReadDir(dir)
	if err != nil || depth > maxDirs {
		return
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") || strings.HasPrefix(e.Name(), "__") {
			continue
		}
		if st, err := os.Stat(path); err == nil && st.IsDir() {
			if _, err := os.Stat(filepath.Join(path, "__init__.py")); err == nil || !own {
				l.dir(found, path, prefix+e.Name()+".", kind, own, depth+1)
			}
			continue
		}
		ext := filepath.Ext(e.Name())
		name := strings.TrimSuffix(e.Name(), ext)
		if notPlugins[kind+" "+name] || notNamed[name] || notNamed[ext] || isLink(path) {
			continue
		}
		names := []string{name}
		if kind == "filter" || kind == "test" {
			names = contained(path)
		}
		for _, n := range names {
			found[prefix+n] = path
		}
	}
}

func readText(path string) string {
	b, err := readFile(path)
	if err != nil {
		return ""
	}
	return string(b)
}

// summary reads short_description without reading the rest.
func summary(file, name string) (text string, documented bool) {
	for _, f := range []string{file, beside(file, name)} {
		if f == "" {
			continue
		}
		if s, ok := stub(readText(f)); ok {
			v, err := yaml.LoadYAML([]byte(s), yaml.Options{File: f})
			if err != nil {
				continue
			}
			if d, ok := v.(interface{ Str(string) (string, bool) }); ok {
				if text, ok := d.Str("short_description"); ok {
					return strings.TrimSpace(text), true
				}
			}
			return "INVALID SHORT DESCRIPTION", true
		}
	}
	return "UNDOCUMENTED", false
}

// stub is the line of short_description with those that go on with it.
func stub(text string) (string, bool) {
	var out []string
	inside := false
	indent := ""
	for _, line := range strings.SplitAfter(text, "\n") {
		trimmed := strings.TrimLeft(line, " ")
		switch {
		case !inside:
			inside = strings.HasPrefix(line, "DOCUMENTATION") && strings.ContainsAny(line, "=:")
		case indent != "" && !strings.HasPrefix(line, indent):
			return strings.TrimRight(strings.TrimSpace(strings.Join(out, "")), "."), true
		case indent != "":
			out = append(out, line)
		case strings.HasPrefix(trimmed, "short_description:"):
			indent = strings.Repeat(" ", len(line)-len(trimmed)+1)
			out = append(out, line)
		}
	}
	return strings.TrimRight(strings.TrimSpace(strings.Join(out, "")), "."), len(out) > 0
}
