package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"volant/cmd/internal/manual"
)

// names are the commands for users, sorted.
func names() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(pages)), func(n string) bool { return n == "volant" || strings.Count(n, " ") > 1 })
}

// errDescribed ends a command whose options were asked for.
var errDescribed = errors.New("described")

// commandPage is everything there is to say of a command, called by that name.
func (p *process) commandPage(sub, name string) (*manual.Command, error) {
	do := p.find(sub)
	if do == nil || hidden[sub] {
		return nil, fmt.Errorf("there is no command %q", sub)
	}
	var c *manual.Command
	q := &process{name: name, describe: func(options any) error {
		k, err := kong.New(options, kong.Name(name))
		if err != nil {
			return err
		}
		c = manual.Of(k.Model.Node, name, pagesOf(sub, name))
		return errDescribed
	}}
	if err := do(context.Background(), q, nil); !errors.Is(err, errDescribed) {
		return nil, fmt.Errorf("describing %s: %w", sub, err)
	}
	return c, nil
}

// pagesOf is the prose as it is found when the command is called by that name.
func pagesOf(sub, name string) map[string]manual.Page {
	out := map[string]manual.Page{}
	for n, page := range pages {
		if below, ok := strings.CutPrefix(n, "volant "+sub); ok && (below == "" || below[0] == ' ') {
			out[name+below] = page
		}
	}
	return out
}

// help prints what --help shows, or the usage line alone for an error.
func (p *process) help(opt kong.HelpOptions, ctx *kong.Context) error {
	node, name := ctx.Model.Node, p.name
	if sel := ctx.Selected(); sel != nil {
		for n := sel; n != nil && n.Type == kong.CommandNode; n = n.Parent {
			node = sel
		}
		name = strings.Join(strings.Fields(sel.FullPath()), " ")
	}
	c := manual.Of(node, name, pagesOf(p.command, p.name))
	if opt.Summary {
		c.WriteUsage(ctx.Stdout)
		return nil
	}
	c.Help(ctx.Stdout, p.width)
	return nil
}

// helpMain is `volant help [COMMAND]`.
func helpMain(_ context.Context, p *process, args []string) error {
	if len(args) == 0 {
		usage(p.stdout)
		return nil
	}
	sub := args[0]
	if s, ok := aliases[sub]; ok {
		sub = s
	}
	c, err := p.commandPage(sub, "volant "+sub)
	if err != nil {
		fmt.Fprintf(p.stderr, "volant: there is no command %q\n", args[0])
		usage(p.stderr)
		return &exit{code: codeUsage}
	}
	for _, word := range args[1:] {
		i := slices.IndexFunc(c.Children, func(ch *manual.Command) bool { return ch.Name == c.Name+" "+word })
		if i < 0 {
			fmt.Fprintf(p.stderr, "volant: there is no command %q\n", strings.Join(args, " "))
			return &exit{code: codeUsage}
		}
		c = c.Children[i]
	}
	c.Help(p.stdout, p.width)
	return nil
}

// usage is `volant --help`.
func usage(w io.Writer) {
	top := pages["volant"]
	fmt.Fprint(w, "usage: volant COMMAND [OPTION...] [ARGUMENT...]\n       volant help [COMMAND]\n\nCommands:\n")
	for _, n := range names() {
		short := strings.TrimPrefix(n, "volant ")
		fmt.Fprintf(w, "  %-12s %s\n", short, pages[n].Summary)
	}
	fmt.Fprintf(w, "  %-12s %s\n", "version", "show the version")
	fmt.Fprint(w, "\nEach command has --help. A link called ansible-playbook, ansible, ansible-inventory,\n"+
		"ansible-vault, ansible-config or ansible-doc does as that command.\n\nExit codes:\n")
	for _, e := range top.Exit {
		fmt.Fprintf(w, "  %-12s %s\n", e.Term, e.Text)
	}
}

// manualMain writes the manual: docs/COMMANDS.md's part, or man pages.
func manualMain(_ context.Context, p *process, args []string) error {
	var opt struct {
		Man string `help:"Write man pages into this directory."`
	}
	if err := parse(p, &opt, "Write the manual.", args); err != nil {
		return err
	}
	if opt.Man == "" {
		return p.commandsText(p.stdout)
	}
	if err := topPage().WriteMan(opt.Man, release()); err != nil {
		return err
	}
	for _, n := range names() {
		c, err := p.commandPage(strings.TrimPrefix(n, "volant "), n)
		if err != nil {
			return err
		}
		if err := c.WriteMan(opt.Man, release()); err != nil {
			return err
		}
	}
	return nil
}

// topPage is the page of volant itself.
func topPage() *manual.Command {
	c := &manual.Command{Name: "volant", Usage: []string{"volant COMMAND [OPTION...] [ARGUMENT...]", "volant help [COMMAND]", "volant version"}, Page: pages["volant"]}
	for _, n := range names() {
		c.Args = append(c.Args, manual.Item{Term: strings.TrimPrefix(n, "volant "), Text: upper(pages[n].Summary) + "."})
		c.See = append(c.See, n)
	}
	return c
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// commandsText is volant's part of docs/COMMANDS.md.
func (p *process) commandsText(w io.Writer) error {
	top := *topPage()
	top.See = nil
	top.Markdown(w, 2)
	for _, n := range names() {
		c, err := p.commandPage(strings.TrimPrefix(n, "volant "), n)
		if err != nil {
			return err
		}
		fmt.Fprintln(w)
		c.Markdown(w, 2)
	}
	return nil
}
