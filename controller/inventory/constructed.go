package inventory

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"volant/controller/fault"
	"volant/wire/value"
)

// wantsConfig is verify_file of the plugins that a YAML file configures.
func wantsConfig(inv *Inventory, source string) bool {
	ext := filepath.Ext(source)
	return readable(source) && (ext == "" || ext == ".config" || slices.Contains(inv.set.varsExts, ext))
}

func wantsAuto(_ *Inventory, source string) bool {
	return (strings.HasSuffix(source, ".yml") || strings.HasSuffix(source, ".yaml")) && readable(source)
}

// parseAuto reads a source with the plugin that it names.
func parseAuto(ctx context.Context, inv *Inventory, source string) error {
	data, err := inv.opt.Files.LoadFresh(source)
	if err != nil {
		return err
	}
	name := ""
	if d, ok := data.(*value.Dict); ok {
		name, _ = d.Str("plugin")
	}
	if name == "" {
		return parserError("no root 'plugin' key found, '%s' is not a valid YAML inventory plugin config file", source)
	}
	p, ok, err := inv.findPlugin(ctx, name, source)
	if err != nil {
		return err
	}
	if !ok {
		return parserError("inventory config '%s' specifies unknown plugin '%s'", source, name)
	}
	if !p.wants(inv, source) {
		return parserError("inventory source '%s' could not be verified by inventory plugin '%s'", source, name)
	}
	inv.opt.Sink.Verbose(1, "Using inventory plugin '"+p.name+"' to process inventory source '"+source+"'")
	return p.parse(ctx, inv, source)
}

// pluginConfig reads the file that configures a plugin.
func (inv *Inventory) pluginConfig(source, name string) (*value.Dict, error) {
	data, err := inv.opt.Files.LoadFresh(source)
	if err != nil {
		return nil, parserError("%s", err)
	}
	if !value.Truth(data) {
		return nil, parserError("%s is empty", source)
	}
	d, ok := data.(*value.Dict)
	if !ok {
		return nil, parserError("inventory source has invalid structure, it should be a dictionary, got: %s", className(data))
	}
	given, ok := d.Get("plugin")
	if text, _ := value.Text(given); text != name && text != "ansible.builtin."+name && text != "ansible.legacy."+name {
		if !ok {
			given = "none found"
		}
		return nil, parserError("Incorrect plugin name in file: %s", value.Str(given))
	}
	if inv.opt.Templar == nil {
		return nil, parserError("the %s inventory plugin is not available here", name)
	}
	return d, nil
}

// constructed makes groups and variables from expressions over each host's
// variables.
type constructed struct {
	ctx    context.Context //nolint:containedctx // lives as long as the source is read
	inv    *Inventory
	strict bool
	extra  *value.Dict // over the variables when composing
	// leading is whether a name without prefix begins with the separator.
	leading bool
}

func parseConstructed(ctx context.Context, inv *Inventory, source string) error {
	d, err := inv.pluginConfig(source, "constructed")
	if err != nil {
		return err
	}
	option := func(name string, def bool) bool {
		if v, ok := d.Get(name); ok {
			return truth(v)
		}
		return def
	}
	c := &constructed{ctx: ctx, inv: inv, strict: option("strict", false), leading: option("leading_separator", true)}
	if option("use_extra_vars", false) {
		c.extra = inv.opt.Extra
	}
	var dirs *VarsDirs
	if option("use_vars_plugins", false) {
		dirs = NewVarsDirs(inv.opt)
	}
	compose, _ := d.Lookup("compose").(*value.Dict)
	groups, _ := d.Lookup("groups").(*value.Dict)
	keyed, _ := d.Lookup("keyed_groups").(*value.List)
	for _, h := range slices.Clone(inv.order) {
		if err := c.host(h, compose, groups, keyed, dirs); err != nil {
			return &fault.Error{Kind: fault.Parser, Msg: "Failed to parse " + value.Repr(source) + ".", Cause: err}
		}
	}
	return nil
}

// truth reads a boolean option.
func truth(v any) bool {
	if s, ok := value.Text(v); ok {
		switch strings.ToLower(strings.TrimSpace(s)) {
		case "y", "yes", "on", "1", "true", "t":
			return true
		}
		return false
	}
	return value.Truth(v)
}

func (c *constructed) host(h *Host, compose, groups *value.Dict, keyed *value.List, dirs *VarsDirs) error {
	vars, err := c.inv.hostVars(h, dirs)
	if err != nil {
		return err
	}
	for k, expr := range compose.All() {
		v, err := c.compose(expr, vars)
		if err != nil {
			if c.strict {
				return during(fault.New(fault.Generic, value.Pos{}, "Could not set %s for host %s: %s", value.Str(k), h.Name, err))
			}
			continue
		}
		if err := c.inv.setVariable(h.Name, k, v, value.Pos{}); err != nil {
			return err
		}
	}
	if vars, err = c.inv.hostVars(h, dirs); err != nil {
		return err
	}
	for k, cond := range groups.All() {
		name := safeName(value.Str(k), c.inv.set.badNames, true, true, c.inv.opt.Sink)
		yes, err := c.inv.opt.Templar.Condition(c.ctx, cond, vars)
		if err != nil {
			if c.strict {
				return during(parserError("Could not add host %s to group %s: %s", h.Name, name, err))
			}
			continue
		}
		if !yes {
			continue
		}
		if name, err = c.inv.addGroup(name); err != nil {
			return err
		}
		if _, err := c.inv.addChild(name, h.Name); err != nil {
			return err
		}
	}
	if keyed == nil {
		return nil
	}
	for _, e := range keyed.Items {
		entry, ok := e.(*value.Dict)
		if !ok || entry.Len() == 0 {
			return parserError("Invalid keyed group entry, it must be a dictionary: %s ", value.Str(e))
		}
		if err := c.keyed(h, entry, vars); err != nil {
			return err
		}
	}
	return nil
}

