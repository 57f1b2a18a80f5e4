package inventory

import (
	"context"
	"path/filepath"
	"slices"

	"volant/controller/fault"
	"volant/wire/value"
)

func wantsYaml(inv *Inventory, source string) bool {
	ext := filepath.Ext(source)
	return readable(source) && (ext == "" || slices.Contains(inv.set.yamlExts, ext))
}

func parserError(format string, args ...any) *fault.Error {
	return fault.New(fault.Parser, value.Pos{}, format, args...)
}

// className is Python's str of the type of a value loaded from a file, as the
// reference's messages show it.
func className(v any) string {
	if _, ok := v.(*value.Vault); ok {
		return "<class 'ansible.parsing.vault.EncryptedString'>"
	}
	return value.TaggedClass(v)
}

func parseYaml(_ context.Context, inv *Inventory, source string) error {
	data, err := inv.opt.Files.LoadFresh(source)
	if err != nil {
		return parserError("%s", err)
	}
	d, ok := data.(*value.Dict)
	switch {
	case !value.Truth(data):
		return parserError("Parsed empty YAML file")
	case !ok:
		return parserError("YAML inventory has invalid structure, it should be a dictionary, got: %s", className(data))
	case value.Truth(d.Lookup("plugin")):
		return parserError("Plugin configuration YAML file, not YAML inventory")
	}
	for k, v := range d.All() {
		if _, err := inv.yamlGroup(k, v, 0); err != nil {
			return err
		}
	}
	return nil
}

func (inv *Inventory) yamlGroup(name, data any, depth int) (string, error) {
	if depth > maxGroupDepth {
		return "", parserError("Groups are nested too deeply")
	}
	body, ok := data.(*value.Dict)
	if data != nil && !ok {
		fault.Warn(inv.opt.Sink, "Skipping '%s' as this is not a valid group definition", value.Str(name))
		return value.Str(name), nil
	}
	text, isText := value.Text(name)
	if !isText {
		return "", parserError("Unable to add group %s: Invalid group name supplied, expected a string but got %s for %s",
			value.Str(name), className(name), value.Str(name))
	}
	group, err := inv.addGroup(text)
	if err != nil {
		return "", parserError("Unable to add group %s: %s", text, err)
	}
	if body == nil {
		return group, nil
	}
	// A single name may stand where a mapping of names is wanted.
	for _, section := range []string{"vars", "children", "hosts"} {
		v, ok := body.Get(section)
		if !ok {
			continue
		}
		if s, ok := value.Text(v); ok {
			body.Set(section, value.DictOf(s, nil))
			continue
		}
		if _, ok := v.(*value.Dict); v != nil && !ok {
			return "", parserError(`Invalid "%s" entry for "%s" group, requires a dictionary, found "%s" instead.`, section, group, className(v))
		}
	}
	for k, v := range body.All() {
		d, ok := v.(*value.Dict)
		if v != nil && !ok {
			fault.Warn(inv.opt.Sink, "Skipping key (%s) in group (%s) as it is not a mapping, it is a %s", value.Str(k), group, className(v))
			continue
		}
		if d == nil {
			inv.opt.Sink.Verbose(3, "Skipping empty key ("+value.Str(k)+") in group ("+group+")")
			continue
		}
		switch k {
		case "vars":
			for name, v := range d.All() {
				if err := inv.setVariable(group, name, v, d.KeyPos(value.Str(name))); err != nil {
					return "", err
				}
			}
		case "children":
			for name, v := range d.All() {
				child, err := inv.yamlGroup(name, v, depth+1)
				if err != nil {
					return "", err
				}
				if _, err := inv.addChild(group, child); err != nil {
					return "", err
				}
			}
		case "hosts":
			for name, v := range d.All() {
				pattern, ok := value.Text(name)
				if !ok {
					return "", parserError("Host pattern %s must be a string. Enclose integers/floats in quotation marks.", value.Str(name))
				}
				hosts, port, err := expandHosts(pattern)
				if err != nil {
					return "", err
				}
				if !value.Truth(v) {
					v = value.NewDict(0)
				}
				if err := inv.populate(hosts, v, group, port); err != nil {
					return "", err
				}
			}
		default:
			fault.Warn(inv.opt.Sink, `Skipping unexpected key (%s) in group (%s), only "vars", "children" and "hosts" are valid`, value.Str(k), group)
		}
	}
	return group, nil
}

const maxGroupDepth = 200
