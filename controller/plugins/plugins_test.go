package plugins

import (
	"context"
	"errors"
	"iter"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"volant/controller/template"
	"volant/controller/union"
	"volant/wire/leaktest"
	"volant/wire/pyjson"
	"volant/wire/value"
)

func TestMain(m *testing.M) {
	leaktest.Main(m)
}

const filters = `
import time, os, datetime
from ansible.errors import AnsibleFilterError
from jinja2 import pass_environment
def boom(v):
    raise AnsibleFilterError('bad: %s' % v)
@pass_environment
def env(e, v):
    return e.filters['upper'](v)
class FilterModule:
    def filters(self):
        return dict(
            same=lambda v: v, kind=lambda v: type(v).__name__, boom=boom, zero=lambda v: 1 / v, env=env,
            add=lambda v, n=1, *, m=0: v + n + m, gen=lambda v: (i for i in v), die=lambda v: os._exit(3),
            hang=lambda v: time.sleep(300), loud=lambda v: print('loud') or v, obj=lambda v: object(),
            day=lambda v: datetime.date(2020, 1, 2))
class TestModule:
    def tests(self):
        return dict(big=lambda v: v > 10, odd_result=lambda v: 'yes')
`

// markers is a lookup that is given what is undefined.
const markers = `
from ansible.plugins.lookup import LookupBase
class LookupModule(LookupBase):
    accept_args_markers = True
    def run(self, terms, variables=None, **kwargs):
        return terms if terms[-1] == 'all' else [type(t).__name__ for t in terms]
`

const lookups = `
import contextlib
try:
    from ansible._internal._datatag._tags import TrustedAsTemplate
except ImportError:
    class TrustedAsTemplate:
        def tag(self, text):
            return text
from ansible.plugins.lookup import LookupBase
DOCUMENTATION = '''
name: mine
short_description: x
description: x
options:
  opt: {description: x, type: int, default: 3, vars: [{name: mine_opt}]}
'''
class LookupModule(LookupBase):
    def run(self, terms, variables=None, **kwargs):
        self.set_options(var_options=variables, direct=kwargs)
        if terms[0] == 'templar':  # what the helper gives plugins to render with
            text = TrustedAsTemplate().tag('{{ who }} of {{ l[1] }}, {{ d.k.z | upper }}, {{ loc }}, {{ "no" if nosuch is undefined }}')
            with self._templar.set_temporary_context(available_variables=dict(variables, loc='there')) if hasattr(
                    self._templar, 'set_temporary_context') else contextlib.nullcontext():
                return [self._templar.template(text)]
        if terms[0] == 'whole':
            return [self._templar.template(TrustedAsTemplate().tag('{{ who }}-{{ d }}'))]
        if terms[0] == 'file':
            return [self._loader.get_text_file_contents(terms[1])] if hasattr(self._loader, 'get_text_file_contents') else []
        return ['%s-%s-%s' % (t, self.get_option('opt'), variables.get('who')) for t in terms]
`

// project makes a directory of plugins and a Helper that knows it; tests are
// skipped where there is no ansible-core.
func project(t *testing.T) (*Helper, *strings.Builder) {
	t.Helper()
	core, err := union.FindCore(union.Places{Env: os.Getenv("VOLANT_ANSIBLE_CORE"), PATH: filepath.SplitList(os.Getenv("PATH"))})
	if err != nil {
		t.Skip("no ansible-core: ", err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"filter_plugins/f.py": filters, "test_plugins/t.py": filters, "lookup_plugins/mine.py": lookups,
		"lookup_plugins/any.py":    markers,
		"filter_plugins/broken.py": "import nothing_like_that\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	opt := Options{Python: core.Python, Dir: dir, Stdout: &out}
	if opt.Python == "" {
		opt.Python, opt.Path = "python3", filepath.Dir(core.Path)
	}
	h := New(opt)
	h.AddDir(dir)
	t.Cleanup(h.Close)
	return h, &out
}

type vars struct{ d *value.Dict }

func (v vars) Lookup(name string) (any, bool, bool) {
	x, ok := v.d.Get(name)
	return x, false, ok
}

func (v vars) Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for k := range v.d.All() {
			if !yield(k.(string)) {
				return
			}
		}
	}
}

func scope(ctx context.Context, t *testing.T, h *Helper, v *value.Dict) *template.Scope {
	t.Helper()
	e := template.New(template.Options{Plugins: h, Lookups: h.Lookup})
	return e.Scope(ctx, vars{v}, template.ScopeOptions{Basedir: t.TempDir()})
}

