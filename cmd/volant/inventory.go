package main

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

	"volant/controller/inventory"
	"volant/controller/vars"
	"volant/controller/yaml"
	"volant/wire/value"
)

// inventoryMain shows hosts, groups and their variables.
func inventoryMain(ctx context.Context, p *process, args []string) error {
	var opt struct {
		verbosityOptions
		vaultOptions
		Inventory   []string `short:"i" sep:"none" aliases:"inventory-file" help:"Inventory file, directory or comma separated hosts. May be given more than once."`
		Limit       string   `short:"l" help:"Further limit the hosts to a pattern."`
		FlushCache  bool     `help:"Forget the cached facts of every host."`
		PlaybookDir string   `help:"Directory that stands for the playbook's."`
		ExtraVars   []string `short:"e" sep:"none" help:"Variables as key=value, YAML, JSON or @FILE. May be given more than once."`
		List        bool     `help:"Show all hosts."`
		Host        string   `help:"Show one host."`
		Graph       bool     `help:"Show the tree of groups."`
		Yaml        bool     `short:"y" help:"As YAML instead of JSON."`
		Toml        bool     `help:"As TOML instead of JSON."`
		Vars        bool     `help:"With --graph, show variables, too."`
		Export      bool     `help:"With --list, as an inventory to be used elsewhere."`
		Output      string   `help:"With --list, write to a file."`
		Version     bool     `help:"Show the version."`
		Group       string   `arg:"" optional:"" help:"The group to show with --graph."`
	}
	if err := parse(p, &opt, "Show the inventory.", args); err != nil {
		return err
	}
	j, err := configure(p, opt.Verbose)
	if err != nil {
		return err
	}
	used := 0
	for _, on := range []bool{opt.List, opt.Host != "", opt.Graph} {
		if on {
			used++
		}
	}
	switch {
	case used == 0:
		return optionsError("No action selected, at least one of --host, --graph or --list needs to be specified.")
	case used > 1:
		return optionsError("Conflicting options used, only one of --host, --graph or --list can be used at the same time.")
	}
	j.greet()
	if err := j.secrets(ctx, opt.vaultOptions); err != nil {
		return err
	}
	dir := j.playbookDir(opt.PlaybookDir)
	if err := j.gather(ctx, opt.ExtraVars, opt.Inventory, dir, opt.FlushCache); err != nil {
		return err
	}
	basedir := cmp.Or(dir, j.dir)
	r := &inventoryReport{
		inv: j.inv, store: j.store(basedir, nil), dirs: inventory.NewVarsDirs(j.inventoryOptions()),
		dir: dir, basedir: basedir, export: opt.Export || j.config.Bool("INVENTORY_EXPORT"),
		vars: opt.Vars, merge: j.config.String("DEFAULT_HASH_BEHAVIOUR") == "merge",
	}
	text, err := r.text(opt.Host, opt.Graph, opt.Group, opt.Limit, opt.Yaml, opt.Toml)
	if err != nil {
		return err
	}
	if opt.Output == "" {
		j.display.Print(text, "")
		return nil
	}
	if err := os.WriteFile(j.absolute(opt.Output), []byte(text), 0o666); err != nil { //nolint:gosec // as the operator's umask says
		return plainError("Unable to write to destination file %s: %s", value.Repr(opt.Output),
			strings.Replace(pythonError(err, opt.Output), ": '", ": b'", 1))
	}
	return nil
}

// inventoryReport makes the outputs of the inventory command.
type inventoryReport struct {
	inv          *inventory.Inventory
	store        *vars.Store
	dirs         *inventory.VarsDirs
	dir, basedir string // --playbook-dir; that or the current directory
	export, vars bool
	merge        bool
}

func (r *inventoryReport) text(host string, graph bool, group, limit string, asYaml, asToml bool) (string, error) {
	if host == "" && limit != "" {
		if err := r.inv.Limit(limit); err != nil {
			return "", err
		}
	}
	var result any
	var err error
	switch {
	case host != "":
		hosts, err := r.inv.Select(host)
		if err != nil {
			return "", err
		}
		if len(hosts) != 1 {
			return "", optionsError("You must pass a single valid host to --host parameter")
		}
		if result, err = r.hostVars(hosts[0]); err != nil {
			return "", err
		}
	case graph:
		if group == "" {
			group = "all"
		}
		g := r.inv.Group(group)
		if g == nil {
			return "", optionsError("Pattern must be valid group name when using --graph")
		}
		lines, err := r.graph(g, 0, nil)
		return strings.Join(lines, "\n"), err
	case asYaml:
		result, err = r.tree(newSeen(), r.inv.Group("all"))
	case asToml:
		result, err = r.tables()
	default:
		result, err = r.script()
	}
	if err != nil {
		return "", err
	}
	switch {
	case asYaml:
		return yaml.Dump(result, yaml.Block(0))
	case asToml:
		d, _ := result.(*value.Dict)
		return tomlText(d)
	}
	return indentedJSON(result, jsonStyle{}), nil
}

