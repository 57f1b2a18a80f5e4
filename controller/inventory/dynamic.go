package inventory

import (
	"context"
	"slices"

	"volant/controller/fault"
	"volant/wire/value"
)

// dynamic is an addition made while running, for Refresh to make again.
type dynamic struct {
	host    string
	groups  []string // add_host
	vars    *value.Dict
	group   string // group_by
	parents []string
}

// AddHost is the add_host action: it makes the host and groups as needed, sets
// vars, and reports whether anything changed.
func (inv *Inventory) AddHost(name string, groups []string, vars *value.Dict) (changed bool, err error) {
	inv.dynamic = append(inv.dynamic, dynamic{host: name, groups: slices.Clone(groups), vars: vars})
	return inv.makeHost(name, groups, vars)
}

func (inv *Inventory) makeHost(name string, groups []string, vars *value.Dict) (changed bool, err error) {
	if inv.hosts[name] == nil {
		if err := inv.addHost(name, "all", 0); err != nil {
			return false, err
		}
		changed = true
	}
	h := inv.hosts[name]
	if vars.Len() > 0 {
		if all := CombineVars(h.Vars, vars, inv.merge); !value.Equal(all, h.Vars) {
			h.Vars = all
			changed = true
		}
	}
	for _, g := range groups {
		if inv.groups[g] == nil {
			if g, err = inv.addGroup(g); err != nil {
				return changed, err
			}
			changed = true
		}
		if inv.groups[g].addHost(h) {
			changed = true
		}
	}
	if changed {
		inv.reconcile()
	}
	return changed, nil
}

// AddToGroup is the group_by action for one host: it makes group a child of
// parents and host a member of it.
func (inv *Inventory) AddToGroup(host, group string, parents []string) (changed bool, err error) {
	inv.dynamic = append(inv.dynamic, dynamic{host: host, group: group, parents: slices.Clone(parents)})
	return inv.makeMember(host, group, parents, false)
}

func (inv *Inventory) makeMember(host, group string, parents []string, again bool) (changed bool, err error) {
	h := inv.Host(host)
	if h == nil {
		if again { // the sources no longer have it
			return false, nil
		}
		return false, fault.New(fault.Generic, value.Pos{}, "%s cannot be matched in inventory", host)
	}
	if inv.groups[group] == nil {
		if group, err = inv.addGroup(group); err != nil {
			return false, err
		}
	}
	names := make([]string, len(parents))
	for i, p := range parents {
		names[i] = p
		if inv.groups[p] == nil {
			if names[i], err = inv.addGroup(p); err != nil {
				return false, err
			}
			changed = true
		}
	}
	g := inv.groups[group]
	for _, p := range names {
		added, err := inv.groups[p].addChild(g)
		if err != nil {
			return changed, err
		}
		changed = changed || added
	}
	if !slices.Contains(g.AllHosts(), h) {
		changed = g.addHost(h)
	}
	if !slices.Contains(h.Groups, g) {
		h.join(g)
		changed = true
	}
	if changed {
		inv.reconcile()
	}
	return changed, nil
}

// Refresh reads the sources again (meta: refresh_inventory), keeping what
// AddHost and AddToGroup added.
func (inv *Inventory) Refresh(ctx context.Context) error {
	inv.opt.Files.Forget()
	inv.again = true
	if err := inv.read(ctx); err != nil {
		return err
	}
	for _, d := range inv.dynamic {
		var err error
		if d.group != "" {
			_, err = inv.makeMember(d.host, d.group, d.parents, true)
		} else {
			_, err = inv.makeHost(d.host, d.groups, d.vars)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
