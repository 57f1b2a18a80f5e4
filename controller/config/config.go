// Package config has every setting: where it can be set, its type and default,
// its value in this process and where that came from.
package config

// Type is how a setting's text is read.
type Type string

// The types, named as the reference names them.
const (
	Str      Type = "str"
	Bool     Type = "bool"
	Int      Type = "int"
	Float    Type = "float"
	List     Type = "list"
	Path     Type = "path"
	PathSpec Type = "pathspec"
	PathList Type = "pathlist"
	TmpPath  Type = "tmppath"
	Dict     Type = "dict"
	Raw      Type = "raw"
	NoneType Type = "none"
)

// Entry is a section and key of ansible.cfg.
type Entry struct{ Section, Key string }

// Setting is one row of the table.
type Setting struct {
	Name    string
	Env     []string // the last one set wins
	Ini     []Entry
	Type    Type
	Default any // unread text, bool, int64, float64, *value.List, nil
	Choices []string
	// Honoured says that Volant acts on it; setting another one is said once.
	Honoured bool
	Doc      string
}

// Value is a setting's value and where it came from: "default", "env: NAME",
// or the path of the configuration file.
type Value struct {
	Value  any
	Origin string
}

// Source is what configuration is read from.
type Source struct {
	Getenv func(string) (string, bool)
	Dir    string // the current directory
	Home   string
	File   string // a configuration file given on the command line; "" looks in the four places
}

// Config is the configuration of one process. It does not change once loaded,
// except by Override.
type Config struct {
	// File is the configuration file in use, "" when there is none.
	File string
	// Warnings are to be shown once, in order.
	Warnings []string

	src    Source
	values map[string]Value
}

// Load finds and reads the configuration.
func Load(src Source) (*Config, error) { return &Config{src: src}, nil }

// Get returns the value of a setting by its upper-case name ("DEFAULT_FORKS"),
// typed: nil, string, bool, int64, float64, *value.List of strings, *value.Dict.
func (c *Config) Get(name string) any { return c.Lookup(name).Value }

// Lookup is Get with the origin.
func (c *Config) Lookup(name string) Value { return c.values[name] }

// Override sets a value for this process, as an option of the command line does.
func (c *Config) Override(name string, v any, origin string) {}

// String, Bool, Int, Float and Strings are Get for one type; the zero value
// when the setting has none or is of another type.
func (c *Config) String(name string) string { s, _ := c.Get(name).(string); return s }

// Bool is the value of a boolean setting.
func (c *Config) Bool(name string) bool { b, _ := c.Get(name).(bool); return b }

// Int is the value of an integer setting.
func (c *Config) Int(name string) int { return 0 }

// Float is the value of a number.
func (c *Config) Float(name string) float64 { return 0 }

// Strings is the value of a list setting.
func (c *Config) Strings(name string) []string { return nil }

// IsSet reports whether the setting's value is not its default's.
func (c *Config) IsSet(name string) bool { return c.Lookup(name).Origin != "default" }

// Settings are the rows of the table, by name.
func Settings() []Setting { return nil }
