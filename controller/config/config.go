// Package config has every setting: where it can be set, its type and default,
// its value in this process and where that came from.
package config

import (
	"fmt"
	"sort"
	"strings"
	"sync"

	"volant/controller/fault"
	"volant/wire/value"
)

// Type is how a setting's text is read.
type Type string

// The types, named as the reference names them. Any leaves the text alone.
const (
	Any      Type = ""
	Str      Type = "string"
	Bool     Type = "boolean"
	Int      Type = "integer"
	Float    Type = "float"
	List     Type = "list"
	Path     Type = "path"
	PathSpec Type = "pathspec" // separated by colons
	PathList Type = "pathlist" // separated by commas
	TmpPath  Type = "tmppath"
	Dict     Type = "dict"
	Choices  Type = "choices"
	Raw      Type = "raw"
	None     Type = "none"
)

// Entry is a section and key of ansible.cfg.
type Entry struct{ Section, Key string }

// Removal says that a setting goes away.
type Removal struct{ Version, Why, Alternatives string }

// Setting is one row of the table.
type Setting struct {
	Name    string
	Type    Type
	Default any      // nil, string (unread), bool, int64, float64, []string, [][2]string
	Env     []string // the last one set wins
	Ini     []Entry  // the last one set wins
	// Vars and Keywords set options of plugins per host and task; the last
	// one set wins.
	Vars, Keywords []string
	Choices        []string
	Deprecated     *Removal
}

// Value is a setting's value and where it came from: "default", "env: NAME",
// the path of the configuration file, "var: NAME", "keyword: NAME", or what
// Override was given.
type Value struct {
	Value  any // nil, string, bool, int64, float64, *value.List of strings, *value.Dict
	Origin string
}

// IsDefault reports whether nobody set it.
func (v Value) IsDefault() bool { return v.Origin == "default" }

// Source is what configuration is read from.
type Source struct {
	Getenv func(string) (string, bool)
	Dir    string // the current directory
	Home   string
	File   string // a configuration file given on the command line; "" looks in the four places
}

// Config is the configuration of one process. It does not change once loaded,
// except by Override before it is shared.
type Config struct {
	// File is the configuration file in use, "" when there is none.
	File string

	src      Source
	ini      *iniFile
	warnings []string
	values   map[string]Value // of the table; complete after Load

	mu      sync.Mutex // guards options
	options map[string]Value
}

// Load finds and reads the configuration and checks every setting.
func Load(src Source) (*Config, error) {
	c := &Config{src: src, values: make(map[string]Value, len(index())), options: map[string]Value{}}
	if err := c.find(); err != nil {
		return nil, err
	}
	if c.File != "" {
		ini, err := readIni(c.File)
		if err != nil {
			return nil, err
		}
		c.ini = ini
	}
	home, err := c.lookup(index()["ANSIBLE_HOME"], "")
	if err != nil {
		return nil, err
	}
	c.values["ANSIBLE_HOME"] = home
	for _, s := range Settings() {
		if _, done := c.values[s.Name]; done {
			continue
		}
		v, err := c.lookup(s, "")
		if err != nil {
			return nil, err
		}
		c.values[s.Name] = v
	}
	c.values["CONFIG_FILE"] = Value{nil, ""}
	if c.File != "" {
		c.values["CONFIG_FILE"] = Value{c.File, ""}
	}
	return c, nil
}

// Get returns the value of a setting by its upper-case name ("DEFAULT_FORKS").
func (c *Config) Get(name string) any { return c.values[name].Value }

// Lookup is Get with the origin.
func (c *Config) Lookup(name string) Value { return c.values[name] }

// Override sets a value for this process, as an option of the command line
// does. It must not run beside readers.
func (c *Config) Override(name string, v any, origin string) { c.values[name] = Value{v, origin} }

// IsSet reports whether somebody set it.
func (c *Config) IsSet(name string) bool { return !c.values[name].IsDefault() }

// String is the value of a text or path setting, "" when it has none.
func (c *Config) String(name string) string { s, _ := c.Get(name).(string); return s }

// Bool is the value of a boolean setting. Where the reference gives the setting
// no type, any text makes it true.
func (c *Config) Bool(name string) bool {
	switch v := c.Get(name).(type) {
	case bool:
		return v
	case string:
		return v != ""
	case int64:
		return v != 0
	}
	return false
}

// Int is the value of an integer setting, 0 when it has none.
func (c *Config) Int(name string) int { n, _ := c.Get(name).(int64); return int(n) }

// Float is the value of a number, 0 when it has none.
func (c *Config) Float(name string) float64 {
	switch v := c.Get(name).(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	}
	return 0
}

// Strings is the value of a list setting.
func (c *Config) Strings(name string) []string {
	l, _ := c.Get(name).(*value.List)
	out := make([]string, 0, l.Len())
	if l != nil {
		for _, e := range l.Items {
			if s, ok := value.Text(e); ok {
				out = append(out, s)
			}
		}
	}
	return out
}

