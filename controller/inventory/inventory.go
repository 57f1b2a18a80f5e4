// Package inventory finds hosts, groups and their variables in the sources the
// operator names (INI, YAML, TOML, scripts, directories, host lists and the
// plugins of the reference), and selects hosts by pattern.
package inventory

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"volant/controller/config"
	"volant/controller/fault"
	"volant/controller/yaml"
	"volant/wire/value"
)

// Options are what loading needs. Config may be nil: the defaults.
type Options struct {
	Config *config.Config
	Files  *yaml.Files
	Sink   fault.Sink
	// Dir is the current directory, for relative sources.
	Dir string
	// Templar renders for the constructed and generator plugins; nil refuses
	// such sources.
	Templar Templar
	// Extra are the variables of -e, for constructed's use_extra_vars.
	Extra *value.Dict
	// Plugins are those in Python; nil has none.
	Plugins Foreign
	// NoCache is for plugins that keep what they read: they read it again.
	NoCache bool
	// Python is ansible_python_interpreter of the implicit localhost; "" looks
	// for python3.
	Python string
}

// Templar evaluates what constructed and generator sources hold, over vars.
type Templar interface {
	// Expression evaluates the text of an expression.
	Expression(ctx context.Context, expr *value.Template, vars *value.Dict) (any, error)
	// Condition evaluates a condition, which must be a bool.
	Condition(ctx context.Context, cond any, vars *value.Dict) (bool, error)
	// Render renders a template; other values pass through.
	Render(ctx context.Context, v any, vars *value.Dict) (any, error)
}

// Inventory is the hosts and groups of a run. Only one goroutine, the
// coordinator, may change it (AddHost, AddToGroup, Refresh, Limit); readers
// share it while nobody changes it.
type Inventory struct {
	// Sources are the sources as given, made absolute.
	Sources []string

	opt    Options
	set    settings
	hosts  map[string]*Host
	groups map[string]*Group
	order  []*Host // as first named
	gorder []*Group
	merge  bool

	source    string   // being read
	again     bool     // the sources are read again
	processed []string // read so far, for constructed
	limit     []string
	dynamic   []dynamic // to be made again by Refresh

	mu        sync.Mutex // guards what readers fill
	localhost *Host      // explicit or implicit
	patterns  map[string][]*Host
	groupsVar *value.Dict
}

// settings are those of the configuration.
type settings struct {
	enabled         []string
	ignoredPatterns []string
	ignoredExts     []string
	yamlExts        []string // of the yaml plugin
	varsExts        []string // YAML_FILENAME_EXTENSIONS
	badNames        string   // TRANSFORM_INVALID_GROUP_CHARS
	mismatch        string   // HOST_PATTERN_MISMATCH
	anyFailed       bool
	allFailed       bool
	warnUnparsed    bool
	showStderr      bool
	atStart         bool // RUN_VARS_PLUGINS
	merge           bool
	noVarsFiles     bool // VARIABLE_PLUGINS_ENABLED is without host_group_vars
}

func settingsOf(c *config.Config) settings {
	if c == nil {
		return settings{
			enabled:      []string{"host_list", "script", "auto", "yaml", "ini", "toml"},
			ignoredExts:  []string{".pyc", ".pyo", ".swp", ".bak", "~", ".rpm", ".md", ".txt", ".rst", ".orig", ".cfg", ".retry"},
			yamlExts:     []string{".yaml", ".yml", ".json"},
			varsExts:     []string{".yml", ".yaml", ".json"},
			badNames:     "never",
			mismatch:     "warning",
			warnUnparsed: true,
		}
	}
	s := settings{
		enabled:         c.Strings("INVENTORY_ENABLED"),
		ignoredPatterns: c.Strings("INVENTORY_IGNORE_PATTERNS"),
		ignoredExts:     c.Strings("INVENTORY_IGNORE_EXTS"),
		yamlExts:        []string{".yaml", ".yml", ".json"},
		varsExts:        c.Strings("YAML_FILENAME_EXTENSIONS"),
		badNames:        c.String("TRANSFORM_INVALID_GROUP_CHARS"),
		mismatch:        c.String("HOST_PATTERN_MISMATCH"),
		anyFailed:       c.Bool("INVENTORY_ANY_UNPARSED_IS_FAILED"),
		allFailed:       c.Bool("INVENTORY_UNPARSED_IS_FAILED"),
		warnUnparsed:    c.Bool("INVENTORY_UNPARSED_WARNING"),
		atStart:         c.String("RUN_VARS_PLUGINS") == "start",
		merge:           c.String("DEFAULT_HASH_BEHAVIOUR") == "merge",
		noVarsFiles: !slices.ContainsFunc(c.Strings("VARIABLE_PLUGINS_ENABLED"), func(n string) bool {
			return strings.TrimPrefix(strings.TrimPrefix(n, "ansible.builtin."), "ansible.legacy.") == "host_group_vars"
		}),
	}
	if v, err := c.Option("inventory", "yaml", "yaml_extensions", nil, nil); err == nil {
		if l, ok := v.Value.(*value.List); ok {
			s.yamlExts = nil
			for _, e := range l.Items {
				s.yamlExts = append(s.yamlExts, value.Str(e))
			}
		}
	}
	if v, err := c.Option("inventory", "script", "always_show_stderr", nil, nil); err == nil {
		s.showStderr = value.Truth(v.Value)
	}
	return s
}