func (c *constructed) compose(expr any, vars *value.Dict) (any, error) {
	t, ok := expr.(*value.Template)
	if !ok {
		return nil, parserError("Expression must be a string, got %s", className(expr))
	}
	if c.extra != nil {
		vars = CombineVars(vars, c.extra, c.inv.merge)
	}
	return c.inv.opt.Templar.Expression(c.ctx, t, vars)
}

func empty(v any) bool {
	s, ok := value.Text(v)
	return v == nil || ok && s == ""
}

// keyed adds a host to the groups that one keyed_groups entry names.
func (c *constructed) keyed(h *Host, entry, vars *value.Dict) error {
	key, err := c.compose(entry.Lookup("key"), vars)
	if err != nil {
		if c.strict {
			return during(parserError("Could not generate group for host %s from %s entry: %s", h.Name, value.Str(entry.Lookup("key")), err))
		}
		return nil
	}
	byDefault := entry.Lookup("default_value")
	trailing := entry.Lookup("trailing_separator")
	if trailing != nil && byDefault != nil {
		return parserError("parameters are mutually exclusive for keyed groups: default_value|trailing_separator")
	}
	useDefault := empty(key) && byDefault != nil
	if !useDefault && !value.Truth(key) {
		l, isList := key.(*value.List)
		d, isDict := key.(*value.Dict)
		if c.strict && !(isList && l.Len() == 0) && !(isDict && d.Len() == 0) {
			return parserError("No key or key resulted empty for %s in host %s, invalid entry", value.Str(entry.Lookup("key")), h.Name)
		}
		return nil
	}
	prefix, sep := "", "_"
	if v, ok := entry.Get("prefix"); ok {
		prefix = value.Str(v)
	}
	if v, ok := entry.Get("separator"); ok {
		sep = value.Str(v)
	}
	parent, err := c.inv.opt.Templar.Render(c.ctx, entry.Lookup("parent_group"), vars)
	if err != nil {
		if c.strict {
			return parserError("Could not generate parent group %s for group %s: %s",
				value.Repr(entry.Lookup("parent_group")), value.Repr(key), err)
		}
		return nil
	}
	var names []string
	switch k := key.(type) {
	case *value.List:
		for _, e := range k.Items {
			if empty(e) && byDefault != nil {
				e = byDefault
			}
			names = append(names, value.Str(e))
		}
	case *value.Dict:
		for name, v := range k.All() {
			bare := value.Str(name) + sep + value.Str(v)
			if empty(v) {
				if byDefault != nil {
					bare = value.Str(name) + sep + value.Str(byDefault)
				} else if b, ok := trailing.(bool); ok && !b {
					bare = value.Str(name)
				}
			}
			names = append(names, bare)
		}
	default:
		switch text, isText := value.Text(key); {
		case useDefault:
			names = []string{value.Str(byDefault)}
		case isText:
			names = []string{text}
		default:
			return parserError("Invalid group name format, expected a string or a list of them or dictionary, got: %s", className(key))
		}
	}
	safe := func(s string) string { return safeName(s, c.inv.set.badNames, true, true, c.inv.opt.Sink) }
	for _, bare := range names {
		if prefix == "" && !c.leading {
			sep = ""
		}
		group, err := c.inv.addGroup(safe(prefix + sep + bare))
		if err != nil {
			return err
		}
		if err := c.inv.addHost(h.Name, group, 0); err != nil {
			return err
		}
		if value.Truth(parent) {
			above, err := c.inv.addGroup(safe(value.Str(parent)))
			if err != nil {
				return err
			}
			if _, err := c.inv.addChild(above, group); err != nil {
				return err
			}
		}
	}
	return nil
}

// hostVars are all variables the inventory has for a host: those of its
// groups, its own, and with dirs those of group_vars and host_vars beside the
// sources read so far.
func (inv *Inventory) hostVars(h *Host, dirs *VarsDirs) (*value.Dict, error) {
	vars := value.NewDict(8)
	groups := h.SortedGroups()
	for _, g := range groups {
		vars = CombineVars(vars, g.Vars, inv.merge)
	}
	files := func(load func(base string) (*value.Dict, error)) error {
		for _, source := range inv.processed {
			if st, err := os.Stat(source); err == nil && !st.IsDir() {
				source = filepath.Dir(source)
			}
			d, err := load(source)
			if err != nil {
				return err
			}
			vars = CombineVars(vars, d, inv.merge)
		}
		return nil
	}
	if dirs != nil {
		for _, g := range groups {
			if err := files(func(base string) (*value.Dict, error) { return dirs.GroupVars(base, g.Name) }); err != nil {
				return nil, err
			}
		}
	}
	vars = CombineVars(vars, h.Vars, inv.merge)
	if dirs != nil {
		if err := files(func(base string) (*value.Dict, error) { return dirs.HostVars(base, h.Name) }); err != nil {
			return nil, err
		}
	}
	return CombineVars(vars, h.Magic(), false), nil
}

// Magic are the variables that a host's place in the inventory gives it.
func (h *Host) Magic() *value.Dict {
	short := h.Name
	if !IsIP(h.Name) {
		short, _, _ = strings.Cut(h.Name, ".")
	}
	var names []string
	for _, g := range h.Groups {
		if g.Name != "all" {
			names = append(names, g.Name)
		}
	}
	slices.Sort(names)
	return value.DictOf("inventory_hostname", h.Name, "inventory_hostname_short", short, "group_names", value.Strings(names...))
}
