package vars

import (
	"strings"
	"sync"
	"sync/atomic"

	"volant/controller/inventory"
	"volant/wire/value"
)

// hostState is what a run knows of one host.
type hostState struct {
	name     string
	facts    atomic.Pointer[factSet]
	set      table // set_fact and register
	included table // include_vars

	fetched table // controller paths that fetch filed for the host

	// sent are the names of inventory variables that a managed host had a say
	// in: add_host with what another host sent.
	sent table

	mu      sync.Mutex // guards the fields below
	gen     uint64
	basedir string
	layers  *hostLayers
}

// marked reports whether a managed host had a say in the inventory's variable.
func (h *hostState) marked(name string) bool {
	if h == nil {
		return false
	}
	_, ok := h.sent.get(name)
	return ok
}

// hostLayers are the shared dicts of a host's inventory variables.
type hostLayers struct {
	dicts      []*value.Dict // from the top: host_vars, the host's, groups'
	groupNames *value.List
	known      bool // the inventory has the host
}

// layersOf returns the host's layers for plays in basedir.
func (s *Store) layersOf(h *hostState, basedir string) (*hostLayers, error) {
	gen := s.gen.Load()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.layers != nil && h.gen == gen && h.basedir == basedir {
		return h.layers, nil
	}
	l, err := s.buildHost(h.name, basedir)
	if err != nil {
		return nil, err
	}
	h.layers, h.gen, h.basedir = l, gen, basedir
	return l, nil
}

// precedenceDefault is the reference's VARIABLE_PRECEDENCE.
var precedenceDefault = []string{
	"all_inventory", "groups_inventory", "all_plugins_inventory",
	"all_plugins_play", "groups_plugins_inventory", "groups_plugins_play",
}

func (s *Store) buildHost(name, basedir string) (*hostLayers, error) {
	s.invMu.RLock()
	defer s.invMu.RUnlock()
	inv := s.opt.Inventory
	l := &hostLayers{groupNames: value.ListOf()}
	if inv == nil {
		return l, nil
	}
	var bases []string
	if s.opt.Dirs != nil {
		bases = inv.Bases()
	}
	// up collects from the bottom; dicts is its reverse.
	var up []*value.Dict
	add := func(d *value.Dict, err error) error {
		if err == nil && d.Len() > 0 {
			s.warnReserved(d)
			up = append(up, d)
		}
		return err
	}
	files := func(dirs []string, groups []*inventory.Group) error {
		if s.opt.Dirs == nil {
			return nil
		}
		for _, dir := range dirs {
			for _, g := range groups {
				if err := add(s.opt.Dirs.GroupVars(dir, g.Name)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	host := inv.Host(name)
	l.known = host != nil
	var groups []*inventory.Group
	if host != nil {
		for _, g := range host.SortedGroups() {
			if g.Name != "all" {
				groups = append(groups, g)
			}
		}
	}
	var all []*inventory.Group
	if g := inv.Group("all"); g != nil {
		all = []*inventory.Group{g}
	}
	var play []string
	if basedir != "" {
		play = []string{basedir}
	}
	order := precedenceDefault
	if s.opt.Config != nil {
		if o := s.opt.Config.Strings("VARIABLE_PRECEDENCE"); len(o) > 0 {
			order = o
		}
	}
	for _, step := range order {
		var err error
		switch step {
		case "all_inventory":
			for _, g := range all {
				err = add(g.Vars, nil)
			}
		case "groups_inventory":
			for _, g := range groups {
				err = add(g.Vars, nil)
			}
		case "all_plugins_inventory":
			err = files(bases, all)
		case "all_plugins_play":
			err = files(play, all)
		case "groups_plugins_inventory":
			err = files(bases, groups)
		case "groups_plugins_play":
			err = files(play, groups)
		}
		if err != nil {
			return nil, err
		}
	}
	if host != nil {
		if err := add(host.Vars, nil); err != nil {
			return nil, err
		}
	}
	if s.opt.Dirs != nil {
		for _, dir := range append(bases[:len(bases):len(bases)], play...) {
			if err := add(s.opt.Dirs.HostVars(dir, name)); err != nil {
				return nil, err
			}
		}
	}
	for i := len(up) - 1; i >= 0; i-- {
		l.dicts = append(l.dicts, up[i])
	}
	if host != nil {
		l.groupNames = groupNames(host)
	}
	return l, nil
}

// groupNames is the magic variable of that name: sorted, without all.
func groupNames(h *inventory.Host) *value.List {
	var names []string
	for _, g := range h.Groups {
		if g.Name != "all" {
			names = append(names, g.Name)
		}
	}
	sortStrings(names)
	return value.Strings(names...)
}

// SetFact stores what set_fact or register gave a host.
func (s *Store) SetFact(host, name string, v any, marked bool) {
	s.host(host).set.set(name, v, marked)
}

// SetFetched notes where on the controller a file of the host's was filed.
func (s *Store) SetFetched(host, path string) { s.host(host).fetched.set(path, nil, true) }

// Fetched reports whether path is where a file of the host's own was filed in
// this run.
func (s *Store) Fetched(host, path string) bool {
	_, ok := s.host(host).fetched.get(path)
	return ok
}

// MarkInventory says that a managed host had a say in variables of the
// inventory's host, or in its magic variables.
func (s *Store) MarkInventory(host string, names ...string) {
	h := s.host(host)
	for _, n := range names {
		h.sent.set(n, nil, true)
		if n == "inventory_hostname" || n == "group_names" {
			s.named.Store(true)
		}
	}
}

// Include stores a variable of include_vars. A dict is merged into the one
// that is there only where hash_behaviour is merge.
func (s *Store) Include(host, name string, v any, marked bool) {
	h := s.host(host)
	if s.merge {
		if old, ok := h.included.get(name); ok {
			a, ok1 := old.v.(*value.Dict)
			b, ok2 := v.(*value.Dict)
			if ok1 && ok2 {
				v = mergeDicts(a, b)
			}
		}
	}
	h.included.set(name, v, marked)
}

// short is a host's name up to the first dot.
func short(name string) string {
	if i := strings.IndexByte(name, '.'); i >= 0 {
		return name[:i]
	}
	return name
}
