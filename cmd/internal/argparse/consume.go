package argparse

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"volant/wire/value"
)

// reading is one command line being read by one parser.
type reading struct {
	p       *Parser
	r       *Result
	args    []string
	pattern string         // per argument: O option, A argument, - the two dashes
	at      map[int]*match // the options, by index
	left    []Argument     // positional arguments still to be found
	groups  map[int]*Option
	extras  []string // nobody's
	below   []string // nobody's among the arguments of a command
}

// command is the positional argument that stands for a command and all that
// follows it.
const command = '>'

// parse reads args into r and returns what is nobody's.
func (p *Parser) parse(args []string, r *Result) ([]string, error) {
	d := &reading{p: p, r: r, args: args, at: map[int]*match{}, left: slices.Clone(p.Arguments), groups: map[int]*Option{}}
	if len(p.Commands) > 0 {
		d.left = append(d.left, Argument{p.CommandName, command})
	}
	last, err := d.look()
	if err != nil {
		return nil, err
	}
	pos := 0
	for pos <= last {
		next := pos
		for d.at[next] == nil {
			next++
		}
		if pos != next {
			end, err := d.positionals(pos)
			if err != nil {
				return nil, err
			}
			if end > pos {
				pos = end
				continue
			}
		}
		if d.at[pos] == nil {
			d.extras = append(d.extras, args[pos:next]...)
			pos = next
		}
		if pos, err = d.option(pos); err != nil {
			return nil, err
		}
	}
	if pos, err = d.positionals(pos); err != nil {
		return nil, err
	}
	var missing []string
	for _, a := range d.left {
		if a.Nargs == 0 || a.Nargs == '+' || a.Nargs == command {
			missing = append(missing, a.Name)
		}
	}
	if missing != nil {
		return nil, &Error{p, "the following arguments are required: " + strings.Join(missing, ", ")}
	}
	return slices.Concat(d.extras, args[pos:], d.below), nil
}

// look finds the options and returns the index of the last one, -1 for none.
func (d *reading) look() (int, error) {
	last := -1
	var pattern strings.Builder
	for i, a := range d.args {
		if a == "--" {
			pattern.WriteByte('-')
			pattern.WriteString(strings.Repeat("A", len(d.args)-i-1))
			break
		}
		m, err := d.p.optional(a)
		if err != nil {
			return 0, err
		}
		if m == nil {
			pattern.WriteByte('A')
			continue
		}
		pattern.WriteByte('O')
		d.at[i] = m
		last = i
	}
	d.pattern = pattern.String()
	return last, nil
}

// option takes the option at an index, with further ones in the same argument,
// and returns the index after it and its value.
func (d *reading) option(i int) (int, error) {
	m := *d.at[i]
	if m.option == nil {
		d.extras = append(d.extras, d.args[i])
		return i + 1, nil
	}
	type taken struct {
		option    *Option
		name, val string
	}
	var list []taken
	end := i + 1
	for {
		takes := m.option.Kind == Value
		if m.explicit == nil {
			if !takes {
				list = append(list, taken{m.option, m.name, ""})
				break
			}
			if !strings.HasPrefix(d.pattern[i+1:], "A") {
				return 0, d.p.refuse(m.option, "expected one argument")
			}
			list = append(list, taken{m.option, m.name, d.args[i+1]})
			end = i + 2
			break
		}
		if takes || m.option.Kind == Optional {
			list = append(list, taken{m.option, m.name, *m.explicit})
			break
		}
		// -abc is -a -b -c where these take no value.
		if m.name[1] == '-' || *m.explicit == "" {
			return 0, d.p.refuse(m.option, "ignored explicit argument %s", value.Repr(*m.explicit))
		}
		list = append(list, taken{m.option, m.name, ""})
		_, size := utf8.DecodeRuneInString(*m.explicit)
		next := d.p.find("-" + (*m.explicit)[:size])
		if next == nil {
			return 0, d.p.refuse(m.option, "ignored explicit argument %s", value.Repr(*m.explicit))
		}
		rest := (*m.explicit)[size:]
		m = match{next, "-" + (*m.explicit)[:size], &rest}
		if rest == "" {
			m.explicit = nil
		}
	}
	for _, t := range list {
		if err := d.take(t.option, t.name, t.val); err != nil {
			return 0, err
		}
	}
	return end, nil
}

func (d *reading) take(o *Option, name, val string) error {
	if o.Kind == Value {
		var err error
		if val, err = d.p.convert(o, val); err != nil {
			return err
		}
	}
	if o.Group != 0 {
		if other := d.groups[o.Group]; other != nil && other != o {
			return d.p.refuse(o, "not allowed with argument %s", other.label())
		}
		d.groups[o.Group] = o
	}
	switch o.Kind {
	case Help:
		d.r.Help = d.p
		return stop{}
	case Version:
		d.r.Version = true
		return stop{}
	case Refused:
		return &Error{d.p, "unrecognized arguments: " + name}
	}
	d.r.Options = append(d.r.Options, Given{o, name, val})
	return nil
}

// nargs are how many arguments a positional argument takes, as an expression
// over the pattern.
var nargs = map[byte]string{0: "(-*A-*)", '?': "(-*A?-*)", '*': "(-*[A-]*)", '+': "(-*A[A-]*)", command: "(-*A[-AO]*)"}

// positionals takes as many positional arguments as there are from an index on
// and returns the index after them.
func (d *reading) positionals(i int) (int, error) {
	for n := len(d.left); n > 0; n-- {
		expr := "^"
		for _, a := range d.left[:n] {
			expr += nargs[a.Nargs]
		}
		found := regexp.MustCompile(expr).FindStringSubmatch(d.pattern[i:])
		if found == nil {
			continue
		}
		list := d.left[:n]
		for k, a := range list {
			args := d.args[i : i+len(found[k+1])]
			i += len(args)
			if a.Nargs == command {
				if err := d.enter(args); err != nil {
					return 0, err
				}
				continue
			}
			if at := slices.Index(args, "--"); at >= 0 {
				args = slices.Delete(slices.Clone(args), at, at+1)
			}
			d.r.Arguments = append(d.r.Arguments, args...)
		}
		d.left = d.left[n:]
		break
	}
	return i, nil
}

// enter lets a command read the rest.
func (d *reading) enter(args []string) error {
	var names []string
	for _, c := range d.p.Commands {
		if c.Prog == args[0] {
			sub := *c
			sub.Prog = d.p.Prog + " " + c.Prog
			d.r.Command = c.Prog
			var err error
			d.below, err = sub.parse(args[1:], d.r)
			return err
		}
		names = append(names, c.Prog)
	}
	return &Error{d.p, fmt.Sprintf("argument %s: invalid choice: %s (choose from %s)", d.p.CommandName, value.Repr(args[0]), quoted(names))}
}
