package vars

import (
	"maps"
	"strings"

	"volant/controller/fault"
	"volant/wire/value"
)

// factSet is what is known of a host by facts: an immutable snapshot.
type factSet struct {
	raw *value.Dict // as the cache keeps them, names as they came
	// named is the variable ansible_facts: without the ansible_ prefix.
	named *value.Dict
	top   *value.Dict // injected as variables, cleaned
	// own are the names in raw of what the controller found out about itself;
	// ownNamed the same in named.
	own, ownNamed map[string]bool
}

var noFacts = &factSet{raw: value.NewDict(0), named: value.NewDict(0), top: value.NewDict(0)}

func newFactSet(raw *value.Dict, own map[string]bool, inject bool, sink fault.Sink) *factSet {
	f := &factSet{raw: raw, named: Named(raw), own: own, ownNamed: map[string]bool{}}
	for k := range raw.All() {
		if name, ok := value.Text(k); ok {
			f.ownNamed[nameIn(name)] = own[name]
		}
	}
	if inject {
		f.top = CleanFacts(raw, sink)
		return f
	}
	f.top = value.NewDict(1)
	local := raw.Lookup("ansible_local")
	if local == nil {
		local = value.NewDict(0)
	}
	f.top.Set("ansible_local", local)
	return f
}

// Named returns facts without the ansible_ prefix of their names.
func Named(facts *value.Dict) *value.Dict {
	out := value.NewDict(facts.Len())
	for k, v := range facts.All() {
		if name, ok := value.Text(k); ok {
			k = nameIn(name)
		}
		out.Set(k, v)
	}
	return out
}

// nameIn is a fact's name in ansible_facts.
func nameIn(name string) string {
	if name == "ansible_local" {
		return name
	}
	return strings.TrimPrefix(name, "ansible_")
}

// restricted are names of connection and other variables of the controller
// that facts must not set.
var restricted = map[string]bool{
	"ansible_connection": true, "ansible_module_compression": true, "ansible_shell_type": true, "ansible_shell_executable": true,
	"ansible_ssh_host": true, "ansible_host": true, "ansible_ssh_user": true, "ansible_user": true, "ansible_ssh_pass": true,
	"ansible_password": true, "ansible_ssh_port": true, "ansible_port": true, "ansible_ssh_pipelining": true,
	"ansible_pipelining": true, "ansible_ssh_timeout": true, "ansible_timeout": true, "ansible_ssh_private_key_file": true,
	"ansible_private_key_file": true, "ansible_network_os": true, "ansible_connection_user": true,
	"ansible_ssh_executable": true, "ansible_ssh_common_args": true, "ansible_sftp_extra_args": true,
	"ansible_scp_extra_args": true, "ansible_ssh_extra_args": true, "ansible_ssh_transfer_method": true,
	"ansible_docker_extra_args": true, "ansible_become": true, "ansible_become_method": true, "ansible_become_user": true,
	"ansible_become_password": true, "ansible_become_pass": true, "ansible_become_exe": true, "ansible_become_flags": true,
	"ansible_rsync_path": true, "ansible_playbook_python": true, "ansible_facts": true, "add_host": true, "add_group": true,
	// Who a host is and what else there is, the inventory and the run say.
	"inventory_hostname": true, "inventory_hostname_short": true, "inventory_file": true, "inventory_dir": true, "group_names": true,
	"groups": true, "hostvars": true, "vars": true, "omit": true, "playbook_dir": true, "role_path": true, "role_name": true,
	"role_names": true, "ansible_role_name": true, "ansible_role_names": true, "ansible_parent_role_names": true, "ansible_parent_role_paths": true,
	"ansible_play_name": true, "ansible_play_hosts": true, "ansible_play_hosts_all": true, "ansible_play_batch": true, "ansible_play_role_names": true,
	"ansible_dependent_role_names": true, "play_hosts": true, "ansible_check_mode": true, "ansible_diff_mode": true, "ansible_forks": true,
	"ansible_inventory_sources": true, "ansible_limit": true, "ansible_run_tags": true, "ansible_skip_tags": true, "ansible_verbosity": true,
	"ansible_version": true, "ansible_config_file": true, "ansible_collection_name": true, "ansible_delegated_vars": true,
	"ansible_search_path": true, "ansible_loop": true, "ansible_loop_var": true, "ansible_index_var": true, "environment": true,
}

// connections are the connection plugins whose variables facts must not set.
var connections = []string{"local_", "paramiko_", "psrp_", "ssh_", "winrm_"}

// Restricted reports whether a fact of that name is dropped.
func Restricted(name string) bool {
	if restricted[name] || strings.HasPrefix(name, "volant_") {
		return true
	}
	rest, ok := strings.CutPrefix(name, "ansible_")
	if !ok || strings.HasPrefix(rest, "ssh_host_key_") {
		return false
	}
	if strings.HasPrefix(rest, "become_") || strings.HasSuffix(rest, "_interpreter") && !strings.Contains(rest, "\n") {
		return true
	}
	for _, c := range connections {
		if strings.HasPrefix(rest, c) {
			return !strings.HasSuffix(name, "_bridge") && !strings.HasSuffix(name, "_gwbridge")
		}
	}
	return false
}

// CleanFacts returns facts without the names they must not set and without
// internal keys. Each drop is a warning.
func CleanFacts(facts *value.Dict, sink fault.Sink) *value.Dict {
	out := value.NewDict(facts.Len())
	for k, v := range facts.All() {
		name, _ := value.Text(k)
		if Restricted(name) {
			if sink != nil {
				fault.Warn(sink, "Removed restricted key from module data: %s", name)
			}
			continue
		}
		if strings.HasPrefix(name, "_ansible_") {
			continue
		}
		out.Set(k, v)
	}
	return out
}

// SetFacts adds facts to what is known of a host and saves them in the cache.
// They are unmarked where no managed host had a say in them; the cache does not
// tell, so that what comes out of it is marked.
func (s *Store) SetFacts(host string, facts *value.Dict, marked bool) {
	h := s.host(host)
	old := h.facts.Load()
	raw, own := old.raw.Clone(), maps.Clone(old.own)
	raw.Update(facts)
	if own == nil {
		own = map[string]bool{}
	}
	for k := range facts.All() {
		if name, ok := value.Text(k); ok {
			own[name] = !marked
		}
	}
	h.facts.Store(newFactSet(raw, own, s.inject, s.opt.Sink))
	if s.opt.Cache != nil {
		s.opt.Cache.Set(host, raw)
	}
}

// ClearFacts forgets the facts of a host (meta: clear_facts).
func (s *Store) ClearFacts(host string) {
	s.host(host).facts.Store(noFacts)
	if s.opt.Cache != nil {
		s.opt.Cache.Delete(host)
	}
}

// Gathered reports whether a host's facts are known already (gathering: smart).
func (s *Store) Gathered(host string) bool {
	v, _ := s.host(host).facts.Load().raw.Lookup("_ansible_facts_gathered").(bool)
	return v
}

// Facts are the facts of a host, without the ansible_ prefix. They must not be
// changed.
func (s *Store) Facts(host string) *value.Dict { return s.host(host).facts.Load().named }
