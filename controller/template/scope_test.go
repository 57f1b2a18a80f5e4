package template_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"volant/controller/fault"
	"volant/controller/template"
	"volant/wire/value"
)

// varMap is Vars for tests: names in marks came from a managed host.
type varMap struct {
	d     *value.Dict
	marks map[string]bool
}

func (v varMap) Lookup(name string) (any, bool, bool) {
	x, ok := v.d.Get(name)
	return x, v.marks[name], ok
}

func (v varMap) Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, k := range v.d.Keys() {
			if !yield(k.(string)) {
				return
			}
		}
	}
}

// op is operator-written text at a place.
func op(text string) *value.Template {
	return value.NewTemplate(text, value.Pos{File: "/p/site.yml", Line: 3, Column: 7})
}

func scope(t *testing.T, v *value.Dict, marked ...string) *template.Scope {
	t.Helper()
	marks := map[string]bool{}
	for _, m := range marked {
		marks[m] = true
	}
	dir := t.TempDir()
	return template.New(template.Options{}).Scope(t.Context(), varMap{v, marks}, template.ScopeOptions{SearchPath: []string{dir}, Basedir: dir})
}

func TestRender(t *testing.T) {
	vars := value.DictOf(
		"n", int64(5), "s", op("hello"), "l", value.ListOf(int64(3), op("{{ n }}")),
		"a", op("{{ b }}"), "b", op("x{{ n }}"), "loop", op("{{ loop }}"), "evil", "{{ n }}",
		"nested", value.DictOf("k", op("{{ nosuch }}"), "v", int64(1)), "vault", &value.Vault{},
	)
	for _, c := range []struct {
		in   any
		want string // repr
	}{
		{op("{{ n }}"), "5"},
		{op("plain"), "'plain'"},
		{op("{{ l }}"), "[3, 5]"},
		{op("{{ a }}"), "'x5'"},
		{op("{{ evil }}"), "'{{ n }}'"},
		{"{{ n }}", "'{{ n }}'"},
		{op("{{ nested.v }}"), "1"},
		{value.ListOf(op("{{ omit }}"), int64(1)), "[1]"},
		{value.DictOf("a", op("{{ omit }}"), "b", op("{{ s }}")), "{'b': 'hello'}"},
		{op("{{ s | upper }}\n"), "'HELLO\\n'"},
		{op("{{ [1, 2] | union([2, 3]) }}"), "[1, 2, 3]"},
		{op("{{ lookup('vars', 'a') }}"), "'x5'"},
		{op("{{ [vault | type_debug, nosuch | type_debug, nested.k | type_debug] }}"), "['VaultExceptionMarker', 'UndefinedMarker', 'UndefinedMarker']"},
	} {
		got, _, err := scope(t, vars).Render(c.in)
		if err != nil {
			t.Errorf("%v: %v", c.in, err)
			continue
		}
		if r := value.Repr(got); r != c.want {
			t.Errorf("%v: got %s, want %s", c.in, r, c.want)
		}
	}
}

func TestShared(t *testing.T) {
	vars := value.DictOf("l", value.ListOf(int64(1)), "d", value.DictOf("l", op("{{ l }}")))
	s := scope(t, vars)
	for range 2 {
		for text, want := range map[string]string{
			"{% set _ = l.append(2) %}{{ l }}":                  "[1, 2]",
			"{% set _ = d.l.append(2) %}{{ d.l }}":              "[1, 2]",
			"{{ vars['l'].append(3) }}{{ l }}":                  "[1]",
			"{{ lookup('vars', 'l', wantlist=true)[0].pop() }}": "1",
		} {
			got, _, err := s.Render(op(text))
			if err != nil || value.Repr(got) != want {
				t.Errorf("%s: got %v %v", text, value.Repr(got), err)
			}
		}
	}
	if r := value.Repr(vars.Lookup("l")); r != "[1]" {
		t.Errorf("the variable became %s", r)
	}
}