// Warnings are to be shown once, in order: about the configuration file, and
// settings that are set to another value than their default and that Volant
// does not act on.
func (c *Config) Warnings() []string {
	out := append([]string(nil), c.warnings...)
	for _, s := range Settings() {
		if v := c.values[s.Name]; !v.IsDefault() && !isDefault(&s, v.Value) {
			if why := ignored[s.Name]; why != "" {
				out = append(out, fmt.Sprintf("The setting %s (%s) has no effect in Volant: %s.", s.Name, v.Origin, why))
			}
		}
	}
	return out
}

// isDefault reports whether v, which was set, is what the setting is without it.
func isDefault(s *Setting, v any) bool {
	or := s.Default
	if l, ok := or.([]string); ok {
		or = value.Strings(l...)
	}
	return value.Repr(v) == value.Repr(or)
}

// Deprecations are those of the settings that are set.
func (c *Config) Deprecations() []fault.Deprecation {
	var out []fault.Deprecation
	for _, s := range Settings() {
		if s.Deprecated == nil || c.values[s.Name].IsDefault() {
			continue
		}
		out = append(out, fault.Deprecation{Version: s.Deprecated.Version, Error: fault.Error{Msg: fmt.Sprintf(
			"%s option. Reason: %s\nAlternatives: %s", s.Name, s.Deprecated.Why, s.Deprecated.Alternatives)}})
	}
	return out
}

// Option returns the value of a plugin's option (kind "connection", plugin
// "ssh", option "pipelining") from configuration, or, before that, from the
// variables and keywords it can be set by. vars and keywords may be nil.
func (c *Config) Option(kind, plugin, option string, vars, keywords func(string) (any, bool)) (Value, error) {
	s := PluginOption(kind, plugin, option)
	if s == nil {
		return Value{}, fmt.Errorf("no option %q of %s plugin %q is known", option, kind, plugin)
	}
	label := fmt.Sprintf(" for '%s' %s plugin", plugin, kind)
	if v, ok, err := c.nearer(*s, label, vars, keywords); ok {
		return v, err
	}
	key := kind + "/" + plugin + "/" + option
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok := c.options[key]; ok {
		return v, nil
	}
	v, err := c.lookup(*s, label)
	if err == nil {
		c.options[key] = v
	}
	return v, err
}

// nearer is what a variable or keyword sets a setting to; ok is false when none
// does.
func (c *Config) nearer(s Setting, label string, vars, keywords func(string) (any, bool)) (v Value, ok bool, err error) {
	for _, from := range []struct {
		word  string
		get   func(string) (any, bool)
		names []string
	}{{"var", vars, s.Vars}, {"keyword", keywords, s.Keywords}} {
		if from.get == nil {
			continue
		}
		for i := len(from.names) - 1; i >= 0; i-- {
			if raw, ok := from.get(from.names[i]); ok && raw != nil {
				v, err := c.typed(s, raw, from.word+": "+from.names[i], label)
				return v, true, err
			}
		}
	}
	return Value{}, false, nil
}

// InTask is the value of a setting where variables may set it; ok is false for
// names that no setting has.
func (c *Config) InTask(name string, vars func(string) (any, bool)) (v Value, ok bool, err error) {
	s, ok := index()[name]
	if !ok {
		return Value{}, false, nil
	}
	if v, set, err := c.nearer(s, "", vars, nil); set {
		return v, true, err
	}
	return c.Lookup(name), true, nil
}

// PluginOption is one option of a plugin, also of the become plugins of
// collections that we have; nil when there is none of that name.
func PluginOption(kind, plugin, option string) *Setting {
	rows := plugins[kind][plugin]
	if rows == nil && kind == "become" {
		rows = collectionBecome[plugin]
	}
	for i := range rows {
		if rows[i].Name == option {
			return &rows[i]
		}
	}
	return nil
}

// Value is the value of a setting that is in no table.
func (c *Config) Value(s Setting) (Value, error) { return c.lookup(s, "") }

// PluginOptions are the options of one plugin, in the reference's order.
func PluginOptions(kind, plugin string) []Setting { return plugins[kind][plugin] }

// Settings are the rows of the table, the reference's and Volant's own, by
// name.
func Settings() []Setting { return table() }

var table = sync.OnceValue(func() []Setting {
	var all []Setting
	for _, part := range [][]Setting{settingsA, settingsDefault, settingsZ, settingsVolant} {
		all = append(all, part...)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
})

var index = sync.OnceValue(func() map[string]Setting {
	m := map[string]Setting{}
	for _, s := range table() {
		m[s.Name] = s
	}
	return m
})

// Own reports whether the setting is Volant's and unknown to the reference.
func (s Setting) Own() bool { return strings.HasPrefix(s.Name, "VOLANT_") }

// Section is a section of the configuration file with its keys in order.
type Section struct {
	Name string
	Keys []string
}

// FileSections are the sections of the configuration file, none without one.
func (c *Config) FileSections() []Section {
	if c.ini == nil {
		return nil
	}
	var out []Section
	for _, name := range c.ini.sections {
		if name != "DEFAULT" {
			out = append(out, Section{name, c.ini.keys[name]})
		}
	}
	return out
}

// PluginKinds are the kinds of plugins that have options, by name.
func PluginKinds() []string { return sortedKeys(plugins) }

// PluginNames are the plugins of a kind that have options, by name.
func PluginNames(kind string) []string { return sortedKeys(plugins[kind]) }

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
