package inventory

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"volant/controller/fault"
	"volant/wire/rx"
	"volant/wire/value"
)

var (
	iniSection = rx.Lazy(`^\[([^:\]\s]+)(?::([\pL\pN_]+))?\]\s*(?:#.*)?$`)
	iniGroup   = rx.Lazy(`^([^:\]\s]+)\s*(?:#.*)?$`)
)

func wantsIni(_ *Inventory, source string) bool {
	return readable(source) && filepath.Ext(source) != ".toml"
}

// pending is a group that a section spoke of before it was declared.
type pending struct {
	name, state string
	parents     []string
}

type iniParser struct {
	inv     *Inventory
	pos     value.Pos
	pending map[string]*pending
	order   []*pending
}

func parseIniFile(_ context.Context, inv *Inventory, source string) error {
	data, _, err := inv.opt.Files.Read(source)
	if err == nil {
		p := &iniParser{inv: inv, pos: value.Pos{File: source}, pending: map[string]*pending{}}
		err = p.parse(string(data))
	}
	if err != nil {
		return &fault.Error{Kind: fault.Parser, Msg: "Failed to parse inventory.", Pos: value.Pos{File: source}, Cause: err}
	}
	return nil
}

func iniError(format string, args ...any) error {
	return fault.New(fault.Generic, value.Pos{}, format, args...)
}

