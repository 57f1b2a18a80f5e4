package madeup

import (
	"fmt"
	"strings"
)

// vars are the variables that every project has, by the type of their value.
var vars = map[string][]string{
	"str":  {"s1", "s2", "s_tpl", "s_unsafe", "s_vault", "s_multi", "inventory_hostname", "d1.name", "d1['name']", "lod[0].n", "role_s", "g_s", "h_s", "playbook_dir | basename", "ansible_check_mode | string"},
	"int":  {"i1", "i2", "i_tpl", "d1.count", "lod[1].v", "f1 | int"},
	"list": {"l1", "l2", "l_tpl", "d1.items_", "groups['all']", "groups.web", "group_names", "ansible_play_hosts", "l_nested | flatten"},
	"dict": {"d1", "d2", "d_tpl", "lod | first", "hostvars[inventory_hostname].d1"},
	"bool": {"b1", "b2", "b_tpl"},
	"lod":  {"lod", "lod | list", "d2 | dict2items"},
}

// broken are expressions that fail, each in its own way. Names of plugins that
// nobody has are not among them: Volant warns of those before the run.
var broken = []string{
	"nosuch", "d1.nosuch", "l1[99]", "nosuch.attr", "1 / 0", "s1 | int + l1",
	"lookup('file', 'nosuch.txt')", "hostvars['nosuch'].x", "d1 | combine(l1)", "undef_tpl",
	"l1 | map(attribute='x') | list", "s1 | from_json", "(s1", "s1 ~", "i1 + s1", "'%d' | format(s1)", "groups.nosuch",
	"s1 | regex_search('(')", "nosuch | mandatory", "undef(hint='write it')", "l1 | random(seed='x') | combine(1)", "s1 | b64decode", "d1.name.deeper.still",
	"lookup('first_found', ['nosuch1', 'nosuch2'])", "range(3) | first.x", "s1()", "s1 | default(nosuch)", "lod | selectattr('zz', 'equalto', 1) | list",
}

func (g *gen) pick(from ...string) string { return from[g.r.IntN(len(from))] }

func (g *gen) chance(percent int) bool { return g.r.IntN(100) < percent }