func TestPlugins(t *testing.T) {
	h, out := project(t)
	v := value.NewDict(0)
	v.Set("l", value.ListOf(int64(1), "x", nil, 2.5, true))
	v.Set("who", value.NewTemplate("{{ 'me' | same }}", value.Pos{}))
	v.Set("huge", new(big.Int).Lsh(big.NewInt(1), 100))
	v.Set("marked", "{{ 1 + 1 }}")
	v.Set("d", value.DictOf("k", value.DictOf("z", "deep")))
	s := scope(t.Context(), t, h, v)
	for _, c := range []struct {
		expr, want, err string
	}{
		{expr: "l | same", want: "[1, 'x', None, 2.5, True]"},
		{expr: "lookup('mine', 'templar')", want: "'me of x, DEEP, there, no'"},
		{expr: "lookup('mine', 'whole')", want: `"me-{'k': {'z': 'deep'}}"`},
		{expr: "{'a': {1: (2, 3)}} | same", want: "{'a': {1: [2, 3]}}"},
		{expr: "huge | same", want: "1267650600228229401496703205376"},
		{expr: "'é☃' | same", want: "'é☃'"},
		{expr: "marked | same", want: "'{{ 1 + 1 }}'"},
		{expr: "[] | kind", want: "'list'"},
		{expr: "(1, 2) | kind", want: "'tuple'"},
		{expr: "1 | add", want: "2"},
		{expr: "1 | add(2, m=3)", want: "6"},
		{expr: "[1, 2] | gen", want: "[1, 2]"},
		{expr: "'q' | env", want: "'Q'"},
		{expr: "'x' | day", want: "datetime.date(2020, 1, 2)"},
		{expr: "[1, 2] | map('add', 1) | list", want: "[2, 3]"},
		{expr: "11 is big", want: "True"},
		{expr: "1 is big or 1 is odd_result", want: "True"},
		{expr: "lookup('mine', 'a', 'b')", want: "'a-3-me,b-3-me'"},
		{expr: "query('mine', 'a', opt='7')", want: "['a-7-me']"},
		{expr: "lookup('any', nope, 1)", want: "'UndefinedMarker,int'"},
		{expr: "lookup('any', nope, 1, 'all')[1]", want: "1"},
		{expr: "lookup('mine', [nope], 'b')", err: "'nope' is undefined"},
		{expr: "lookup('any', [nope, 2], 'all')[0][1]", want: "2"},
		{expr: "'x' | boom", err: "The filter plugin 'boom' failed: bad: x"},
		{expr: "0 | zero", err: "The filter plugin 'zero' failed: division by zero"},
		{expr: "1 | obj", err: "unsupported"},
		{expr: "nope | same", err: "'nope' is undefined"},
		{expr: "1 | nofilter", err: "No filter named 'nofilter'"},
		{expr: "lookup('nolookup')", err: "The lookup plugin 'nolookup' was not found."},
		{expr: "1 | loud", want: "1"},
	} {
		got, _, err := s.Expression(value.NewTemplate(c.expr, value.Pos{}))
		switch {
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: error %v, want %q", c.expr, err, c.err)
		case c.err == "" && (err != nil || value.Repr(got) != c.want):
			t.Errorf("%s: %s, %v; want %s", c.expr, value.Repr(got), err, c.want)
		}
	}
	h.Close()
	if out.String() != "loud\n" {
		t.Errorf("standard output of the plugins: %q", out)
	}
}

// TestHelperDies: a plugin that ends its process fails the one that called it.
func TestHelperDies(t *testing.T) {
	h, _ := project(t)
	s := scope(t.Context(), t, h, value.NewDict(0))
	for range 2 {
		_, _, err := s.Expression(value.NewTemplate("1 | die", value.Pos{}))
		if err == nil || !strings.Contains(err.Error(), "the helper for Python plugins ended") {
			t.Fatalf("error %v", err)
		}
		s = scope(t.Context(), t, h, value.NewDict(0))
		if got, _, err := s.Expression(value.NewTemplate("1 | add", value.Pos{})); err != nil || got != int64(2) {
			t.Fatalf("after that: %v, %v", got, err)
		}
	}
}

