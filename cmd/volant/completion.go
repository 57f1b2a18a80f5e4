package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"volant/cmd/internal/manual"
)

// completionMain writes a completion script.
func completionMain(_ context.Context, p *process, args []string) error {
	var opt struct {
		Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
	}
	if err := parse(p, &opt, "Write completions for a shell.", args); err != nil {
		return err
	}
	var list []*manual.Command
	for _, n := range names() {
		c, err := p.commandPage(strings.TrimPrefix(n, "volant "), n)
		if err != nil {
			return err
		}
		list = append(list, c)
	}
	switch opt.Shell {
	case "fish":
		fishCompletion(p.stdout, list)
	case "zsh":
		fmt.Fprint(p.stdout, "#compdef volant "+strings.Join(slices.Sorted(maps.Keys(aliases)), " ")+"\n"+
			"autoload -U +X bashcompinit && bashcompinit\n")
		bashCompletion(p.stdout, list)
	default:
		bashCompletion(p.stdout, list)
	}
	return nil
}

// words are the spellings of a command's options, subcommands' included.
func words(c *manual.Command) (options, children []string) {
	for _, g := range c.Groups {
		for _, o := range g.Options {
			for _, s := range strings.Split(strings.TrimSpace(o.Spelling), ", ") {
				name, _, _ := strings.Cut(s, "=")
				options = append(options, strings.Replace(name, "[no-]", "", 1))
			}
		}
	}
	for _, ch := range c.Children {
		children = append(children, ch.Name[strings.LastIndexByte(ch.Name, ' ')+1:])
		more, _ := words(ch)
		options = append(options, more...)
	}
	slices.Sort(options)
	return slices.Compact(options), children
}

func bashCompletion(w io.Writer, list []*manual.Command) {
	fmt.Fprint(w, `_volant() {
	local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[0]##*/} options children
	case $command in
`)
	for _, alias := range slices.Sorted(maps.Keys(aliases)) {
		fmt.Fprintf(w, "	%s) command=%s ;;\n", alias, aliases[alias])
	}
	var all []string
	for _, c := range list {
		all = append(all, strings.TrimPrefix(c.Name, "volant "))
	}
	fmt.Fprintf(w, `	*)
		if [ "$COMP_CWORD" -eq 1 ]; then
			COMPREPLY=($(compgen -W "%s help version" -- "$cur"))
			return
		fi
		command=${COMP_WORDS[1]}
		;;
	esac
	case $command in
	help) children="%s" ;;
`, strings.Join(all, " "), strings.Join(all, " "))
	for _, c := range list {
		options, children := words(c)
		fmt.Fprintf(w, "	%s)\n		options=%q\n", strings.TrimPrefix(c.Name, "volant "), strings.Join(options, " "))
		if c.Name == "volant completion" {
			children = []string{"bash", "zsh", "fish"}
		}
		if len(children) > 0 {
			fmt.Fprintf(w, "		children=%q\n", strings.Join(children, " "))
		}
		fmt.Fprint(w, "		;;\n")
	}
	fmt.Fprintf(w, `	esac
	case $cur in
	-*) COMPREPLY=($(compgen -W "$options" -- "$cur")) ;;
	*) COMPREPLY=($(compgen -W "$children" -- "$cur") $(compgen -f -- "$cur")) ;;
	esac
}
complete -o filenames -F _volant volant %s
`, strings.Join(slices.Sorted(maps.Keys(aliases)), " "))
}

func fishCompletion(w io.Writer, list []*manual.Command) {
	quote := func(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'" }
	for _, c := range list {
		name := strings.TrimPrefix(c.Name, "volant ")
		fmt.Fprintf(w, "complete -c volant -n __fish_use_subcommand -f -a %s -d %s\n", name, quote(c.Summary))
		where := "-c volant -n " + quote("__fish_seen_subcommand_from "+name)
		fishOptions(w, where, c, quote)
		for _, ch := range c.Children {
			short := ch.Name[strings.LastIndexByte(ch.Name, ' ')+1:]
			fmt.Fprintf(w, "complete %s -f -a %s -d %s\n", where, short, quote(ch.Summary))
			fishOptions(w, "-c volant -n "+quote("__fish_seen_subcommand_from "+name+"; and __fish_seen_subcommand_from "+short), ch, quote)
		}
		for _, alias := range slices.Sorted(maps.Keys(aliases)) {
			if aliases[alias] == name {
				fishOptions(w, "-c "+alias, c, quote)
			}
		}
	}
}

func fishOptions(w io.Writer, where string, c *manual.Command, quote func(string) string) {
	for _, g := range c.Groups {
		for _, o := range g.Options {
			line := "complete " + where
			takes := false
			for _, s := range strings.Split(strings.TrimSpace(o.Spelling), ", ") {
				s, _, value := strings.Cut(strings.Replace(s, "[no-]", "", 1), "=")
				takes = takes || value
				if long, ok := strings.CutPrefix(s, "--"); ok {
					line += " -l " + long
				} else {
					line += " -s " + s[1:]
				}
			}
			if takes {
				line += " -r"
			}
			fmt.Fprintf(w, "%s -d %s\n", line, quote(o.Text))
		}
	}
}
