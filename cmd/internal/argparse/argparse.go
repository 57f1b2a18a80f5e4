// Package argparse reads command lines by the rules of Python's argparse, which
// ansible-core's commands are built on: which abbreviations are taken, how
// options and arguments may be mixed, what is refused and in which words.
package argparse

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"volant/wire/value"
)

// Kind is what an option does with the command line.
type Kind int

// The kinds of options.
const (
	Value    Kind = iota // takes one argument
	Flag                 // takes none
	Count                // takes none and counts
	Help                 // ends reading: the help is wanted
	Version              // ends reading: the version is wanted
	Optional             // takes an argument that is joined to it with =, or none
	Refused              // is known and answered as if it were not
)

// Option is one option.
type Option struct {
	Names   []string // with their dashes, in the order messages have them
	Metavar string   // what the usage calls its argument
	Kind    Kind
	Int     bool     // the argument is a whole number
	Choices []string // what the argument may be, nil for anything
	// Group is the number of a group of which one option may be given at most,
	// 0 for none. Options of a group stand together.
	Group int
	// Exact options are taken by their full name only, Unlisted ones are not in
	// the usage.
	Exact, Unlisted bool
}

// Argument is a positional argument.
type Argument struct {
	Name  string
	Nargs byte // 0 for exactly one, or '?', '*', '+'
}

// Parser is a command line.
type Parser struct {
	Prog      string
	Options   []Option
	Arguments []Argument
	// Commands, where there are any, are the choices of one last argument
	// called CommandName; the rest of the command line is theirs.
	Commands    []*Parser // Prog is the name alone
	CommandName string
}

// Given is an option of a command line.
type Given struct {
	Option *Option
	Name   string // as it was found, unabbreviated
	Value  string // of kinds that take one
}

// Result is what a command line says.
type Result struct {
	Help    *Parser // whose help is wanted, else nil
	Version bool
	// Options of the innermost command in the order they were given. As in
	// argparse, those before the name of a command are forgotten.
	Options   []Given
	Arguments []string
	Command   string
}

// Error is a command line that is refused.
type Error struct {
	Parser *Parser // whose usage is shown
	Msg    string
}

// Error is the message without the program's name.
func (e *Error) Error() string { return e.Msg }

// stop ends reading because the help or the version is wanted.
type stop struct{}

func (stop) Error() string { return "stopped" }

// Parse reads a command line. The error is an *Error.
func (p *Parser) Parse(args []string) (*Result, error) {
	r := &Result{}
	extras, err := p.parse(args, r)
	if _, stopped := err.(stop); stopped {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	if len(extras) > 0 {
		return nil, &Error{p, "unrecognized arguments: " + strings.Join(extras, " ")}
	}
	return r, nil
}

// find returns the option of that name, nil for none.
func (p *Parser) find(name string) *Option {
	for i := range p.Options {
		for _, n := range p.Options[i].Names {
			if n == name {
				return &p.Options[i]
			}
		}
	}
	return nil
}

// match is an option found in an argument.
type match struct {
	option   *Option // nil for what looks like one and is not known
	name     string
	explicit *string // the value that came with it
}

// optional reads an argument that may be an option; nil for one that is not.
func (p *Parser) optional(arg string) (*match, error) {
	if arg == "" || arg[0] != '-' {
		return nil, nil
	}
	if o := p.find(arg); o != nil {
		return &match{o, arg, nil}, nil
	}
	if len(arg) == 1 {
		return nil, nil
	}
	if name, val, ok := strings.Cut(arg, "="); ok {
		if o := p.find(name); o != nil {
			return &match{o, name, &val}, nil
		}
	}
	found := p.abbreviated(arg)
	switch {
	case len(found) > 1:
		var names []string
		for _, m := range found {
			names = append(names, m.name)
		}
		return nil, &Error{p, fmt.Sprintf("ambiguous option: %s could match %s", arg, strings.Join(names, ", "))}
	case len(found) == 1:
		return &found[0], nil
	case negative(arg), strings.Contains(arg, " "):
		return nil, nil
	}
	return &match{nil, arg, nil}, nil
}

// abbreviated are the options that an argument may be short for.
func (p *Parser) abbreviated(arg string) []match {
	var out []match
	prefix, short := arg, ""
	var explicit, rest *string
	if arg[1] == '-' {
		if name, val, ok := strings.Cut(arg, "="); ok {
			prefix, explicit = name, &val
		}
	} else {
		_, size := utf8.DecodeRuneInString(arg[1:])
		short = arg[:1+size]
		tail := arg[1+size:]
		rest = &tail
	}
	for i := range p.Options {
		o := &p.Options[i]
		for _, n := range o.Names {
			switch {
			case short != "" && n == short:
				out = append(out, match{o, n, rest})
			case strings.HasPrefix(n, prefix) && !o.Exact:
				out = append(out, match{o, n, explicit})
			}
		}
	}
	return out
}

// negative tells whether an argument looks like a negative number, which is
// never an option.
func negative(arg string) bool {
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	whole, part, dot := strings.Cut(arg[1:], ".")
	if dot {
		return (whole == "" || digits(whole)) && digits(part)
	}
	return digits(whole)
}

// label is an option as messages name it.
func (o *Option) label() string { return strings.Join(o.Names, "/") }

// convert checks the value of an option.
func (p *Parser) convert(o *Option, val string) (string, error) {
	if o.Int {
		n, ok := integer(val)
		if !ok {
			return "", p.refuse(o, "invalid tag_value value: %s", value.Repr(val))
		}
		val = n
	}
	if o.Choices != nil {
		for _, c := range o.Choices {
			if c == val {
				return val, nil
			}
		}
		return "", p.refuse(o, "invalid choice: %s (choose from %s)", value.Repr(val), quoted(o.Choices))
	}
	return val, nil
}

func (p *Parser) refuse(o *Option, format string, args ...any) error {
	return &Error{p, fmt.Sprintf("argument %s: ", o.label()) + fmt.Sprintf(format, args...)}
}

func quoted(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = value.Repr(s)
	}
	return strings.Join(out, ", ")
}

// integer reads a number as Python's int does; one that is too large becomes
// the largest there is.
func integer(s string) (string, bool) {
	t := strings.TrimSpace(s)
	neg := strings.HasPrefix(t, "-")
	if t != "" && (neg || t[0] == '+') {
		t = t[1:]
	}
	digit := false
	for i, c := range t {
		switch {
		case c >= '0' && c <= '9':
			digit = true
		case c == '_' && digit && i+1 < len(t):
			digit = false
		default:
			return "", false
		}
	}
	if !digit {
		return "", false
	}
	t = strings.ReplaceAll(t, "_", "")
	n, err := strconv.ParseInt(t, 10, 64)
	if err != nil {
		n = 1<<63 - 1
	}
	if neg {
		n = -n
	}
	return strconv.FormatInt(n, 10), true
}