func TestErrors(t *testing.T) {
	vars := value.DictOf("a", value.NewTemplate("{{ missing }}", value.Pos{File: "/p/vars.yml", Line: 9, Column: 4}), "loop", op("{{ loop }}"), "n", int64(1), "own", op("x"), "list_", value.ListOf(int64(1)))
	for _, c := range []struct {
		in    any
		msg   string
		class string
		pos   string
	}{
		{op("{{ nosuch }}"), "'nosuch' is undefined", "AnsibleUndefinedVariable", "/p/site.yml:3:7"},
		{op("{{ a }}"), "'missing' is undefined", "AnsibleUndefinedVariable", "/p/vars.yml:9:4"},
		{op("{{ n | }}"), "Syntax error in template: expected token 'name', got 'end of print statement'", "AnsibleTemplateSyntaxError", "/p/site.yml:3:7"},
		{op("{{ 'x' | from_json }}"), "The filter plugin 'ansible.builtin.from_json' failed: Expecting value: line 1 column 1 (char 0)", "AnsibleTemplatePluginRuntimeError", "/p/site.yml:3:7"},
		{op("{{ 1 / 0 }}"), "Error rendering template: division by zero", "AnsibleTemplateError", "/p/site.yml:3:7"},
		{op("{{ lookup('none') }}"), "The lookup plugin 'none' was not found.", "AnsibleTemplatePluginNotFoundError", "/p/site.yml:3:7"},
		{op("{{ lookup('first_found', files=nosuch) }}"), "'nosuch' is undefined", "AnsibleUndefinedVariable", "/p/site.yml:3:7"},
		{op("{{ own() }}"), "Error rendering template: '_AnsibleTaggedStr' object is not callable", "AnsibleTemplateError", "/p/site.yml:3:7"},
		{op("{{ (own ~ '')() }}"), "Error rendering template: 'str' object is not callable", "AnsibleTemplateError", "/p/site.yml:3:7"},
		{op("{{ list_() }}"), "Error rendering template: '_AnsibleLazyTemplateList' object is not callable", "AnsibleTemplateError", "/p/site.yml:3:7"},
		{op("{{ range(3) }}"), "Error rendering template: Type 'range' is unsupported for variable storage.", "AnsibleTemplateError", "/p/site.yml:3:7"},
	} {
		_, _, err := scope(t, vars).Render(c.in)
		var e *fault.Error
		if !errors.As(err, &e) {
			t.Errorf("%v: got error %v", c.in, err)
			continue
		}
		if fault.Brief(err) != c.msg || e.Class != c.class || e.Pos.String() != c.pos {
			t.Errorf("%v: got %q %s at %s", c.in, fault.Brief(err), e.Class, e.Pos)
		}
	}
	_, _, err := scope(t, vars).Render(op("{{ loop }}"))
	if err == nil || !strings.HasPrefix(err.Error(), "Recursive loop detected in template") {
		t.Errorf("loop: %v", err)
	}
}

func TestMarks(t *testing.T) {
	vars := value.DictOf("fact", "from host", "mine", "ours", "lazy", op("<{{ fact }}>"))
	for text, want := range map[string]bool{
		"{{ fact }}": true, "{{ mine }}": false, "{{ lazy }}": true, "{{ mine if true else fact }}": false, "x": false,
	} {
		s := scope(t, vars, "fact")
		for range 2 { // the second render comes from the cache
			_, marked, err := s.Render(op(text))
			if err != nil || marked != want {
				t.Errorf("%s: marked %v, error %v", text, marked, err)
			}
		}
	}
	args, err := scope(t, vars, "fact").RenderArgs(value.DictOf("src", op("{{ lazy }}"), "dest", op("/x"), "mode", op("{{ omit }}")))
	if err != nil || !args.Marked["src"] || args.Marked["dest"] || args.Dict.Has("mode") {
		t.Errorf("arguments: %+v %v", args, err)
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		text, name string
		refused    bool
	}{
		{"{{ lookup('file', fact) }}", "/etc/passwd", true},
		{"{{ lookup('file', fact) }}", "../x", true},
		{"{{ lookup('file', fact, errors='ignore') }}", "ok.txt", false},
		{"{{ lookup('first_found', [fact], skip=true) }}", "/etc/passwd", true},
		{"{{ lookup('pipe', 'echo ' ~ fact) }}", "x", true},
		{"{{ lookup('template', fact ~ '.j2') }}", "~root/x", true},
		{"{{ fact }}{{ lookup('file', fact) }}", "/etc/passwd", true},
		{"{{ fact }}{{ lookup('file', '/dev/null') }}", "/etc/passwd", false},
		{"{% set p = fact %}{{ lookup('file', p) }}", "/etc/passwd", true},
		{"{% for p in [fact] %}{{ lookup('file', p) }}{% endfor %}", "/etc/passwd", true},
		{"{% set f = lookup %}{{ f('file', fact) }}", "/etc/passwd", true},
		{"{{ lazy }}{{ lookup('file', lazy) }}", "/etc/passwd", true},
		{"{{ lookup('file', d.k) }}", "/etc/passwd", true},
		{"{{ d.k }}{{ lookup('file', '/dev/null') }}", "/etc/passwd", false},
	} {
		_, _, err := scope(t, value.DictOf("fact", c.name, "lazy", op("{{ fact }}"), "d", value.DictOf("k", op("{{ fact }}"))), "fact").Render(op(c.text))
		if got := err != nil && strings.Contains(err.Error(), "managed host"); got != c.refused {
			t.Errorf("%s with %q: %v", c.text, c.name, err)
		}
	}
}