// internalVars are the variables that are no inventory's.
var internalVars = []string{
	"ansible_async_path", "ansible_collection_name", "ansible_config_file", "ansible_dependent_role_names",
	"ansible_diff_mode", "ansible_facts", "ansible_forks", "ansible_inventory_sources", "ansible_limit",
	"ansible_play_batch", "ansible_play_hosts", "ansible_play_hosts_all", "ansible_play_role_names",
	"ansible_playbook_python", "ansible_role_name", "ansible_role_names", "ansible_run_tags", "ansible_skip_tags",
	"ansible_verbosity", "ansible_version", "inventory_dir", "inventory_file", "inventory_hostname",
	"inventory_hostname_short", "groups", "group_names", "hostvars", "playbook_dir", "play_hosts", "role_name",
	"role_names", "role_path", "role_uuid",
	// Ours alone.
	"ansible_check_mode", "ansible_play_name", "omit", "vars", "environment", "undef",
}

// hostVars are a host's own variables (--export), or all that apply to it.
func (r *inventoryReport) hostVars(h *inventory.Host) (*value.Dict, error) {
	out := value.NewDict(0)
	if r.export {
		v, err := r.withFiles(h.Vars, func(base string) (*value.Dict, error) { return r.dirs.HostVars(base, h.Name) })
		if err != nil {
			return nil, err
		}
		out.Update(v)
		return withoutInternal(out), nil
	}
	c, err := r.store.Host(h.Name, r.basedir)
	if err != nil {
		return nil, err
	}
	for name := range c.Names() {
		if slices.Contains(internalVars, name) {
			continue
		}
		if v, _, ok := c.Lookup(name); ok {
			out.Set(name, v)
		}
	}
	return out, nil
}

func (r *inventoryReport) withFiles(d *value.Dict, load func(base string) (*value.Dict, error)) (*value.Dict, error) {
	bases := r.inv.Bases()
	if r.dir != "" {
		bases = append(bases, r.dir)
	}
	for _, base := range bases {
		more, err := load(base)
		if err != nil {
			return nil, err
		}
		d = inventory.CombineVars(d, more, r.merge)
	}
	return d, nil
}

func (r *inventoryReport) groupVars(g *inventory.Group) (*value.Dict, error) {
	d, err := r.withFiles(g.Vars, func(base string) (*value.Dict, error) { return r.dirs.GroupVars(base, g.Name) })
	if err != nil {
		return nil, err
	}
	d = d.Clone()
	if g.Priority != 1 {
		d.Set("ansible_group_priority", int64(g.Priority))
	}
	return withoutInternal(d), nil
}

func withoutInternal(d *value.Dict) *value.Dict {
	for _, name := range internalVars {
		d.Delete(name)
	}
	return d
}

// maxGraphDepth bounds the tree; the inventory has no loops, but a graph of
// many parents has many paths.
const maxGraphDepth = 200

func graphName(name string, depth int) string {
	if depth == 0 {
		return name
	}
	return strings.Repeat("  |", depth) + "--" + name
}

