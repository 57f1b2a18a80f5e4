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
)

func TestScan(t *testing.T) {
	tests := []struct {
		text string
		expr bool
		want string
	}{
		{"plain | text is odd", false, "[]"},
		{"{{ a | default('x | y') }} {% if b is not defined and c is mapping %}", false, "[{filter default} {test defined} {test mapping}]"},
		{"{# a | no #}{% raw %}{{ a | no }}{% endraw %}{{ b | yes }}", false, "[{filter yes}]"},
		{"{{ '}}' | f }}", false, "[{filter f}]"},
		{"{{ lookup('file', x) ~ query(\"env\", 'A') ~ q('pipe') }}", false, "[{lookup file} {lookup env} {lookup pipe}]"},
		{"x | ns.coll.f(1) is ns.coll.t", true, "[{filter ns.coll.f} {test ns.coll.t}]"},
		{"a.b is not in c", true, "[{test in}]"},
		{"not x", true, "[]"},
		{"{{ unclosed | f", false, "[{filter f}]"},
		{"{{ 'unclosed", false, "[]"},
	}
	for _, tt := range tests {
		if got := fmt.Sprint(scan(tt.text, tt.expr)); got != tt.want {
			t.Errorf("scan(%q) = %s, want %s", tt.text, got, tt.want)
		}
	}
}

// lacking supports everything but what is named.
type lacking map[string]string

func (l lacking) Action(resolved string, _ []string) string { return l["action "+resolved] }

func (l lacking) Plugin(kind, name string, _ []string) (string, bool) {
	why := l[kind+" "+name]
	return why, why != "unknown"
}

func TestPreflight(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"site.yml": `
- hosts: all
  connection: winrm
  tasks:
    - debug: msg="{{ x | odd_filter }}"
    - cron: {name: never}
      when: false
    - include_tasks: more.yml
    - include_tasks: "{{ dynamic }}.yml"
    - include_role: {name: r}
  handlers:
    - name: h
      git:
`,
		"more.yml":                "- uri: {url: x}\n  when: a is strange\n- include_tasks: more.yml\n",
		"roles/r/tasks/main.yml":  "- mount: {path: x}\n- uri: {url: y}\n",
		"roles/r/vars/main.yml":   "{}\n",
		"roles/r/files/other.yml": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l := newLoader(nil, fault.Discard)
	pb, err := l.Load(filepath.Join(dir, "site.yml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Finish(pb.Plays[0]); err != nil {
		t.Fatal(err)
	}
	plan, err := Compile(l, pb.Plays[0], Options{})
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	for range plan.Steps() {
		steps++
	}
	var got []string
	for _, r := range Preflight([]*Plan{plan}, lacking{
		"action ansible.builtin.cron": "no", "action ansible.builtin.uri": "no", "action ansible.builtin.mount": "no",
		"action ansible.builtin.git": "no", "connection winrm": "no", "filter odd_filter": "unknown", "test strange": "no",
	}) {
		got = append(got, fmt.Sprintf("%s %s:%d", r.Text(), filepath.Base(r.Pos.File), r.Pos.Line))
	}
	want := []string{
		"The connection 'winrm' cannot run here: no site.yml:3",
		"No filter plugin named 'odd_filter' is installed; the task fails if it is reached. site.yml:5",
		"The action 'uri' cannot run here: no more.yml:1",
		"The test 'strange' cannot run here: no more.yml:2",
		"The action 'mount' cannot run here: no main.yml:1",
		"The action 'git' cannot run here: no site.yml:12",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
	checked := Check(l, pb.Plays, Options{}, lacking{"action ansible.builtin.git": "no"}, func(*playbook.Play) bool { return true })
	sink := &collect{}
	err = Report(checked, false, sink)
	if fault.KindOf(err) != fault.Parser || !strings.Contains(err.Error(), "The action 'git' cannot run here: no") {
		t.Errorf("Report = %v", err)
	}
	if err := Report(checked, true, sink); err != nil || !strings.Contains(sink.text.String(), "The action 'git' cannot") {
		t.Errorf("Report, warnings only = %v, %q", err, sink.text.String())
	}
	after := 0
	for range plan.Steps() {
		after++
	}
	if after != steps || len(plan.Play.Roles) != 0 {
		t.Errorf("looking ahead changed the plan: %d steps, then %d; roles %d", steps, after, len(plan.Play.Roles))
	}
}

func TestFnmatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, s string
		want       bool
	}{
		{"a*", "abc", true},
		{"*c", "abc", true},
		{"a?c", "aéc", true},
		{"a[bd]c", "abc", true},
		{"a[!bd]c", "abc", false},
		{"a[a-c]c", "abc", true},
		{"[", "[", true},
		{"[]]x", "]x", true},
		{"a", "ab", false},
		{"", "", true},
		{"?", "", false},
	} {
		if got := fnmatch(tt.pattern, tt.s); got != tt.want {
			t.Errorf("fnmatch(%q, %q) = %v", tt.pattern, tt.s, got)
		}
	}
}
