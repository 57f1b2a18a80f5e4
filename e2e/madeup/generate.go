package madeup

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"strings"
)

// password opens what the made-up projects have in vaults.
const password = "madeup\n"

//go:embed testdata/vaulted.yml
var vaulted string

const vaultValue = `!vault |
  $ANSIBLE_VAULT;1.1;AES256
  37333534383238643334313866653634306662623230616438333430373839636163623138316461
  6139333330636438653464616565393566623132646436660a363332623265613231643731356538
  64353163313635333836313136393865636164316337626433653639323134653135336530623564
  3737636163373566310a643539353733326636663832343763393036656539663963376135303235
  3833
`

var hosts = []string{"h1", "h2", "h3"}

// gen makes one project.
type gen struct {
	r          *rand.Rand
	p          *Project
	badExprs   int // percent of expressions that fail
	n          int // for names that are unique
	handlers   []string
	roles      []string
	registered []string
	facts      []string
	loopVars   []string
	inHandler  bool
	depth      int // of includes
}

// Generate makes the project of a seed.
func Generate(seed uint64) *Project {
	g := &gen{r: rand.New(rand.NewPCG(seed, 42)), p: &Project{}}
	if g.chance(40) {
		g.badExprs = 1 + g.r.IntN(4)
	}
	g.inventory()
	g.fixtures()
	for range g.r.IntN(3) {
		g.role()
	}
	site := L()
	for range 1 + g.r.IntN(3) {
		site.Add(g.play())
	}
	if g.chance(8) {
		other := L(g.play())
		g.p.Doc("other.yml", other)
		imp := M("import_playbook", "other.yml")
		g.maybe(imp, 30, "when", g.expr("bool", 1))
		g.maybe(imp, 30, "tags", g.tags())
		g.maybe(imp, 30, "vars", M("i1", 77))
		site.Add(imp)
	}
	g.p.Doc("site.yml", site)
	g.args()
	if g.chance(12) {
		g.spoil()
	}
	return g.p
}

func (g *gen) maybe(m *Map, percent int, key string, v any) {
	if g.chance(percent) {
		m.Set(key, v)
	}
}

func (g *gen) name(prefix string) string {
	g.n++
	return fmt.Sprintf("%s%d", prefix, g.n)
}

func (g *gen) tags() any {
	if g.chance(60) {
		return g.pick("t1", "t2", "t3", "always", "never", "t1,t2", "[t1]")
	}
	return L(g.pick("t1", "t2"), g.pick("t3", "never", "always", "t1"))
}