// expr is a Jinja expression of a type, without braces.
func (g *gen) expr(kind string, depth int) string {
	if g.chance(g.badExprs) {
		return g.pick(broken...)
	}
	if depth <= 0 || g.chance(25) {
		return g.leaf(kind)
	}
	d := depth - 1
	e := func(kind string) string { return g.expr(kind, d) }
	f := fmt.Sprintf
	switch kind {
	case "str":
		switch g.r.IntN(30) {
		case 0:
			return f("%s | upper", g.paren(e("str")))
		case 1:
			return f("%s | replace('a', %s)", g.paren(e("str")), e("str"))
		case 2:
			return f(`%s | regex_replace('(\w)%s', '<\1>')`, g.paren(e("str")), g.pick("", "+", "*", "?"))
		case 3:
			return f("%s | default('dflt')", g.paren(g.pick("nosuch", "d1.nosuch", "s1", e("str"))))
		case 4:
			return f("%s | b64encode", g.paren(e("str")))
		case 5:
			return f("%s | to_json", g.paren(e(g.kind())))
		case 6:
			return f("%s | join('%s')", g.paren(e("list")), g.pick(",", "-", " ", ""))
		case 7:
			return f("'%%s=%%s' | format(%s, %s)", e("str"), e(g.kind()))
		case 8:
			return f("%s | ternary(%s, %s)", g.paren(e("bool")), e("str"), e("str"))
		case 9:
			return f("(%s if %s else %s)", e("str"), e("bool"), e("str"))
		case 10:
			return f("%s ~ %s", g.paren(e("str")), g.paren(e(g.pick("int", "str", "list"))))
		case 11:
			return f("lookup('%s', 'files/%s')", g.pick("file", "ansible.builtin.file"), g.pick("a.txt", "b.txt"))
		case 12:
			return f("lookup('template', 'inc.j2')")
		case 13:
			return f("%s | string", g.paren(e(g.kind())))
		case 14:
			return f("lookup('vars', '%s')", g.pick("s1", "s2", "s_tpl", "s_multi"))
		case 15:
			return f("%s | %s", g.paren(e("str")), g.pick("lower", "title", "trim", "quote", "capitalize", "basename", "hash('sha1')", "checksum", "reverse", "wordwrap(5)", "indent(2)", "urlencode", "comment", "regex_escape", "center(9)", "truncate(4)", "first", "last"))
		case 16:
			return f("%s | to_nice_yaml(indent=2)", g.paren(e(g.pick("dict", "list"))))
		case 17:
			return f("lookup('env', 'NOSUCH_ENV', default=%s)", e("str"))
		case 18:
			return f("q('items', %s) | join('+')", e("list"))
		case 19:
			return f("%s | type_debug", g.paren(e(g.kind())))
		case 20:
			return f("%s | split('%s') | last", g.paren(e("str")), g.pick("a", " ", "."))
		case 21:
			return f("hostvars[%s].%s", g.pick("inventory_hostname", "groups['all'][0]", "'h1'"), g.pick("s1", "h_s", "inventory_hostname", "g_s"))
		case 22:
			return f("%s | regex_search('%s') | default('none', true)", g.paren(e("str")), g.pick("[a-c]+", "z", `\d`))
		case 23:
			return f("%s | human_readable", g.paren(e("int")))
		case 24:
			return f("%s[%s]", g.pick("s1", "s2", "inventory_hostname"), g.pick("0", "-1", ":1", "1:", "::-1"))
		default:
			return g.leaf("str")
		}
	case "int":
		switch g.r.IntN(12) {
		case 0:
			return f("%s | length", g.paren(e(g.pick("list", "str", "dict"))))
		case 1:
			return f("%s %s %s", g.paren(e("int")), g.pick("+", "-", "*"), g.paren(e("int")))
		case 2:
			return f("%s %s 3", g.paren(e("int")), g.pick("%", "//", "**", "/"))
		case 3:
			return f("%s | int", g.paren(e(g.pick("str", "int"))))
		case 4:
			return f("%s | %s", g.paren("["+e("int")+", "+e("int")+"]"), g.pick("max", "min", "sum", "first"))
		case 5:
			return f("(%s if %s else %s)", e("int"), e("bool"), e("int"))
		case 6:
			return f("%s.index(%s)", g.pick("[1, 2, 3]"), g.pick("1", "2"))
		case 7:
			return f("%s | abs", g.paren(e("int")))
		default:
			return g.leaf("int")
		}
	case "list":
		switch g.r.IntN(24) {
		case 0:
			return f("[%s, %s]", e(g.kind()), e(g.kind()))
		case 1:
			return f("range(%d) | list", g.r.IntN(5))
		case 2:
			return f("%s | map('%s') | list", g.paren(e("list")), g.pick("string", "upper", "to_json", "default('x')", "length"))
		case 3:
			return f("%s | dict2items", g.paren(e("dict")))
		case 4:
			return f("%s + %s", g.paren(e("list")), g.paren(e("list")))
		case 5:
			return f("%s | %s", g.paren(e("list")), g.pick("unique", "reverse | list", "sort", "flatten", "list", "batch(2) | list", "slice(2) | list"))
		case 6:
			return f("%s | select('%s') | list", g.paren(e("list")), g.pick("string", "defined", "number", "mapping", "in', ['a', 'b", "match', 'a"))
		case 7:
			return f("%s.keys() | list", g.paren(e("dict")))
		case 8:
			return f("query('sequence', '%s')", g.pick("start=1 end=3", "count=2", "start=0x0f end=0x11 format=%02x", "5", "1-3", "start=4 end=0 stride=-2"))
		case 9:
			return f("%s | zip(%s) | list", g.paren(e("list")), e("list"))
		case 10:
			return f("%s | selectattr('%s') | map(attribute='n') | list", g.paren(e("lod")), g.pick("n", "v", "t", "n', 'equalto', 'x", "v', 'gt', 1", "n', 'defined"))
		case 11:
			return f("%s | subelements('t')", "lod")
		case 12:
			return f("%s | split('a')", g.paren(e("str")))
		case 13:
			return f("%s[%s]", g.paren(e("list")), g.pick(":1", "1:", "::-1", "-2:"))
		case 14:
			return f("%s | product(%s) | list", g.paren(g.leaf("list")), g.leaf("list"))
		case 15:
			return f("%s | from_yaml", g.pick("'[1, a, {b: c}]'", "'- x\n- y'"))
		case 16:
			return f("lookup('%s', %s, wantlist=True)", g.pick("items", "nested", "list", "together", "indexed_items"), g.leaf("list"))
		case 17:
			return f("%s | groupby('v')", g.paren(g.leaf("lod")))
		case 18:
			return f("%s | map('extract', hostvars, '%s') | list", g.pick("groups['all']", "groups.web", "ansible_play_hosts_all"), g.pick("s1", "h_s", "inventory_hostname"))
		case 19:
			return f("(%s if %s else %s)", e("list"), e("bool"), e("list"))
		case 20:
			// What these give is in no order that lasts.
			return f("%s | %s(%s) | map('string') | sort", g.paren(e("list")), g.pick("difference", "intersect"), e("list"))
		default:
			return g.leaf("list")
		}
	case "dict":
		switch g.r.IntN(12) {
		case 0:
			return f("{'a': %s, %s: %s}", e(g.kind()), g.pick("'b'", "s1", "'a'"), e(g.kind()))
		case 1:
			return f("%s | combine(%s%s)", g.paren(e("dict")), e("dict"), g.pick("", ", recursive=True", ", recursive=true, list_merge='append'", ", list_merge='prepend_rp', recursive=true"))
		case 2:
			return f("%s | items2dict(key_name='n', value_name='v')", "lod")
		case 3:
			return f("dict(%s | zip(%s))", g.leaf("list"), g.leaf("list"))
		case 4:
			return f("%s | to_json | from_json", g.paren(e("dict")))
		case 5:
			return f("(%s if %s else %s)", e("dict"), e("bool"), e("dict"))
		case 6:
			return f("dict(x=%s, y=%s)", e(g.kind()), e(g.kind()))
		case 7:
			return f("%s | dict2items | items2dict", g.paren(e("dict")))
		default:
			return g.leaf("dict")
		}
	case "lod":
		return g.leaf("lod")
	default:
		switch g.r.IntN(18) {
		case 0:
			return f("%s is defined", g.pick("nosuch", "s1", "d1.nosuch", "d1.name", "l1[0]", "l1[9]", "hostvars.h1", "hostvars['zz']", "nosuch.x", "undef_tpl"))
		case 1:
			return f("%s %s %s", g.paren(e("int")), g.pick("==", "<", ">", ">=", "!=", "<="), g.paren(e("int")))
		case 2:
			return f("%s %s %s", g.paren(e("str")), g.pick("==", "!=", "in", "not in"), g.paren(e("str")))
		case 3:
			return f("%s in %s", g.paren(e("str")), g.paren(e("list")))
		case 4:
			return f("%s %s %s", g.paren(e("bool")), g.pick("and", "or"), g.paren(e("bool")))
		case 5:
			return f("not %s", g.paren(e("bool")))
		case 6:
			return f("%s is %s", g.paren(e(g.kind())), g.pick("string", "number", "mapping", "iterable", "sequence", "none", "boolean", "true", "truthy", "falsy", "integer", "float", "defined", "not none"))
		case 7:
			return f("%s is %s('%s')", g.paren(e("str")), g.pick("match", "search", "regex"), g.pick("a", "^b", ".*z", "[0-9]"))
		case 8:
			return f("'%d.%d' is version('1.2', '%s')", g.r.IntN(3), g.r.IntN(5), g.pick(">", "<", ">=", "==", "eq", "ne"))
		case 9:
			return f("inventory_hostname %s groups.%s", g.pick("in", "not in"), g.pick("web", "db", "all"))
		case 10:
			return f("%s | bool", g.paren(g.pick("'yes'", "'no'", "1", "0", "'false'", "s1", "b1", "none")))
		case 11:
			return f("inventory_hostname == '%s'", g.pick(hosts...))
		case 12:
			return f("%s is %s(%s)", g.paren(e("list")), g.pick("subset", "superset", "contains"), g.leaf("list"))
		case 13:
			if len(g.registered) > 0 {
				return f("%s is %s", g.pick(g.registered...), g.pick("changed", "failed", "succeeded", "skipped", "defined", "success", "not changed", "reachable", "unreachable"))
			}
		}
		return g.leaf("bool")
	}
}

