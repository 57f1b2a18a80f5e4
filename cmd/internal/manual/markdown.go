package manual

import (
	"fmt"
	"io"
	"strings"
)

// Markdown writes the command's part of docs/COMMANDS.md, with a heading of
// that level.
func (c *Command) Markdown(w io.Writer, level int) {
	fmt.Fprintf(w, "%s %s\n\n%s.\n", strings.Repeat("#", level), c.Name, upperFirst(c.Summary))
	if len(c.Children) == 0 || level == 2 {
		fmt.Fprintf(w, "\n    %s\n", strings.Join(c.Usage, "\n    "))
	}
	for _, t := range c.Text {
		fmt.Fprintf(w, "\n%s\n", escapeCell(t))
	}
	rows(w, "argument", "", c.Args)
	for _, g := range c.Groups {
		var list []Item
		for _, o := range g.Options {
			if o.Spelling = strings.TrimSpace(o.Spelling); len(c.Children) == 0 || o.Spelling != "-h, --help" {
				list = append(list, Item{o.Spelling, o.Text})
			}
		}
		title := ""
		if g.Title != "Options" {
			title = g.Title
		}
		rows(w, "option", title, list)
	}
	rows(w, "variable", "", c.Environment)
	rows(w, "file", "", c.Files)
	rows(w, "exit code", "", c.Exit)
	if len(c.Examples) > 0 {
		fmt.Fprint(w, "\nExamples:\n\n")
		for _, e := range c.Examples {
			fmt.Fprintf(w, "    # %s\n    %s\n", e.Text, e.Term)
		}
	}
	if len(c.See) > 0 {
		fmt.Fprintf(w, "\nSee also: %s.\n", strings.Join(c.See, ", "))
	}
	for _, ch := range c.Children {
		fmt.Fprintln(w)
		ch.Markdown(w, level+1)
	}
}

func rows(w io.Writer, kind, title string, list []Item) {
	if len(list) == 0 {
		return
	}
	if title != "" {
		fmt.Fprintf(w, "\n%s:\n", title)
	}
	fmt.Fprintf(w, "\n| %s | |\n| --- | --- |\n", kind)
	for _, it := range list {
		fmt.Fprintf(w, "| `%s` | %s |\n", strings.ReplaceAll(it.Term, "|", `\|`), escapeCell(it.Text))
	}
}

// escapeCell keeps text from being read as markup or as the end of a cell.
func escapeCell(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`).Replace(s)
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