func (g *gen) inventory() {
	local := "ansible_connection=local ansible_python_interpreter=/usr/bin/python3"
	var b strings.Builder
	switch g.r.IntN(3) {
	case 0:
		fmt.Fprintf(&b, "h1 h_s=inv1 i2=5\nh2 h_s=inv2\nh3\n[web]\nh1\nh2\n[db]\nh2\nh3\n[site:children]\nweb\ndb\n[all:vars]\n%s\ng_s=allv\nh_s=none\n[web:vars]\ng_s=webv\n[db:vars]\ng_s=dbv\nf1=1.5\n",
			strings.ReplaceAll(local, " ", "\n"))
	case 1:
		fmt.Fprintf(&b, "[web]\nh[1:2] %s h_s=\"two words\"\n[db]\nh3 %s h_s='{\"j\": 1}'\n[db:vars]\ng_s=dbv\nf1=2\n[web:vars]\ng_s=['x', 'y']\nf1=0\n", local, local)
	case 2:
		fmt.Fprintf(&b, "all:\n  vars:\n    ansible_connection: local\n    ansible_python_interpreter: /usr/bin/python3\n    g_s: allv\n  children:\n    db:\n      hosts:\n        h3:\n          h_s: three\n        h2: {h_s: two}\n    web:\n      vars: {g_s: \"web {{ inventory_hostname }}\"}\n      hosts:\n        h1: {h_s: one}\n        h2:\n")
		g.p.Text("inv.yml", b.String())
		g.p.Args = append(g.p.Args, "-i", "inv.yml")
	}
	if len(g.p.Args) == 0 {
		g.p.Text("inv", b.String())
		g.p.Args = append(g.p.Args, "-i", "inv")
	}
	all := M("s1", "abc", "s2", "b a", "s_tpl", "{{ s1 }}-{{ i1 }}", "s_unsafe", Raw("!unsafe 'un {{ safe }}'"), "s_vault", Raw(strings.TrimRight(vaultValue, "\n")),
		"s_multi", "line {{ s1 }}\nnext\n", "i1", 3, "i2", 10, "i_tpl", "{{ i1 + 1 }}", "f1", 2.5,
		"l1", L("a", "b", "{{ s1 }}"), "l2", L(3, 1, 2), "l_tpl", "{{ l1 + ['z'] }}", "l_nested", L(L(1, 2), L("x", L("y"))),
		"d1", M("name", "nm", "count", 4, "items_", L("i", "j"), "sub", M("x", 1, "y", "{{ s2 }}")), "d2", M("k1", "v1", "k2", "{{ s1 }}"), "d_tpl", "{{ d1 | combine({'extra': s1}) }}",
		"b1", true, "b2", false, "b_tpl", "{{ i1 > 2 }}", "role_s", "grp", "g_s", "gs", "h_s", "hs",
		"undef_tpl", "{{ nosuch_inner }}",
		"lod", L(M("n", "x", "v", 1, "t", L("p", "q")), M("n", "y", "v", 2, "t", L()), M("n", "z", "v", 2, "t", L("r"))))
	if g.chance(50) {
		all.Set("extra_v", g.value(2))
	}
	g.p.Doc("group_vars/all.yml", all)
	if g.chance(40) {
		g.p.Doc("group_vars/web.yml", M("s2", "from web", "gv", g.value(1), "i2", "{{ i1 * 2 }}"))
	}
	if g.chance(30) {
		g.p.Doc("group_vars/db/one.yml", M("s2", "from db", "d2", M("k1", "db")))
		g.p.Text("group_vars/db/two.yml", vaulted)
	}
	if g.chance(40) {
		g.p.Doc("host_vars/h1.yml", M("s1", g.text(), "hv", g.value(2)))
	}
}

func (g *gen) fixtures() {
	g.p.Text("vp", password)
	g.p.Args = append(g.p.Args, "--vault-password-file", "vp")
	g.p.Text("files/a.txt", "content of a\nsecond {{ s1 }}\n")
	g.p.Text("files/b.txt", "b")
	g.p.Text("templates/inc.j2", "inc {{ s1 }}")
	for i := range 1 + g.r.IntN(2) {
		g.p.Text(fmt.Sprintf("templates/t%d.j2", i+1), g.template())
	}
	g.p.Doc("vars/v1.yml", M("s1", "from v1", "v1_only", g.value(2), "l2", L("v1")))
	g.p.Doc("vars/v2.yml", M("d1", M("name", "v2", "count", 0), "v2_only", g.text()))
}

func (g *gen) template() string {
	var b strings.Builder
	if g.chance(15) {
		b.WriteString(g.pick("#jinja2: trim_blocks: False\n", "#jinja2:lstrip_blocks:True, trim_blocks:True\n", "#jinja2: variable_start_string: '[[', variable_end_string: ']]'\n"))
	}
	for range 1 + g.r.IntN(4) {
		switch g.r.IntN(9) {
		case 0:
			fmt.Fprintf(&b, "{%% for i in %s %%}\n  %s\n{%% endfor %%}\n", g.expr("list", 1), g.pick("- {{ i }}", "{{ loop.index0 }} {{ i }}", "{% if loop.first %}first{% endif %} {{ i }}"))
		case 1:
			fmt.Fprintf(&b, "{%% macro m(x, y='d') %%}<{{ x }}|{{ y }}>{%% endmacro %%}\n{{ m(%s) }}{{ m(y=1, x=%s) }}\n", g.expr("str", 1), g.expr("str", 1))
		case 2:
			fmt.Fprintf(&b, "{%% include 'inc.j2' %s%%} after\n", g.pick("", "ignore missing ", "without context "))
		case 3:
			fmt.Fprintf(&b, "{# comment #}{%% set ns = namespace(n=0) %%}{%% for i in %s %%}{%% set ns.n = ns.n + 1 %%}{%% endfor %%}{{ ns.n }}\n", g.expr("list", 1))
		case 4:
			fmt.Fprintf(&b, "{%%- if %s -%%}\n yes \n{%%- endif %%}\n", g.expr("bool", 2))
		case 5:
			fmt.Fprintf(&b, "# {{ ansible_managed }}\n{{ template_path | basename }}\n")
		case 6:
			fmt.Fprintf(&b, "{%% raw %%}{{ raw }}{%% endraw %%} {%% filter upper %%}%s{%% endfilter %%}\n", g.tpl("str", 1))
		default:
			b.WriteString("k = " + g.text() + "\n")
		}
	}
	return b.String()
}