func (g *gen) kind() string { return g.pick("str", "str", "int", "list", "dict", "bool", "lod") }

func (g *gen) leaf(kind string) string {
	if g.chance(30) {
		switch kind {
		case "str":
			return g.pick("'abc'", "''", "'a b'", "'x{{y'", `"it's"`, `'tab\there'`, "'häß'")
		case "int":
			return g.pick("0", "1", "42", "-3", "1_000")
		case "list":
			return g.pick("[]", "['a', 'b']", "[1, 2, 3]", "['a', 'a', 1]", "[none, true]")
		case "dict":
			return g.pick("{}", "{'a': 1}", "{'k': [1], 'n': {'m': 2}}")
		case "bool":
			return g.pick("true", "false", "True", "not true")
		}
	}
	if kind == "any" {
		kind = g.kind()
	}
	if kind == "str" && len(g.loopVars) > 0 && g.chance(40) {
		return g.pick(g.loopVars...)
	}
	if len(g.registered) > 0 && g.chance(6) {
		return g.pick(g.registered...) + g.pick(".changed", ".failed", ".rc", ".stdout", ".msg", ".results", ".skipped", "['stdout_lines']", "")
	}
	if len(g.facts) > 0 && g.chance(10) {
		return g.pick(g.facts...)
	}
	return g.pick(vars[kind]...)
}

