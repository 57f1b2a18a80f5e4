package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// diffFile is one file of snippets, turned into one playbook with three plays
// a snippet.
//
// A snippet is a mapping: name; tasks; optionally play (keywords of its play
// over become: true, gather_facts: false), prep (shell text run once as root,
// in the snippet's directory), state (shell text whose output is compared after
// each pass, beside every file below the directory), passes (such as [first])
// and as: the users it is run as, each anew. root is become root and the
// default, plain becomes an unprivileged user, login is the login user itself,
// direct logs in as root.
// Every task is registered and its failure ignored; {{ d }} is the snippet's
// directory on the host.
type diffFile struct {
	name     string
	playbook []byte
	plays    []string
	sum      [32]byte
}

type diffSnippet struct {
	Name   string      `yaml:"name"`
	Play   yaml.Node   `yaml:"play"`
	Prep   string      `yaml:"prep"`
	State  string      `yaml:"state"`
	Passes []string    `yaml:"passes"`
	As     []string    `yaml:"as"`
	Tasks  []yaml.Node `yaml:"tasks"`
}

// listing prints every file below the current directory with what could differ.
const listing = `find . -printf '%P|%y|%m|%u|%g|%l\n' | sort; find . -type f -exec sha256sum {} + | sort`

func readDiffFile(t *testing.T, path, name string) *diffFile {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var snippets []diffSnippet
	if err := yaml.Unmarshal(text, &snippets); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	f := &diffFile{name: name}
	var plays []*yaml.Node
	seen := map[string]bool{}
	for _, s := range snippets {
		if s.Name == "" || len(s.Tasks) == 0 || seen[s.Name] {
			t.Fatalf("%s: snippet %q: no name, a name twice, or no tasks", path, s.Name)
		}
		seen[s.Name] = true
		passes := s.Passes
		if passes == nil {
			passes = []string{"check", "first", "second"}
		}
		users := s.As
		if users == nil {
			users = []string{""}
		}
		for _, user := range users {
			for i, pass := range passes {
				title := fmt.Sprintf("%s / %s / %s", name, s.Name, pass)
				if user != "" {
					title += " / " + user
				}
				f.plays = append(f.plays, title)
				plays = append(plays, s.play(t, title, name, pass, user, i == 0))
			}
		}
	}
	out, err := yaml.Marshal(&yaml.Node{Kind: yaml.SequenceNode, Content: plays})
	if err != nil {
		t.Fatal(err)
	}
	f.playbook = out
	project := []byte{}
	_ = filepath.WalkDir("testdata/diff/project", func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			b, _ := os.ReadFile(path)
			project = fmt.Appendf(project, "%s:%d:%s", path, len(b), b)
		}
		return nil
	})
	for _, path := range []string{"testdata/diff/project.sh", "testdata/diff/host.sh"} {
		b, _ := os.ReadFile(path)
		project = append(project, b...)
	}
	f.sum = diffSum(out, project)
	return f
}

func (s *diffSnippet) play(t *testing.T, title, file, pass, user string, first bool) *yaml.Node {
	t.Helper()
	dir := "/srv/diff/" + file + "/" + strings.ReplaceAll(s.Name, " ", "_") + user
	play := mapping("name", title, "hosts", "target", "gather_facts", false, "become", user == "" || user == "root" || user == "plain")
	if user == "plain" {
		add(play, "become_user", user)
	}
	if pass == "check" {
		add(play, "check_mode", true)
		add(play, "diff", true)
	}
	if pass == "first" {
		add(play, "diff", true)
	}
	for i := 0; i+1 < len(s.Play.Content); i += 2 {
		set(play, s.Play.Content[i].Value, s.Play.Content[i+1])
	}
	vars := mapping("d", dir)
	if user == "direct" {
		add(vars, "ansible_user", "root")
	}
	if own := get(&s.Play, "vars"); own != nil {
		vars.Content = append(vars.Content, own.Content...)
	}
	set(play, "vars", vars)
	tasks := &yaml.Node{Kind: yaml.SequenceNode}
	own := func(name string, module string, args any) *yaml.Node {
		return mapping("name", name, module, args, "check_mode", false, "become", true, "become_user", "root", "ignore_errors", true, "changed_when", false)
	}
	if first {
		prep := fmt.Sprintf("rm -rf %[1]s; mkdir -p -m 777 %[1]s; cd %[1]s; set -e; %[2]s", dir, s.Prep)
		tasks.Content = append(tasks.Content, own("prepare", "raw", prep))
	}
	var names []string
	for i := range s.Tasks {
		tasks.Content = append(tasks.Content, instrument(cloneNode(&s.Tasks[i]), &names))
	}
	state := own("state", "raw", fmt.Sprintf("cd %s; %s; %s", dir, listing, s.State))
	add(state, "register", "state_after")
	names = append(names, "state_after")
	var dump strings.Builder
	for _, n := range names {
		fmt.Fprintf(&dump, "%q: %s | default('absent'), ", n, n)
	}
	tasks.Content = append(tasks.Content, state,
		mapping("name", "dump results", "debug", mapping("msg", "{{ {"+dump.String()+"} | to_json }}"), "become", false, "check_mode", false))
	add(play, "tasks", tasks)
	return play
}

// instrument makes a task, or every task of a block, go on after a failure and register its result.
func instrument(task *yaml.Node, names *[]string) *yaml.Node {
	block := false
	for _, part := range []string{"block", "rescue", "always"} {
		if list := get(task, part); list != nil {
			block = true
			for i, inner := range list.Content {
				if part == "block" && get(task, "rescue") != nil {
					if get(inner, "ignore_errors") == nil {
						add(inner, "ignore_errors", false)
					}
				}
				list.Content[i] = instrument(inner, names)
			}
		}
	}
	if block {
		return task
	}
	if get(task, "ignore_errors") == nil {
		add(task, "ignore_errors", true)
	}
	for _, action := range []string{"import_tasks", "import_role", "meta", "include_tasks", "include_role"} {
		if get(task, action) != nil {
			return task
		}
	}
	if r := get(task, "register"); r != nil {
		*names = append(*names, r.Value)
		return task
	}
	name := fmt.Sprintf("t%02d", len(*names))
	add(task, "register", name)
	*names = append(*names, name)
	return task
}

func mapping(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(pairs); i += 2 {
		add(n, pairs[i].(string), pairs[i+1])
	}
	return n
}

func add(n *yaml.Node, key string, v any) {
	value, ok := v.(*yaml.Node)
	if !ok {
		value = &yaml.Node{}
		_ = value.Encode(v) // strings and bools
	}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, value)
}

func set(n *yaml.Node, key string, v *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content[i+1] = v
			return
		}
	}
	add(n, key, v)
}

func get(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Kind == yaml.MappingNode && n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func cloneNode(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = nil
	for _, child := range n.Content {
		c.Content = append(c.Content, cloneNode(child))
	}
	return &c
}
