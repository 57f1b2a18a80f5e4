package madeup

import (
	"fmt"
	"strings"
)

func (g *gen) tasks(n, nest int) *List {
	l := L()
	for range n {
		l.Add(g.task(nest))
	}
	return l
}

func (g *gen) task(nest int) *Map {
	if nest > 0 && g.chance(14) {
		return g.blockTask(nest - 1)
	}
	m := M()
	if g.chance(75) {
		g.n++
		m.Set("name", fmt.Sprintf("task %d%s", g.n, g.pick("", "", "", " {{ s1 }}", " for {{ inventory_hostname }}", ": colon", " {{ nosuch }}", " {{ item | default('no item') }}")))
	}
	switch {
	case g.depth < 2 && g.chance(16):
		g.include(m)
		return m
	case g.chance(5):
		g.meta(m)
		return m
	}
	loop := g.loop(m)
	g.action(m)
	g.keywords(m, loop)
	if loop {
		g.loopVars = nil
	}
	return m
}

func (g *gen) blockTask(nest int) *Map {
	m := M()
	g.maybe(m, 40, "name", g.name("block "))
	m.Set("block", g.tasks(1+g.r.IntN(3), nest))
	if g.chance(55) {
		m.Set("rescue", g.tasks(1+g.r.IntN(2), nest))
	}
	if g.chance(40) {
		m.Set("always", g.tasks(1+g.r.IntN(2), nest))
	}
	g.maybe(m, 25, "when", g.expr("bool", 2))
	g.maybe(m, 15, "vars", M("s2", g.text(), "bv", g.value(1)))
	g.maybe(m, 12, "tags", g.tags())
	g.maybe(m, 6, "ignore_errors", true)
	g.maybe(m, 6, "any_errors_fatal", g.chance(80))
	g.maybe(m, 5, "delegate_to", g.pick(hosts...))
	g.maybe(m, 5, "run_once", true)
	g.maybe(m, 5, "environment", M("E2", "blk"))
	g.maybe(m, 5, "check_mode", g.chance(50))
	g.maybe(m, 4, "no_log", true)
	if len(g.handlers) > 0 {
		g.maybe(m, 6, "notify", g.pick(g.handlers...))
	}
	return m
}

func (g *gen) include(m *Map) {
	g.depth++
	defer func() { g.depth-- }()
	what := g.pick("include_tasks", "include_tasks", "import_tasks", "include_role", "import_role")
	if strings.HasSuffix(what, "_role") && len(g.roles) == 0 {
		what = strings.Replace(what, "role", "tasks", 1)
	}
	dynamic := strings.HasPrefix(what, "include")
	if dynamic && g.chance(25) {
		g.loop(m)
	}
	if strings.HasSuffix(what, "_tasks") {
		file := g.name("inc") + ".yml"
		loopVars := g.loopVars
		g.p.Doc(file, g.tasks(1+g.r.IntN(3), 1))
		g.loopVars = loopVars
		ref := file
		if g.chance(10) {
			ref = g.pick("nosuch.yml", "{{ playbook_dir }}/"+file, strings.Replace(file, "inc", "{{ 'inc' }}", 1))
		}
		if g.chance(60) {
			m.Set(g.pick(what, "ansible.builtin."+what), ref)
		} else {
			args := M("file", ref)
			if dynamic && g.chance(30) {
				args.Set("apply", M("tags", g.tags(), g.pick("become", "ignore_errors", "run_once"), false))
			}
			m.Set(what, args)
		}
	} else {
		args := M("name", g.pick(g.roles...))
		g.maybe(args, 25, "tasks_from", g.pick("other", "other.yml", "main"))
		g.maybe(args, 10, "public", g.chance(70))
		g.maybe(args, 10, "allow_duplicates", g.chance(50))
		g.maybe(args, 10, "rolespec_validate", false)
		if dynamic {
			g.maybe(args, 15, "apply", M("tags", g.tags()))
		}
		m.Set(what, args)
	}
	g.maybe(m, 30, "vars", M("role_s", g.text(), "i1", g.pick("{{ 5 }}", "6")))
	g.maybe(m, 25, "when", g.when())
	g.maybe(m, 20, "tags", g.tags())
	if dynamic {
		g.maybe(m, 5, "register", "inc_r")
		g.maybe(m, 5, "run_once", true)
		g.maybe(m, 5, "ignore_errors", true)
		g.maybe(m, 4, "delegate_to", "h2")
	}
	g.loopVars = nil
}

