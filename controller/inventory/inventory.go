// Package inventory finds hosts, groups and their variables in the sources the
// operator names (INI, YAML, TOML, scripts, directories, host lists and the
// plugins of the reference), and selects hosts by pattern.
package inventory

import (
	"context"

	"volant/controller/config"
	"volant/controller/fault"
	"volant/controller/yaml"
	"volant/wire/value"
)

// Host is one host. Vars are those its sources gave it, without host_vars
// files and without those of its groups.
type Host struct {
	Name     string
	Vars     *value.Dict
	Groups   []*Group // all it is in, ancestors included, in the order joined
	Implicit bool     // localhost that no source named
}

// Group is one group.
type Group struct {
	Name     string
	Vars     *value.Dict
	Hosts    []*Host // direct members
	Children []*Group
	Parents  []*Group
	Depth    int
	Priority int

	all []*Host // of it and all below; nil until asked for
}

// AllHosts are the hosts of g and of every group below, each once, in order.
func (g *Group) AllHosts() []*Host { return g.all }

// Options are what loading needs.
type Options struct {
	Config *config.Config
	Files  *yaml.Files
	Sink   fault.Sink
	// Dir is the current directory, for relative sources.
	Dir string
}

// Inventory is the hosts and groups of a run. Only one goroutine, the
// coordinator, may change it (AddHost, AddGroup, Refresh); readers share it
// while nobody changes it.
type Inventory struct {
	hosts  map[string]*Host
	groups map[string]*Group
	// Sources are the sources as given, made absolute.
	Sources []string

	opt Options
}

// Load reads the sources in order. What it cannot read it warns of, as the
// reference does; an error means that the configuration asks for one or that
// nothing can go on.
func Load(ctx context.Context, sources []string, opt Options) (*Inventory, error) {
	return &Inventory{opt: opt}, nil
}

// Host returns a host by name; "localhost" and its aliases give the implicit
// localhost when no source has it. nil when there is none.
func (inv *Inventory) Host(name string) *Host { return inv.hosts[name] }

// Group returns a group by name, or nil.
func (inv *Inventory) Group(name string) *Group { return inv.groups[name] }

// Hosts are all hosts in the order they were first named.
func (inv *Inventory) Hosts() []*Host { return nil }

// Groups are all groups in the order they were first named.
func (inv *Inventory) Groups() []*Group { return nil }

// Select returns the hosts a pattern names, in the reference's order, within
// the limit and restriction set. pattern is a string or list of them (`hosts:`).
func (inv *Inventory) Select(patterns ...string) ([]*Host, error) { return nil, nil }

// Limit restricts every later Select to hosts of these patterns (--limit; @FILE
// reads patterns from a file). No patterns lift it.
func (inv *Inventory) Limit(patterns ...string) error { return nil }

// Limited reports whether Limit is in force.
func (inv *Inventory) Limited() bool { return false }

// Match returns the hosts of patterns without limit and restriction.
func (inv *Inventory) Match(patterns ...string) ([]*Host, error) { return nil, nil }

// AddHost is the add_host action: it makes the host and groups as needed, sets
// vars, and reports whether anything changed.
func (inv *Inventory) AddHost(name string, groups []string, vars *value.Dict) (changed bool, err error) {
	return false, nil
}

// AddToGroup is the group_by action for one host: it makes group a child of
// parents and host a member of it.
func (inv *Inventory) AddToGroup(host, group string, parents []string) (changed bool, err error) {
	return false, nil
}

// Refresh reads the sources again (meta: refresh_inventory), keeping what
// AddHost and AddToGroup added.
func (inv *Inventory) Refresh(ctx context.Context) error { return nil }

// GroupsVar is the value of the magic variable `groups`: group name to list of
// host names. It is shared and must not be changed.
func (inv *Inventory) GroupsVar() *value.Dict { return nil }

// SortedGroups are the host's groups in the order their variables apply: by
// depth, priority, name.
func (h *Host) SortedGroups() []*Group { return nil }