// Load reads the sources in order. What it cannot read it warns of, as the
// reference does; an error means that the configuration asks for one or that
// nothing can go on.
func Load(ctx context.Context, sources []string, opt Options) (*Inventory, error) {
	if opt.Sink == nil {
		opt.Sink = fault.Discard
	}
	if opt.Files == nil {
		opt.Files = &yaml.Files{Sink: opt.Sink}
	}
	inv := &Inventory{opt: opt, set: settingsOf(opt.Config)}
	inv.merge = inv.set.merge
	for _, s := range sources {
		if s != "" && !strings.Contains(s, ",") && !filepath.IsAbs(s) {
			s = filepath.Join(opt.Dir, s)
		}
		inv.Sources = append(inv.Sources, s)
	}
	return inv, inv.read(ctx)
}

// clear makes the inventory empty but for all and ungrouped.
func (inv *Inventory) clear() {
	inv.hosts, inv.groups = map[string]*Host{}, map[string]*Group{}
	inv.order, inv.gorder, inv.processed = nil, nil, nil
	inv.localhost = nil
	inv.forget()
	for _, name := range []string{"all", "ungrouped"} {
		_, _ = inv.addGroup(name)
	}
	_, _ = inv.addChild("all", "ungrouped")
}

// forget drops what was derived from the hosts and groups.
func (inv *Inventory) forget() {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	inv.patterns, inv.groupsVar = nil, nil
}

// Host returns a host by name; "localhost" and its aliases give the implicit
// localhost when no source has it. nil when there is none.
func (inv *Inventory) Host(name string) *Host {
	if h := inv.hosts[name]; h != nil {
		return h
	}
	if !isLocal(name) {
		return nil
	}
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if inv.localhost == nil {
		h := &Host{Name: name, Vars: value.NewDict(2), Implicit: true}
		h.Vars.Set("ansible_python_interpreter", inv.python())
		h.Vars.Set("ansible_connection", "local")
		inv.localhost = h
	}
	return inv.localhost
}

func (inv *Inventory) python() string {
	if inv.opt.Python != "" {
		return inv.opt.Python
	}
	if p, err := exec.LookPath("python3"); err == nil {
		return p
	}
	return "/usr/bin/python3"
}

func isLocal(name string) bool { return name == "localhost" || name == "127.0.0.1" || name == "::1" }

// Group returns a group by name, or nil.
func (inv *Inventory) Group(name string) *Group { return inv.groups[name] }

// Hosts are all hosts in the order they were first named. The slice must not
// be changed.
func (inv *Inventory) Hosts() []*Host { return inv.order }

// Groups are all groups in the order they were first named. The slice must not
// be changed.
func (inv *Inventory) Groups() []*Group { return inv.gorder }

// GroupsVar is the value of the magic variable `groups`: group name to list of
// host names. It is shared and must not be changed.
func (inv *Inventory) GroupsVar() *value.Dict {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if inv.groupsVar == nil {
		d := value.NewDict(len(inv.gorder))
		for _, g := range inv.gorder {
			hosts := g.AllHosts()
			l := &value.List{Items: make([]any, len(hosts))}
			for i, h := range hosts {
				l.Items[i] = h.Name
			}
			d.Set(g.Name, l)
		}
		inv.groupsVar = d
	}
	return inv.groupsVar
}

// Bases are the directories whose group_vars and host_vars belong to the
// inventory: of each source, in order.
func (inv *Inventory) Bases() []string {
	var out []string
	for _, s := range inv.Sources {
		st, err := os.Stat(s)
		switch {
		case strings.Contains(s, ",") && err != nil, s == "":
			continue
		case err != nil || !st.IsDir():
			s = filepath.Dir(s)
		}
		out = append(out, s)
	}
	return out
}

func badEntity(what string, name any) error {
	return fault.New(fault.Generic, value.Pos{}, "Invalid empty/false %s name provided: %s", what, value.Str(name))
}

// addGroup makes a group unless it is there and returns the name it has.
func (inv *Inventory) addGroup(name string) (string, error) {
	if name == "" {
		return "", badEntity("group", name)
	}
	if inv.groups[name] != nil {
		return name, nil
	}
	name = safeName(name, inv.set.badNames, false, false, inv.opt.Sink)
	if inv.groups[name] == nil {
		g := newGroup(name)
		inv.groups[name] = g
		inv.gorder = append(inv.gorder, g)
	}
	return name, nil
}

