package inventory

import (
	"context"
	"path/filepath"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"volant/controller/fault"
	"volant/wire/value"
)

func wantsToml(_ *Inventory, source string) bool {
	return readable(source) && filepath.Ext(source) == ".toml"
}

func parseToml(_ context.Context, inv *Inventory, source string) error {
	text, _, err := inv.opt.Files.Read(source)
	if err != nil {
		return parserError("%s", err)
	}
	d, err := readToml(text, value.Pos{File: "<inventory plugin 'toml' with source " + value.Repr(source) + ">"})
	if err != nil {
		return parserError("TOML file %s is invalid: %s", value.Repr(source), err)
	}
	switch {
	case d.Len() == 0:
		return parserError("Parsed empty TOML file")
	case value.Truth(d.Lookup("plugin")):
		return parserError("Plugin configuration TOML file, not TOML inventory")
	}
	for k, v := range d.All() {
		if err := inv.tomlGroup(value.Str(k), v); err != nil {
			return err
		}
	}
	return nil
}

func (inv *Inventory) tomlGroup(name string, data any) error {
	body, ok := data.(*value.Dict)
	if !ok {
		fault.Warn(inv.opt.Sink, "Skipping '%s' as this is not a valid group definition", name)
		return nil
	}
	group, err := inv.addGroup(name)
	if err != nil {
		return err
	}
	class := func(v any) string { return "<class '" + value.TypeName(v) + "'>" }
	for k, v := range body.All() {
		d, isDict := v.(*value.Dict)
		switch k {
		case "vars":
			if !isDict {
				return parserError(`Invalid "vars" entry for "%s" group, requires a dict, found "%s" instead.`, group, class(v))
			}
			for name, v := range d.All() {
				if err := inv.setVariable(group, name, v, value.Pos{}); err != nil {
					return err
				}
			}
		case "children":
			l, ok := v.(*value.List)
			if !ok {
				return parserError(`Invalid "children" entry for "%s" group, requires a list, found "%s" instead.`, group, class(v))
			}
			for _, c := range l.Items {
				child := value.Str(c)
				if err := inv.tomlGroup(child, value.NewDict(0)); err != nil {
					return err
				}
				if _, err := inv.addChild(group, child); err != nil {
					return err
				}
			}
		case "hosts":
			if !isDict {
				return parserError(`Invalid "hosts" entry for "%s" group, requires a dict, found "%s" instead.`, group, class(v))
			}
			for pattern, v := range d.All() {
				hosts, port, err := expandHosts(value.Str(pattern))
				if err != nil {
					return err
				}
				if err := inv.populate(hosts, v, group, port); err != nil {
					return err
				}
			}
		default:
			fault.Warn(inv.opt.Sink, `Skipping unexpected key "%s" in group "%s", only "vars", "children" and "hosts" are valid`, value.Str(k), group)
		}
	}
	return nil
}

// readToml decodes a document with its keys in the order written, which
// go-toml's own maps lose.
func readToml(text []byte, pos value.Pos) (*value.Dict, error) {
	var m map[string]any
	if err := toml.Unmarshal(text, &m); err != nil {
		return nil, err
	}
	order := tomlOrder(text)
	d, _ := fromToml(m, order, pos).(*value.Dict)
	return d, nil
}

// keyOrder is the keys of a table in the order written, with those of the
// tables below.
type keyOrder struct {
	names []string
	below map[string]*keyOrder
}

func (k *keyOrder) at(name string) *keyOrder {
	if k.below == nil {
		k.below = map[string]*keyOrder{}
	}
	sub := k.below[name]
	if sub == nil {
		sub = &keyOrder{}
		k.below[name] = sub
		k.names = append(k.names, name)
	}
	return sub
}

func tomlOrder(text []byte) *keyOrder {
	root := &keyOrder{}
	table := root
	var p unstable.Parser
	p.Reset(text)
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = root
			for it := e.Key(); it.Next(); {
				table = table.at(string(it.Node().Data))
			}
		case unstable.KeyValue:
			table.keyValue(e)
		}
	}
	return root
}

func (k *keyOrder) keyValue(e *unstable.Node) {
	at := k
	for it := e.Key(); it.Next(); {
		at = at.at(string(it.Node().Data))
	}
	if v := e.Value(); v.Valid() && v.Kind == unstable.InlineTable {
		for it := v.Children(); it.Next(); {
			at.keyValue(it.Node())
		}
	}
}

func fromToml(v any, order *keyOrder, pos value.Pos) any {
	switch v := v.(type) {
	case map[string]any:
		d := value.NewDict(len(v))
		if order != nil {
			for _, k := range order.names {
				if e, ok := v[k]; ok {
					d.Set(k, fromToml(e, order.below[k], pos))
				}
			}
		}
		for k, e := range v {
			if !d.Has(k) {
				d.Set(k, fromToml(e, nil, pos))
			}
		}
		return d
	case []any:
		l := &value.List{Items: make([]any, 0, len(v))}
		for _, e := range v {
			l.Items = append(l.Items, fromToml(e, order, pos))
		}
		return l
	case string:
		return value.NewTemplate(v, pos)
	case time.Time:
		return v
	case toml.LocalDate:
		return value.NewDate(v.Year, v.Month, v.Day)
	case toml.LocalDateTime:
		return v.AsTime(value.Naive)
	case toml.LocalTime:
		return value.TimeOfDay{Hour: v.Hour, Minute: v.Minute, Second: v.Second, Microsecond: v.Nanosecond / 1000}
	}
	return v
}
