package argparse

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// narrowest is what usage lines are never folded below.
const narrowest = 11

// WriteUsage writes the usage lines for a terminal of so many columns.
func (p *Parser) WriteUsage(w io.Writer, columns int) {
	const prefix = "usage: "
	width := max(columns-2, narrowest)
	options, arguments := p.optionParts(), p.argumentParts()
	length := len(prefix) + runes(p.Prog)
	for _, part := range append(append([]string{}, options...), arguments...) {
		length += 1 + runes(part)
	}
	if length <= width {
		fmt.Fprintln(w, prefix+strings.Join(append(append([]string{p.Prog}, options...), arguments...), " "))
		return
	}
	var lines []string
	if len(prefix)+runes(p.Prog) <= width*3/4 {
		indent := strings.Repeat(" ", len(prefix)+runes(p.Prog)+1)
		switch {
		case len(options) > 0:
			lines = folded(append([]string{p.Prog}, options...), indent, prefix, width)
			lines = append(lines, folded(arguments, indent, "", width)...)
		default:
			lines = folded(append([]string{p.Prog}, arguments...), indent, prefix, width)
		}
	} else {
		indent := strings.Repeat(" ", len(prefix))
		lines = folded(append(append([]string{}, options...), arguments...), indent, "", width)
		if len(lines) > 1 {
			lines = append(folded(options, indent, "", width), folded(arguments, indent, "", width)...)
		}
		lines = append([]string{p.Prog}, lines...)
	}
	fmt.Fprintln(w, prefix+strings.Join(lines, "\n"))
}

func runes(s string) int { return utf8.RuneCountInString(s) }

// folded are parts in lines that start with indent; with a prefix the first one
// comes after that instead.
func folded(parts []string, indent, prefix string, width int) []string {
	var lines, line []string
	length := len(indent) - 1
	if prefix != "" {
		length = len(prefix) - 1
	}
	for _, part := range parts {
		if length+1+runes(part) > width && line != nil {
			lines = append(lines, indent+strings.Join(line, " "))
			line, length = nil, len(indent)-1
		}
		line = append(line, part)
		length += runes(part) + 1
	}
	if line != nil {
		lines = append(lines, indent+strings.Join(line, " "))
	}
	if prefix != "" {
		lines[0] = lines[0][len(indent):]
	}
	return lines
}

func (p *Parser) optionParts() []string {
	var out []string
	group := 0
	for i := range p.Options {
		o := &p.Options[i]
		if o.Unlisted {
			continue
		}
		text := o.Names[0]
		if o.Kind == Value {
			text += " " + o.metavar()
		}
		if o.Group != 0 && o.Group == group {
			out[len(out)-1] = strings.TrimSuffix(out[len(out)-1], "]") + " | " + text + "]"
			continue
		}
		group = o.Group
		out = append(out, "["+text+"]")
	}
	return out
}

func (o *Option) metavar() string {
	if o.Metavar == "" && o.Choices != nil {
		return "{" + strings.Join(o.Choices, ",") + "}"
	}
	return o.Metavar
}

func (p *Parser) argumentParts() []string {
	var out []string
	for _, a := range p.Arguments {
		switch a.Nargs {
		case '?':
			out = append(out, "["+a.Name+"]")
		case '*':
			out = append(out, "["+a.Name+" ...]")
		case '+':
			out = append(out, a.Name, "["+a.Name+" ...]")
		default:
			out = append(out, a.Name)
		}
	}
	if len(p.Commands) > 0 {
		var names []string
		for _, c := range p.Commands {
			names = append(names, c.Prog)
		}
		out = append(out, "{"+strings.Join(names, ",")+"}", "...")
	}
	return out
}
