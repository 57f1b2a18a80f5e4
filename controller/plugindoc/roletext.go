package plugindoc

import (
	"strings"

	"volant/controller/yaml"
	"volant/wire/value"
)

const roleIndent = "          "

// RoleText is the document of a role as ansible-doc shows it. attributes is
// called for each entry point that has attributes, which roles should not have.
func RoleText(look *Look, name string, doc *value.Dict, attributes func(entry string)) (string, error) {
	p := newPage(look, "")
	p.add("> ROLE: %s (%s)", p.bold(name), value.Str(doc.Lookup("path")))
	entries, _ := doc.Lookup("entry_points").(*value.Dict)
	for entry, v := range entries.All() {
		d, ok := v.(*value.Dict)
		if !ok {
			continue
		}
		short := ""
		if s := d.Lookup("short_description"); value.Truth(s) {
			short = "- " + value.Str(s)
		}
		p.add("")
		p.add("ENTRY POINT: %s %s", p.bold(value.Str(entry)), short)
		p.add("")
		if err := p.entry(d, func() { attributes(value.Str(entry)) }); err != nil {
			return "", err
		}
	}
	return strings.Join(p.lines, "\n"), nil
}

// entry writes one entry point of a role.
func (p *page) entry(d *value.Dict, attributes func()) error {
	if v := d.Lookup("description"); value.Truth(v) {
		texts, err := descriptions(d, "description")
		if err != nil {
			return err
		}
		for _, text := range texts {
			p.add("%s", wrap(p.markup(text), p.limit, roleIndent, roleIndent, 0))
		}
		p.add("")
	}
	if options, ok := d.Lookup("options").(*value.Dict); ok && options.Len() > 0 {
		p.add("%s (%s indicates it is required):", p.bold("Options"), p.requiredMark())
		if err := p.fields(options, roleIndent, false, "", false); err != nil {
			return err
		}
	}
	if value.Truth(d.Lookup("attributes")) {
		attributes()
	}
	p.attributes(d, roleIndent)
	if d.Has("author") {
		p.add("")
		switch v := d.Lookup("author").(type) {
		case string:
			p.add("AUTHOR: %s", wrap(p.markup(v), p.limit-len("AUTHOR: "), "", roleIndent, 0))
		case *value.List:
			p.add("AUTHOR: %s", joined(v))
		default:
			p.add("%s", p.indented(dump(value.DictOf("AUTHOR", v), false), ""))
		}
	}
	p.examples(d.Lookup("examples"))
	return nil
}

// KeywordText is what is known of keywords as ansible-doc shows it.
func KeywordText(look *Look, docs *value.Dict) string {
	block := false
	text, err := yaml.Dump(docs, yaml.Style{FlowStyle: &block})
	if err != nil {
		return ""
	}
	return look.Markup(strings.TrimRight(text, "\n"))
}
