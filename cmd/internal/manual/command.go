package manual

import (
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// Cmd is the hidden command `manual` of a program: it writes the program's
// part of docs/COMMANDS.md, or its man page.
type Cmd struct {
	Man string `help:"Write a man page into this directory." placeholder:"DIR"`
}

// Write does it. pages has the program's prose by the full names of commands.
func (c *Cmd) Write(w io.Writer, k *kong.Kong, pages map[string]Page, release string) error {
	top := Of(k.Model.Node, k.Model.Name, pages)
	if c.Man != "" {
		return top.WriteMan(c.Man, release)
	}
	top.Markdown(w, 2)
	return nil
}

// Text is the program's part of docs/COMMANDS.md.
func Text(k *kong.Kong, pages map[string]Page) string {
	var b strings.Builder
	Of(k.Model.Node, k.Model.Name, pages).Markdown(&b, 2)
	return b.String()
}

// Printer prints --help as the pages have it.
func Printer(pages map[string]Page) kong.HelpPrinter {
	return func(opt kong.HelpOptions, ctx *kong.Context) error {
		node, name := ctx.Model.Node, ctx.Model.Name
		if sel := ctx.Selected(); sel != nil {
			node, name = sel, strings.Join(strings.Fields(sel.FullPath()), " ")
		}
		c := Of(node, name, pages)
		if opt.Summary {
			c.WriteUsage(ctx.Stdout)
			return nil
		}
		c.Help(ctx.Stdout, 0)
		return nil
	}
}