func (g *gen) role() {
	name := g.name("r")
	base := "roles/" + name
	g.roles = append(g.roles, name)
	outer := g.depth
	g.depth = 2
	g.p.Doc(base+"/tasks/main.yml", g.tasks(1+g.r.IntN(3), 1))
	if g.chance(50) {
		g.p.Doc(base+"/tasks/other.yml", g.tasks(1+g.r.IntN(2), 1))
	}
	g.depth = outer
	if g.chance(60) {
		g.p.Doc(base+"/defaults/main.yml", M("role_s", "default of "+name, "s2", "rd", "rdef", g.value(2)))
	}
	if g.chance(40) {
		g.p.Doc(base+"/vars/main.yml", M("role_s", "vars of "+name, "rv", g.text()))
	}
	if g.chance(40) {
		h := g.name("handler ")
		l := L(M("name", h, "debug", M("msg", g.text())))
		g.handlers = append(g.handlers, h, name+" : "+h)
		g.p.Doc(base+"/handlers/main.yml", l)
	}
	if len(g.roles) > 1 && g.chance(40) || g.chance(25) {
		meta := M()
		if len(g.roles) > 1 {
			dep := M("role", g.roles[0])
			g.maybe(dep, 30, "vars", M("role_s", "dep"))
			g.maybe(dep, 20, "when", g.expr("bool", 1))
			g.maybe(dep, 20, "tags", g.tags())
			meta.Set("dependencies", L(any(dep)))
		}
		g.maybe(meta, 30, "allow_duplicates", g.chance(70))
		if g.chance(40) {
			meta.Set("argument_specs", M("main", M("short_description", "It does.", "options", M(
				"role_s", M("type", "str", "required", g.chance(50)),
				g.pick("i1", "l1", "d1"), M("type", g.pick("int", "list", "dict", "str", "bool", "float")),
				"s2", M("choices", L("b a", "rd"), "type", "str"),
				"need", M("type", "str", "required", g.chance(10))))))
		}
		g.p.Doc(base+"/meta/main.yml", meta)
	}
	g.p.Text(base+"/templates/rt.j2", "role {{ role_name }} {{ role_s }}\n")
	g.p.Text(base+"/files/a.txt", "role file\n")
}

