package compile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"volant/controller/union"
	"volant/controller/yaml"
)

// write makes files below dir.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// core is the installed ansible-core, or the test is skipped.
func core(t *testing.T) *union.Core {
	t.Helper()
	c, err := union.FindCore(union.Places{Env: os.Getenv("VOLANT_ANSIBLE_CORE"), PATH: filepath.SplitList(os.Getenv("PATH"))})
	if err != nil {
		t.Skipf("no ansible-core: %v", err)
	}
	return c
}

func TestCatalog(t *testing.T) {
	dir := t.TempDir()
	coll := "collections/ansible_collections/acme/tools/"
	write(t, dir, map[string]string{
		"library/mine.py":                            "#!/usr/bin/python\n",
		coll + "plugins/modules/hello.py":            "#!/usr/bin/python\n",
		coll + "plugins/modules/aimed.py":            "#!/usr/bin/python\n",
		coll + "plugins/modules/both.py":             "#!/usr/bin/python\n",
		coll + "plugins/action/driven.py":            "",
		coll + "plugins/action/ping.py":              "",
		coll + "plugins/lookup/find.py":              "",
		coll + "plugins/filter/some.py":              "def f(): return {'shout': 1}\n",
		coll + "roles/greet/tasks/main.yml":          "[]\n",
		coll + "roles/sub/deep/tasks/main.yml":       "[]\n",
		coll + "playbooks/deploy.yml":                "[]\n",
		coll + "meta/runtime.yml":                    "requires_ansible: '>=2.9'\naction_groups:\n  things: [hello, {metadata: {extend_group: [other]}}]\n  other: [ansible.builtin.ping]\n  wrong_keys: [{a: 1, metadata: {}}]\n  twice: [{metadata: {}}, {metadata: {extend_group: things}}]\n  no_dict: [{metadata: [x]}]\n  unknown_key: [{metadata: {b: 1}}]\n  wrong_type: [{metadata: {extend_group: {n: things}}}]\nplugin_routing:\n  modules:\n    old: {redirect: acme.tools.hello}\n    gone: {tombstone: {removal_version: 2.0.0, warning_text: Use hello.}}\n    aimed: {action_plugin: acme.tools.led}\n  action:\n    led: {redirect: acme.tools.driven}\n    hello: {redirect: acme.tools.no}\n    both: {redirect: acme.tools.driven}\n    past: {tombstone: {removal_version: 2.0.0}}\n",
		"filter_plugins/own.py":                      "class FilterModule: filters = lambda s: {'own_one': 1}\n",
		"plain/roles/x/README":                       "",
		"collections/ansible_collections/acme/x.txt": "",
	})
	sink := &collect{}
	files := &yaml.Files{Sink: sink}
	u := union.New(union.Options{Core: core(t), Collections: []string{filepath.Join(dir, "collections")}})
	c := &Catalog{Union: u, Files: files, Sink: sink, Lookups: func(n string) bool { return n == "file" }, Actions: func(n string) bool { return n == "ansible.legacy.debug" }}
	c.AddDir(dir)
	c.AddDir(filepath.Join(dir, "plain"))

	actions := []struct {
		name        string
		collections []string
		want        string
	}{
		{"copy", nil, "ansible.builtin.copy"},
		{"ansible.legacy.copy", nil, "ansible.builtin.copy"},
		{"ansible.builtin.ping", nil, "ansible.builtin.ping"},
		{"mine", nil, "ansible.legacy.mine"},
		{"ansible.builtin.mine", nil, ""},
		{"acme.tools.hello", nil, "acme.tools.hello"},
		{"hello", []string{"acme.tools", "ansible.legacy"}, "acme.tools.hello"},
		{"hello", nil, ""},
		{"acme.tools.old", nil, "acme.tools.hello"},
		{"acme.tools.driven", nil, "acme.tools.driven"},
		{"acme.tools.led", nil, "acme.tools.driven"},  // the routing of actions
		{"acme.tools.both", nil, "acme.tools.driven"}, // comes before a module
		{"acme.tools.aimed", nil, "acme.tools.aimed"}, // action_plugin names a handler only
		{"debug", nil, "ansible.legacy.debug"},        // the project's own action
		{"ansible.legacy.debug", nil, "ansible.legacy.debug"},
		{"ansible.builtin.debug", nil, "ansible.builtin.debug"},
		{"ping", nil, "ansible.builtin.ping"},
		{"ping", []string{"acme.tools", "ansible.legacy"}, "acme.tools.ping"},
		{"no_such_module", nil, ""},
		{"no.such.module", nil, ""},
		{"../copy", nil, ""},
		{"a b", nil, ""},
	}
	for _, tt := range actions {
		got, ok, err := c.Action(tt.name, tt.collections)
		if err != nil || ok != (tt.want != "") || got != tt.want {
			t.Errorf("Action(%q, %q) = %q, %v, %v, want %q", tt.name, tt.collections, got, ok, err, tt.want)
		}
	}
	for name, want := range map[string]string{"acme.tools.aimed": "acme.tools.driven", "acme.tools.hello": "", "ansible.builtin.ping": "", "mine": ""} {
		if got := u.Handler(name); got != want {
			t.Errorf("Handler(%q) = %q, want %q", name, got, want)
		}
	}
	if _, err := u.Action("acme.tools.past", union.Scope{}); err == nil || !strings.Contains(err.Error(), "has been removed") {
		t.Errorf("a removed action: %v", err)
	}
	if _, _, err := c.Action("acme.tools.gone", nil); err == nil || !strings.Contains(err.Error(), "has been removed") {
		t.Errorf("a removed module: %v", err)
	}
	if w := sink.text.String(); !strings.Contains(w, "Error loading plugin 'no.such.module': No module named 'ansible_collections.no'") {
		t.Errorf("no warning of a missing collection: %q", w)
	}
	for name, want := range map[string]bool{"file": true, "env": true, "acme.tools.find": true, "acme.tools.no": false, "nothing": false, "flattened": false} {
		if got := c.Lookup(name); got != want {
			t.Errorf("Lookup(%q) = %v", name, got)
		}
	}
	if w := sink.text.String(); !strings.Contains(w, "'community.general.flattened'") {
		t.Errorf("no warning of a lookup that moved: %q", w)
	}
	base := filepath.Join(dir, coll)
	if role, path, in, ok := c.RolePath("greet", []string{"acme.tools"}); !ok || role != "greet" || path != filepath.Join(base, "roles/greet") || in != "acme.tools" {
		t.Errorf("RolePath: %q %q %q %v", role, path, in, ok)
	}
	if role, _, _, ok := c.RolePath("acme.tools.sub.deep", nil); !ok || role != "sub.deep" {
		t.Errorf("RolePath of a nested role: %q %v", role, ok)
	}
	if path, in, ok := c.PlaybookPath("acme.tools.deploy"); !ok || path != filepath.Join(base, "playbooks/deploy.yml") || in != "acme.tools" {
		t.Errorf("PlaybookPath: %q %q %v", path, in, ok)
	}
	if got := c.CollectionOf(filepath.Join(base, "playbooks/deploy.yml")); got != "acme.tools" {
		t.Errorf("CollectionOf: %q", got)
	}
	members, extends, ok := c.ActionGroup("acme.tools.things")
	if !ok || !slices.Equal(members, []string{"hello"}) || !slices.Equal(extends, []string{"other"}) {
		t.Errorf("ActionGroup: %q %q %v", members, extends, ok)
	}

	sink.text.Reset()
	for group, want := range map[string]string{
		"wrong_keys":  "The only expected key is metadata, but got keys: a, metadata",
		"twice":       "The group contains multiple metadata entries.",
		"no_dict":     "The metadata is not a dictionary. Got ['x']",
		"unknown_key": "The metadata contains unexpected keys: b",
		"wrong_type":  "The metadata contains unexpected key types: extend_group is {'n': 'things'} (expected type list)",
		"things":      "",
	} {
		sink.text.Reset()
		if _, _, ok := c.ActionGroup("acme.tools." + group); !ok {
			t.Errorf("no group %s", group)
		}
		if want != "" {
			want = "Invalid metadata was found for action_group acme.tools." + group + " while loading module_defaults. " + want
		}
		if got := sink.text.String(); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("group %s: %q, want %q", group, got, want)
		}
	}
	sink.text.Reset()
	c.Silent().ActionGroup("acme.tools.twice")
	c.UncheckedGroups = true
	c.ActionGroup("acme.tools.twice")
	if got := sink.text.String(); got != "" {
		t.Errorf("warned of a group nonetheless: %q", got)
	}

	c.Actions = nil
	h := &Have{
		Catalog: c, Dirs: []string{dir}, Connections: []string{"ssh"}, Strategies: []string{"linear"},
		Filter: func(n string) bool { return n == "upper" }, Test: func(string) bool { return false }, Lookup: c.Lookups,
	}
	for name, want := range map[string]string{
		"ansible.builtin.copy": "", "acme.tools.hello": "", "acme.tools.driven": "Python",
	} {
		if got := h.Action(name, nil); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("support of action %s: %q, want %q", name, got, want)
		}
	}
	plugins := []struct {
		kind, name string
		ok, known  bool
	}{
		{"filter", "upper", true, true},
		{"filter", "ansible.builtin.upper", true, true},
		{"filter", "own_one", false, true},
		{"filter", "acme.tools.shout", false, true},
		{"filter", "acme.tools.whisper", false, false},
		{"filter", "nobody", false, false},
		{"lookup", "file", true, true},
		{"lookup", "csvfile", false, true},
		{"connection", "ssh", true, true},
		{"connection", "winrm", false, true},
		{"connection", "nosuch", false, false},
		{"strategy", "host_pinned", false, true},
	}
	for _, tt := range plugins {
		why, known := h.Plugin(tt.kind, tt.name, nil)
		if known != tt.known || tt.known && (why == "") != tt.ok {
			t.Errorf("support of %s %s: %q, known %v", tt.kind, tt.name, why, known)
		}
	}
}
