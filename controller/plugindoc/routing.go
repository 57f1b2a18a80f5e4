package plugindoc

import (
	"fmt"
	"path/filepath"
	"strings"

	"volant/controller/yaml"
	"volant/wire/value"
)

// maxRoutes bounds the names that routing sends a name to in turn.
const maxRoutes = 32

// routes is what a collection's routing says of the plugins of a kind: names to
// "redirect", "deprecation" and so on; nil for nothing.
func (l *Library) routes(collection, kind string) *value.Dict {
	file := filepath.Join(l.Union.Core().Path, "config", "ansible_builtin_runtime.yml")
	if collection != "ansible.builtin" {
		file = filepath.Join(l.Union.CollectionDir(collection), "meta", "runtime.yml")
	}
	if l.routing == nil {
		l.routing = map[string]*value.Dict{}
	}
	top, known := l.routing[file]
	if !known {
		if v, err := yaml.LoadYAML([]byte(readText(file)), yaml.Options{File: file, Duplicates: yaml.DuplicatesIgnore}); err == nil {
			top, _ = v.(*value.Dict)
		}
		l.routing[file] = top
	}
	all, _ := top.Lookup("plugin_routing").(*value.Dict)
	d, _ := all.Lookup(kind).(*value.Dict)
	return d
}

// routed is the name that routing sends a full name to in the end, the name
// itself where there is no routing. Deprecations and collections that are
// missing are said on the way.
func (l *Library) routed(kind, name string) string {
	for range maxRoutes {
		ns := strings.SplitN(name, ".", 3)
		if len(ns) != 3 {
			return name
		}
		collection := ns[0] + "." + ns[1]
		if collection != "ansible.builtin" && l.Union.CollectionDir(collection) == "" {
			missing := "ansible_collections." + ns[0]
			if l.Union.NamespaceInstalled(ns[0]) {
				missing += "." + ns[1]
			}
			l.warn(fmt.Sprintf("Error loading plugin '%s': No module named '%s'", name, missing))
			return name
		}
		route, _ := l.routes(collection, kind).Lookup(ns[2]).(*value.Dict)
		l.deprecated(name, collection, route)
		to, ok := route.Str("redirect")
		if !ok {
			return name
		}
		name = to
	}
	return name
}

func (l *Library) warn(text string) {
	if l.Warn != nil {
		l.Warn(text)
	}
}

// deprecated says that a name will go, where its route does.
func (l *Library) deprecated(name, collection string, route *value.Dict) {
	d, ok := route.Lookup("deprecation").(*value.Dict)
	if !ok || l.Deprecated == nil {
		return
	}
	text := name + " has been deprecated."
	if s, ok := d.Str("warning_text"); ok && s != "" {
		text += " " + s
	}
	l.Deprecated(collection, text, value.Str(orEmpty(d.Lookup("removal_version"))), value.Str(orEmpty(d.Lookup("removal_date"))))
}

func orEmpty(v any) any {
	if v == nil {
		return ""
	}
	return v
}
