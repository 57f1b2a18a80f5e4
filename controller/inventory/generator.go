package inventory

import (
	"context"

	"volant/wire/value"
)

// maxGenerated bounds the hosts a generator source may make.
const maxGenerated = 1_000_000

// parseGenerator makes a host of every combination of the layers' items.
func parseGenerator(ctx context.Context, inv *Inventory, source string) error {
	d, err := inv.pluginConfig(source, "generator")
	if err != nil {
		return err
	}
	layers, _ := d.Lookup("layers").(*value.Dict)
	hosts, _ := d.Lookup("hosts").(*value.Dict)
	if layers == nil {
		return parserError("'layers'")
	}
	if hosts == nil {
		return parserError("'hosts'")
	}
	total := 1
	lists := make([][]any, layers.Len())
	for i := range layers.Len() {
		_, v := layers.At(i)
		l, ok := v.(*value.List)
		if !ok {
			return parserError("'%s' object is not iterable", value.TypeName(v))
		}
		lists[i] = l.Items
		if total *= len(l.Items); total > maxGenerated {
			return parserError("the layers stand for more than %d hosts", maxGenerated)
		}
	}
	at := make([]int, len(lists))
	for range total {
		vars := value.NewDict(len(lists))
		for i, l := range lists {
			k, _ := layers.At(i)
			vars.Set(k, l[at[i]])
		}
		name, err := inv.opt.Templar.Render(ctx, hosts.Lookup("name"), vars)
		if err != nil {
			return err
		}
		host := value.Str(name)
		if err := inv.addHost(host, "", 0); err != nil {
			return err
		}
		if err := inv.parents(ctx, host, hosts.Lookup("parents"), vars, 0); err != nil {
			return err
		}
		for i := len(at) - 1; i >= 0; i-- {
			if at[i]++; at[i] < len(lists[i]) {
				break
			}
			at[i] = 0
		}
	}
	return nil
}

// parents puts child below the groups of a list, and those below theirs.
func (inv *Inventory) parents(ctx context.Context, child string, list any, vars *value.Dict, depth int) error {
	l, _ := list.(*value.List)
	if l == nil {
		return nil
	}
	if depth > maxGroupDepth {
		return parserError("Groups are nested too deeply")
	}
	for _, e := range l.Items {
		p, _ := e.(*value.Dict)
		name, err := inv.opt.Templar.Render(ctx, p.Lookup("name"), vars)
		if err != nil {
			return err
		}
		if !value.Truth(name) {
			return parserError("Element %s has a parent with no name.", child)
		}
		group, err := inv.addGroup(value.Str(name))
		if err != nil {
			return err
		}
		if own, ok := p.Lookup("vars").(*value.Dict); ok {
			for k, v := range own.All() {
				if v, err = inv.opt.Templar.Render(ctx, v, vars); err != nil {
					return err
				}
				if err := inv.setVariable(group, k, v, value.Pos{}); err != nil {
					return err
				}
			}
		}
		if _, err := inv.addChild(group, child); err != nil {
			return err
		}
		if err := inv.parents(ctx, group, p.Lookup("parents"), vars, depth+1); err != nil {
			return err
		}
	}
	return nil
}