// placedVars are variables of a mapping that knows where they were written.
type placedVars struct {
	varMap
	dict *value.Dict
}

func (v placedVars) Place(name string) value.Pos { return v.dict.EntryPos(name) }

// TestConditionOrigin names the place of what a conditional that is no bool
// came from: the value behind the name, not the conditional.
func TestConditionOrigin(t *testing.T) {
	at := func(line int) *value.Pos { return &value.Pos{File: "/p/vars.yml", Line: line, Column: 4} }
	list := &value.List{Items: []any{int64(1)}, Place: at(2)}
	inner := value.DictOf("k", int64(2))
	inner.Places = &value.Places{File: "/p/vars.yml", Line: 3, Column: 4, Entries: []value.EntryPlace{{Key: "k", ValueLine: 3, ValueColumn: 8}}}
	d := value.DictOf("n", int64(5), "l", list, "d", inner, "same", value.NewTemplate("{{ n }}", *at(5)), "sum", value.NewTemplate("{{ n + n }}", *at(6)))
	d.Places = &value.Places{File: "/p/vars.yml", Line: 1, Column: 1, Entries: []value.EntryPlace{{Key: "n", ValueLine: 1, ValueColumn: 4}}}
	for expr, where := range map[string]string{
		"n": "/p/vars.yml:1:4", "l": "/p/vars.yml:2:4", "d": "/p/vars.yml:3:4", "d.k": "/p/vars.yml:3:8", "d['k']": "/p/vars.yml:3:8",
		"same": "/p/vars.yml:1:4", "sum": "/p/vars.yml:6:4", "n + 1": "/p/site.yml:3:7", "l[0]": "/p/site.yml:3:7", "l | length": "/p/site.yml:3:7",
	} {
		_, err := template.New(template.Options{}).Scope(t.Context(), placedVars{varMap{d: d}, d}, template.ScopeOptions{}).Condition(op(expr))
		if err == nil || !strings.Contains(err.Error(), "at '"+where+"'. Conditionals must") {
			t.Errorf("%s: %v; want %s", expr, err, where)
		}
	}
}

// told is a fault.Sink that keeps warnings.
type told []string

func (m *told) Warning(err error)            { *m = append(*m, err.Error()) }
func (*told) Deprecated(d fault.Deprecation) {}
func (*told) Verbose(int, string)            {}

// TestConverted warns of types that results may not have.
func TestConverted(t *testing.T) {
	for text, want := range map[string]string{
		"{{ 'x' | escape }}":                                  "Type 'Markup' is unsupported in variable storage, converting to 'str'.",
		"{{ [{'a': 1}] | groupby('a') }}":                     "Type 'GroupTuple' is unsupported in variable storage, converting to 'list'.",
		"x {{ 'x' | escape }}{{ [{'a': 1}] | groupby('a') }}": "", "{{ [1] | map('string') }}": "",
	} {
		var m told
		_, _, _ = template.New(template.Options{Sink: &m}).Scope(t.Context(), varMap{d: value.NewDict(0)}, template.ScopeOptions{}).Render(op(text))
		if got := strings.Join(m, "\n"); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: told %q, want %q", text, got, want)
		}
	}
}

func TestCondition(t *testing.T) {
	vars := value.DictOf("n", int64(5), "s", op("n == 5"), "evil", "n == 5", "b", true)
	for _, c := range []struct {
		in   any
		want bool
		msg  string
	}{
		{op("n == 5"), true, ""}, {op("{{ s }}"), true, ""}, {true, true, ""}, {op(" b "), true, ""},
		{op("evil"), false, "Conditional result (True) was derived from value of type 'str' at '/p/site.yml:3:7'. Conditionals must have a boolean result."},
		{"n == 5", false, "Encountered untrusted template or expression."},
		{op("nosuch"), false, "Error while evaluating conditional: 'nosuch' is undefined"},
		{op(""), false, "Empty conditional expressions are not allowed."},
		{int64(1), false, "Conditional expressions must be strings."},
	} {
		got, err := scope(t, vars).Condition(c.in)
		msg := ""
		if err != nil {
			msg = fault.Brief(err)
		}
		if got != c.want || msg != c.msg {
			t.Errorf("%v: got %v %q", c.in, got, msg)
		}
	}
}

