package plugins

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"volant/controller/fault"
	"volant/controller/inventory"
	"volant/wire/value"
)

const source = `
from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Constructable
DOCUMENTATION = '''
name: mine
short_description: x
description: x
options:
  plugin: {description: x}
  fail: {description: x, type: bool}
extends_documentation_fragment: [constructed]
'''
class InventoryModule(BaseInventoryPlugin, Constructable):
    NAME = 'mine'
    def verify_file(self, path):
        return super().verify_file(path) and path.endswith('mine.yml')
    def parse(self, inventory, loader, path, cache=True):
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        inventory.add_group('web')
        inventory.add_child('web', inventory.add_host('a', port=22))
        inventory.set_variable('a', 'data', '{{ 1 + 1 }}')
        inventory.set_variable('web', 'cached', cache)
        if self.get_option('fail'):
            raise AnsibleParserError('as asked')
        for h in list(inventory.hosts):
            self._set_composite_vars(self.get_option('compose'), inventory.get_host(h).get_vars(), h, strict=False)
        if 'old' in inventory.hosts:
            inventory.remove_host(inventory.hosts['old'])
`

// cipher is a vault that knows one text.
type cipher struct{}

func (cipher) Decrypt(data []byte, _ string) ([]byte, error) {
	return bytes.ReplaceAll(data, []byte("$ANSIBLE_VAULT"), []byte("opened")), nil
}

func (c cipher) DecryptString(text string, _ value.Pos) (string, error) {
	out, err := c.Decrypt([]byte(text), "")
	return string(out), err
}

// TestInventory: a plugin in Python sees what is there with its templates and
// secrets, and adds hosts, groups and variables; what its configuration composes
// is the operator's, what it makes itself is data.
func TestInventory(t *testing.T) {
	h, _ := project(t)
	h.opt.Vault = cipher{}
	root := t.TempDir()
	files := map[string]string{
		"inventory_plugins/mine.py": source,
		"good.mine.yml":             "plugin: mine\nuse_extra_vars: true\ncompose: {seven: 3 + 4, both: word ~ extra, open: secret}\n",
		"bad.mine.yml":              "plugin: mine\nfail: true\n",
		"first.yml":                 "all: {hosts: {z: {word: '{{ 5 * 5 }}', secret: !vault '$ANSIBLE_VAULT', unsafe: !unsafe '{{ x }}'}, old: }}\n",
	}
	if err := os.MkdirAll(filepath.Join(root, "inventory_plugins"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h.AddDir(root)
	load := func(name string, no bool) (*inventory.Inventory, *notesOf) {
		t.Helper()
		sink := &notesOf{}
		inv, err := inventory.Load(context.Background(), []string{"first.yml", name}, inventory.Options{
			Dir: root, Sink: sink, Plugins: h, NoCache: no, Extra: value.DictOf("extra", value.NewTemplate("!", value.Pos{})),
		})
		if err != nil {
			t.Fatal(err)
		}
		return inv, sink
	}
	inv, sink := load("good.mine.yml", false)
	if len(sink.warnings) > 0 {
		t.Fatal(sink.warnings)
	}
	z, a := inv.Host("z").Vars, inv.Host("a").Vars
	if word, ok := z.Lookup("word").(*value.Template); !ok || word.Text != "{{ 5 * 5 }}" {
		t.Errorf("what was a template is %v", z.Lookup("word"))
	}
	for name, want := range map[string]any{"unsafe": "{{ x }}", "seven": int64(7)} {
		if got := z.Lookup(name); !value.Equal(got, want) {
			t.Errorf("%s of z is %v, want %v", name, got, want)
		}
	}
	if open, _ := value.Text(z.Lookup("open")); open != "opened" {
		t.Errorf("the secret is %q", z.Lookup("open"))
	}
	if secret, ok := z.Lookup("secret").(*value.Vault); !ok || secret.Ciphertext != "$ANSIBLE_VAULT" {
		t.Errorf("what was encrypted is %v", z.Lookup("secret"))
	}
	if data, ok := a.Lookup("data").(string); !ok || data != "{{ 1 + 1 }}" {
		t.Errorf("what the plugin made is %T %v, want data", a.Lookup("data"), a.Lookup("data"))
	}
	if port := a.Lookup("ansible_port"); !value.Equal(port, int64(22)) {
		t.Errorf("the port is %v", port)
	}
	if file, _ := value.Text(a.Lookup("inventory_file")); filepath.Base(file) != "good.mine.yml" {
		t.Errorf("the host comes from %q", file)
	}
	web := inv.Group("web")
	if hosts := web.AllHosts(); len(hosts) != 1 || hosts[0].Name != "a" || !value.Equal(web.Vars.Lookup("cached"), true) {
		t.Errorf("the group has %v and %v", hosts, web.Vars)
	}
	if inv.Host("old") != nil || len(inv.Hosts()) != 2 {
		t.Errorf("a host that was removed is there: %v", inv.Hosts())
	}
	if inv, _ = load("good.mine.yml", true); !value.Equal(inv.Group("web").Vars.Lookup("cached"), false) {
		t.Error("the plugin may use what it kept")
	}
	inv, sink = load("bad.mine.yml", false)
	if inv.Host("a") == nil || !strings.Contains(strings.Join(sink.warnings, "\n"), "as asked") {
		t.Errorf("after a failure there are %v and %q", inv.Hosts(), sink.warnings)
	}
}

// notesOf keeps warnings.
type notesOf struct {
	fault.Sink
	warnings []string
}

func (n *notesOf) Warning(err error)            { n.warnings = append(n.warnings, fault.Verbose(err)) }
func (n *notesOf) Deprecated(fault.Deprecation) {}
func (n *notesOf) Verbose(int, string)          {}
