package plugindoc

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"volant/wire/value"
)

// maxNesting bounds options within options.
const maxNesting = 32

// fields writes options or return values, sorted by name. man leaves out when
// they were added.
func (p *page) fields(fields *value.Dict, indent string, returns bool, base string, man bool) error {
	if len(indent) > len(optionIndent)+2*maxNesting {
		return fmt.Errorf("options are nested too deeply")
	}
	for _, name := range sortedKeys(fields) {
		d, ok := fields.Lookup(name).(*value.Dict)
		if !ok {
			return fmt.Errorf("%s is no mapping", name)
		}
		if err := p.field(name, d.Clone(), indent, returns, base, man); err != nil {
			return err
		}
	}
	return nil
}

func sortedKeys(d *value.Dict) []string {
	var out []string
	for k := range d.All() {
		out = append(out, value.Str(k))
	}
	slices.Sort(out)
	return out
}

func take(d *value.Dict, key string) any {
	v := d.Lookup(key)
	d.Delete(key)
	return v
}

func (p *page) field(name string, d *value.Dict, indent string, returns bool, base string, man bool) error {
	required := false
	if d.Has("required") {
		v := take(d, "required")
		b, ok := v.(bool)
		if !ok {
			return fmt.Errorf("Incorrect value for 'Required', a boolean is needed.: %s", value.Str(v)) //nolint:staticcheck // the reference's text
		}
		required = b
	}
	lead, key := "  ", ""
	if required {
		if p.NoColor {
			lead = "="
		}
		key = base + lead + " " + p.paint(p.bold(name), "red")
	} else {
		if p.NoColor {
			lead = "-"
		}
		key = base + lead + " " + p.paint(name, "yellow")
	}
	description, err := descriptions(d, "description")
	if err != nil {
		return err
	}
	d.Delete("description")
	p.add("")
	length := utf8.RuneCountInString(name)
	inline := strings.Repeat(" ", max(len(indent)-length-len(base), 2))
	extra := base + strings.Repeat(" ", length+3)
	for i, text := range description {
		if i == 0 {
			p.add("%s%s", key, wrap(p.markup(text), p.limit, inline, inline+extra, len(extra)))
		} else {
			p.add("%s", wrap(p.markup(text), p.limit, inline+extra, inline+extra, 0))
		}
	}
	type sub struct {
		key  string
		data *value.Dict
	}
	var subs []sub
	for _, k := range []string{"options", "suboptions", "contains", "spec"} {
		if d.Has(k) {
			data, _ := take(d, k).(*value.Dict)
			subs = append(subs, sub{k, data})
		}
	}
	if !required && !returns && !d.Has("default") {
		d.Set("default", nil)
	}
	p.setVia(d, indent)
	added := ""
	if v := d.Lookup("version_added"); value.Truth(v) && !man {
		of, _ := d.Str("version_added_collection")
		added = addedIn(value.Str(v), of)
	}
	d.Delete("version_added")
	d.Delete("version_added_collection")
	for _, k := range sortedKeys(d) {
		if strings.HasPrefix(k, "_") {
			continue
		}
		switch v := d.Lookup(k).(type) {
		case *value.List:
			p.add("%s", p.indented(k+": "+dump(v, true), indent))
		default:
			p.add("%s", p.indented(dump(value.DictOf(k, v), false), indent))
		}
	}
	if added != "" {
		p.add("%sadded in: %s", indent, added)
	}
	for _, s := range subs {
		p.add("%s%s:", indent, s.key)
		if s.data == nil {
			continue
		}
		if err := p.fields(s.data, indent+"  ", returns, indent, false); err != nil {
			return err
		}
	}
	return nil
}

// setVia says where else an option can be set.
func (p *page) setVia(d *value.Dict, indent string) {
	conf := value.NewDict(0)
	for _, k := range []string{"env", "ini", "yaml", "vars", "keyword"} {
		list, ok := d.Lookup(k).(*value.List)
		if !ok || len(list.Items) == 0 {
			continue
		}
		d.Delete(k)
		out := &value.List{}
		for _, item := range list.Items {
			m, ok := item.(*value.Dict)
			if !ok {
				continue
			}
			m = m.Clone()
			if p.Verbose && m.Has("version_added") {
				m.Set("added_in", addedIn(value.Str(m.Lookup("version_added")), "ansible-core"))
			}
			for _, ignored := range append([]string{p.kind}, notShown[:10]...) {
				m.Delete(ignored)
			}
			out.Items = append(out.Items, m)
		}
		conf.Set(k, out)
	}
	if list, ok := d.Lookup("cli").(*value.List); ok && len(list.Items) > 0 {
		d.Delete("cli")
		out := &value.List{}
		for _, item := range list.Items {
			if m, ok := item.(*value.Dict); ok && !m.Has("option") {
				name := value.Str(m.Lookup("name"))
				item = value.DictOf("name", name, "option", "--"+strings.ReplaceAll(name, "_", "-"))
			}
			out.Items = append(out.Items, item)
		}
		conf.Set("cli", out)
	}
	if conf.Len() > 0 {
		p.add("%s", p.indented(dump(value.DictOf("set_via", conf), false), indent))
	}
}

// seeAlso is the section of references.
func (p *page) seeAlso(doc *value.Dict) {
	list, ok := doc.Lookup("seealso").(*value.List)
	if !ok || len(list.Items) == 0 {
		return
	}
	p.add("")
	p.add("%s", p.bold("SEE ALSO:"))
	below := func(text, rest string) {
		p.add("%s", wrap(p.markup(text), p.limit-6, optionIndent+"   ", rest, 0))
	}
	deep := optionIndent + "   "
	for _, item := range list.Items {
		m, ok := item.(*value.Dict)
		if !ok {
			continue
		}
		text := func(key string) string { s, _ := m.Str(key); return s }
		describe := func(name, fallback, page string) {
			description := text("description")
			own := strings.HasPrefix(name, "ansible.builtin.")
			if description == "" && own {
				description = fallback
			}
			if description != "" {
				below(description, deep)
			}
			if own {
				below(p.link(page), optionIndent)
			}
		}
		switch {
		case m.Has("module"):
			name := text("module")
			p.bullet("Module " + name)
			describe(name, "The official documentation on the "+name+" module.",
				"collections/"+strings.Replace(name, ".", "/", 2)+"_module.html")
		case m.Has("plugin") && m.Has("plugin_type"):
			name, kind := text("plugin"), text("plugin_type")
			suffix := " plugin"
			if kind == "module" || kind == "role" {
				suffix = ""
			}
			p.bullet(title(kind) + suffix + " " + name)
			describe(name, "The official documentation on the "+name+" "+kind+suffix+".",
				"collections/"+strings.Replace(name, ".", "/", 2)+"_"+kind+".html")
		case m.Has("name") && m.Has("link") && m.Has("description"):
			p.bullet(text("name"))
			below(text("description"), deep)
			below(text("link"), deep)
		case m.Has("ref") && m.Has("description"):
			p.bullet("Ansible documentation [" + text("ref") + "]")
			below(text("description"), deep)
			below(p.link("/#stq="+text("ref")+"&stp=1"), deep)
		}
	}
}

// Markup turns the marks of documentation into what a terminal shows.
func (l *Look) Markup(t string) string { return l.markup(t) }

func title(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
