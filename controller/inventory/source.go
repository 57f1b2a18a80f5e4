package inventory

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"volant/controller/fault"
	"volant/wire/pyre"
	"volant/wire/value"
)

// plugin reads one kind of source.
type plugin struct {
	name string
	// wants says whether the plugin tries a source.
	wants func(inv *Inventory, source string) bool
	parse func(ctx context.Context, inv *Inventory, source string) error
}

// builtin are the reference's inventory plugins. (A function, since auto looks
// other plugins up in it.)
func builtin() map[string]plugin {
	return map[string]plugin{
		"advanced_host_list": {"advanced_host_list", isHostList, parseAdvancedList},
		"auto":               {"auto", wantsAuto, parseAuto},
		"constructed":        {"constructed", wantsConfig, parseConstructed},
		"generator":          {"generator", wantsConfig, parseGenerator},
		"host_list":          {"host_list", isHostList, parseHostList},
		"ini":                {"ini", wantsIni, parseIniFile},
		"script":             {"script", wantsScript, parseScript},
		"toml":               {"toml", wantsToml, parseToml},
		"yaml":               {"yaml", wantsYaml, parseYaml},
	}
}

// findPlugin finds the plugin of a name for a source.
func (inv *Inventory) findPlugin(ctx context.Context, name, source string) (plugin, bool, error) {
	if p, ok := builtin()[strings.TrimPrefix(strings.TrimPrefix(name, "ansible.builtin."), "ansible.legacy.")]; ok {
		return p, true, nil
	}
	return inv.foreign(ctx, name, source)
}

// read reads all sources.
func (inv *Inventory) read(ctx context.Context) error {
	inv.clear()
	parsed := false
	for _, s := range inv.Sources {
		if s == "" {
			continue
		}
		ok, err := inv.readSource(ctx, s, 0)
		if err != nil {
			return err
		}
		parsed = parsed || ok
	}
	switch {
	case parsed:
		inv.reconcile()
	case inv.set.allFailed:
		return fault.New(fault.Generic, value.Pos{}, "No inventory was parsed, please check your configuration and options.")
	case inv.set.warnUnparsed:
		fault.Warn(inv.opt.Sink, "No inventory was parsed, only implicit localhost is available")
	}
	if inv.set.atStart {
		return inv.varsAtStart()
	}
	return nil
}

// varsAtStart adds group_vars and host_vars to the inventory's own variables
// (RUN_VARS_PLUGINS=start).
func (inv *Inventory) varsAtStart() error {
	dirs := NewVarsDirs(inv.opt)
	for _, base := range inv.Bases() {
		for _, g := range inv.gorder {
			d, err := dirs.GroupVars(base, g.Name)
			if err != nil {
				return err
			}
			g.Vars = CombineVars(g.Vars, d, inv.merge)
		}
		for _, h := range inv.order {
			d, err := dirs.HostVars(base, h.Name)
			if err != nil {
				return err
			}
			h.Vars = CombineVars(h.Vars, d, inv.merge)
		}
	}
	return nil
}

const maxDirDepth = 32

// readSource reads one source, a directory as all it holds, and reports
// whether anything could be read.
func (inv *Inventory) readSource(ctx context.Context, source string, depth int) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if st, err := os.Stat(source); err == nil && st.IsDir() {
		return inv.readDir(ctx, source, depth)
	}
	inv.opt.Sink.Verbose(4, "setting up inventory plugins")
	inv.source = source
	defer func() { inv.source = "" }()
	var failures []error
	known := false
	for _, name := range inv.set.enabled {
		p, ok, err := inv.findPlugin(ctx, name, source)
		if err != nil {
			inv.opt.Sink.Warning(&fault.Error{Msg: "Failed to load inventory plugin " + value.Repr(name) + ".", Cause: err})
		}
		if !ok {
			fault.Warn(inv.opt.Sink, "Failed to load inventory plugin, skipping %s", name)
			continue
		}
		known = true
		if !p.wants(inv, source) {
			inv.opt.Sink.Verbose(3, p.name+" declined parsing "+source+" as it did not pass its verify_file() method")
			continue
		}
		err = p.parse(ctx, inv, source)
		if err == nil {
			inv.processed = append(inv.processed, source)
			inv.opt.Sink.Verbose(3, "Parsed "+source+" inventory source with "+p.name+" plugin")
			return true, nil
		}
		var e *fault.Error
		if !errors.As(err, &e) {
			e = &fault.Error{Msg: err.Error()}
		}
		if e.Pos.IsZero() {
			e.Pos.File = "<inventory plugin '" + p.name + "' with source " + value.Repr(source) + ">"
		}
		failures = append(failures, &fault.Error{Msg: "Failed to parse inventory with '" + p.name + "' plugin.", Cause: e})
	}
	if !known {
		return false, fault.New(fault.Generic, value.Pos{}, "No inventory plugins available to generate inventory, make sure you have at least one enabled.")
	}
	if _, err := os.Stat(source); source == "/etc/ansible/hosts" && err != nil {
		return false, nil
	}
	return false, inv.unread(source, failures)
}