func (g *gen) meta(m *Map) {
	m.Set("meta", g.pick("flush_handlers", "flush_handlers", "noop", "end_host", "end_play", "clear_host_errors", "clear_facts", "end_batch", "refresh_inventory", "end_role", "reset_connection"))
	g.maybe(m, 50, "when", g.expr("bool", 1))
}

// loop gives the task a loop, or not.
func (g *gen) loop(m *Map) bool {
	if !g.chance(25) {
		return false
	}
	item := "item"
	switch g.r.IntN(16) {
	case 0, 1, 2:
		m.Set("loop", g.tpl("list", 2))
	case 3, 4:
		l := L()
		for range g.r.IntN(4) {
			l.Add(g.oneOf(g.text(), g.r.IntN(9), M("k", g.text(), "n", 1), L(1, 2)))
		}
		m.Set("loop", l)
	case 5:
		m.Set("with_items", g.oneOf(L("x", L("y", "z"), "{{ l1 }}"), g.tpl("list", 1), "abc"))
	case 6:
		m.Set("with_dict", g.oneOf(g.tpl("dict", 1), M("a", 1, "b", g.text())))
	case 7:
		m.Set("with_sequence", g.pick("start=1 end=3", "count={{ i1 }}", "start=0 end=4 stride=2 format=s%02d", "count=0", "start=3 end=1"))
	case 8:
		m.Set("with_nested", L(L("a", "b"), "{{ l2 }}"))
	case 9:
		m.Set("with_together", L("{{ l1 }}", "{{ l2 }}"))
	case 10:
		m.Set("with_subelements", L("{{ lod }}", "t"))
	case 11:
		m.Set("with_indexed_items", "{{ l1 }}")
	case 12:
		m.Set("with_fileglob", g.pick("files/a*.txt", "nosuch/*", "a*.txt"))
	case 13:
		m.Set("with_first_found", g.oneOf(L("nosuch", "files/a.txt"), L(any(M("files", L("q.txt", "a.txt"), "paths", L("files"), "skip", true))), L(any(M("files", L("q.txt"), "skip", g.chance(70))))))
	case 14:
		m.Set("with_"+g.pick("list", "lines", "inventory_hostnames", "random_choice", "file", "vars", "env", "varnames"), g.oneOf(L("one"), "web", "{{ l_nested }}", "echo one; echo two", "s1", "^s[12]$", "HOME"))
	case 15:
		m.Set("loop", g.pick("{{ lod }}", "{{ d1 | dict2items }}", "{{ s1 }}", "{{ d1 }}", "{{ range(3) }}", "{{ nosuch }}", "{{ groups.web }}", "{{ nosuch | default([]) }}", "{{ lod | subelements('t') }}"))
	}
	if g.chance(35) {
		c := M()
		if g.chance(40) {
			item = "it"
			c.Set("loop_var", item)
		}
		g.maybe(c, 30, "label", g.pick("L {{ "+item+" }}", "const", "{{ nosuch }}", "{{ "+item+".n | default('-') }}"))
		g.maybe(c, 30, "index_var", "idx")
		g.maybe(c, 20, "extended", true)
		g.maybe(c, 10, "extended_allitems", false)
		g.maybe(c, 5, "pause", 0)
		g.maybe(c, 8, "break_when", item+" == 'b'")
		m.Set("loop_control", c)
		if c.Has("index_var") {
			g.loopVars = append(g.loopVars, "idx")
		}
		if c.Has("extended") {
			g.loopVars = append(g.loopVars, "ansible_loop.index", "ansible_loop.last", "ansible_loop.nextitem | default('end')")
		}
	}
	g.loopVars = append(g.loopVars, item, item, item, item+".k", item+".key", item+" | string", item+"[0]")
	return true
}

func (g *gen) when() any {
	if g.chance(25) {
		return L(g.expr("bool", 1), g.expr("bool", 1))
	}
	return g.oneOf(g.expr("bool", 2), g.expr("bool", 2), g.expr("bool", 2), g.expr("bool", 1), g.chance(60), g.pick("s1", "nosuch", "l1", "l1 | length > 0", "{{ b1 }}", "b1 | bool", "i1", "''", "none", "'{{ s1 }}' == 'abc'", "s_tpl == 'abc-3'", "item is defined"))
}

