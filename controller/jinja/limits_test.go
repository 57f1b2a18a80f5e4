package jinja_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"volant/controller/jinja"
	"volant/wire/value"
)

func TestLimits(t *testing.T) {
	limits := jinja.Limits{Output: 100_000, Sequence: 10_000, Text: 100_000, Depth: 50, Steps: 100_000}
	for _, c := range []struct{ src, limit string }{
		{"{% for i in range(1000) %}{{ 'x' * 1000 }}{% endfor %}", "output limit of 100000"},
		{"{{ range(20000) | list }}", "sequence limit of 10000"},
		{"{% for i in range(9000) %}{% for j in range(9000) %}{% endfor %}{% endfor %}", "steps limit of 100000"},
		{"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "limit of 50 nested calls"},
		{"{% for i in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}", "limit of 50 nested calls"},
		{"{% block a %}x{{ self.a() }}{% endblock %}", "Marker found"},
		{"{% set l = [] %}{% for i in range(9999) %}{% set _ = l.extend(range(9000) | list) %}{% endfor %}", "sequence limit of 10000"},
		{"{{ 2 ** (10 ** 10) }}", "limit of 262144 bits"}, {"{{ 2 ** 99999999 * 2 ** 99999999 }}", "limit of 262144 bits"},
		{"{{ 10 ** 9 * 'abc' }}", "limit of 67108864 bytes"}, {"{{ [1] * 10 ** 9 }}", "limit of 10485760 items"}, {"{{ (1,) * 10 ** 9 }}", "limit of 10485760 items"},
		{"{{ '%99999999999d' % 1 }}", "width too big"}, {"{{ '%.99999999d' % 1 }}", "width too big"}, {"{{ '{:99999999999}'.format(1) }}", "Too many decimal digits"},
		{"{{ 'a'.center(10 ** 12) }}", "limit of 67108864 bytes"}, {"{{ ('a' * 60000) ~ ('b' * 60000) }}", "text limit of 100000"},
		{"{{ 'aaaa'.replace('', 'b' * 60000000) }}", "limit of 67108864 bytes"},
		{"{{ [1] | batch(10 ** 9, 3) }}", "sequence limit of 10000"}, {"{{ 'x' | indent(10 ** 9, true) }}", "limit of 67108864 bytes"}, {"{{ 'a\tb'.expandtabs(10 ** 10) }}", "limit of 67108864 bytes"},
		{"{{ 'x' | center(10 ** 10) }}", "limit of 67108864 bytes"}, {"{{ range(10 ** 8) | list }}", "sequence limit of 10000"},
	} {
		p, err := jinja.Compile(c.src, "", nil, jinja.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		v, err := p.RenderFinal(&jinja.Render{Vars: &vars{d: value.NewDict(0)}, Limits: limits})
		if err == nil {
			t.Errorf("%s: no error but %.40q", c.src, value.Repr(v))
		} else if !strings.Contains(err.Error(), c.limit) {
			t.Errorf("%s: %q does not name the limit %q", c.src, err, c.limit)
		}
	}
}

func TestNestingIsBounded(t *testing.T) {
	for _, open := range []string{"(", "[", "{1:", "not ", "-", "f(", "a[", "1 if 1 else ", "x|f("} {
		src := strings.Repeat(open, 100_000)
		if _, err := jinja.CompileExpr(src, nil, jinja.Options{}); err == nil {
			t.Errorf("%q nested 100000 times compiled", open)
		}
	}
	for _, tag := range []string{"{% if x %}", "{% for x in y %}", "{% macro m() %}", "{% filter upper %}", "{% set x %}"} {
		if _, err := jinja.Compile(strings.Repeat(tag, 100_000), "", nil, jinja.Options{}); err == nil {
			t.Errorf("%q nested 100000 times compiled", tag)
		}
	}
	long := strings.Repeat("1 + ", 50_000) + "1"
	p, err := jinja.CompileExpr(long, nil, jinja.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := p.Render(&jinja.Render{}); err != nil || v != int64(50_001) {
		t.Errorf("long sum: %v, %v", v, err)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p, err := jinja.Compile("{% for i in range(100000) %}{{ i }}{% endfor %}", "", nil, jinja.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Render(&jinja.Render{Ctx: ctx}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// TestSharedTemplate renders one compiled template from many goroutines, on
// shared variables that it changes: each render has copies of its own.
func TestSharedTemplate(t *testing.T) {
	p, err := jinja.Compile("{% macro m(x) %}<{{ x }}>{% endmacro %}{% set _ = l.append(n) %}{% for i in l %}{{ m(i) }}{{ loop.index }}{% endfor %}", "", nil, jinja.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := value.DictOf("l", value.ListOf(value.NewTemplate("{{ n }}", value.Pos{}), int64(2)), "n", int64(1))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				v, err := p.Render(&jinja.Render{Vars: &vars{d: d}})
				if err != nil || v != "<1>1<2>2<1>3" {
					t.Errorf("got %v, %v", v, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if l, _ := d.Get("l"); l.(*value.List).Len() != 2 {
		t.Errorf("the variable was changed: %s", value.Repr(l))
	}
}

// TestLazyItems checks that only what is read is rendered.
func TestLazyItems(t *testing.T) {
	bad := value.NewTemplate("{{ nosuch }}", value.Pos{})
	d := value.DictOf(
		"l", value.ListOf(value.NewTemplate("{{ 1 + 1 }}", value.Pos{}), bad),
		"d", value.DictOf("ok", value.NewTemplate("{{ l[0] }}", value.Pos{}), "bad", bad),
	)
	for src, want := range map[string]any{
		"{{ l[0] }}": int64(2), "{{ d.ok }}": int64(2), "{{ l | length }}": int64(2), "{{ l | first }}": int64(2), "{{ d | length }}": int64(2),
		"{{ d.keys() | first }}": "ok", "{{ 'bad' in d }}": true, "{{ d.bad is defined }}": false, "{{ d.bad | default('x') }}": "x",
		"{{ l | map('default', 7) | last }}": int64(7), "{% for x in l %}{{ x is defined }}{% endfor %}": "TrueFalse",
	} {
		p, err := jinja.Compile(src, "", nil, jinja.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if v, err := p.RenderFinal(&jinja.Render{Vars: &vars{d: d}}); err != nil || v != want {
			t.Errorf("%s = %v, %v; want %v", src, v, err, want)
		}
	}
	for _, src := range []string{"{{ l }}", "{{ d }}", "{{ l | join }}", "{{ l == [1] }}{{ d == {'ok': 2, 'bad': 1} }}", "{{ d.values() | list }}"} {
		p, err := jinja.Compile(src, "", nil, jinja.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.RenderFinal(&jinja.Render{Vars: &vars{d: d}})
		if u := (*value.Undefined)(nil); !errors.As(err, &u) || u.Hint != "'nosuch' is undefined" {
			t.Errorf("%s: got %v", src, err)
		}
	}
}
