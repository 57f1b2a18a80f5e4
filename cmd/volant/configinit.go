package main

import (
	"fmt"
	"slices"
	"strings"

	"volant/controller/yaml"
	"volant/wire/shlex"
	"volant/wire/value"
)

// init is a first configuration, everything at its default: an ini file, lines
// for the environment, or variables. home stands for ANSIBLE_HOME.
func (d *definitions) init(format string, disabled bool, home string) string {
	f := &firstConfig{home: home, disabled: disabled, format: format, seen: map[[2]string]bool{}, sections: map[string][]string{}}
	base := d.settings
	if base == nil {
		base = value.NewDict(0)
	}
	if d.servers != nil {
		base = base.Clone()
		base.Set("GALAXY_SERVERS", d.servers)
	}
	if format == "ini" {
		f.ini(base)
		for _, k := range d.kinds {
			f.ini(d.plugins[k])
		}
		for _, name := range f.order {
			f.out = append(f.out, "["+name+"]")
			for _, entry := range f.sections[name] {
				f.out = append(f.out, entry, "")
			}
			f.out = append(f.out, "")
		}
		return strings.Join(f.out, "\n")
	}
	f.lines(base)
	for _, k := range d.kinds {
		for _, options := range d.plugins[k].All() {
			if o, ok := options.(*value.Dict); ok {
				f.lines(o)
			}
		}
	}
	return strings.Join(f.out, "\n")
}

// firstConfig is a first configuration being made.
type firstConfig struct {
	home, format string
	disabled     bool
	seen         map[[2]string]bool // sections and keys
	order        []string           // of the sections
	sections     map[string][]string
	out          []string
}

// ini collects the entries of settings, and of plugins that have settings.
func (f *firstConfig) ini(settings *value.Dict) {
	for _, name := range sortedNames(settings) {
		s, ok := settings.Lookup(name).(*value.Dict)
		if !ok {
			continue
		}
		if !value.Truth(s.Lookup("description")) {
			f.ini(s)
			continue
		}
		entry := lastOf(s, "ini")
		if entry == nil {
			continue
		}
		section, _ := entry.Str("section")
		key, _ := entry.Str("key")
		if !slices.Contains(f.order, section) {
			f.order = append(f.order, section)
		}
		if f.seen[[2]string{section, key}] {
			continue
		}
		f.seen[[2]string{section, key}] = true
		def := f.def(s)
		text := value.Str(def)
		if l, ok := def.(*value.List); ok && kindOf(s) == "list" {
			text = joinedItems(l)
		} else if def == nil {
			text = ""
		}
		if f.disabled {
			key = ";" + key
		}
		f.sections[section] = append(f.sections[section], "# ("+kindOf(s)+") "+descriptionOf(s, "\n# ")+"\n"+key+"="+text)
	}
}

// lines collects the settings that the environment or variables can set.
func (f *firstConfig) lines(settings *value.Dict) {
	mark := ""
	if f.disabled {
		mark = "#"
	}
	for k, v := range settings.All() {
		s, ok := v.(*value.Dict)
		if !ok || !value.Truth(s.Lookup("description")) {
			continue
		}
		entry := lastOf(s, f.format)
		if entry == nil {
			continue
		}
		name, _ := entry.Str("name")
		label := value.Str(k)
		if n, ok := s.Get("name"); ok {
			label = value.Str(n)
		}
		f.out = append(f.out, fmt.Sprintf("# %s(%s): %s", label, kindOf(s), descriptionOf(s, "\n#")))
		def := f.def(s)
		switch f.format {
		case "env":
			if strings.HasPrefix(name, "_ANSIBLE_") {
				continue
			}
			f.out = append(f.out, mark+name+"="+environmentText(def, s))
		default:
			if strings.HasPrefix(name, "_ansible_") {
				continue
			}
			flow := true
			text, err := yaml.Dump(def, yaml.Style{FlowStyle: &flow})
			if err != nil {
				text = value.Str(def)
			}
			f.out = append(f.out, mark+name+": "+text)
		}
		f.out = append(f.out, "")
	}
}

// environmentText is a default as a shell would be given it.
func environmentText(def any, s *value.Dict) string {
	declared, _ := s.Str("type")
	if declared == "boolean" {
		if !value.Truth(def) {
			return "0"
		}
		return "1"
	}
	if def == nil {
		return ""
	}
	if l, ok := def.(*value.List); ok && declared == "list" && len(l.Items) > 0 {
		def = joinedItems(l)
	}
	if t, ok := value.Text(def); ok && t != "" && !quotedText(t) {
		return shlex.Quote(t)
	}
	return value.Str(def)
}

func quotedText(s string) bool {
	return len(s) > 1 && s[0] == s[len(s)-1] && (s[0] == '"' || s[0] == '\'') && s[len(s)-2] != '\\'
}

// def is the default of a setting, "" where it has none.
func (f *firstConfig) def(s *value.Dict) any {
	v, ok := s.Get("default")
	if !ok {
		return ""
	}
	text, isText := value.Text(v)
	if !isText || !strings.HasPrefix(text, "{{") || !strings.HasSuffix(text, "}}") {
		return v
	}
	inner := strings.TrimSpace(text[2 : len(text)-2])
	if rest, ok := strings.CutPrefix(inner, "ANSIBLE_HOME ~"); ok {
		return f.home + strings.Trim(strings.TrimSpace(rest), `"'`)
	}
	if rest, ok := strings.CutPrefix(inner, "REJECT_EXTS + "); ok {
		var more []string
		for _, e := range strings.Split(strings.Trim(rest, "[]"), ", ") {
			more = append(more, strings.Trim(e, "'"))
		}
		return value.Strings(append(slices.Clone(rejected), more...)...)
	}
	return v
}

// rejected are the extensions that the reference calls REJECT_EXTS.
var rejected = []string{".pyc", ".pyo", ".swp", ".bak", "~", ".rpm", ".md", ".txt", ".rst"}

func kindOf(s *value.Dict) string {
	if t, ok := s.Str("type"); ok {
		return t
	}
	return "string"
}

func descriptionOf(s *value.Dict, sep string) string {
	switch d := s.Lookup("description").(type) {
	case *value.List:
		out := make([]string, len(d.Items))
		for i, e := range d.Items {
			out[i] = value.Str(e)
		}
		return strings.Join(out, sep)
	default:
		return value.Str(d)
	}
}

// lastOf is the last of the places a setting can be set in.
func lastOf(s *value.Dict, key string) *value.Dict {
	l, _ := s.Lookup(key).(*value.List)
	if l == nil || len(l.Items) == 0 {
		return nil
	}
	d, _ := l.Items[len(l.Items)-1].(*value.Dict)
	return d
}

func joinedItems(l *value.List) string {
	out := make([]string, len(l.Items))
	for i, e := range l.Items {
		out[i] = value.Str(e)
	}
	return strings.Join(out, ", ")
}

func sortedNames(d *value.Dict) []string {
	var out []string
	for _, k := range d.Keys() {
		out = append(out, value.Str(k))
	}
	slices.Sort(out)
	return out
}