func TestHostvars(t *testing.T) {
	h := inventory{"a": value.DictOf("port", int64(80), "url", op("http://{{ port }}")), "b": value.DictOf("port", int64(81), "url", op("http://{{ port }}"))}
	s := template.New(template.Options{}).Scope(t.Context(), varMap{d: value.DictOf("port", int64(1))}, template.ScopeOptions{Hosts: h})
	got, _, err := s.Render(op("{{ hostvars['b'].url }} {{ hostvars.a.url }} {{ hostvars['x'] is defined }} {{ hostvars | length }}"))
	if err != nil || got != "http://81 http://80 False 2" {
		t.Errorf("got %v %v", got, err)
	}
}

type inventory map[string]*value.Dict

func (i inventory) HostVars(name string) (template.Vars, bool) {
	d, ok := i[name]
	return varMap{d: d}, ok
}
func (i inventory) Hosts() []string                { return []string{"a", "b"} }
func (i inventory) Match(string) ([]string, error) { return nil, nil }

func TestTemplateFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "templates"), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		p := filepath.Join(dir, "templates", name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	write("part.j2", "[{{ n }}]")
	s := template.New(template.Options{}).Scope(context.Background(), varMap{d: value.DictOf("n", int64(5))}, template.ScopeOptions{SearchPath: []string{dir}, Basedir: dir})
	for _, c := range []struct{ text, want string }{
		{"a {{ n }}\n", "a 5\n"},
		{"{% include 'part.j2' %}\n", "[5]\n"},
		{"#jinja2: variable_start_string: '[%', variable_end_string: '%]'\n[% n %] {{ n }}\n", "5 {{ n }}\n"},
		{"no template\r\n", "no template\r\n"},
		{"{{ 'a\\nb' }}\n", "a\nb\n"},
		{"{{ template_destpath }}", "/etc/x"},
		{"# {{ ansible_managed }}", "# Ansible managed"},
	} {
		p := write("main.j2", c.text)
		got, _, err := s.TemplateFile(p, "main.j2", template.FileOptions{}, value.DictOf("template_destpath", "/etc/x"))
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if d := cmp.Diff(c.want, string(got)); d != "" {
			t.Errorf("%q: %s", c.text, d)
		}
	}
}

func TestCompatibility(t *testing.T) {
	for _, r := range template.Compatibility(template.Reference()) {
		if !r.Ours {
			t.Errorf("%s %s is missing", r.Kind, r.Name)
		}
	}
}

// What ansible-core's internal collection says of values.
func TestTagged(t *testing.T) {
	d := value.DictOf("own", value.NewTemplate("a == b", value.Pos{File: "/p", Line: 1, Column: 1}), "data", "a", "made", value.NewTemplate("{{ data }}", value.Pos{}),
		"deep", value.ListOf(value.NewTemplate("x", value.Pos{})), "sent", "{{ data }}")
	for expr, want := range map[string]any{
		"own is ansible._protomatter.tagged_with('TrustedAsTemplate')":                                     true,
		"deep[0] is ansible._protomatter.tagged_with('TrustedAsTemplate')":                                 true,
		"data is ansible._protomatter.tagged_with('TrustedAsTemplate')":                                    false,
		"made is ansible._protomatter.tagged_with('TrustedAsTemplate')":                                    false,
		"own is ansible._protomatter.tagged_with('Origin')":                                                true,
		"data is ansible._protomatter.tagged_with('Origin')":                                               false,
		"data | ansible._protomatter.apply_trust is ansible._protomatter.tagged_with('TrustedAsTemplate')": true,
		"sent | ansible._protomatter.apply_trust is ansible._protomatter.tagged_with('TrustedAsTemplate')": false, // a managed host's
		"5 | ansible._protomatter.apply_trust":                                                             int64(5),
	} {
		s := template.New(template.Options{}).Scope(t.Context(), varMap{d, map[string]bool{"sent": true}}, template.ScopeOptions{})
		if got, _, err := s.Expression(op(expr)); err != nil || got != want {
			t.Errorf("%s: %v, %v", expr, got, err)
		}
	}
}
