package inventory

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"volant/controller/fault"
	"volant/controller/yaml"
	"volant/wire/value"
)

type messages struct{ text []string }

func (m *messages) Warning(err error)              { m.text = append(m.text, strings.TrimSpace(fault.Verbose(err))) }
func (m *messages) Deprecated(d fault.Deprecation) { m.text = append(m.text, "DEPRECATED "+d.Msg) }
func (m *messages) Verbose(int, string)            {}

// load writes files into a directory and loads sources from it.
func load(t *testing.T, files map[string]string, sources ...string) (*Inventory, *messages, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	m := &messages{}
	inv, err := Load(context.Background(), sources, Options{Dir: dir, Sink: m, Files: &yaml.Files{Sink: m}, Python: "/py"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.text {
		m.text[i] = strings.ReplaceAll(m.text[i], dir, "DIR")
	}
	return inv, m, dir
}

func names(hosts []*Host) string {
	var out []string
	for _, h := range hosts {
		out = append(out, h.Name)
	}
	return strings.Join(out, " ")
}

const sample = `
lone
[web]
w[1:3] color=red
w4:2222 n=5 s='a b' l=[1,2] t=True q="x#y" # comment
[db]
d1
w1
[site:children]
web
db
[site:vars]
x = {"a": [1, None]}
y = 1, 2
z = 0777
empty =
ansible_group_priority = 5
`

func TestIni(t *testing.T) {
	inv, m, _ := load(t, map[string]string{"hosts": sample}, "hosts")
	if len(m.text) != 0 {
		t.Errorf("messages: %q", m.text)
	}
	if got := names(inv.Hosts()); got != "lone w1 w2 w3 w4 d1" {
		t.Errorf("hosts: %s", got)
	}
	if got := names(inv.Group("site").AllHosts()); got != "w1 w2 w3 w4 d1" {
		t.Errorf("site: %s", got)
	}
	if got := names(inv.Group("ungrouped").AllHosts()); got != "lone" {
		t.Errorf("ungrouped: %s", got)
	}
	if g := inv.Group("site"); g.Priority != 5 || g.Depth != 1 || inv.Group("web").Depth != 2 {
		t.Errorf("priority %d depth %d %d", g.Priority, g.Depth, inv.Group("web").Depth)
	}
	if got := value.Repr(inv.Group("site").Vars); got != `{'x': {'a': [1, None]}, 'y': [1, 2], 'z': '0777', 'empty': ''}` {
		t.Errorf("vars: %s", got)
	}
	h := inv.Host("w4")
	h.Vars.Delete("inventory_file")
	h.Vars.Delete("inventory_dir")
	if got := value.Repr(h.Vars); got != `{'ansible_port': 2222, 'n': 5, 's': 'a b', 'l': [1, 2], 't': True, 'q': 'x#y'}` {
		t.Errorf("w4: %s", got)
	}
	if p := value.PosOf(h.Vars.Lookup("s")); p.Line != 5 {
		t.Errorf("place: %v", p)
	}
	var groups []string
	for _, g := range inv.Host("w1").SortedGroups() {
		groups = append(groups, g.Name)
	}
	if got := strings.Join(groups, " "); got != "all site db web" {
		t.Errorf("order: %s", got)
	}
}

// TestAliasesAreWrittenOut: each variable of a host or group has a value of its
// own, and so has each place in it.
func TestAliasesAreWrittenOut(t *testing.T) {
	inv, _, _ := load(t, map[string]string{"hosts.yml": "all:\n  hosts:\n    h[1:2]:\n      k: {p: &x [1], q: *x}\n      m: *x\n"}, "hosts.yml")
	seen := map[any]bool{}
	for _, h := range []string{"h1", "h2"} {
		vars := inv.hosts[h].Vars
		k, _ := vars.Lookup("k").(*value.Dict)
		for _, v := range []any{k, k.Lookup("p"), k.Lookup("q"), vars.Lookup("m")} {
			if v == nil || seen[v] {
				t.Errorf("%s: %v stands elsewhere too", h, v)
			}
			seen[v] = true
		}
	}
}

func TestPatterns(t *testing.T) {
	inv, _, dir := load(t, map[string]string{"hosts": sample, "lim": "w1\nd1\n"}, "hosts")
	for pattern, want := range map[string]string{
		"all": "lone w1 w2 w3 w4 d1", "web": "w1 w2 w3 w4", "w*": "w1 w2 w3 w4 d1", "web:&db": "w1", "web:!db": "w2 w3 w4", "!web": "lone d1",
		"web[0]": "w1", "web[-1]": "w4", "web[1:2]": "w2 w3", "web[1:]": "w2 w3 w4", "~w[12]": "w1 w2", "d?": "d1 w1", "w[!1]": "w2 w3 w4",
		"lone,d1": "lone d1", "localhost": "localhost", "w1:w1": "w1", "db,web,&site,!w3": "d1 w1 w2 w4", "*": "lone w1 w2 w3 w4 d1",
	} {
		got, err := inv.Match(pattern)
		if pattern == "w*" { // matches the group web as well
			want = "w1 w2 w3 w4"
		}
		if pattern == "d?" {
			want = "d1 w1" // the group db, then the host d1
		}
		if err != nil || names(got) != want {
			t.Errorf("%s: %s, %v; want %s", pattern, names(got), err, want)
		}
	}
	if _, err := inv.Match("web[9]"); err == nil || err.Error() != "No hosts matched the subscripted pattern 'web[9]'" {
		t.Errorf("subscript: %v", err)
	}
	if err := inv.Limit("@" + dir + "/lim"); err != nil {
		t.Fatal(err)
	}
	if got, _ := inv.Select("all"); names(got) != "w1 d1" {
		t.Errorf("limited: %s", names(got))
	}
	if err := inv.Limit("@nosuch"); err == nil || err.Error() != "Unable to find limit file b'nosuch'" {
		t.Errorf("%v", err)
	}
}

func TestSources(t *testing.T) {
	files := map[string]string{
		"a/h.yml":              "all:\n  hosts:\n    y1: {v: '{{ x }}'}\n    y[2:3]:\n  children:\n    grp:\n      hosts: {y1: }\n      vars: {g: 1}\n    single: {hosts: y2}\n",
		"a/b.toml":             "[tg.hosts]\nt2 = {}\nt1 = {v = 'x'}\n[tg.vars]\nn = 3\n",
		"a/s.sh":               "#!/bin/sh\necho '{\"sg\": {\"hosts\": [\"s1\"], \"vars\": {\"a\": \"{{ b }}\"}}, \"_meta\": {\"hostvars\": {\"s1\": {\"k\": [1]}}}}'\n",
		"a/group_vars/grp.yml": "filevar: 1\n",
		"a/notes.txt":          "ignored",
		"a/empty/notes.txt":    "ignored",
		"bad.ini":              "[web:kids]\n",
	}
	inv, m, dir := load(t, files, "a", "h1,h2:22,", "bad.ini", "nosuch")
	if got := names(inv.Hosts()); got != "t2 t1 y1 y2 y3 s1 h1 h2" {
		t.Errorf("hosts: %s", got)
	}
	want := []string{"Unable to parse DIR/a/empty as an inventory source",
		"Failed to parse inventory with 'ini' plugin: Failed to parse inventory: Section [web:kids] has unknown type: kids\n\nFailed to parse inventory with 'ini' plugin.\n\n<<< caused by >>>\n\nFailed to parse inventory: Section [web:kids] has unknown type: kids\nOrigin: DIR/bad.ini",
		"Unable to parse DIR/bad.ini as an inventory source", "Unable to parse DIR/nosuch as an inventory source"}
	if d := cmp.Diff(want, m.text); d != "" {
		t.Error(d)
	}
	if _, ok := inv.Host("y1").Vars.Lookup("v").(*value.Template); !ok {
		t.Error("a YAML variable is not trusted")
	}
	if _, ok := inv.Group("sg").Vars.Lookup("a").(*value.Template); !ok {
		t.Error("a script's variable is not trusted")
	}
	dirs := NewVarsDirs(Options{})
	if d, err := dirs.GroupVars(filepath.Join(dir, "a"), "grp"); err != nil || value.Repr(d) != "{'filevar': 1}" {
		t.Errorf("group_vars: %v %v", d, err)
	}
	if d, err := dirs.HostVars(filepath.Join(dir, "a"), "y1"); err != nil || d != nil {
		t.Errorf("host_vars: %v %v", d, err)
	}
	if got := strings.Join(inv.Bases(), " "); got != dir+"/a "+dir+" "+dir {
		t.Errorf("bases: %s", got)
	}
	changed, err := inv.AddHost("new", []string{"grp", "fresh"}, value.DictOf("v", int64(1)))
	if err != nil || !changed || names(inv.Group("fresh").AllHosts()) != "new" {
		t.Errorf("add_host: %v %v", changed, err)
	}
	if changed, err = inv.AddHost("new", []string{"grp"}, value.DictOf("v", int64(1))); changed || err != nil {
		t.Errorf("again: %v %v", changed, err)
	}
	if changed, err = inv.AddToGroup("h1", "by_os", []string{"parents"}); !changed || err != nil || names(inv.Group("parents").AllHosts()) != "h1" {
		t.Errorf("group_by: %v %v", changed, err)
	}
	if err := inv.Refresh(context.Background()); err != nil || names(inv.Group("parents").AllHosts()) != "h1" || inv.Host("new") == nil {
		t.Errorf("refresh: %v", err)
	}
}

// TestLiteral has what ast.literal_eval makes of texts; "" is an error.
func TestLiteral(t *testing.T) {
	for in, want := range map[string]string{
		"1": "1", "-1": "-1", "+1": "1", "0": "0", "00": "0", "007": "", "0x1F": "31", "0o17": "15", "0b11": "3", "1_000": "1000", "1__0": "", "1_": "",
		"1.": "1.0", ".5": "0.5", "1e3": "1000.0", "1e-3": "0.001", "1.5.2": "", "1.2.3.4": "", "1+2": "", "1+2j": "'(1+2j)'", "2j": "'2j'", "--1": "",
		"None": "None", "True": "True", "true": "", "foo": "", "'a'": "'a'", `"a'b"`: `"a'b"`, "'a' 'b'": "'ab'", `r'\n'`: `'\\n'`, `'\x41\u00e9\101\q'`: `'AéA\\q'`,
		"b'a'": "'a'", "b'é'": "", "f'a'": "", "'''x'''": "'x'", "'a": "", "[1, 'a', [True]]": "[1, 'a', [True]]", "[1,]": "[1]", "[,]": "", "(1, 2)": "[1, 2]",
		"(1)": "1", "()": "[]", "1, 2": "[1, 2]", "1,": "[1]", "{'a': 1, 2: [3]}": "{'a': 1, 2: [3]}", "{1, 2}": "[1, 2]", "{}": "{}", "set()": "[]",
		"{[1]: 2}": "", "[1, a]": "", "5 # x": "5", "'a' # x": "'a'", "5 x": "", "1 if 2 else 3": "", "": "", "12345678901234567890": "12345678901234567890",
		"1.0e400": "inf", "192.168.1.1": "", "2024-01-01": "", "10:30": "", "[1": "", "{'a' 1}": "", "...": "'...'", "yes": "", "0.1": "0.1", "08": "",
	} {
		v, err := literal(in)
		got := ""
		if err == nil {
			p := &iniParser{}
			got = value.Repr(p.trusted(v))
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestAddresses(t *testing.T) {
	for in, want := range map[string]string{
		"a": "a 0", "a.b-c_d:22": "a.b-c_d 22", "[::1]:22": "::1 22", "::1": "::1 0", "1.2.3.4:5": "1.2.3.4 5", "a-": "", "-a": "", "a..b": "", "a b": "",
		"h[1:3]x": "h[1:3]x 0", "h[a:z]": "h[a:z] 0", "h[1:3:2].d": "h[1:3:2].d 0", "fe80::1%1": "", "_a": "_a 0", "a_": "", "ü": "ü 0", "a:b": "",
	} {
		h, p, err := parseAddress(in, true)
		got := fmt.Sprint(h, " ", p)
		if err != nil {
			got = ""
		}
		if got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"w[01:03]": "w01 w02 w03", "w[a:c]x[1:2]": "wax1 wax2 wbx1 wbx2 wcx1 wcx2", "w[1:6:2]:22": "w1 w3 w5", "w[:2]": "w0 w1 w2",
	} {
		got, _, err := expandHosts(in)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v %v", in, got, err)
		}
	}
	if _, _, err := expandHosts("w[01:3]"); err == nil || err.Error() != "host range must specify equal-length begin and end formats" {
		t.Error(err)
	}
}

func TestTenThousandHosts(t *testing.T) {
	var b strings.Builder
	for g := range 100 {
		fmt.Fprintf(&b, "[g%d]\nhost%d-[1:100].example.com ansible_host=10.0.0.1 n=%d\n", g, g, g)
	}
	b.WriteString("[top:children]\n")
	for g := range 100 {
		fmt.Fprintf(&b, "g%d\n", g)
	}
	start := time.Now()
	inv, _, _ := load(t, map[string]string{"hosts": b.String()}, "hosts")
	hosts, err := inv.Match("all:!g5")
	if err != nil || len(hosts) != 9900 {
		t.Errorf("%d hosts, %v", len(hosts), err)
	}
	if d := time.Since(start); d > 30*time.Second {
		t.Errorf("took %s", d)
	}
}
