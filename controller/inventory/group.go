package inventory

import (
	"slices"
	"strings"
	"sync/atomic"
	"unicode"

	"volant/controller/fault"
	"volant/wire/value"
)

// Group is one group.
type Group struct {
	Name     string
	Vars     *value.Dict
	Hosts    []*Host // direct members, in the order added
	Children []*Group
	Parents  []*Group
	Depth    int
	Priority int

	members map[*Host]bool
	all     atomic.Pointer[[]*Host] // of it and all below; nil when stale
}

func newGroup(name string) *Group {
	return &Group{Name: name, Vars: value.NewDict(0), Priority: 1, members: map[*Host]bool{}}
}

// AllHosts are the hosts of g and of every group below, each once, in order.
// The slice is shared and must not be changed.
func (g *Group) AllHosts() []*Host {
	if p := g.all.Load(); p != nil {
		return *p
	}
	var out []*Host
	seen := make(map[*Host]bool, len(g.Hosts))
	for _, sub := range g.Descendants() {
		for _, h := range sub.Hosts {
			if !seen[h] {
				seen[h] = true
				if g.Name == "all" && h.Implicit {
					continue
				}
				out = append(out, h)
			}
		}
	}
	g.all.Store(&out)
	return out
}

// Descendants are g itself and all groups below, breadth first.
func (g *Group) Descendants() []*Group {
	out := []*Group{g}
	seen := map[*Group]bool{g: true}
	for i := 0; i < len(out); i++ {
		for _, c := range out[i].Children {
			if !seen[c] {
				seen[c] = true
				out = append(out, c)
			}
		}
	}
	return out
}

// Ancestors are all groups above g.
func (g *Group) Ancestors() []*Group {
	var out []*Group
	seen := map[*Group]bool{}
	todo := g.Parents
	for len(todo) > 0 {
		var next []*Group
		for _, p := range todo {
			if !seen[p] {
				seen[p] = true
				out = append(out, p)
				next = append(next, p.Parents...)
			}
		}
		todo = next
	}
	return out
}

// stale forgets the host lists of g and of the groups above.
func (g *Group) stale() {
	g.all.Store(nil)
	for _, a := range g.Ancestors() {
		a.all.Store(nil)
	}
}

// addChild makes c a child of g and reports whether it was not.
func (g *Group) addChild(c *Group) (bool, error) {
	if g == c {
		return false, fault.New(fault.Generic, value.Pos{}, "can't add group to itself")
	}
	if slices.Contains(g.Children, c) {
		return false, nil
	}
	above := g.Ancestors()
	if slices.Contains(above, c) {
		return false, fault.New(fault.Generic, value.Pos{},
			"Adding group '%s' as child to '%s' creates a recursive dependency loop.", c.Name, g.Name)
	}
	g.Children = append(g.Children, c)
	c.sink(g.Depth + 1)
	if !slices.ContainsFunc(c.Parents, func(p *Group) bool { return p.Name == g.Name }) {
		c.Parents = append(c.Parents, g)
		above = append(above, g)
		for _, h := range c.AllHosts() {
			for _, a := range above {
				h.join(a)
			}
		}
	}
	g.stale()
	return true, nil
}

// sink puts g at depth or deeper, and its children below it.
func (g *Group) sink(depth int) {
	if g.Depth >= depth && depth > 0 {
		return
	}
	g.Depth = depth
	for _, c := range g.Children {
		c.sink(depth + 1)
	}
}

// addHost makes h a direct member and reports whether it was not.
func (g *Group) addHost(h *Host) bool {
	if g.members[h] {
		return false
	}
	g.members[h] = true
	g.Hosts = append(g.Hosts, h)
	for _, a := range g.Ancestors() {
		h.join(a)
	}
	h.join(g)
	g.stale()
	return true
}

// removeHosts takes direct members out that are in gone.
func (g *Group) removeHosts(gone map[*Host]bool) {
	if len(gone) == 0 {
		return
	}
	g.Hosts = slices.DeleteFunc(g.Hosts, func(h *Host) bool { return gone[h] })
	for h := range gone {
		delete(g.members, h)
		h.Groups = slices.DeleteFunc(h.Groups, func(x *Group) bool { return x == g })
	}
	g.stale()
}

// safeName checks a group's name against the setting
// TRANSFORM_INVALID_GROUP_CHARS: bad characters are reported and, if the
// setting or force says so, replaced by underscores.
func safeName(name, mode string, force, silent bool, sink fault.Sink) string {
	var bad []string
	var out strings.Builder
	for i, r := range name {
		ok := r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)
		if i == 0 && unicode.IsDigit(r) {
			ok = false
		}
		if ok {
			out.WriteRune(r)
			continue
		}
		out.WriteByte('_')
		if s := "'" + string(r) + "'"; !slices.Contains(bad, s) {
			bad = append(bad, s)
		}
	}
	if len(bad) == 0 {
		return name
	}
	msg := "invalid character(s) \"{" + strings.Join(bad, ", ") + "}\" in group name (" + name + ")"
	if mode != "never" && mode != "ignore" || force {
		if !silent && mode != "silently" {
			sink.Verbose(4, "Replacing "+msg)
			fault.Warn(sink, "Invalid characters were found in group names and automatically replaced, use -vvvv to see details")
		}
		return out.String()
	}
	if mode == "never" {
		sink.Verbose(4, "Not replacing "+msg)
		fault.Warn(sink, "Invalid characters were found in group names but not replaced, use -vvvv to see details")
	}
	return name
}
