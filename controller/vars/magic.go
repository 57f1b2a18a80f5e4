package vars

import (
	"strings"

	"volant/controller/inventory"
	"volant/controller/playbook"
	"volant/wire/value"
)

// magicNames are the names of magicVar in a stable order, without `vars`.
var magicNames = []string{
	"playbook_dir", "ansible_role_names", "ansible_play_role_names", "ansible_dependent_role_names", "role_names",
	"ansible_play_name", "role_name", "role_path", "role_uuid", "ansible_collection_name", "ansible_role_name",
	"groups", "ansible_play_hosts_all", "ansible_play_hosts", "ansible_play_batch", "play_hosts",
	"ansible_current_hosts", "ansible_failed_hosts", "environment",
}

// hostMagicNames are the names that the inventory gives every host.
var hostMagicNames = []string{"inventory_hostname", "inventory_hostname_short", "group_names"}

// hostMagic is a name that the inventory gives every host. It lies among the
// host's own variables, above what its sources say.
func hostMagic(c *Context, name string) (any, bool) {
	host := c.host
	switch name {
	case "inventory_hostname":
		if c.shownAs != "" {
			return c.shownAs, true
		}
		return host, true
	case "inventory_hostname_short":
		return short(host), true
	case "group_names":
		return c.layer.groupNames, true
	}
	return nil, false
}

// namesHosts are the magic variables that hold names of hosts and groups.
var namesHosts = map[string]bool{
	"groups": true, "ansible_play_hosts_all": true, "ansible_play_hosts": true, "ansible_play_batch": true, "play_hosts": true,
	"ansible_current_hosts": true, "ansible_failed_hosts": true,
}

// magicVar is a variable that is computed when asked for. One that reports
// false does not exist here and lower layers may have the name.
func (c *Context) magicVar(name string) (any, bool) {
	switch name {
	case "playbook_dir":
		if c.play != nil {
			return c.play.play.Dir, true
		}
		return c.store.Basedir(), true
	case "groups":
		var g *value.Dict
		c.store.Inventory(func(inv *inventory.Inventory) {
			if inv != nil {
				g = inv.GroupsVar()
			}
		})
		return g, g != nil
	case "role_name", "role_path", "role_uuid", "ansible_collection_name", "ansible_role_name":
		if c.task == nil || c.task.Role == nil {
			return nil, false
		}
		return roleMagic(name, c.task.Role), true
	case "ansible_play_name", "ansible_play_role_names", "role_names", "ansible_dependent_role_names",
		"ansible_role_names", "ansible_play_hosts_all", "ansible_play_hosts", "ansible_play_batch", "play_hosts",
		"ansible_current_hosts", "ansible_failed_hosts":
		if c.play == nil {
			return nil, false
		}
		return c.play.magic(name), true
	case "environment":
		if c.task == nil {
			return nil, false
		}
		if c.env == nil {
			return value.ListOf(), true
		}
		return c.env, true
	}
	return nil, false
}

func roleMagic(name string, r *playbook.Role) any {
	switch name {
	case "role_name":
		return r.FullName(false)
	case "role_path":
		return r.Path
	case "role_uuid":
		return value.Str(int64(r.ID))
	case "ansible_role_name":
		return r.FullName(true)
	}
	if r.Collection == "" {
		return nil
	}
	return r.Collection
}

func (p *Play) magic(name string) any {
	b := p.batch.Load()
	switch name {
	case "ansible_play_name":
		return p.name
	case "ansible_play_role_names", "role_names":
		return p.roleNames(true, false)
	case "ansible_dependent_role_names":
		return p.roleNames(false, true)
	case "ansible_role_names":
		return p.roleNames(true, true)
	case "ansible_play_hosts_all":
		return names(b.All, nil)
	case "ansible_play_hosts":
		return names(b.All, b.Removed)
	case "ansible_failed_hosts":
		return names(b.Failed, nil)
	}
	return names(b.Hosts, b.Removed) // ansible_play_batch, play_hosts, ansible_current_hosts
}

func names(hosts []string, without map[string]bool) *value.List {
	l := &value.List{Items: make([]any, 0, len(hosts))}
	for _, h := range hosts {
		if !without[h] {
			l.Items = append(l.Items, h)
		}
	}
	return l
}

// roleNames are the names of the play's roles and, or, of their dependencies.
func (p *Play) roleNames(direct, deps bool) *value.List {
	var out []string
	seen := map[string]bool{}
	add := func(r *playbook.Role, unique bool) {
		n := r.FullName(true)
		if !unique || !seen[n] {
			out = append(out, n)
		}
		seen[n] = true
	}
	for _, r := range p.play.Roles {
		if deps {
			for _, d := range r.AllDependencies() {
				add(d, true)
			}
		}
	}
	for _, r := range p.play.Roles {
		if direct {
			add(r, deps)
		}
	}
	return value.Strings(out...)
}

// Basedir is the directory that files are looked for in outside of plays.
func (s *Store) Basedir() string { return strings.TrimSuffix(s.opt.Basedir, "/") }
