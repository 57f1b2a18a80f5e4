package plugindoc

import (
	"fmt"
	"strings"

	"volant/wire/value"
)

// SnippetTypes are the types that have snippets.
var SnippetTypes = []string{"inventory", "lookup", "module"}

// snippetPad is where the text of an option starts in a snippet.
const snippetPad = 29

// Snippet is the plugin as it is written in a playbook, with a comment for
// each option. asked is the name that was asked for.
func (d *Doc) Snippet(look *Look, asked string) (string, error) {
	options, _ := d.Doc.Lookup("options").(*value.Dict)
	if d.Type == "inventory" && options != nil && value.Truth(options.Lookup("plugin")) {
		return "", fmt.Errorf("The %s inventory plugin does not take YAML type config source that can be used with the \"auto\" plugin so a snippet cannot be created.", asked) //nolint:staticcheck // the reference's text
	}
	var lines []string
	switch {
	case options == nil:
	case d.Type == "lookup":
		lines = d.lookupSnippet(options)
	default:
		var err error
		if lines, err = d.taskSnippet(options, look); err != nil {
			return "", err
		}
	}
	return strings.Join(append(lines, ""), "\n"), nil
}

func (d *Doc) called() string {
	for _, key := range []string{"plugin", "name"} {
		if s, ok := d.Doc.Str(key); ok {
			return s
		}
	}
	return "None"
}

func (d *Doc) taskSnippet(options *value.Dict, look *Look) ([]string, error) {
	var lines []string
	short, _ := d.Doc.Str("short_description")
	module, _ := d.Doc.Str("module")
	if module != "" {
		lines = append(lines, "- name: "+look.markup(short), "  "+module+":")
	} else {
		lines = append(lines, "# "+d.called()+":")
	}
	rest := strings.Repeat(" ", snippetPad) + "# "
	for _, name := range sortedKeys(options) {
		o, ok := options.Lookup(name).(*value.Dict)
		if !ok {
			continue
		}
		texts, err := descriptions(o, "description")
		if err != nil {
			return nil, err
		}
		text := look.markup(strings.Join(texts, " "))
		required := value.Truth(o.Lookup("required"))
		if module != "" {
			if required {
				text = "(required) " + text
			}
			lines = append(lines, fmt.Sprintf("      %-20s   # %s", name+":", wrap(text, look.Columns-snippetPad, "", rest, 0)))
			continue
		}
		def := "None"
		switch {
		case required:
			def = "(required)"
		case o.Has("default"):
			def = value.Str(o.Lookup("default"))
		}
		var paragraphs []string
		first := ""
		for _, p := range strings.Split(text, "\n\n") {
			paragraphs = append(paragraphs, filled(p, look.Columns-snippetPad, first, rest, 3))
			first = rest
		}
		lines = append(lines, fmt.Sprintf("%s %-9s # %s", name+":", def, strings.Join(paragraphs, "\n")))
	}
	return lines, nil
}

func (d *Doc) lookupSnippet(options *value.Dict) []string {
	snippet := "lookup('" + d.called() + "', "
	var lines []string
	for _, name := range sortedKeys(options) {
		o, ok := options.Lookup(name).(*value.Dict)
		if !ok {
			continue
		}
		kind := "string"
		if o.Has("type") {
			kind = value.Str(o.Lookup("type"))
		}
		description := ""
		if o.Has("description") {
			description = value.Str(o.Lookup("description"))
		}
		lines = append(lines, fmt.Sprintf("# %s(%s): %s", name, kind, description))
		if name == "_terms" || name == "_raw" || name == "_list" {
			snippet += "< " + name + " >"
			continue
		}
		def := "None"
		switch {
		case value.Truth(o.Lookup("required")):
			def = "<REQUIRED>"
		case o.Has("default"):
			def = value.Str(o.Lookup("default"))
		}
		if k := o.Lookup("type"); k == "string" || k == "str" {
			snippet += ", " + name + "='" + def + "'"
		} else {
			snippet += ", " + name + "=" + def
		}
	}
	if len(lines) > 0 {
		lines = append(lines, "")
	}
	return append(lines, snippet+")")
}

// Data is the document for a program.
func (d *Doc) Data() *value.Dict {
	doc := d.Doc.Clone()
	doc.Set("filename", d.File)
	doc.Set("collection", d.Collection)
	doc.Set("plugin_name", d.Name)
	if d.Type == "module" {
		doc.Set("has_action", d.Action)
	}
	var returns any
	if d.Returns != nil {
		returns = d.Returns
	}
	return value.DictOf("doc", doc, "examples", d.Examples, "return", returns, "metadata", nil)
}
