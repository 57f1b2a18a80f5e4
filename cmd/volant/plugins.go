package main

import (
	"context"
	"os/exec"
	"path/filepath"

	"volant/actions"
	"volant/controller/execute"
	"volant/controller/inventory"
	"volant/controller/jinja"
	"volant/controller/plugins"
	"volant/controller/template"
	"volant/controller/union"
)

// latePlugins gives templates the Python plugins of a project once it is known
// where those are.
type latePlugins struct{ j *project }

var _ jinja.Table = latePlugins{}

// Filter implements jinja.Table.
func (l latePlugins) Filter(name string) (*jinja.Plugin, bool) {
	if l.j.plugins == nil {
		return nil, false
	}
	return l.j.plugins.Filter(name)
}

// Test implements jinja.Table.
func (l latePlugins) Test(name string) (*jinja.Plugin, bool) {
	if l.j.plugins == nil {
		return nil, false
	}
	return l.j.plugins.Test(name)
}

// Global implements jinja.Table.
func (l latePlugins) Global(string) (any, bool) { return nil, false }

// lookup finds a lookup likewise.
func (l latePlugins) lookup(name string) (*template.Lookup, bool) {
	if l.j.plugins == nil {
		return nil, false
	}
	return l.j.plugins.Lookup(name)
}

// names makes the catalog of a run and, where there is ansible-core, readies its
// Python for plugins; dirs are the playbooks'. The caller calls end when the run
// is over.
func (j *project) names(u *union.Union, dirs ...string) (names *execute.Names, end func()) {
	names = &execute.Names{
		Union: u, Files: j.files, Lookups: j.engine.HasLookup, Sink: j.display,
		UncheckedGroups: !j.config.Bool("VALIDATE_ACTION_GROUP_METADATA"),
	}
	if u == nil {
		return names, func() {}
	}
	core := u.Core()
	opt := plugins.Options{
		Python: core.Python, Dir: j.dir, Stdout: j.stdout, Sink: j.display, Routed: names.Routed,
		CollectionDir: u.CollectionDir, Handler: u.Handler,
		Configured: map[string][]string{
			"filter":    j.config.Strings("DEFAULT_FILTER_PLUGIN_PATH"),
			"test":      j.config.Strings("DEFAULT_TEST_PLUGIN_PATH"),
			"lookup":    j.config.Strings("DEFAULT_LOOKUP_PLUGIN_PATH"),
			"action":    j.config.Strings("DEFAULT_ACTION_PLUGIN_PATH"),
			"inventory": j.config.Strings("DEFAULT_INVENTORY_PLUGIN_PATH"),
		},
	}
	if j.vault != nil {
		opt.Vault = j.vault
	}
	if opt.Python == "" {
		opt.Path = filepath.Dir(core.Path)
		python, err := exec.LookPath("python3")
		if err != nil {
			return names, func() {}
		}
		opt.Python = python
	}
	for _, d := range dirs {
		opt.Collections = append(opt.Collections, filepath.Join(d, "collections"))
	}
	j.plugins = plugins.New(opt)
	names.Dir, names.Actions = j.plugins.AddDir, j.hasAction
	return names, j.plugins.Close
}

// lateSources gives inventories the plugins in Python: those of the run, and
// before there is one, of a helper that is gone when the inventory is read.
type lateSources struct {
	j    *project
	dir  string // that stands for the playbook's, or ""
	done func()
}

var _ inventory.Foreign = (*lateSources)(nil)

func (l *lateSources) helper() (*plugins.Helper, error) {
	if l.j.plugins != nil {
		return l.j.plugins, nil
	}
	var dirs []string
	if l.dir != "" {
		dirs = append(dirs, l.dir)
	}
	u, err := l.j.core(nil, dirs...)
	if err != nil || u == nil {
		return nil, err
	}
	names, done := l.j.names(u, dirs...)
	l.done = done
	for _, d := range dirs {
		names.AddDir(d)
	}
	return l.j.plugins, nil
}

// end ends the helper that was started for the inventory alone.
func (l *lateSources) end() {
	if l.done != nil {
		l.done()
		l.done, l.j.plugins = nil, nil
	}
}

// Wants implements inventory.Foreign.
func (l *lateSources) Wants(ctx context.Context, name, source string) (known string, wants bool, err error) {
	h, err := l.helper()
	if h == nil || err != nil {
		return "", false, err
	}
	return h.Wants(ctx, name, source)
}

// Read implements inventory.Foreign.
func (l *lateSources) Read(ctx context.Context, name string, from inventory.From) (*inventory.Addition, error) {
	h, err := l.helper()
	if h == nil || err != nil {
		return nil, err
	}
	return h.Read(ctx, name, from)
}

// hasAction reports whether an action plugin in Python runs the action.
func (j *project) hasAction(resolved string) bool {
	_, ok := j.foreignAction(resolved)
	return ok
}

// foreignAction is the action plugin in Python of that name.
func (j *project) foreignAction(resolved string) (actions.Spec, bool) {
	if j.plugins == nil {
		return actions.Spec{}, false
	}
	return j.plugins.Action(resolved)
}