func (g *gen) keywords(m *Map, loop bool) {
	if g.chance(25) {
		r := g.pick("reg1", "reg2", "reg3")
		if g.chance(20) {
			g.maybe(m, 80, "until", g.pick(r+" is succeeded", r+".rc == 0", r+" is failed", r+".attempts | default(0) > 1", "false", "nosuch"))
			m.Set("retries", g.oneOf(1, 2, "{{ 2 }}"))
			m.Set("delay", 0)
		}
		m.Set("register", r)
		g.registered = append(g.registered, r)
	}
	g.maybe(m, 20, "when", g.when())
	own := "true"
	if r, ok := m.get("register"); ok {
		own = r.(string) + g.pick(".rc | default(0) != 0", " is failed", " is changed", ".stdout | default('') == 'abc'", ".nosuch")
	}
	g.maybe(m, 10, "changed_when", g.oneOf(true, false, own, g.expr("bool", 1), L(own, "b1")))
	g.maybe(m, 8, "failed_when", g.oneOf(false, own, g.expr("bool", 1), true, L(own, "b2")))
	g.maybe(m, 12, "ignore_errors", g.oneOf(true, true, "{{ b1 }}", "{{ b2 }}"))
	g.maybe(m, 14, "tags", g.tags())
	if len(g.handlers) > 0 {
		g.maybe(m, 14, "notify", g.oneOf(g.pick(g.handlers...), L(g.pick(g.handlers...), g.pick(g.handlers...)), "{{ s1 }}", L("handler 1")))
	} else {
		g.maybe(m, 1, "notify", "no such handler")
	}
	g.maybe(m, 12, "vars", M("s2", g.text(), g.pick("tv", "i1", "s1"), g.value(1)))
	g.maybe(m, 7, "delegate_to", g.pick("h1", "h2", "h3", "localhost", "{{ groups.web[0] }}", "nosuch_host", "{{ nosuch }}", "{{ inventory_hostname }}"))
	g.maybe(m, 3, "delegate_facts", true)
	g.maybe(m, 7, "run_once", g.oneOf(true, true, "{{ b1 }}"))
	g.maybe(m, 5, "no_log", g.oneOf(true, true, "{{ b2 }}", "{{ nosuch }}"))
	g.maybe(m, 6, "environment", g.oneOf(M("E1", g.text()), L(M("A", 1), M("B", "{{ s1 }}")), "{{ d2 }}", "{{ nosuch }}"))
	g.maybe(m, 6, "check_mode", g.oneOf(true, false, "{{ b1 }}"))
	g.maybe(m, 5, "diff", g.oneOf(true, false))
	g.maybe(m, 3, "any_errors_fatal", true)
	g.maybe(m, 2, "throttle", 1)
	g.maybe(m, 2, "become", false)
	g.maybe(m, 2, "timeout", 30)
	g.maybe(m, 2, "ignore_unreachable", true)
	g.maybe(m, 1, "debugger", "never")
	g.maybe(m, 2, "collections", L("ansible.builtin"))
	g.maybe(m, 2, "connection", "local")
	g.maybe(m, 2, "module_defaults", M("debug", M("msg", "md")))
}

func (m *Map) get(key string) (any, bool) {
	for _, e := range m.Items {
		if e.Key == key {
			return e.Value, true
		}
	}
	return nil, false
}

// out is a path that belongs to the host.
func (g *gen) out() string {
	return "{{ playbook_dir }}/out/{{ inventory_hostname }}." + g.pick("x", "y", "z")
}

