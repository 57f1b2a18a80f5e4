package compile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"volant/controller/fault"
	"volant/controller/playbook"
	"volant/wire/value"
)

// tree puts files, by path, below a new directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, files)
	return dir
}

// A role that a link leads to is where the link leads.
func TestRoleBehindLink(t *testing.T) {
	dir := tree(t, map[string]string{"real/tasks/main.yml": "- debug:\n", "p/site.yml": "- hosts: all\n  roles: [linked]\n"})
	if err := os.MkdirAll(filepath.Join(dir, "p/roles"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../real", filepath.Join(dir, "p/roles/linked")); err != nil {
		t.Fatal(err)
	}
	pb, err := newLoader(value.NewDict(0), &collect{}).Load(filepath.Join(dir, "p/site.yml"))
	if err != nil {
		t.Fatal(err)
	}
	if r := pb.Plays[0].Roles[0]; r.Name != "linked" || r.Path != filepath.Join(dir, "real") {
		t.Errorf("%s in %s", r.Name, r.Path)
	}
}

// When a play's hosts are matched and its variables gathered: hosts never
// before the play's turn, variables as soon as something needs them.
func TestWhenVariablesAreGathered(t *testing.T) {
	dir := tree(t, map[string]string{
		"r/tasks/main.yml": "- debug:\n", "t.yml": "- debug:\n", "d.yml": "- debug:\n",
		"site.yml": `- hosts: plain
  tasks: [{debug: }, {include_tasks: d.yml}]
- hosts: [roles, other]
  roles: [r, r]
- hosts: imports
  tasks: [{import_tasks: t.yml}]
- hosts: "{{ group }}"
`,
	})
	var got []string
	l := newLoader(value.DictOf("group", "g"), &collect{})
	l.Hosts = func(patterns []string) error {
		got = append(got, "hosts "+strings.Join(patterns, "+"))
		return nil
	}
	l.Variables = func(p *playbook.Play) error {
		got = append(got, fmt.Sprintf("variables of line %d", p.Pos.Line))
		return nil
	}
	pb, err := l.Load(filepath.Join(dir, "site.yml"))
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, "loaded")
	for _, p := range pb.Plays {
		if _, err := l.Finish(p); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"variables of line 3", "variables of line 5", "loaded", "hosts plain", "variables of line 1", "hosts roles+other", "hosts imports",
		"variables of line 7",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	n := len(got)
	if _, err := l.Quiet().Load(filepath.Join(dir, "site.yml")); err != nil || len(got) != n {
		t.Errorf("looking ahead gathers: %q, %v", got[n:], err)
	}
	l.Variables = func(*playbook.Play) error { return fault.New(fault.Generic, value.Pos{}, "no such file") }
	if _, err := l.Load(filepath.Join(dir, "site.yml")); err == nil {
		t.Error("what is wrong with variables is not said")
	}
}

// shelf is a playbook.Plugins with a collection n.c that is a directory.
type shelf struct {
	names
	dir string
}

func (s shelf) PlaybookPath(name string) (path, collection string, ok bool) {
	return filepath.Join(s.dir, "playbooks/all.yml"), "n.c", name == "n.c.all"
}

func (s shelf) RolePath(name string, collections []string) (role, path, collection string, ok bool) {
	return name, filepath.Join(s.dir, "roles", name), "n.c", has(collections, "n.c")
}

// The collection of an imported playbook stays the one that names are looked
// for in, also for the plays behind.
func TestCollectionStays(t *testing.T) {
	dir := tree(t, map[string]string{
		"c/playbooks/all.yml": "- hosts: all\n", "c/roles/r/tasks/main.yml": "- debug:\n",
		"site.yml": "- import_playbook: n.c.all\n- hosts: all\n  tasks: [{import_role: {name: r}}]\n",
		"none.yml": "- hosts: all\n  tasks: [{import_role: {name: r}}]\n",
	})
	l := newLoader(value.NewDict(0), &collect{})
	l.Plugins = shelf{dir: filepath.Join(dir, "c")}
	if _, err := l.Load(filepath.Join(dir, "site.yml")); err != nil {
		t.Error(err)
	}
	if _, err := l.Load(filepath.Join(dir, "none.yml")); err == nil {
		t.Error("a playbook is in the collection of the one before")
	}
}

// searched notes which collections an action was looked for in.
type searched struct {
	names
	in map[string]string
}

func (s searched) Action(name string, collections []string) (string, bool, error) {
	s.in[name] = strings.Join(collections, " ")
	return s.names.Action(name, collections)
}

// What is inside a block is found in the block's collections, wherever they are
// written.
func TestCollectionsOfBlocks(t *testing.T) {
	dir := tree(t, map[string]string{"site.yml": `- hosts: all
  collections: [play.level]
  tasks:
    - debug:
    - block:
        - copy:
        - collections: [inner.one]
          rescue: [file: ]
          block: [ping: , {stat: , collections: [own.one]}]
      always: [command: ls]
      collections: [outer.one]
`})
	l := newLoader(value.NewDict(0), &collect{})
	s := searched{in: map[string]string{}}
	l.Plugins = s
	if _, err := l.Load(filepath.Join(dir, "site.yml")); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"debug": "play.level ansible.legacy", "copy": "outer.one ansible.legacy", "command": "outer.one ansible.legacy",
		"ping": "inner.one ansible.legacy", "file": "inner.one ansible.legacy", "stat": "own.one ansible.legacy",
	}
	if d := cmp.Diff(want, s.in); d != "" {
		t.Error(d)
	}
}
