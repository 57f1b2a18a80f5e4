// Package manual writes what a command's users read: --help, its part of
// docs/COMMANDS.md and its man page, all from the structs the command line is
// parsed with and a page of prose beside them.
package manual

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
)

// Item is a term and what is said of it.
type Item struct{ Term, Text string }

// Page is the prose of one command.
type Page struct {
	Summary     string   // one line, lower case, no full stop
	Text        []string // paragraphs
	Files       []Item
	Environment []Item
	Exit        []Item   // codes and when
	Examples    []Item   // commands and what they do
	See         []string // other commands
}

// Command is a command with everything there is to say of it.
type Command struct {
	Name  string // such as "volant vault encrypt"
	Usage []string
	Page
	Args     []Item
	Groups   []Group
	Children []*Command
}

// Group is a heading with the options below it.
type Group struct {
	Title   string
	Options []Option
}

// Option is one option of a command.
type Option struct {
	Spelling string // "-i, --inventory=INVENTORY"
	Text     string // help, default, choices
}

// Of describes the command of a node. pages has the prose by full name.
func Of(node *kong.Node, name string, pages map[string]Page) *Command {
	c := &Command{Name: name, Page: pages[name]}
	if c.Summary == "" {
		c.Summary = strings.TrimSuffix(lowerFirst(node.Help), ".")
	}
	for _, p := range node.Positional {
		c.Args = append(c.Args, Item{argument(p), p.Help})
	}
	c.options(node)
	if node.Argument == nil && len(node.Children) == 0 {
		c.Usage = append(c.Usage, usage(name, node))
		return c
	}
	for _, n := range node.Children {
		if n.Hidden {
			continue
		}
		child := Of(n, name+" "+n.Name, pages)
		c.Children = append(c.Children, child)
		c.Usage = append(c.Usage, child.Usage...)
	}
	return c
}

func lowerFirst(s string) string {
	if len(s) > 1 && s[0] >= 'A' && s[0] <= 'Z' && (s[1] < 'A' || s[1] > 'Z') {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

func usage(name string, node *kong.Node) string {
	words := []string{name, "[OPTION...]"}
	for _, p := range node.Positional {
		words = append(words, argument(p))
	}
	return strings.Join(words, " ")
}

// argument is how a positional argument is written in a usage line.
func argument(p *kong.Value) string {
	s := strings.ToUpper(p.Name)
	if p.IsSlice() {
		s += "..."
	}
	if !p.Required {
		s = "[" + s + "]"
	}
	return s
}

// options collects the options in the order they are declared, by group.
func (c *Command) options(node *kong.Node) {
	at := map[string]int{}
	for _, f := range node.Flags {
		if f.Hidden {
			continue
		}
		title := "Options"
		if f.Group != nil {
			title = f.Group.Title
		}
		i, ok := at[title]
		if !ok {
			i = len(c.Groups)
			at[title] = i
			c.Groups = append(c.Groups, Group{Title: title})
		}
		c.Groups[i].Options = append(c.Groups[i].Options, Option{spelling(f), describe(f)})
	}
}

func spelling(f *kong.Flag) string {
	s := "    "
	if f.Short != 0 {
		s = "-" + string(f.Short) + ", "
	}
	s += "--" + f.Name
	switch {
	case f.IsBool() && f.Tag != nil && f.Tag.Negatable != "":
		s = strings.Replace(s, "--", "--[no-]", 1)
	case f.IsBool(), f.IsCounter():
	default:
		s += "=" + placeholder(f)
	}
	return s
}

func placeholder(f *kong.Flag) string {
	switch {
	case f.PlaceHolder != "":
		return f.PlaceHolder
	case kind(f.Value) == reflect.Int || kind(f.Value) == reflect.Int64 && f.Target.Type().String() != "time.Duration":
		return "N"
	case f.Target.Type().String() == "time.Duration":
		return "TIME"
	case strings.HasSuffix(f.Name, "dir"):
		return "DIR"
	case strings.HasSuffix(f.Name, "file"):
		return "FILE"
	}
	return strings.ToUpper(f.Name[strings.LastIndexByte(f.Name, '-')+1:])
}

func kind(v *kong.Value) reflect.Kind {
	t := v.Target.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind()
}

// describe is the help of an option with its default, choices, variable and
// other names.
func describe(f *kong.Flag) string {
	text := f.Help
	if f.Name == "help" {
		return "Show this."
	}
	if f.Default != "" && !f.IsBool() && !strings.Contains(text, "efault") {
		text += fmt.Sprintf(" Default: %s.", f.Default)
	}
	if f.Enum != "" {
		var choices []string
		missing := false
		for _, e := range strings.Split(f.Enum, ",") {
			if e != "" {
				choices = append(choices, e)
				missing = missing || !strings.Contains(text, e)
			}
		}
		if missing {
			text += " One of " + strings.Join(choices, ", ") + "."
		}
	}
	if len(f.Envs) > 0 {
		text += " Environment: " + strings.Join(f.Envs, ", ") + "."
	}
	if len(f.Aliases) > 0 {
		text += " Also --" + strings.Join(f.Aliases, ", --") + "."
	}
	if f.Required {
		text += " Required."
	}
	return strings.TrimSpace(text)
}
