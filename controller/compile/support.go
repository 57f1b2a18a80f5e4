package compile

import (
	"os"
	"path/filepath"
	"strings"

	"volant/actions"
)

// Have is the Support of a run: a catalog, and what the controller itself has.
type Have struct {
	Catalog *Catalog
	// Natives are the modules an agent runs without Python, by short name.
	Natives []string
	// Filter, Test and Lookup report whether the template layer has one.
	Filter, Test, Lookup func(name string) bool
	// Connections, Becomes and Strategies are the names supported.
	Connections, Becomes, Strategies []string
	// Python says that filters, tests, lookups and actions written in Python run.
	Python bool
	// Dirs are the directories whose filter_plugins, test_plugins,
	// lookup_plugins and action_plugins a project may have.
	Dirs []string
}

var _ Support = (*Have)(nil)

const notLoaded = "it is a Python plugin of a kind that Volant does not load"

// Action implements Support.
func (h *Have) Action(resolved string, collections []string) string {
	c := h.Catalog
	if c.Actions != nil && c.Actions(resolved) {
		return ""
	}
	short := actions.Short(resolved)
	inCollection := strings.Contains(short, ".")
	switch {
	case !inCollection && has(actions.Names(), short):
		return ""
	case c.Actions != nil: // it knows all that there are
	case !inCollection && h.projectPlugin("action", short) != "", inCollection && c.plugin("action", resolved, nil) != "":
		return h.noPython()
	}
	if c.Union == nil {
		if has(h.Natives, short) {
			return ""
		}
		return h.missing()
	}
	if m, err := c.Union.Resolve(resolved, c.Scope(collections)); err != nil {
		if has(h.Natives, short) {
			return ""
		}
		return err.Error()
	} else if strings.HasSuffix(m.Path, ".ps1") {
		return "it is a module for Windows"
	}
	return ""
}

// missing says that there is no ansible-core, and how to get one.
func (h *Have) missing() string {
	return "it needs ansible-core, and none was found; `volant setup` installs one"
}

// noPython says why a plugin in Python does not run that is of a kind that does.
func (h *Have) noPython() string {
	if h.Catalog.Union == nil {
		return h.missing()
	}
	return "it is a Python plugin, and no python3 was found to run it"
}

// Plugin implements Support.
func (h *Have) Plugin(kind, name string, collections []string) (string, bool) {
	short := actions.Short(name)
	own := map[string]func(string) bool{"filter": h.Filter, "test": h.Test, "lookup": h.Lookup}[kind]
	switch {
	case own != nil && (own(name) || own(short)):
		return "", true
	case kind == "connection" && (has(h.Connections, short) || has(h.Connections, name)), kind == "become" && has(h.Becomes, name[strings.LastIndexByte(name, '.')+1:]),
		kind == "strategy" && has(h.Strategies, short):
		return "", true
	}
	if h.installed(kind, name, short, collections) {
		switch {
		case own == nil:
			return notLoaded, true
		case h.Python:
			return "", true
		}
		return h.noPython(), true
	}
	return "", false
}

// installed reports whether the reference would find the plugin: in the
// project, in ansible-core or in a collection. Filters and tests of the project
// and collections are not told apart by file name there, so any file counts
// that holds the name.
func (h *Have) installed(kind, name, short string, collections []string) bool {
	if h.projectPlugin(kind, short) != "" || h.Catalog.plugin(kind, name, collections) != "" {
		return true
	}
	if (kind == "filter" || kind == "test") && strings.Count(name, ".") >= 2 {
		ns := strings.SplitN(name, ".", 3)
		return h.Catalog.collection(ns[0]+"."+ns[1]) != "" && defines(filepath.Join(h.Catalog.collection(ns[0]+"."+ns[1]), "plugins", kind), ns[2])
	}
	if u := h.Catalog.Union; u != nil && !strings.Contains(short, ".") {
		dir := filepath.Join(u.Core().Path, "plugins", kind)
		if _, err := os.Stat(filepath.Join(dir, short+".py")); err == nil {
			return true
		}
	}
	return false
}

// projectPlugin finds a plugin of the project by name.
func (h *Have) projectPlugin(kind, name string) string {
	for _, dir := range h.Dirs {
		dir = filepath.Join(dir, kind+"_plugins")
		file := filepath.Join(dir, name+".py")
		if _, err := os.Stat(file); err == nil {
			return file
		}
		if (kind == "filter" || kind == "test") && defines(dir, name) {
			return dir
		}
	}
	return ""
}

// maxPlugin bounds the plugin files that are searched for a name.
const maxPlugin = 1 << 20

// defines reports whether a Python file of the directory has the name as a
// quoted text, as FilterModule.filters lists it.
func defines(dir, name string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*.py"))
	for _, f := range files {
		if st, err := os.Stat(f); err != nil || st.Size() > maxPlugin {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		if s := string(b); strings.Contains(s, "'"+name+"'") || strings.Contains(s, `"`+name+`"`) {
			return true
		}
	}
	return false
}
