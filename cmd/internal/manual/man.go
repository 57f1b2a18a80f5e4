package manual

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Man writes the command's man page, of section 1.
func (c *Command) Man(w io.Writer, release string) {
	name := strings.ReplaceAll(c.Name, " ", "-")
	fmt.Fprintf(w, ".TH %s 1 \"\" \"volant %s\" \"Volant\"\n", quote(strings.ToUpper(name)), release)
	fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n", roff(name), roff(c.Summary))
	for i, u := range c.Usage {
		if i > 0 {
			fmt.Fprint(w, ".br\n")
		}
		fmt.Fprintf(w, "%s\n", strings.Replace(roff(u), roff(c.Name), `\fB`+roff(c.Name)+`\fR`, 1))
	}
	fmt.Fprintf(w, ".SH DESCRIPTION\n%s.\n", line(upperFirst(c.Summary)))
	for _, t := range c.Text {
		fmt.Fprintf(w, ".PP\n%s\n", line(t))
	}
	c.manArguments(w, ".SH")
	for _, ch := range c.Children {
		ch.manCommand(w)
	}
	manItems(w, ".SH ENVIRONMENT", c.Environment)
	manItems(w, ".SH FILES", c.Files)
	manItems(w, ".SH EXIT STATUS", c.Exit)
	if len(c.Examples) > 0 {
		fmt.Fprint(w, ".SH EXAMPLES\n")
		for _, e := range c.Examples {
			fmt.Fprintf(w, ".PP\n%s:\n.PP\n.nf\n.RS\n%s\n.RE\n.fi\n", line(e.Text), line(e.Term))
		}
	}
	if len(c.See) > 0 {
		var refs []string
		for _, s := range c.See {
			refs = append(refs, `\fB`+roff(strings.ReplaceAll(s, " ", "-"))+`\fR(1)`)
		}
		fmt.Fprintf(w, ".SH SEE ALSO\n%s\n", strings.Join(refs, ",\n"))
	}
}

// manCommand writes a subcommand within its parent's page.
func (c *Command) manCommand(w io.Writer) {
	if len(c.Children) == 0 {
		fmt.Fprintf(w, ".SH %s\n%s.\n", quote(strings.ToUpper(c.Name)), line(upperFirst(c.Summary)))
		for _, u := range c.Usage {
			fmt.Fprintf(w, ".PP\n%s\n", line(u))
		}
		for _, t := range c.Text {
			fmt.Fprintf(w, ".PP\n%s\n", line(t))
		}
		c.manArguments(w, ".SS")
	}
	for _, ch := range c.Children {
		ch.manCommand(w)
	}
}

func (c *Command) manArguments(w io.Writer, macro string) {
	manItems(w, macro+" ARGUMENTS", c.Args)
	for _, g := range c.Groups {
		var list []Item
		for _, o := range g.Options {
			list = append(list, Item{strings.TrimSpace(o.Spelling), o.Text})
		}
		manItems(w, macro+" "+quote(strings.ToUpper(g.Title)), list)
	}
}

func manItems(w io.Writer, heading string, list []Item) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(w, heading)
	for _, it := range list {
		fmt.Fprintf(w, ".TP\n\\fB%s\\fR\n%s\n", roff(it.Term), line(it.Text))
	}
}

// roff escapes text.
func roff(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(s)
}

// line is text that starts a line of input, where a dot would be a macro.
func line(s string) string {
	s = roff(s)
	if strings.HasPrefix(s, ".") {
		return `\&` + s
	}
	return s
}

func quote(s string) string { return `"` + roff(s) + `"` }

// WriteMan writes the man page into a directory, which is made.
func (c *Command) WriteMan(dir, release string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var b strings.Builder
	c.Man(&b, release)
	name := strings.ReplaceAll(c.Name, " ", "-") + ".1"
	return os.WriteFile(filepath.Join(dir, name), []byte(b.String()), 0o644)
}