func (r *inventoryReport) graph(g *inventory.Group, depth int, lines []string) ([]string, error) {
	if depth > maxGraphDepth {
		return nil, plainError("Groups are nested too deeply")
	}
	lines = append(lines, graphName("@"+g.Name+":", depth))
	var err error
	for _, c := range g.Children {
		if lines, err = r.graph(c, depth+1, lines); err != nil {
			return nil, err
		}
	}
	show := func(d *value.Dict, depth int) error {
		keys := d.Keys()
		slices.SortFunc(keys, func(a, b any) int { return strings.Compare(value.Str(a), value.Str(b)) })
		for _, k := range keys {
			v := d.Lookup(k)
			if secret, ok := v.(*value.Vault); ok && secret.Decrypt != nil {
				text, err := secret.Decrypt()
				if err != nil {
					return err
				}
				v = text
			}
			lines = append(lines, graphName("{"+value.Str(k)+" = "+value.Str(v)+"}", depth))
		}
		return nil
	}
	if g.Name != "all" {
		for _, h := range g.Hosts {
			lines = append(lines, graphName(h.Name, depth+1))
			if r.vars {
				d, err := r.hostVars(h)
				if err != nil {
					return nil, err
				}
				if err := show(d, depth+2); err != nil {
					return nil, err
				}
			}
		}
	}
	if r.vars {
		d, err := r.groupVars(g)
		if err != nil {
			return nil, err
		}
		if err := show(d, depth+1); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// available are the hosts within the limit.
func (r *inventoryReport) available() (map[*inventory.Host]bool, []*inventory.Host, error) {
	hosts, err := r.inv.Select("all")
	m := make(map[*inventory.Host]bool, len(hosts))
	for _, h := range hosts {
		m[h] = true
	}
	return m, hosts, err
}

// script is the form inventory scripts give.
func (r *inventoryReport) script() (*value.Dict, error) {
	within, hosts, err := r.available()
	if err != nil {
		return nil, err
	}
	out := value.NewDict(0)
	done := map[*inventory.Group]bool{}
	var walk func(g *inventory.Group) error
	walk = func(g *inventory.Group) error {
		done[g] = true
		d := value.NewDict(3)
		if g.Name != "all" {
			l := &value.List{}
			for _, h := range g.Hosts {
				if within[h] {
					l.Items = append(l.Items, h.Name)
				}
			}
			if len(l.Items) > 0 {
				d.Set("hosts", l)
			}
		}
		children := &value.List{}
		for _, c := range g.Children {
			children.Items = append(children.Items, c.Name)
			if !done[c] {
				if err := walk(c); err != nil {
					return err
				}
			}
		}
		if len(children.Items) > 0 {
			d.Set("children", children)
		}
		if r.export {
			v, err := r.groupVars(g)
			if err != nil {
				return err
			}
			if v.Len() > 0 {
				d.Set("vars", markUnsafe(v))
			}
		}
		if d.Len() > 0 {
			out.Set(g.Name, d)
		}
		return nil
	}
	if err := walk(r.inv.Group("all")); err != nil {
		return nil, err
	}
	hostvars := value.NewDict(len(hosts))
	for _, h := range hosts {
		v, err := r.hostVars(h)
		if err != nil {
			return nil, err
		}
		if v.Len() > 0 {
			hostvars.Set(h.Name, markUnsafe(v))
		}
	}
	out.Set("_meta", value.DictOf("hostvars", hostvars, "profile", "inventory_legacy"))
	return out, nil
}

// seen is what a tree has shown already: variables and children stand once.
type seen struct {
	hosts  map[*inventory.Host]bool
	groups map[*inventory.Group]bool
}

func newSeen() *seen { return &seen{map[*inventory.Host]bool{}, map[*inventory.Group]bool{}} }

// tree is the form of YAML inventories: a mapping of the group's name, empty
// when the group has nothing.
func (r *inventoryReport) tree(s *seen, g *inventory.Group) (*value.Dict, error) {
	within, _, err := r.available()
	if err != nil {
		return nil, err
	}
	return r.subtree(s, within, g, 0)
}

func (r *inventoryReport) subtree(s *seen, within map[*inventory.Host]bool, g *inventory.Group, depth int) (*value.Dict, error) {
	if depth > maxGraphDepth {
		return nil, plainError("Groups are nested too deeply")
	}
	d := value.NewDict(3)
	children := value.NewDict(len(g.Children))
	for _, c := range g.Children {
		switch {
		case c.Name == "all":
		case s.groups[c]:
			children.Set(c.Name, value.NewDict(0))
		default:
			sub, err := r.subtree(s, within, c, depth+1)
			if err != nil {
				return nil, err
			}
			children.Update(sub)
			s.groups[c] = true
		}
	}
	if children.Len() > 0 {
		d.Set("children", children)
	}
	if g.Name != "all" {
		hosts := value.NewDict(len(g.Hosts))
		for _, h := range g.Hosts {
			if !within[h] {
				continue
			}
			v := value.NewDict(0)
			if !s.hosts[h] {
				s.hosts[h] = true
				var err error
				if v, err = r.hostVars(h); err != nil {
					return nil, err
				}
			}
			hosts.Set(h.Name, v)
		}
		if hosts.Len() > 0 {
			d.Set("hosts", hosts)
		}
	}
	if r.export {
		v, err := r.groupVars(g)
		if err != nil {
			return nil, err
		}
		if v.Len() > 0 {
			d.Set("vars", v)
		}
	}
	if d.Len() == 0 {
		return value.NewDict(0), nil
	}
	return value.DictOf(g.Name, d), nil
}

// tables is the form of TOML inventories: groups side by side.
func (r *inventoryReport) tables() (*value.Dict, error) {
	within, _, err := r.available()
	if err != nil {
		return nil, err
	}
	top := r.inv.Group("all")
	out := value.NewDict(0)
	shown := map[*inventory.Host]bool{}
	var walk func(g *inventory.Group, depth int) error
	walk = func(g *inventory.Group, depth int) error {
		if depth > maxGraphDepth {
			return plainError("Groups are nested too deeply")
		}
		d := value.NewDict(3)
		children := &value.List{}
		for _, c := range g.Children {
			if c.Name == "ungrouped" && len(c.Hosts) == 0 {
				continue
			}
			if g != top {
				children.Items = append(children.Items, c.Name)
			}
			if err := walk(c, depth+1); err != nil {
				return err
			}
		}
		if len(children.Items) > 0 {
			d.Set("children", children)
		}
		if g != top {
			hosts := value.NewDict(len(g.Hosts))
			for _, h := range g.Hosts {
				if !within[h] {
					continue
				}
				v := value.NewDict(0)
				if !shown[h] {
					shown[h] = true
					var err error
					if v, err = r.hostVars(h); err != nil {
						return err
					}
				}
				hosts.Set(h.Name, v)
			}
			if hosts.Len() > 0 {
				d.Set("hosts", hosts)
			}
		}
		if r.export {
			v, err := r.groupVars(g)
			if err != nil {
				return err
			}
			if v.Len() > 0 {
				d.Set("vars", v)
			}
		}
		if d.Len() > 0 {
			out.Set(g.Name, d)
		}
		return nil
	}
	return out, walk(top, 0)
}
