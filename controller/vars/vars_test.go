package vars_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"volant/controller/config"
	"volant/controller/fault"
	"volant/controller/inventory"
	"volant/controller/playbook"
	"volant/controller/template"
	"volant/controller/vars"
	"volant/controller/yaml"
	"volant/wire/value"
)

// project writes files and returns a store over them.
func project(t *testing.T, cfg string, files map[string]string, extra *value.Dict) (*vars.Store, string) {
	t.Helper()
	dir := t.TempDir()
	files["ansible.cfg"] = "[defaults]\n" + cfg
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Load(config.Source{Getenv: func(string) (string, bool) { return "", false }, Dir: dir, Home: dir, File: filepath.Join(dir, "ansible.cfg")})
	if err != nil {
		t.Fatal(err)
	}
	sink := &warnings{}
	yf := &yaml.Files{Sink: sink}
	opt := inventory.Options{Config: c, Files: yf, Sink: sink, Dir: dir}
	inv, err := inventory.Load(t.Context(), []string{filepath.Join(dir, "hosts")}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return vars.New(vars.Options{
		Config: c, Inventory: inv, Dirs: inventory.NewVarsDirs(opt), Files: yf, Engine: template.New(template.Options{Sink: sink}),
		Sink: sink, Extra: extra, Basedir: filepath.Join(dir, "play"),
	}), dir
}

type warnings struct{ texts []string }

func (w *warnings) Warning(err error)            { w.texts = append(w.texts, err.Error()) }
func (w *warnings) Deprecated(fault.Deprecation) {}
func (w *warnings) Verbose(int, string)          {}

func lookup(t *testing.T, c *vars.Context, name string) (any, bool) {
	t.Helper()
	v, marked, ok := c.Lookup(name)
	if !ok {
		t.Fatalf("%s is not there", name)
	}
	if s, isText := value.Text(v); isText {
		return s, marked
	}
	return v, marked
}

// every layer, lowest first, sets its own name in `v` as long as nothing above does.
func TestPrecedence(t *testing.T) {
	role := &playbook.Role{Name: "r", Path: "/r", Defaults: value.DictOf("v", "role default"), RoleVars: value.NewDict(0), Vars: value.NewDict(0), Params: value.NewDict(0)}
	play := &playbook.Play{Vars: value.NewDict(0), Roles: []*playbook.Role{role}}
	block := &playbook.Block{Vars: value.NewDict(0), Play: play, Role: role, DepChain: []*playbook.Role{role}}
	task := &playbook.Task{Vars: value.NewDict(0), Role: role, Parent: block}
	files := map[string]string{"hosts": "[g]\nh1\n[p:children]\ng\n"}
	extra := value.NewDict(0)
	var s *vars.Store
	steps := []struct {
		want string
		set  func()
	}{
		{"role default", func() {}},
		{"all inventory", func() { files["hosts"] += "[all:vars]\nv=\"all inventory\"\n" }},
		{"parent group", func() { files["hosts"] += "[p:vars]\nv=\"parent group\"\n" }},
		{"group", func() { files["hosts"] += "[g:vars]\nv=\"group\"\n" }},
		{"group_vars/all", func() { files["group_vars/all.yml"] = "v: group_vars/all\n" }},
		{"play group_vars/all", func() { files["play/group_vars/all.yml"] = "v: play group_vars/all\n" }},
		{"group_vars/g", func() { files["group_vars/g.yml"] = "v: group_vars/g\n" }},
		{"play group_vars/g", func() { files["play/group_vars/g.yml"] = "v: play group_vars/g\n" }},
		{"host", func() { files["hosts"] += "[g]\nh1 v=host\n" }},
		{"host_vars", func() { files["host_vars/h1.yml"] = "v: host_vars\n" }},
		{"play host_vars", func() { files["play/host_vars/h1.yml"] = "v: play host_vars\n" }},
		{"fact", nil},
		{"play vars", func() { play.Vars.Set("v", "play vars") }},
		{"vars_files", func() {
			files["play/more.yml"] = "v: vars_files\n"
			play.VarsFiles = []any{"more.yml"}
		}},
		{"role vars", func() { role.RoleVars.Set("v", "role vars") }},
		{"block vars", func() { block.Vars.Set("v", "block vars") }},
		{"task vars", func() { task.Vars.Set("v", "task vars") }},
		{"include_vars", nil},
		{"set_fact", nil},
		{"role param", func() { role.Params.Set("v", "role param") }},
		{"extra", func() { extra.Set("v", "extra") }},
	}
	for i, step := range steps {
		if step.set != nil {
			step.set()
		}
		var dir string
		s, dir = project(t, "", files, extra)
		play.Dir = filepath.Join(dir, "play")
		if err := os.MkdirAll(play.Dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if i >= 11 {
			s.SetFacts("h1", value.DictOf("v", "fact"), true)
		}
		if i >= 17 {
			s.Include("h1", "v", "include_vars", false)
		}
		if i >= 18 {
			s.SetFact("h1", "v", "set_fact", false)
		}
		c, err := s.Play(play, "p", nil).For(t.Context(), "h1", task, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := lookup(t, c, "v"); got != step.want {
			t.Errorf("v is %q, want %q", got, step.want)
		}
	}
}

func TestMagic(t *testing.T) {
	s, dir := project(t, "", map[string]string{"hosts": "[web]\nh1.example.com\nh2\n"}, nil)
	play := &playbook.Play{Vars: value.NewDict(0), Dir: dir}
	p := s.Play(play, "the play", nil)
	p.SetBatch(&vars.Batch{All: []string{"h1.example.com", "h2"}, Hosts: []string{"h1.example.com"}, Removed: map[string]bool{"h2": true}})
	c, err := p.For(t.Context(), "h1.example.com", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	list := func(name string) []any {
		v, _ := lookup(t, c, name)
		return v.(*value.List).Items
	}
	for name, want := range map[string]string{
		"inventory_hostname": "h1.example.com", "inventory_hostname_short": "h1", "playbook_dir": dir, "ansible_play_name": "the play",
	} {
		if got, _ := lookup(t, c, name); got != want {
			t.Errorf("%s is %v, want %s", name, got, want)
		}
	}
	for name, want := range map[string][]any{
		"group_names": {"web"}, "ansible_play_hosts_all": {"h1.example.com", "h2"}, "ansible_play_hosts": {"h1.example.com"}, "ansible_play_batch": {"h1.example.com"},
	} {
		if diff := cmp.Diff(want, list(name)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	seen := map[string]int{}
	for n := range c.Names() {
		seen[n]++
	}
	if seen["groups"] != 1 || seen["inventory_hostname"] != 1 || seen["role_name"] != 0 {
		t.Errorf("names are %v", seen)
	}
}

func TestMarks(t *testing.T) {
	s, dir := project(t, "", map[string]string{"hosts": "h1\n"}, nil)
	s.SetFacts("h1", value.DictOf("ansible_os_family", "Debian", "ansible_hostname", "../etc", "ansible_distribution", "Mine",
		"ansible_distribution_version", "12.5", "ansible_distribution_file_variety", "Debian", "ansible_virtualization_type", "../kvm",
		"ansible_distribution_release", "9", "ansible_ssh_host", "evil", "ansible_python_interpreter", "/evil", "ansible_local", value.NewDict(0)), true)
	s.SetFact("h1", "reg", "x", true)
	s.SetFact("h1", "own", "x", false)
	c, err := s.Host("h1", dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"ansible_os_family": false, "ansible_distribution_version": false, "ansible_hostname": true, "ansible_distribution": true, "reg": true, "own": false,
		"ansible_distribution_file_variety": false, "ansible_virtualization_type": true, "ansible_distribution_release": false,
	} {
		if _, marked := lookup(t, c, name); marked != want {
			t.Errorf("%s marked: %v, want %v", name, marked, want)
		}
	}
	for _, name := range []string{"ansible_ssh_host", "ansible_python_interpreter"} {
		if _, _, ok := c.Lookup(name); ok {
			t.Errorf("the fact %s sets a connection variable", name)
		}
	}
	if got := s.Facts("h1").Lookup("hostname"); got != "../etc" {
		t.Errorf("ansible_facts.hostname is %v", got)
	}
}

func TestOverlayAndMerge(t *testing.T) {
	s, dir := project(t, "hash_behaviour = merge\n", map[string]string{"hosts": "h1\n", "play/group_vars/all.yml": "d: {a: 1, in: {x: 1}}\n"},
		value.DictOf("d", value.DictOf("b", int64(2), "in", value.DictOf("y", int64(2)))))
	play := &playbook.Play{Vars: value.NewDict(0), Dir: filepath.Join(dir, "play")}
	c, err := s.Play(play, "", nil).For(context.Background(), "h1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	v, _ := lookup(t, c, "d")
	d := v.(*value.Dict)
	in := d.Lookup("in").(*value.Dict)
	if d.Lookup("a") != int64(1) || d.Lookup("b") != int64(2) || in.Len() != 2 {
		t.Errorf("merged to %v", d)
	}
	n := c.Clone()
	n.Set("item", int64(1), true)
	if _, marked := lookup(t, n, "item"); !marked {
		t.Error("the overlay lost its mark")
	}
	if _, _, ok := c.Lookup("item"); ok {
		t.Error("a clone's overlay shows in the original")
	}
	n.Unset("item")
	if _, _, ok := n.Lookup("item"); ok {
		t.Error("item is still there")
	}
}

// TestJSONFilesOfTheReference: what either program wrote the other reads, and no
// host's facts become more than data.
func TestJSONFilesOfTheReference(t *testing.T) {
	w := &warnings{}
	c := &vars.JSONFiles{Dir: t.TempDir(), Prefix: "p_", Sink: w}
	c.Set("h1", value.DictOf("a", value.ListOf(int64(1), value.DictOf("__ansible_type", "TrustedAsTemplate", "b", "x"))))
	path := filepath.Join(c.Dir, "p_s1_h1")
	b, err := os.ReadFile(path)
	if want := `{"__payload__": "{\"a\": [1, {\"b\": \"x\"}]}"}`; err != nil || string(b) != want {
		t.Errorf("wrote %s, %v, want %s", b, err, want)
	}
	for text, want := range map[string]string{
		`{"__payload__": "{\"x\": {\"value\": \"h1\", \"tags\": [{\"path\": \"/a.yml\", \"line_num\": 6, \"col_num\": 21, \"__ansible_type\": \"Origin\"}, {\"__ansible_type\": \"TrustedAsTemplate\"}], \"__ansible_type\": \"_AnsibleTaggedStr\"}}"}`:                                                                                                                                                                                    "{'x': 'h1'}",
		`{"__payload__": "{\"d\": {\"value\": {\"iso8601\": \"2001-01-01\", \"__ansible_type\": \"AnsibleSerializableDate\"}, \"tags\": [], \"__ansible_type\": \"_AnsibleTaggedDate\"}, \"l\": {\"value\": [{\"value\": 1, \"tags\": [], \"__ansible_type\": \"_AnsibleTaggedInt\"}, {\"value\": {\"a\": null}, \"tags\": [], \"__ansible_type\": \"_AnsibleTaggedDict\"}], \"tags\": [], \"__ansible_type\": \"_AnsibleTaggedList\"}}"}`: "{'d': '2001-01-01', 'l': [1, {'a': None}]}",
		`{"__payload__": "{\"a\": {\"__ansible_type\": \"unknown\", \"b\": 1}}"}`: "{'a': {'__ansible_type': 'unknown', 'b': 1}}",
		`{"x": "of another release"}`: "",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := ""
		if d := c.Get("h1"); d != nil {
			got = value.Repr(d)
		}
		if got != want {
			t.Errorf("%s gives %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"not json", `{"__payload__": "no"}`, `{"__payload__": "[1]"}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if d := c.Get("h1"); d != nil {
			t.Errorf("%s gives %v", text, d)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is still there", text)
		}
	}
}

func TestJSONFiles(t *testing.T) {
	c := &vars.JSONFiles{Dir: filepath.Join(t.TempDir(), "facts"), Sink: &warnings{}}
	c.Set("h1", value.DictOf("a", int64(1)))
	if got := c.Get("h1"); got.Lookup("a") != int64(1) {
		t.Errorf("got %v", got)
	}
	c.Set("../evil", value.DictOf("a", int64(1)))
	if _, err := os.Stat(filepath.Join(filepath.Dir(c.Dir), "evil")); err == nil {
		t.Error("a host's name led out of the cache")
	}
	c.Delete("h1")
	if c.Get("h1") != nil {
		t.Error("h1 is still there")
	}
}
