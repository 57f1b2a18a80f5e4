package plugins

import (
	"context"
	"encoding/base64"
	"strings"

	"volant/controller/fault"
	"volant/controller/inventory"
	"volant/wire/value"
)

var _ inventory.Foreign = (*Helper)(nil)

// legacy is the name by which plugins of directories are found.
func legacy(name string) string { return strings.TrimPrefix(name, "ansible.legacy.") }

// Wants implements inventory.Foreign.
func (h *Helper) Wants(ctx context.Context, name, source string) (known string, wants bool, err error) {
	if strings.HasPrefix(name, "ansible.builtin.") || !h.may("inventory", legacy(name)) {
		return "", false, nil
	}
	frame := op("wants")
	frame.Set("name", name)
	frame.Set("source", source)
	v, err := h.call(ctx, frame, notes(h.sink()))
	if err != nil {
		return "", false, err
	}
	d, _ := v.(*value.Dict)
	known, _ = d.Str("name")
	return known, d.Bool("wants"), nil
}

// Read implements inventory.Foreign.
func (h *Helper) Read(ctx context.Context, name string, from inventory.From) (*inventory.Addition, error) {
	frame := op("inventory")
	frame.Set("name", name)
	frame.Set("source", from.Source)
	frame.Set("basedir", h.opt.Dir)
	frame.Set("cache", from.Cache)
	frame.Set("processed", value.Strings(from.Processed...))
	extra, err := codec{raw: true}.encodeDict(from.Extra, 0)
	if err != nil {
		return nil, err
	}
	frame.Set("extra", extra)
	have, err := everything(from)
	if err != nil {
		return nil, err
	}
	frame.Set("have", have)
	v, err := h.call(ctx, frame, h.sources())
	if err != nil {
		return nil, err
	}
	a := addition(v)
	d, _ := v.(*value.Dict)
	if failed, ok := d.Lookup("failed").(*value.List); ok && failed.Len() > 0 {
		return a, exceptions(failed.Items)
	}
	return a, nil
}

// everything encodes the hosts and groups there are.
func everything(from inventory.From) (*value.Dict, error) {
	raw := codec{raw: true}
	groups, hosts := &value.List{}, &value.List{}
	for _, g := range from.Groups {
		vars, err := raw.encodeDict(g.Vars, 0)
		if err != nil {
			return nil, err
		}
		children, members := &value.List{}, &value.List{}
		for _, c := range g.Children {
			children.Items = append(children.Items, c.Name)
		}
		for _, m := range g.Hosts {
			members.Items = append(members.Items, m.Name)
		}
		groups.Items = append(groups.Items, value.DictOf("name", g.Name, "vars", vars, "priority", int64(g.Priority),
			"children", children, "hosts", members))
	}
	for _, host := range from.Hosts {
		vars, err := raw.encodeDict(host.Vars, 0)
		if err != nil {
			return nil, err
		}
		hosts.Items = append(hosts.Items, value.ListOf(host.Name, vars))
	}
	return value.DictOf("groups", groups, "hosts", hosts), nil
}

// addition reads what the helper says was added.
func addition(v any) *inventory.Addition {
	d, _ := v.(*value.Dict)
	out := &inventory.Addition{Gone: texts(d.Lookup("gone"))}
	hosts, _ := d.Lookup("hosts").(*value.List)
	for _, e := range items(hosts) {
		if pair, ok := e.(*value.List); ok && pair.Len() == 2 {
			name, _ := value.Text(pair.Items[0])
			vars, _ := pair.Items[1].(*value.Dict)
			out.Hosts = append(out.Hosts, inventory.AddedHost{Name: name, Vars: vars})
		}
	}
	groups, _ := d.Lookup("groups").(*value.List)
	for _, e := range items(groups) {
		g, ok := e.(*value.Dict)
		if !ok {
			continue
		}
		name, _ := g.Str("name")
		vars, _ := g.Lookup("vars").(*value.Dict)
		priority, _ := value.ToInt(g.Lookup("priority"))
		out.Groups = append(out.Groups, inventory.AddedGroup{
			Name: name, Vars: vars, Priority: int(priority), Children: texts(g.Lookup("children")), Hosts: texts(g.Lookup("hosts")),
		})
	}
	return out
}

func items(l *value.List) []any {
	if l == nil {
		return nil
	}
	return l.Items
}

func texts(v any) []string {
	l, _ := v.(*value.List)
	var out []string
	for _, e := range items(l) {
		if s, ok := value.Text(e); ok {
			out = append(out, s)
		}
	}
	return out
}

// sink takes the messages of plugins that run outside of tasks.
func (h *Helper) sink() fault.Sink {
	if h.opt.Sink == nil {
		return fault.Discard
	}
	return h.opt.Sink
}

// sources answers what an inventory plugin asks, and shows its messages.
func (h *Helper) sources() serve {
	return func(frame *value.Dict) *value.Dict {
		if frame.Has("note") {
			note(h.sink(), frame)
			return nil
		}
		if what, _ := frame.Str("ask"); what != "decrypt" {
			return nil
		}
		text, _ := frame.Str("data")
		data, err := base64.StdEncoding.DecodeString(text)
		if err == nil && h.opt.Vault == nil {
			return refusal("Attempting to decrypt but no vault secrets found.")
		}
		if err == nil {
			data, err = h.opt.Vault.Decrypt(data, "")
		}
		if err != nil {
			return refusal(err.Error())
		}
		return value.DictOf("value", tagged("bytes", base64.StdEncoding.EncodeToString(data)))
	}
}