// addHost makes a host unless it is there, and a member of group if not "".
func (inv *Inventory) addHost(name, group string, port int) error {
	if name == "" {
		return fault.New(fault.Generic, value.Pos{}, "Invalid empty host name provided: %s", name)
	}
	var g *Group
	if group != "" {
		if g = inv.groups[group]; g == nil {
			return fault.New(fault.Generic, value.Pos{}, "Could not find group %s in inventory", group)
		}
	}
	h := inv.hosts[name]
	if h == nil {
		h = &Host{Name: name, Vars: value.NewDict(4)}
		if port != 0 {
			h.Vars.Set("ansible_port", int64(port))
		}
		var file, dir any
		if inv.source != "" {
			file, dir = inv.source, sourceDir(inv.source)
		}
		h.Vars.Set("inventory_file", file)
		h.Vars.Set("inventory_dir", dir)
		inv.hosts[name] = h
		inv.order = append(inv.order, h)
		if isLocal(name) {
			if inv.localhost == nil {
				inv.localhost = h
				inv.opt.Sink.Verbose(4, "Set default localhost to "+name)
			} else {
				fault.Warn(inv.opt.Sink, "A duplicate localhost-like entry was found (%s). First found localhost was %s", name, inv.localhost.Name)
			}
		}
	}
	if g != nil {
		g.addHost(h)
	}
	return nil
}

// sourceDir is the directory of a source, which for a host list is the text
// "None", as in the reference.
func sourceDir(source string) string {
	st, err := os.Stat(source)
	switch {
	case err != nil:
		return "None"
	case st.IsDir():
		return source
	}
	return filepath.Dir(source)
}

// addChild puts a group or host below a group.
func (inv *Inventory) addChild(group, child string) (bool, error) {
	g := inv.groups[group]
	if g == nil {
		return false, fault.New(fault.Generic, value.Pos{}, "%s is not a known group", group)
	}
	if c := inv.groups[child]; c != nil {
		return g.addChild(c)
	}
	if h := inv.hosts[child]; h != nil {
		return g.addHost(h), nil
	}
	return false, fault.New(fault.Generic, value.Pos{}, "%s is not a known host nor group", child)
}

const nameHelp = "Variable names must be strings starting with a letter or underscore character, and contain only letters, numbers and underscores."

// setVariable sets a variable of the group of that name, else of the host.
func (inv *Inventory) setVariable(entity string, key, v any, pos value.Pos) error {
	g := inv.groups[entity]
	h := inv.hosts[entity]
	if g == nil && h == nil {
		return fault.New(fault.Generic, value.Pos{}, "Could not identify group or host named %s", entity)
	}
	name, ok := value.Text(key)
	if !ok || !validName(name) {
		inv.opt.Sink.Deprecated(fault.Deprecation{Version: "2.23", Error: fault.Error{
			Msg: "Accepting inventory variable with invalid name " + value.Repr(key) + ".", Help: nameHelp, Pos: pos}})
	}
	if ok {
		key = name
	}
	v = own(v)
	if g == nil {
		setVar(h.Vars, key, v, pos, inv.merge)
		return nil
	}
	if name == "ansible_group_priority" {
		n, err := priority(v)
		if err != nil {
			return err
		}
		g.Priority = n
		return nil
	}
	setVar(g.Vars, key, v, pos, inv.merge)
	return nil
}

func priority(v any) (int, error) {
	switch v := v.(type) {
	case int64:
		return int(v), nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case float64:
		return int(v), nil
	}
	if s, ok := value.Text(v); ok {
		if n, err := strconv.Atoi(strings.TrimSpace(s)); err == nil {
			return n, nil
		}
		return 0, fault.New(fault.Generic, value.Pos{}, "invalid literal for int() with base 10: %s", value.Repr(v))
	}
	return 0, fault.New(fault.Generic, value.Pos{},
		"int() argument must be a string, a bytes-like object or a real number, not '%s'", value.TypeName(v))
}

// keywords are the words that no variable can be called in a template.
var keywords = map[string]bool{
	"true": true, "false": true, "none": true, "True": true, "False": true, "None": true, "not": true,
}

func validName(name string) bool {
	for i, r := range name {
		if r != '_' && (r|0x20 < 'a' || r|0x20 > 'z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != "" && !keywords[name]
}

// reconcile keeps the rules: every group below all, every host in a group, and
// in ungrouped only if in no other.
func (inv *Inventory) reconcile() {
	all, ungrouped := inv.groups["all"], inv.groups["ungrouped"]
	for _, g := range inv.gorder {
		if g != all && len(g.Parents) == 0 {
			_, _ = all.addChild(g)
		}
	}
	gone := map[*Host]bool{}
	for _, h := range inv.order {
		in := slices.Contains(h.Groups, ungrouped)
		other := slices.ContainsFunc(h.Groups, func(g *Group) bool { return g != all && g != ungrouped })
		switch {
		case in && other:
			gone[h] = true
		case !in && !other && !h.Implicit:
			ungrouped.addHost(h)
		}
		if h.Implicit {
			h.Vars = CombineVars(all.Vars, h.Vars, inv.merge)
		}
	}
	ungrouped.removeHosts(gone)
	for _, g := range inv.gorder {
		if inv.hosts[g.Name] != nil {
			fault.Warn(inv.opt.Sink, "Found both group and host with same name: %s", g.Name)
		}
	}
	inv.forget()
}
