// Package vars is who knows which variable: the layers of the reference's
// precedence, as shared dicts that are read from the top down and never copied,
// the magic variables, and what a run learns of its hosts (facts, set_fact,
// registered results, include_vars), with the mark of what a managed host sent.
//
// From the top, for a task on a host:
//
//	overlay      loop variables and the like, of this task on this host
//	magic        hostvars, groups, playbook_dir, ansible_play_hosts, ...
//	extra        -e
//	params       include and role parameters
//	set          set_fact and register
//	included     include_vars
//	task         vars of task, blocks and includes; vars of the task's role
//	roles        exported role vars; vars_files; play vars
//	facts        cleaned and injected
//	host         host_vars (playbook, inventory), the host's own
//	groups       by the precedence setting, deepest group first
//	defaults     of the task's role, then of the others
//
// Looking a name up costs one probe per layer, whatever number of hosts and
// variables there is.
package vars

import (
	"sync"
	"sync/atomic"

	"volant/controller/config"
	"volant/controller/fault"
	"volant/controller/inventory"
	"volant/controller/template"
	"volant/controller/yaml"
	"volant/wire/value"
)

// Options are what a Store is made with.
type Options struct {
	Config    *config.Config
	Inventory *inventory.Inventory
	Dirs      *inventory.VarsDirs
	Files     *yaml.Files
	Engine    *template.Engine
	Sink      fault.Sink
	// Extra are the variables of -e; may be nil.
	Extra *value.Dict
	// Run are the magic variables that are the same everywhere: playbook
	// options, version, interpreter. May be nil.
	Run *value.Dict
	// Cache keeps facts between runs; nil keeps them in memory only.
	Cache Cache
	// Basedir is the playbook's directory of an ad hoc run or before a play.
	Basedir string
	// BaseName is Basedir as messages have it where that is not its path.
	BaseName string
}

// Store holds the variables of a run. Lookups may come from many goroutines;
// changes from the coordinator alone.
type Store struct {
	opt     Options
	extra   *value.Dict
	merge   bool // DEFAULT_HASH_BEHAVIOUR is merge
	inject  bool // INJECT_FACTS_AS_VARS
	invMu   sync.RWMutex
	gen     atomic.Uint64 // of the inventory: host layers of an older one are stale
	hostsMu sync.RWMutex  // guards hosts
	hosts   map[string]*hostState
	warned  sync.Map // dicts already checked for reserved names
	// named: a managed host had a say in the name of a host or group.
	named atomic.Bool
}

// New returns a Store.
func New(opt Options) *Store {
	s := &Store{opt: opt, extra: opt.Extra, hosts: map[string]*hostState{}, inject: true}
	if s.extra == nil {
		s.extra = value.NewDict(0)
	}
	if opt.Config != nil {
		s.merge = opt.Config.String("DEFAULT_HASH_BEHAVIOUR") == "merge"
		s.inject = opt.Config.Bool("INJECT_FACTS_AS_VARS")
	}
	s.gen.Store(1)
	s.warnReserved(s.extra)
	return s
}

// Extra are the variables of -e. They must not be changed.
func (s *Store) Extra() *value.Dict { return s.extra }

// Change runs f with the inventory to itself; every host's layers are built
// anew afterwards.
func (s *Store) Change(f func(inv *inventory.Inventory)) {
	s.invMu.Lock()
	defer s.invMu.Unlock()
	f(s.opt.Inventory)
	s.gen.Add(1)
}

// Inventory runs f while nobody changes the inventory.
func (s *Store) Inventory(f func(inv *inventory.Inventory)) {
	s.invMu.RLock()
	defer s.invMu.RUnlock()
	f(s.opt.Inventory)
}

func (s *Store) host(name string) *hostState {
	s.hostsMu.RLock()
	h := s.hosts[name]
	s.hostsMu.RUnlock()
	if h != nil {
		return h
	}
	s.hostsMu.Lock()
	defer s.hostsMu.Unlock()
	if h = s.hosts[name]; h == nil {
		h = &hostState{name: name}
		h.facts.Store(noFacts)
		if s.opt.Cache != nil {
			if d := s.opt.Cache.Get(name); d != nil {
				h.facts.Store(newFactSet(d, nil, s.inject, s.opt.Sink))
			}
		}
		s.hosts[name] = h
	}
	return h
}

// table is a layer that changes, with a mark on each value.
type table struct {
	mu    sync.RWMutex
	m     map[string]entry
	names []string
}

type entry struct {
	v      any
	marked bool
}

func (t *table) get(name string) (entry, bool) {
	t.mu.RLock()
	e, ok := t.m[name]
	t.mu.RUnlock()
	return e, ok
}

func (t *table) set(name string, v any, marked bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.m == nil {
		t.m = map[string]entry{}
	}
	if _, ok := t.m[name]; !ok {
		t.names = append(t.names, name)
	}
	t.m[name] = entry{v, marked}
}

func (t *table) list() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.names[:len(t.names):len(t.names)]
}
