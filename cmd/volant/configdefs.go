package main

import (
	"strings"

	"volant/controller/config"
	"volant/controller/yaml"
	"volant/wire/value"
)

// definitions are settings and options of plugins with all that is said of
// them: what the config command lists, and makes a first configuration of.
type definitions struct {
	settings *value.Dict // by name; nil when they are not wanted
	servers  *value.Dict // of galaxy, by name
	kinds    []string    // of plugins, in order
	plugins  map[string]*value.Dict
}

// definitions reads them from the installed ansible-core; without one they are
// what Volant itself knows.
func (r configReport) definitions() (*definitions, error) {
	d := &definitions{plugins: map[string]*value.Dict{}, kinds: r.kinds()}
	if r.base() {
		var err error
		if d.settings, err = r.baseDefinitions(); err != nil {
			return nil, err
		}
		d.servers = value.NewDict(0)
		shared := sharedDefinitions()
		for _, s := range r.servers() {
			d.servers.Set(s, serverDefinitions(s, r.c, shared))
		}
	}
	for _, kind := range d.kinds {
		all := value.NewDict(0)
		d.plugins[kind] = all
		for _, name := range r.names(kind) {
			options, err := r.pluginDefinitions(kind, name)
			if err != nil {
				return nil, err
			}
			all.Set(niceName(name), options)
		}
	}
	return d, nil
}

func (r configReport) pluginDefinitions(kind, name string) (*value.Dict, error) {
	if r.lib == nil {
		options := value.NewDict(0)
		for _, s := range config.PluginOptions(kind, name) {
			options.Set(s.Name, describe(s))
		}
		return options, nil
	}
	options, err := r.lib.Options(kind, name)
	if options == nil {
		options = value.NewDict(0)
	}
	return options, err
}

func (r configReport) baseDefinitions() (*value.Dict, error) {
	out := value.NewDict(0)
	if r.lib == nil {
		for _, s := range r.settings() {
			out.Set(s.Name, describe(s))
		}
		return out, nil
	}
	all, err := r.lib.Settings()
	if err != nil {
		return nil, err
	}
	for k, v := range all.All() {
		name := value.Str(k)
		if strings.HasPrefix(name, "_Z_") {
			continue
		}
		if d, ok := v.(*value.Dict); ok {
			if gone, ok := d.Lookup("deprecated").(*value.Dict); ok {
				gone.Set("collection_name", "ansible.builtin")
			}
		}
		out.Set(name, v)
	}
	out.Set("CONFIG_FILE", value.DictOf("default", nil, "type", "path"))
	return out, nil
}

// pluginOption is an option of a plugin as the configuration reads it.
type pluginOption struct {
	config.Setting
	required bool
	other    any // a default that is no text, number or list of texts
}

// options are the options of a plugin: as it documents them, or else those that
// Volant knows.
func (r configReport) options(kind, name string) ([]pluginOption, error) {
	var out []pluginOption
	if r.lib == nil {
		for _, s := range config.PluginOptions(kind, name) {
			out = append(out, pluginOption{Setting: s})
		}
		return out, nil
	}
	defs, err := r.lib.Options(kind, name)
	if err != nil || defs == nil {
		return nil, err
	}
	for k, v := range defs.All() {
		d, ok := v.(*value.Dict)
		if !ok {
			continue
		}
		o := pluginOption{Setting: config.Setting{Name: value.Str(k), Type: typeNamed(d)}, required: d.Bool("required")}
		for _, e := range items(d, "env") {
			o.Env = append(o.Env, e("name"))
		}
		for _, e := range items(d, "ini") {
			o.Ini = append(o.Ini, config.Entry{Section: e("section"), Key: e("key")})
		}
		if l, ok := d.Lookup("choices").(*value.List); ok {
			for _, c := range l.Items {
				o.Choices = append(o.Choices, value.Str(c))
			}
		}
		switch def := d.Lookup("default").(type) {
		case *value.List, *value.Dict:
			o.other = def
		default:
			if t, ok := value.Text(def); ok {
				o.Default = t
			} else {
				o.Default = def
			}
		}
		out = append(out, o)
	}
	return out, nil
}

// items are the places an option can be set in, as functions of their keys.
func items(d *value.Dict, key string) []func(key string) string {
	l, _ := d.Lookup(key).(*value.List)
	if l == nil {
		return nil
	}
	var out []func(string) string
	for _, e := range l.Items {
		if place, ok := e.(*value.Dict); ok {
			out = append(out, func(key string) string { s, _ := place.Str(key); return s })
		}
	}
	return out
}

// typeNamed is the type of an option, by the shorter names, too.
func typeNamed(d *value.Dict) config.Type {
	t, _ := d.Str("type")
	switch t {
	case "str":
		return config.Str
	case "int":
		return config.Int
	case "bool":
		return config.Bool
	case "dictionary":
		return config.Dict
	}
	return config.Type(t)
}

func (d *definitions) data(kind string) *value.Dict {
	all := value.NewDict(0)
	if d.settings != nil {
		for k, v := range d.settings.All() {
			all.Set(k, v)
		}
		all.Set("GALAXY_SERVERS", d.servers)
	}
	if len(d.kinds) > 0 {
		byKind := value.NewDict(0)
		for _, k := range d.kinds {
			name := k
			if kind == "all" {
				name = strings.ToUpper(k)
			}
			byKind.Set(name, d.plugins[k])
		}
		all.Set("PLUGINS", byKind)
	}
	return all
}

// list is the output of config list.
func (d *definitions) list(kind, format string) (string, error) {
	if format == "json" {
		return indentedJSON(d.data(kind), jsonStyle{ascii: true}), nil
	}
	return yaml.Dump(d.data(kind), dumpStyle())
}
