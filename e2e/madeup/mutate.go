package madeup

import "strings"

// spoil makes one mistake that people make in one of the files.
func (g *gen) spoil() {
	var docs []int
	for i, f := range g.p.Files {
		if f.Doc != nil && f.Path != "group_vars/all.yml" || strings.HasPrefix(f.Path, "inv") {
			docs = append(docs, i)
		}
	}
	f := &g.p.Files[docs[g.r.IntN(len(docs))]]
	if f.Doc == nil || g.chance(40) {
		f.Text, f.Doc = g.spoilText(f.Content()), nil
		return
	}
	var maps []*Map
	var lists []*List
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case *Map:
			maps = append(maps, v)
			for _, e := range v.Items {
				walk(e.Value)
			}
		case *List:
			lists = append(lists, v)
			for _, e := range v.Items {
				walk(e)
			}
		}
	}
	walk(f.Doc)
	odd := func() any {
		return g.oneOf(nil, "", "text", 5, true, 1.5, L(), M(), L("a", nil), M("a", 1), L(any(L("b"))), "{{ nosuch }}", "{{ l1 }}", Raw("!unsafe x"), Raw("2020-01-01"), -1, "key=value")
	}
	if len(lists) > 0 && g.chance(25) {
		l := lists[g.r.IntN(len(lists))]
		switch {
		case len(l.Items) > 0 && g.chance(60):
			l.Items[g.r.IntN(len(l.Items))] = odd()
		default:
			l.Add(odd())
		}
		return
	}
	if len(maps) == 0 {
		return
	}
	m := maps[g.r.IntN(len(maps))]
	if len(m.Items) == 0 {
		return
	}
	e := &m.Items[g.r.IntN(len(m.Items))]
	switch g.r.IntN(6) {
	case 0:
		e.Key = g.pick("nosuch", "whn", "with_nosuch", "1x", "debug", "tasks", "hosts", "loop", "a-b", "register", "block", "vars", "name", "handlers", "nosuch.coll.mod", "include", "gather_fact", "sudo", "always", "rescue", "listen", "import_playbook", "roles")
	case 1, 2, 3:
		e.Value = odd()
	case 4:
		m.Items = append(m.Items, Entry{g.pick("nosuch", "debug", "copy", "when", "tags", "loop", "with_items", "hosts", "vars", "register", "until", "notify", "name", "listen", "block", "always", "rescue", "roles", "loop_control", "delegate_to", "async", "poll", "local_action", "args", "static", "become_user", "environment", "serial", "strategy", "collections", "any_errors_fatal", "module_defaults", "remote_user"), odd()})
	case 5:
		m.Items = append(m.Items, Entry{e.Key, e.Value}) // twice the same key
	}
}

// spoilText breaks YAML the way typing does.
func (g *gen) spoilText(text string) string {
	lines := strings.Split(text, "\n")
	i := g.r.IntN(len(lines))
	l := lines[i]
	switch g.r.IntN(14) {
	case 0:
		lines[i] = " " + l
	case 1:
		lines[i] = "\t" + l
	case 2:
		lines[i] = strings.Replace(l, ": ", ":", 1)
	case 3:
		lines[i] = strings.TrimPrefix(l, "  ")
	case 4:
		lines[i] = strings.Replace(l, "'", "", 1)
	case 5:
		lines[i] = strings.Replace(l, "- ", "-", 1)
	case 6:
		lines[i] = l + g.pick(":", " #", "'", "\"", " {", " [", " }", ",", " &a", " *a", " |", " >", " %", " @", " `", " ? ", " !", " ---", "\\")
	case 7:
		lines[i] = l + "\n" + l
	case 8:
		lines[i] = strings.ReplaceAll(l, "\"", "")
	case 9:
		lines[i] = strings.Replace(l, ": ", ": {{ s1 }} ", 1)
	case 10:
		lines[i] = ""
	case 11:
		if j := strings.Index(l, ": "); j > 0 {
			lines[i] = l[:j+2] + g.pick("{{ s1 }}", "a: b", "'x' y", "\"x\" y", "[a, b", "{a: b", "&x", "*x", "!nosuch y", "@x", "`x`", "%x", "- y", "'x", "\"x", "\"\\q\"", "|x", ">+9 x", "!!int x", "!!set {a}", "!!binary x", "? x", "\x01", "\xff", "<<: *x", "!vault x", "!!python/none x", "0x_", "=")
		}
	case 12:
		lines = lines[:i]
	case 13:
		lines[i] = strings.Repeat(" ", g.r.IntN(9)) + strings.TrimLeft(l, " ")
	}
	return strings.Join(lines, "\n")
}
