package template_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"volant/controller/fault"
	"volant/controller/template"
	"volant/wire/value"
)

// TestLimits checks that what filters could use up is bounded, with an error
// that names the limit.
func TestLimits(t *testing.T) {
	for _, c := range []struct{ text, limit string }{
		{"{{ ('a' * 40 ~ '!') is regex('^(a+)+$(?!x)') }}", "5s"},
		{"{{ ('a' * 40 ~ '!') | regex_search('^(a+)+$(?!x)') }}", "5s"},
		{"{{ range(100) | product(range(100), range(100), range(100), range(100)) | length }}", "limit of"},
		{"{{ range(60) | permutations(30) | length }}", "limit of"},
		{"{{ range(60) | combinations(30) | length }}", "limit of"},
		{"{{ range(10 ** 9) | list | length }}", "limit of"},
		{"{{ lookup('sequence', 'count=1000000000') }}", "limit of"},
		{"{{ ['x' * 1000000] * 1000000 | join }}", ""},
		{"{% for i in range(1000) %}{{ 'x' * 1000000 }}{% endfor %}", "output limit of"},
	} {
		start := time.Now()
		_, _, err := scope(t, value.DictOf()).Render(op(c.text))
		if err == nil || !strings.Contains(fault.Brief(err), c.limit) {
			t.Errorf("%s: %v does not name the limit %q", c.text, err, c.limit)
		}
		if took := time.Since(start); took > 3*time.Minute {
			t.Errorf("%s took %v", c.text, took)
		}
	}
}

// TestSharedEngine renders the same templates, conditions and files of one
// engine from many goroutines, as the hosts of a play do.
func TestSharedEngine(t *testing.T) {
	e := template.New(template.Options{})
	vars := value.DictOf("l", value.ListOf(op("{{ n }}"), int64(2)), "n", int64(1), "d", value.DictOf("k", op("{{ l | join('-') }}"), "j", op("{{ d.k }}")))
	text := op("{% macro m(x) %}<{{ x }}>{% endmacro %}{% set _ = l.append(n) %}{% for i in l %}{{ m(i) }}{{ loop.index }}{% endfor %}{{ d.j }}{{ d | to_json }}")
	cond := op("d.k == '1-2' and l | length == 2")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 40 {
				s := e.Scope(t.Context(), varMap{d: vars}, template.ScopeOptions{})
				got, _, err := s.Render(text)
				if want := `<1>1<2>2<1>31-2{"k": "1-2", "j": "1-2"}`; err != nil || got != want {
					t.Errorf("got %v %v", got, err)
					return
				}
				if ok, err := s.Condition(cond); err != nil || !ok {
					t.Errorf("condition: %v %v", ok, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