// splitLines is Python's str.splitlines.
func splitLines(s string) []string {
	var out []string
	start := 0
	for i := 0; i < len(s); {
		size := 0
		switch c := s[i]; {
		case c == '\r' && strings.HasPrefix(s[i:], "\r\n"):
			size = 2
		case c == '\n', c == '\r', c == '\v', c == '\f', c >= 0x1c && c <= 0x1e:
			size = 1
		case c == 0xc2 && strings.HasPrefix(s[i:], "\u0085"):
			size = 2
		case c == 0xe2 && (strings.HasPrefix(s[i:], "\u2028") || strings.HasPrefix(s[i:], "\u2029")):
			size = 3
		}
		if size == 0 {
			i++
			continue
		}
		out = append(out, s[start:i])
		i += size
		start = i
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

func (p *iniParser) parse(text string) error {
	group, state := "ungrouped", "hosts"
	valid := utf8.ValidString(text)
	for n, line := range splitLines(text) {
		p.pos.Line = n + 1
		line = strings.TrimFunc(line, unicode.IsSpace)
		if line == "" || line[0] == ';' || line[0] == '#' {
			continue
		}
		if !valid && !utf8.ValidString(line) {
			return iniError("'utf-8' codec can't decode the line: invalid start byte")
		}
		if line[0] == '[' {
			if m := iniSection.FindStringSubmatch(line); m != nil {
				var err error
				if group, state, err = p.section(m[1], m[2]); err != nil {
					return err
				}
				continue
			}
			if strings.HasSuffix(line, "]") {
				return iniError("Invalid section entry: '%s'. Please make sure that there are no spaces"+
					" in the section entry, and that there are no other invalid characters", line)
			}
		}
		var err error
		switch state {
		case "hosts":
			err = p.host(line, group)
		case "vars":
			err = p.variable(line, group)
		case "children":
			err = p.child(line, group)
		}
		if err != nil {
			return err
		}
	}
	for _, d := range p.order {
		if p.pending[d.name] != d {
			continue
		}
		if d.state == "vars" {
			return iniError("Section [%s:vars] not valid for undefined group '%s'.", d.name, d.name)
		}
		return iniError("Section [%s:children] includes undefined group '%s'.", d.parents[len(d.parents)-1], d.name)
	}
	return nil
}

func (p *iniParser) section(name, state string) (string, string, error) {
	group := safeName(name, p.inv.set.badNames, false, false, p.inv.opt.Sink)
	title := name + ":" + state
	switch state {
	case "":
		state = "hosts"
	case "hosts", "children", "vars":
	default:
		return "", "", iniError("Section [%s] has unknown type: %s", title, state)
	}
	if p.inv.groups[group] == nil {
		if state == "vars" && p.pending[group] == nil {
			p.wait(&pending{name: group, state: state})
		}
		if _, err := p.inv.addGroup(group); err != nil {
			return "", "", err
		}
	}
	if d := p.pending[group]; d != nil && state != "vars" {
		if d.state == "children" {
			if err := p.settle(group); err != nil {
				return "", "", err
			}
		} else {
			delete(p.pending, group)
		}
	}
	return group, state, nil
}

func (p *iniParser) wait(d *pending) {
	p.pending[d.name] = d
	p.order = append(p.order, d)
}

// settle makes a group the child of those that waited for it.
func (p *iniParser) settle(group string) error {
	d := p.pending[group]
	delete(p.pending, group)
	for _, parent := range d.parents {
		if _, err := p.inv.addChild(parent, group); err != nil {
			return err
		}
		if w := p.pending[parent]; w != nil && w.state == "children" {
			if err := p.settle(parent); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *iniParser) child(line, group string) error {
	m := iniGroup.FindStringSubmatch(line)
	if m == nil {
		return iniError("Expected group name, got: %s", line)
	}
	child := m[1]
	if p.inv.groups[child] != nil {
		_, err := p.inv.addChild(group, child)
		return err
	}
	if d := p.pending[child]; d != nil {
		d.parents = append(d.parents, group)
	} else {
		p.wait(&pending{name: child, state: "children", parents: []string{group}})
	}
	return nil
}

func (p *iniParser) variable(line, group string) error {
	k, v, ok := strings.Cut(line, "=")
	if !ok {
		return iniError("Expected key=value, got: %s", line)
	}
	return p.inv.setVariable(group, strings.TrimSpace(k), p.value(strings.TrimSpace(v)), p.pos)
}

func (p *iniParser) host(line, group string) error {
	words, err := splitWords(line)
	if err != nil {
		return during(iniError("Error parsing host definition '%s': %s", line, err))
	}
	if len(words) == 0 {
		return errors.New("list index out of range")
	}
	hosts, port, err := expandHosts(words[0])
	if err != nil {
		return err
	}
	if strings.HasSuffix(strings.TrimSpace(words[0]), ":") && port == 0 {
		return fault.New(fault.Parser, value.Pos{}, "Invalid host pattern '%s' supplied, ending in ':' is not allowed, this character is reserved to provide a port.", words[0])
	}
	for _, h := range hosts {
		if strings.TrimSpace(h) == "---" {
			return fault.New(fault.Parser, value.Pos{}, "Invalid host pattern '%s' supplied, '---' is normally a sign this is a YAML file.", words[0])
		}
	}
	vars := value.NewDict(len(words) - 1)
	for _, w := range words[1:] {
		k, v, ok := strings.Cut(w, "=")
		if !ok {
			return iniError("Expected key=value host variable assignment, got: %s", w)
		}
		vars.Set(k, p.value(v))
	}
	vars.Places = &value.Places{File: p.pos.File, Line: int32(p.pos.Line)} //nolint:gosec // a line number
	return p.inv.populate(hosts, vars, group, port)
}

// value types a value: a Python literal if it is one, else text.
func (p *iniParser) value(text string) any {
	if plainText(text) {
		return value.NewTemplate(text, p.pos)
	}
	v, err := literal(text)
	if err != nil {
		return value.NewTemplate(text, p.pos)
	}
	return p.trusted(v)
}

// plainText says that a text is surely no literal, which is cheaper to see
// than to try.
func plainText(s string) bool {
	if s == "" {
		return true
	}
	switch c := s[0]; {
	case c >= '0' && c <= '9', strings.IndexByte("'\"([{+-. \tNTFsrbuRBU", c) >= 0:
		return false
	}
	return true
}

func (p *iniParser) trusted(v any) any {
	switch v := v.(type) {
	case string:
		return value.NewTemplate(v, p.pos)
	case pyComplex:
		return value.NewTemplate(string(v), p.pos)
	case *value.List:
		pos := p.pos
		v.Place = &pos
		for i, e := range v.Items {
			v.Items[i] = p.trusted(e)
		}
	case *value.Dict:
		for i := range v.Len() {
			_, e := v.At(i)
			v.SetAt(i, p.trusted(e))
		}
	}
	return v
}