// TestHang: what does not answer ends with the task's context.
func TestHang(t *testing.T) {
	h, _ := project(t)
	if _, ok := h.Filter("hang"); !ok {
		t.Fatal("no filter")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, _, err := scope(ctx, t, h, value.NewDict(0)).Expression(value.NewTemplate("1 | hang", value.Pos{}))
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > time.Minute {
		t.Fatalf("%v after %s", err, time.Since(begin))
	}
}

// TestSetting: options of plugins that ansible-core finds, as the lookup config
// asks for them.
func TestSetting(t *testing.T) {
	h, _ := project(t)
	e := template.New(template.Options{Plugins: h, Lookups: h.Lookup, Settings: h})
	for _, c := range []struct {
		expr, want string
		set        any // mine_opt
	}{
		{"lookup('config', 'opt', plugin_type='lookup', plugin_name='mine')", "3", nil},
		{"lookup('config', 'opt', plugin_type='lookup', plugin_name='mine', show_origin=true)", "[5, 'var: mine_opt']", int64(5)},
		{"lookup('config', 'opt', plugin_type='lookup', plugin_name='mine')", "6", value.NewTemplate("{{ 5 | add }}", value.Pos{})},
		{"lookup('config', 'opt', plugin_type='lookup', plugin_name='mine')", "has an invalid value", "five"},
		{"lookup('config', 'none', plugin_type='lookup', plugin_name='mine')", "No config definition exists for 'none'", nil},
		{"q('config', 'none', plugin_type='lookup', plugin_name='mine', on_missing='skip')", "[]", nil},
		{"lookup('config', 'opt', plugin_type='lookup', plugin_name='nowhere')", "Unable to load lookup plugin 'nowhere'", nil},
	} {
		v := value.NewDict(1)
		if c.set != nil {
			v.Set("mine_opt", c.set)
		}
		got, _, err := e.Scope(t.Context(), vars{v}, template.ScopeOptions{Basedir: t.TempDir()}).Expression(value.NewTemplate(c.expr, value.Pos{}))
		if text := value.Repr(got); err == nil && text != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s, %v; want %s", c.expr, text, err, c.want)
		}
	}
}

// TestAnswerTooLarge: a variable that no frame can hold fails the lookup that
// reads it, and leaves its helper in step.
func TestAnswerTooLarge(t *testing.T) {
	h, _ := project(t)
	v := value.NewDict(0)
	v.Set("who", strings.Repeat("x", 5000))
	if _, ok := h.Lookup("mine"); !ok {
		t.Fatal("no lookup")
	}
	p := <-h.idle
	p.limit = 4000
	h.idle <- p
	_, _, err := scope(t.Context(), t, h, v).Expression(value.NewTemplate("lookup('mine', 'a')", value.Pos{}))
	if err == nil || !strings.Contains(err.Error(), "over 64 MiB") {
		t.Fatal(err)
	}
	got, _, err := scope(t.Context(), t, h, value.NewDict(0)).Expression(value.NewTemplate("1 | add", value.Pos{}))
	if err != nil || got != int64(2) || len(h.slots) != 1 {
		t.Fatalf("after that: %v, %v, %d helpers", got, err, len(h.slots))
	}
}

// TestNothingStarted: names nobody can have start no Python.
func TestNothingStarted(t *testing.T) {
	h := New(Options{Python: "/nonexistent/python3"})
	h.AddDir(t.TempDir())
	for _, name := range []string{"nope", "a.b.c", "json_query"} {
		if _, ok := h.Filter(name); ok {
			t.Errorf("there is a filter %s", name)
		}
		if _, ok := h.Lookup(name); ok {
			t.Errorf("there is a lookup %s", name)
		}
	}
	if len(h.slots) != 0 {
		t.Error("a process was started")
	}
}

// TestNoPython: an interpreter that does not start is said where it is needed.
func TestNoPython(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "filter_plugins"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "filter_plugins", "f.py"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	h := New(Options{Python: "/nonexistent/python3"})
	h.AddDir(dir)
	s := scope(t.Context(), t, h, value.NewDict(0))
	_, _, err := s.Expression(value.NewTemplate("1 | f", value.Pos{}))
	if err == nil || !strings.Contains(err.Error(), "starting /nonexistent/python3 for Python plugins") {
		t.Fatal(err)
	}
}

func TestCodec(t *testing.T) {
	d := value.NewDict(0)
	d.Set("~", "trick")
	d.Set("n", int64(-1))
	for _, v := range []any{
		nil, true, int64(5), 1.5, "~", []byte{0, 255}, value.ListOf("a", value.Tuple{int64(1), "b"}), value.SetOf("x", int64(2)), d,
		value.NewDate(2024, 2, 29), time.Date(2024, 2, 29, 1, 2, 3, 4000, value.Naive),
		time.Date(2024, 2, 29, 1, 2, 3, 0, time.FixedZone("", 3600)),
	} {
		e, err := encode(v, 0)
		if err != nil {
			t.Fatal(err)
		}
		b, err := pyjson.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		back, err := pyjson.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(back, 0)
		if err != nil || value.Repr(got) != value.Repr(v) {
			t.Errorf("%s: %s, %v", value.Repr(v), value.Repr(got), err)
		}
	}
	var deep any
	for range 300 {
		deep = value.ListOf(deep)
	}
	if _, err := encode(deep, 0); !errors.Is(err, errDeep) {
		t.Error(err)
	}
	if _, err := decode(deep, 0); !errors.Is(err, errDeep) {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"~":"dict","v":[[1,2]]}`, `{"~":"date","v":"2020-01-02"}`, `{"~":"set","v":[[1]]}`, `[{"~":"bytes","v":"!"}]`} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, s string) {
		v, err := pyjson.DecodeString(s)
		if err != nil {
			return
		}
		if v, err = decode(v, 0); err == nil {
			_, _ = encode(v, 0)
		}
	})
}