// unread says that nothing could read a source, and why.
func (inv *Inventory) unread(source string, failures []error) error {
	for _, f := range failures {
		inv.opt.Sink.Warning(f)
	}
	if inv.set.anyFailed {
		return fault.New(fault.Generic, value.Pos{}, "Completely failed to parse inventory source %s", source)
	}
	fault.Warn(inv.opt.Sink, "Unable to parse %s as an inventory source", source)
	return nil
}

func (inv *Inventory) readDir(ctx context.Context, dir string, depth int) (bool, error) {
	if depth > maxDirDepth {
		return false, fault.New(fault.Generic, value.Pos{}, "Inventory directories are nested too deeply: %s", dir)
	}
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return false, fault.New(fault.Generic, value.Pos{}, "Unable to read the inventory directory %s: %s", dir, err)
	}
	parsed := false
	for _, e := range entries {
		if inv.ignores(e.Name()) {
			continue
		}
		ok, err := inv.readSource(ctx, filepath.Join(dir, e.Name()), depth+1)
		if err != nil {
			return false, err
		}
		parsed = parsed || ok
	}
	if !parsed {
		return false, inv.unread(dir, nil)
	}
	return true, nil
}

// ignores says whether a name in a directory is not a source.
func (inv *Inventory) ignores(name string) bool {
	if strings.HasPrefix(name, ".") || name == "host_vars" || name == "group_vars" || name == "vars_plugins" {
		return true
	}
	if slices.ContainsFunc(inv.set.ignoredExts, func(ext string) bool { return strings.HasSuffix(name, ext) }) {
		return true
	}
	for _, p := range inv.set.ignoredPatterns {
		if re, err := pyre.Compile(p, 0); err == nil {
			if m, err := re.Search(name); err == nil && m != nil {
				return true
			}
		}
	}
	return false
}

func readable(path string) bool { return unix.Access(path, unix.R_OK) == nil }

// populate makes hosts and sets variables for each.
func (inv *Inventory) populate(hosts []string, vars any, group string, port int) error {
	d, ok := vars.(*value.Dict)
	if !ok {
		return fault.New(fault.Parser, value.Pos{}, "Invalid data from file, expected dictionary and got:\n\n%s", value.Str(vars))
	}
	for _, h := range hosts {
		if err := inv.addHost(h, group, port); err != nil {
			return err
		}
		for k, v := range d.All() {
			if err := inv.setVariable(h, k, v, d.KeyPos(value.Str(k))); err != nil {
				return err
			}
		}
	}
	return nil
}

// own is a copy in which nothing stands twice, as every variable of a host or
// group has its own: aliases of the source are written out. (value.Copy keeps
// them.) The loader bounds what that comes to.
func own(v any) any {
	switch v := v.(type) {
	case *value.Dict:
		out := v.Clone()
		for i := range out.Len() {
			_, e := out.At(i)
			out.SetAt(i, own(e))
		}
		return out
	case *value.List:
		out := *v
		out.Items = make([]any, len(v.Items))
		for i, e := range v.Items {
			out.Items[i] = own(e)
		}
		return &out
	}
	return v
}
