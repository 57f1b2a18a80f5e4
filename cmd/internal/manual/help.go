package manual

import (
	"fmt"
	"io"
	"strings"
)

const (
	leftColumn = 30 // where the text of an option starts
	narrow     = 60 // what text is never folded below
)

// Help writes what --help shows, folded to width columns (0: 80).
func (c *Command) Help(w io.Writer, width int) {
	if width == 0 {
		width = 80
	}
	width = min(max(width, leftColumn+narrow/2), 110)
	c.WriteUsage(w)
	summary := strings.ToUpper(c.Summary[:min(1, len(c.Summary))]) + c.Summary[min(1, len(c.Summary)):] + "."
	fmt.Fprintln(w)
	para(w, summary, 0, width)
	for _, t := range c.Text {
		fmt.Fprintln(w)
		para(w, t, 0, width)
	}
	if len(c.Children) > 0 {
		fmt.Fprint(w, "\nCommands:\n")
		c.tree(w, width, c.Name)
		fmt.Fprintf(w, "\n%q shows the options of one.\n", c.Name+" COMMAND --help")
	}
	items(w, "Arguments", c.Args, width)
	for _, g := range c.Groups {
		list := make([]Item, 0, len(g.Options))
		for _, o := range g.Options {
			list = append(list, Item{o.Spelling, o.Text})
		}
		items(w, g.Title, list, width)
	}
	items(w, "Environment", c.Environment, width)
	items(w, "Files", c.Files, width)
	if len(c.Examples) > 0 {
		fmt.Fprint(w, "\nExamples:\n")
		for _, e := range c.Examples {
			para(w, "# "+e.Text, 2, width)
			fmt.Fprintf(w, "  %s\n", e.Term)
		}
	}
	items(w, "Exit codes", c.Exit, width)
}

// WriteUsage writes the usage lines.
func (c *Command) WriteUsage(w io.Writer) {
	head := "usage: "
	for _, u := range c.Usage {
		fmt.Fprintf(w, "%s%s\n", head, u)
		head = "       "
	}
}

// tree lists the commands below c by their names below root.
func (c *Command) tree(w io.Writer, width int, root string) {
	for _, ch := range c.Children {
		if len(ch.Children) > 0 {
			ch.tree(w, width, root)
			continue
		}
		item(w, Item{strings.TrimPrefix(ch.Name, root+" "), ch.Summary}, width)
	}
}

func items(w io.Writer, title string, list []Item, width int) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s:\n", title)
	for _, it := range list {
		item(w, it, width)
	}
}

func item(w io.Writer, it Item, width int) {
	lines := fold(it.Text, width-leftColumn)
	first := "  " + it.Term
	if len(first)+2 > leftColumn {
		fmt.Fprintln(w, first)
		first = ""
	}
	for i, l := range lines {
		if i > 0 {
			first = ""
		}
		fmt.Fprintf(w, "%-*s%s\n", leftColumn, first, l)
	}
	if len(lines) == 0 && first != "" {
		fmt.Fprintln(w, first)
	}
}

func para(w io.Writer, text string, indent, width int) {
	for _, l := range fold(text, width-indent) {
		fmt.Fprintf(w, "%s%s\n", strings.Repeat(" ", indent), l)
	}
}

// fold breaks text at spaces into lines of at most width characters, longer
// words aside.
func fold(text string, width int) []string {
	var out []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) <= width:
			line += " " + word
		default:
			out = append(out, line)
			line = word
		}
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}