// paren puts parentheses around what is more than a name.
func (g *gen) paren(e string) string {
	if strings.ContainsAny(e, " ") {
		return "(" + e + ")"
	}
	return e
}

// tpl is a string value with a template in it.
func (g *gen) tpl(kind string, depth int) string {
	e := g.expr(kind, depth)
	if g.chance(4) {
		return g.pick("{{"+e+"}}", "{{- "+e+" -}}", "{{ "+e+"", "{{ "+e+" }", "{% if "+e+" %}y{% endif %}")
	}
	return "{{ " + e + " }}"
}

// text is a string of words and templates.
func (g *gen) text() string {
	switch g.r.IntN(10) {
	case 0, 1, 2:
		return g.tpl(g.kind(), 2)
	case 3, 4, 5:
		return g.pick("x", "got ", "a=", "<") + g.tpl(g.kind(), 2) + g.pick("", "!", " and more", ">")
	case 6:
		return fmt.Sprintf("{%% for i in %s %%}%s{%% endfor %%}", g.expr("list", 1), g.pick("{{ i }},", "{{ loop.index }}:{{ i }} ", "{{ i }}{{ ',' if not loop.last }}", "x"))
	case 7:
		return fmt.Sprintf("{%% if %s %%}%s{%% elif %s %%}mid{%% else %%}%s{%% endif %%}", g.expr("bool", 1), g.tpl("str", 1), g.expr("bool", 1), g.tpl("int", 1))
	case 8:
		return fmt.Sprintf("{%% set x = %s %%}{{ x }}/{{ x | type_debug }}", g.expr(g.kind(), 1))
	default:
		return g.pick("plain words", "one: two", "", "100%", "a # b", "yes", "{ not a template }", "it's", "- x", "*star", "line one\nline two\n", "\ttab")
	}
}

// value is data of a YAML file.
func (g *gen) value(depth int) any {
	switch g.r.IntN(12) {
	case 0:
		return g.r.IntN(100)
	case 1:
		return g.chance(50)
	case 2:
		return nil
	case 3, 4:
		if depth > 0 {
			l := L()
			for range g.r.IntN(4) {
				l.Add(g.value(depth - 1))
			}
			return l
		}
	case 5, 6:
		if depth > 0 {
			m := M()
			for range g.r.IntN(4) {
				m.Set(g.pick("a", "b", "c", "name", "key one"), g.value(depth-1))
			}
			return m
		}
	case 7:
		return Raw(g.pick("!unsafe '{{ nosuch }}'", "1.5", "2020-01-02", "0o17", "017", "1e3", "~", "'quoted'", "yes", "0x1F", "1:30", "!!str 12", ".5", ".inf", "2020-01-02 03:04:05"))
	}
	return g.text()
}