func (g *gen) action(m *Map) {
	set := func(name string, v any) {
		if g.chance(12) {
			name = "ansible.builtin." + name
		}
		m.Set(name, v)
	}
	switch g.r.IntN(40) {
	default:
		set("debug", M("msg", g.oneOf(g.text(), g.text(), g.tpl(g.kind(), 3), g.tpl(g.kind(), 3), g.value(2))))
	case 0, 1, 2:
		set("debug", M("var", g.expr(g.kind(), 2)))
	case 3:
		set("debug", g.oneOf("msg="+g.pick("abc", "'a b'", "{{ s1 }}", "\"{{ l1 }}\"", "a=b"), "var=s1", M("msg", g.text(), "verbosity", g.r.IntN(3)), nil))
	case 4, 5, 6, 7:
		f := g.name("fact")
		v := g.oneOf(g.tpl(g.kind(), 3), g.tpl(g.kind(), 3), g.text(), g.value(2))
		args := M(f, v)
		g.maybe(args, 15, g.pick("s1", "i1", "cacheable"), g.oneOf(true, "{{ s2 }}"))
		set("set_fact", args)
		g.facts = append(g.facts, f)
	case 8, 9, 10:
		set("command", g.oneOf("echo "+g.pick("hi", "{{ s1 }}", "'a b'", "{{ l1 }}", "\"q {{ i1 }}\""), "/bin/false", M("cmd", "echo x", "chdir", "/tmp"), M("argv", L("echo", "a b", "{{ i1 }}")), "nosuchcommand x", M("cmd", "echo c", "creates", "/etc/passwd"), "echo removes= x"))
	case 11, 12:
		set("shell", g.oneOf("echo $E1; echo err >&2", "exit {{ i1 }}", "echo a && echo b", "printf 'x\\ny'", M("cmd", "cat", "stdin", g.text()), "echo {{ item | default('none') }}\necho second\n"))
	case 13, 14:
		args := M("content", g.oneOf(g.text(), g.text(), g.tpl("dict", 2), g.tpl("list", 2)), "dest", g.out())
		g.maybe(args, 40, "mode", g.pick("0600", "u=rw,g=r", "644", "preserve"))
		if g.chance(8) {
			args = M("src", g.pick("a.txt", "files/b.txt", "nosuch.txt"), "dest", g.out())
		}
		set("copy", args)
	case 15, 16:
		set("template", M("src", g.pick("t1.j2", "t1.j2", "inc.j2", "nosuch.j2"), "dest", g.out(), "mode", "0644"))
	case 17:
		set("file", M("path", g.out(), "state", g.pick("touch", "absent", "directory", "file"), "mode", "0755", "access_time", "preserve", "modification_time", "preserve"))
	case 18:
		set("stat", M("path", g.pick("{{ playbook_dir }}/files/a.txt", "/nosuch")))
		m.Set("register", "st")
	case 19:
		set("lineinfile", M("path", g.out(), "line", g.text(), "create", g.chance(70), "mode", "0644"))
	case 20, 21:
		a := M("that", g.oneOf(g.expr("bool", 2), L(g.expr("bool", 1), g.expr("bool", 1)), "nosuch", "s1"))
		g.maybe(a, 40, "fail_msg", g.text())
		g.maybe(a, 20, "success_msg", g.text())
		g.maybe(a, 20, "quiet", true)
		set("assert", a)
	case 22, 23:
		set("fail", g.oneOf(M("msg", g.text()), nil, M("msg", g.tpl("str", 1))))
		g.maybe(m, 50, "when", g.expr("bool", 1))
	case 24:
		set("include_vars", g.oneOf("vars/v1.yml", M("file", "v2.yml"), M("file", "vars/v1.yml", "name", "incv"), "nosuch.yml", M("dir", "vars", "extensions", L("yml"))))
	case 25:
		if !g.inHandler {
			set("group_by", M("key", g.pick("k_{{ i1 }}", "by_{{ inventory_hostname }}", "{{ s1 }}"), "parents", "byp"))
		} else {
			set("debug", M("msg", "h"))
		}
	case 26:
		set("add_host", M("name", g.pick("new1", "new_{{ i1 }}"), "groups", g.oneOf("newg", L("newg", "other")), "nv", g.text()))
	case 27:
		set("set_stats", M("data", M("st", g.text(), "num", 1), "per_host", g.chance(50)))
	case 28:
		m.Set("action", g.oneOf("debug msg=act", M("module", "debug", "msg", g.text()), "command echo act"))
	case 29:
		m.Set("local_action", g.oneOf("debug msg=loc", M("module", "command", "cmd", "echo loc"), "command echo {{ s1 }}"))
	case 30:
		set("ping", g.oneOf(nil, M("data", g.text())))
	case 31:
		set("slurp", M("src", "{{ playbook_dir }}/files/a.txt"))
	case 32:
		set(g.pick("blockinfile", "blockinfile", "replace"), M("path", g.out(), "block", g.text(), "create", true, "mode", "0644"))
	case 33:
		m.Set("command", "echo args")
		m.Set("args", g.oneOf(M("chdir", "/"), "{{ d2 }}", M("nosucharg", 1)))
	case 34:
		set("validate_argument_spec", M("argument_spec", M("a", M("type", g.pick("int", "list", "str")), "b", M("required", g.chance(50))), "provided_arguments", M("a", g.value(1))))
	case 35:
		set("pause", M("seconds", 0))
	case 36:
		set("wait_for", M("timeout", 0))
	case 37:
		set("tempfile", M("path", "/nosuchdir"))
	}
}