func (g *gen) play() *Map {
	g.loopVars = nil
	play := M()
	g.maybe(play, 60, "name", g.pick("play one", "Second: play", "p {{ s1 }}", "{{ nosuch }}"))
	play.Set("hosts", g.pick("all", "all", "all", "web", "db", "h1", "web:&db", "all:!h2", "h1,h3", "nosuch", "h[12]", "~h.", "*", "web[0]", "localhost", "{{ groups.web | join(',') }}"))
	if !g.chance(2) {
		play.Set("gather_facts", false)
	}
	g.maybe(play, 20, "vars", M("s2", g.text(), "pv", g.value(2), "i1", g.pick("{{ 1 + 2 }}", "{{ i2 }}")))
	if g.chance(15) {
		play.Set("vars_files", g.oneOf("vars/v1.yml", L("vars/v1.yml", "vars/v2.yml"), L(any(L("vars/nosuch.yml", "vars/v2.yml"))), L("vars/{{ s1 }}.yml"), L("vars/nosuch.yml")))
	}
	g.maybe(play, 10, "serial", g.oneOf(1, 2, "50%", L(1, 2), "{{ i1 }}"))
	g.maybe(play, 12, "strategy", g.pick("free", "linear", "host_pinned", "ansible.builtin.linear"))
	g.maybe(play, 6, "any_errors_fatal", g.oneOf(true, "{{ b1 }}"))
	g.maybe(play, 6, "max_fail_percentage", g.oneOf(0, 30, 50, "40"))
	g.maybe(play, 8, "order", g.pick("reverse_inventory", "sorted", "inventory", "reverse_sorted"))
	g.maybe(play, 8, "tags", g.tags())
	g.maybe(play, 5, "ignore_errors", true)
	g.maybe(play, 5, "check_mode", g.chance(50))
	g.maybe(play, 5, "diff", true)
	g.maybe(play, 5, "force_handlers", true)
	g.maybe(play, 5, "environment", M("E1", g.text()))
	g.maybe(play, 4, "module_defaults", M("debug", M("msg", "default msg"), "command", M("chdir", "/")))
	g.maybe(play, 4, "run_once", true)
	g.maybe(play, 4, "no_log", g.chance(60))
	g.maybe(play, 3, "collections", L("ansible.builtin"))
	g.maybe(play, 3, "throttle", 1)
	g.maybe(play, 3, "timeout", 60)
	g.maybe(play, 2, "vars_prompt", L(any(M("name", "asked", "prompt", "What", "default", "dd", "private", false))))
	if g.chance(40) {
		l := L()
		for range 1 + g.r.IntN(3) {
			l.Add(g.handler())
		}
		play.Set("handlers", l)
	}
	if g.chance(15) {
		play.Set("pre_tasks", g.tasks(1+g.r.IntN(2), 1))
	}
	if len(g.roles) > 0 && g.chance(50) {
		l := L()
		for range 1 + g.r.IntN(2) {
			r := g.pick(g.roles...)
			if g.chance(40) {
				l.Add(r)
				continue
			}
			m := M(g.pick("role", "role", "name"), r)
			g.maybe(m, 30, "vars", M("role_s", g.text()))
			g.maybe(m, 20, "role_s", g.pick("param", "p {{ s1 }}"))
			g.maybe(m, 20, "when", g.expr("bool", 2))
			g.maybe(m, 20, "tags", g.tags())
			g.maybe(m, 5, "delegate_to", "h1")
			g.maybe(m, 5, "become", false)
			l.Add(m)
		}
		play.Set("roles", l)
	}
	if !g.chance(8) {
		play.Set("tasks", g.tasks(2+g.r.IntN(6), 3))
	}
	if g.chance(12) {
		play.Set("post_tasks", g.tasks(1+g.r.IntN(2), 1))
	}
	return play
}

func (g *gen) oneOf(vs ...any) any { return vs[g.r.IntN(len(vs))] }

func (g *gen) handler() *Map {
	h := g.name("handler ")
	g.handlers = append(g.handlers, h)
	m := M("name", h)
	if g.chance(5) {
		m.Set("name", "h {{ s1 }}")
	}
	g.inHandler = true
	g.action(m)
	g.inHandler = false
	if g.chance(30) {
		m.Set("listen", g.oneOf("topic1", L("topic1", "topic2"), "topic {{ s1 }}"))
		g.handlers = append(g.handlers, "topic1")
	}
	g.maybe(m, 15, "when", g.expr("bool", 1))
	g.maybe(m, 15, "notify", g.pick(g.handlers...))
	g.maybe(m, 8, "loop", L("x", "y"))
	g.maybe(m, 5, "run_once", true)
	g.maybe(m, 5, "tags", g.tags())
	g.maybe(m, 20, "changed_when", true)
	return m
}

func (g *gen) args() {
	a := &g.p.Args
	add := func(percent int, args ...string) {
		if g.chance(percent) {
			*a = append(*a, args...)
		}
	}
	add(10, "--tags", g.pick("t1", "t2", "t1,t3", "never", "all", "tagged", "untagged", "nosuch"))
	add(8, "--skip-tags", g.pick("t1", "t2", "always", "t3,t1", "tagged"))
	add(8, "--limit", g.pick("h1", "web", "db:h1", "!h2", "all", "nosuch", "h1,h3", "web:!h1"))
	add(12, "--check")
	add(15, "--diff")
	add(8, "-v")
	add(4, "-vv")
	add(3, "-vvv")
	add(5, "-e", g.pick("s1=extra", "s1='with space' i1=9", `{"i1": 8, "l1": ["e"]}`, "@vars/v1.yml", "b1=false", "s2={{ s1 }}x", "@vars/nosuch.yml"))
	add(3, "--list-tasks")
	add(2, "--list-tags")
	add(2, "--syntax-check")
	add(4, "--start-at-task", g.pick("task 3", "handler 1", "nosuch", "task *"))
	add(4, "--force-handlers")
	add(2, "-u", "root")
	*a = append(*a, "-f", "1", "site.yml")
}
