package inventory

import (
	"context"
	"slices"

	"volant/wire/value"
)

// Foreign has the inventory plugins in Python, of collections and projects.
type Foreign interface {
	// Wants finds the plugin of that name and asks it whether it reads source.
	// known is what the plugin calls itself, "" when there is none; err says
	// why it does not load.
	Wants(ctx context.Context, name, source string) (known string, wants bool, err error)
	// Read lets the plugin read a source, and returns what it adds; beside an
	// error, what it had added before it failed, or nil.
	Read(ctx context.Context, name string, from From) (*Addition, error)
}

// From is what a plugin reads and what is there when it does. It must not be
// changed.
type From struct {
	Source    string
	Cache     bool        // results the plugin kept may be used
	Processed []string    // sources read so far
	Extra     *value.Dict // of -e; may be nil
	Hosts     []*Host
	Groups    []*Group
}

// Addition is what a plugin adds.
type Addition struct {
	Hosts  []AddedHost // new ones, and those with other variables
	Groups []AddedGroup
	Gone   []string // hosts that are no longer there
}

// AddedHost is a host and its new variables.
type AddedHost struct {
	Name string
	Vars *value.Dict
}

// AddedGroup is a group, its new variables and its new members.
type AddedGroup struct {
	Name            string
	Vars            *value.Dict
	Priority        int
	Children, Hosts []string
}

// foreign is the plugin of a name that is none of our own.
func (inv *Inventory) foreign(ctx context.Context, name, source string) (p plugin, found bool, err error) {
	if inv.opt.Plugins == nil {
		return plugin{}, false, nil
	}
	known, wants, err := inv.opt.Plugins.Wants(ctx, name, source)
	if err != nil || known == "" {
		return plugin{}, false, err
	}
	return plugin{
		name:  known,
		wants: func(*Inventory, string) bool { return wants },
		parse: func(ctx context.Context, inv *Inventory, source string) error {
			a, err := inv.opt.Plugins.Read(ctx, name, From{
				Source: source, Cache: !inv.again && !inv.opt.NoCache, Processed: inv.processed, Extra: inv.opt.Extra,
				Hosts: inv.order, Groups: inv.gorder,
			})
			if a == nil {
				return err
			}
			if e := inv.add(a); err == nil {
				err = e
			}
			return err
		},
	}, true, nil
}

// add makes an addition part of the inventory.
func (inv *Inventory) add(a *Addition) error {
	for _, h := range a.Hosts {
		if err := inv.addHost(h.Name, "", 0); err != nil {
			return err
		}
		for k, v := range h.Vars.All() {
			inv.hosts[h.Name].Vars.Set(k, v)
		}
	}
	names := make([]string, len(a.Groups))
	for i, g := range a.Groups {
		name, err := inv.addGroup(g.Name)
		if err != nil {
			return err
		}
		names[i] = name
		for k, v := range g.Vars.All() {
			inv.groups[name].Vars.Set(k, v)
		}
		inv.groups[name].Priority = g.Priority
	}
	for i, g := range a.Groups {
		for _, child := range g.Children {
			c := inv.groups[child]
			if c == nil {
				continue // a name that addGroup made safe
			}
			if _, err := inv.groups[names[i]].addChild(c); err != nil {
				return err
			}
		}
		for _, host := range g.Hosts {
			if h := inv.hosts[host]; h != nil {
				inv.groups[names[i]].addHost(h)
			}
		}
	}
	inv.drop(a.Gone)
	return nil
}

// drop takes hosts out.
func (inv *Inventory) drop(names []string) {
	gone := map[*Host]bool{}
	for _, name := range names {
		if h := inv.hosts[name]; h != nil {
			gone[h] = true
			delete(inv.hosts, name)
		}
	}
	if len(gone) == 0 {
		return
	}
	inv.order = slices.DeleteFunc(inv.order, func(h *Host) bool { return gone[h] })
	for _, g := range inv.gorder {
		g.removeHosts(gone)
	}
	if gone[inv.localhost] {
		inv.localhost = nil
	}
}
