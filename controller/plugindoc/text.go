package plugindoc

import (
	"fmt"
	"slices"
	"strings"

	"volant/controller/yaml"
	"volant/wire/value"
)

const optionIndent = "        "

// notShown are the keys of a document that have no section of their own.
var notShown = []string{
	"module", "docuri", "version_added", "version_added_collection", "short_description", "now_date", "plainexamples", "returndocs",
	"collection", "plugin_name", "filename", "metadata", "attributes", "deprecated", "description", "has_action", "options",
	"notes", "seealso", "requirements",
}

// page collects the lines of a document.
type page struct {
	*Look
	lines []string
	limit int
	kind  string
}

func (p *page) add(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

func (p *page) indented(text, indent string) string {
	return p.markup(indent + strings.ReplaceAll(text, "\n", "\n"+indent))
}

func dump(v any, flow bool) string {
	s := yaml.Style{FlowStyle: &flow}
	text, err := yaml.Dump(v, s)
	if err != nil {
		return ""
	}
	return strings.TrimRight(strings.TrimSuffix(text, "\n...\n"), "\n")
}

func newPage(look *Look, kind string) *page {
	return &page{Look: look, kind: kind, limit: max(look.Columns-int(float64(look.Columns)*0.20), 70)}
}

// requiredMark is how an option that is required is told from others.
func (p *page) requiredMark() string {
	if p.NoColor {
		return "="
	}
	return "red"
}

// attributes is the section of what a plugin can do.
func (p *page) attributes(doc *value.Dict, indent string) {
	attributes, ok := doc.Lookup("attributes").(*value.Dict)
	if !ok || attributes.Len() == 0 {
		return
	}
	p.add("")
	p.add("%s", p.bold("ATTRIBUTES:"))
	for k, v := range attributes.All() {
		p.add("")
		p.add("%s", wrap(p.markup(p.underline(value.Str(k)+":")), p.limit-6, indent, indent, 0))
		p.add("%s", p.indented(dump(v, false), indent))
	}
}

// Text is the document as ansible-doc shows it.
func (d *Doc) Text(look *Look) (string, error) {
	p := newPage(look, d.Type)
	doc := d.Doc
	file := d.File
	if file == "" {
		file = "Jinja2"
	}
	p.add("> %s %s (%s)", strings.ToUpper(d.Type), p.bold(d.Name), file)
	p.add("")
	description, err := descriptions(doc, "description")
	if err != nil {
		return "", err
	}
	for _, text := range description {
		p.add("%s", wrap(p.markup(text), p.limit, "  ", "  ", 0))
	}
	p.deprecated(d)
	if d.Action {
		p.add("")
		p.add("%s This module has a corresponding action plugin.", p.bold("  * note:"))
	}
	if options, ok := doc.Lookup("options").(*value.Dict); ok && options.Len() > 0 {
		p.add("")
		p.add("%s (%s indicates it is required):", p.bold("OPTIONS"), p.requiredMark())
		if err := p.fields(options, optionIndent, false, "", !p.Verbose); err != nil {
			return "", err
		}
	}
	p.attributes(doc, optionIndent)
	if notes, ok := doc.Lookup("notes").(*value.List); ok && len(notes.Items) > 0 {
		p.add("")
		p.add("%s", p.bold("NOTES:"))
		for _, n := range notes.Items {
			p.bullet(value.Str(n))
		}
	}
	p.seeAlso(doc)
	if reqs, ok := doc.Lookup("requirements").(*value.List); ok && len(reqs.Items) > 0 {
		p.add("")
		p.add("%s%s\n", p.bold("REQUIREMENTS:"), wrap(p.markup(joined(reqs)), p.limit-16, "  ", optionIndent, 0))
	}
	p.others(d)
	p.examples(d.Examples)
	if d.Returns != nil && d.Returns.Len() > 0 {
		p.add("")
		p.add("%s", p.bold("RETURN VALUES:"))
		if err := p.fields(d.Returns, optionIndent, true, "", !p.Verbose); err != nil {
			return "", err
		}
	}
	p.add("\n")
	return strings.Join(p.lines, "\n"), nil
}

func joined(l *value.List) string {
	var s []string
	for _, v := range l.Items {
		s = append(s, value.Str(v))
	}
	return strings.Join(s, ", ")
}

func descriptions(d *value.Dict, key string) ([]string, error) {
	switch v := d.Lookup(key).(type) {
	case string:
		return []string{v}, nil
	case *value.List:
		var out []string
		for i, item := range v.Items {
			s, ok := item.(string)
			if !ok {
				return nil, fmt.Errorf("Expected string in description at index %d, got %s", i+1, value.Repr(item)) //nolint:staticcheck // the reference's text
			}
			out = append(out, s)
		}
		return out, nil
	}
	return nil, fmt.Errorf("All (sub-)options and return values must have a 'description' field") //nolint:staticcheck // the reference's text
}

func (p *page) deprecated(d *Doc) {
	dep := d.Doc.Lookup("deprecated")
	if dep == nil || !value.Truth(dep) {
		return
	}
	p.add("%s", p.paint(p.bold("DEPRECATED: "), "COLOR_DOC_DEPRECATED"))
	m, ok := dep.(*value.Dict)
	if !ok {
		p.add("%s", value.Str(dep))
		return
	}
	in := m.Lookup("removed_in")
	if in == nil {
		in = m.Lookup("version")
	}
	removal := fmt.Sprintf("Will be removed in: Ansible %s\n\t", value.Str(in))
	switch {
	case m.Has("removed_at_date"):
		removal = fmt.Sprintf("Will be removed in a release after %s\n\t", value.Str(m.Lookup("removed_at_date")))
	case d.Collection != "":
		removal = fmt.Sprintf("Will be removed in: %s %s\n\t", d.Collection, value.Str(in))
	}
	alt := m.Lookup("alternatives")
	if alt == nil {
		if alt = m.Lookup("alternative"); alt == nil {
			alt = "none"
		}
	}
	p.add("\tReason: %s\n\t%sAlternatives: %s", value.Str(m.Lookup("why")), removal, value.Str(alt))
}

func (p *page) bullet(text string) {
	p.add("%s", wrap(p.markup(text), p.limit-6, optionIndent[:6]+"* ", optionIndent, 0))
}

// others are the sections of keys that have no form of their own.
func (p *page) others(d *Doc) {
	doc := d.Doc.Clone()
	if p.Verbose {
		version, of := "historical", "ansible-core"
		if doc.Has("version_added") {
			version = value.Str(doc.Lookup("version_added"))
		}
		if doc.Has("version_added_collection") {
			of, _ = doc.Str("version_added_collection")
		}
		doc.Set("added_in", addedIn(version, of))
	}
	var keys []string
	for k := range doc.All() {
		keys = append(keys, value.Str(k))
	}
	slices.Sort(keys)
	for _, k := range keys {
		v := doc.Lookup(k)
		if slices.Contains(notShown, k) || k == d.Type || !value.Truth(v) {
			continue
		}
		p.add("")
		header := p.bold(strings.ToUpper(k))
		switch v := v.(type) {
		case string:
			p.add("%s: %s", header, wrap(p.markup(v), p.limit-(len(k)+2), "", optionIndent, 0))
		case *value.List:
			p.add("%s: %s", header, joined(v))
		default:
			p.add("%s: %s", header, p.indented(dump(v, false), strings.Repeat(" ", len(k)+2)))
		}
	}
}

// addedIn is when something was added, and to what, "" for nothing known.
func addedIn(version, collection string) string {
	switch {
	case collection == "ansible.builtin" && version == "historical":
		return version
	case collection == "ansible.builtin":
		collection = "ansible-core"
	case collection == "":
		return "version " + version
	}
	return "version " + version + " of " + collection
}

func (p *page) examples(v any) {
	if v == nil || !value.Truth(v) {
		return
	}
	p.add("")
	p.add("%s", p.bold("EXAMPLES:"))
	if s, ok := v.(string); ok {
		p.add("%s", strings.TrimSpace(s))
		return
	}
	block := false
	text, err := yaml.Dump(v, yaml.Style{Indent: 2, FlowStyle: &block})
	if err == nil {
		p.add("%s", text)
	}
}
