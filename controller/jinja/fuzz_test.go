package jinja_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
	"time"

	"volant/controller/jinja"
)

// FuzzEvaluator checks that no text makes the lexer, the parser or a render
// panic, hang or take more than the limits allow.
func FuzzEvaluator(f *testing.F) {
	file, err := os.Open("testdata/recorded.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var c struct{ Template string }
		if json.Unmarshal(lines.Bytes(), &c) == nil {
			f.Add(c.Template)
		}
	}
	file.Close()
	for _, s := range []string{
		"{% raw %}{{ x }}{% endraw %}", "{#- c -#}", "{% extends 'a' %}", "{% block a scoped %}{{ self.a() }}{{ super() }}{% endblock %}",
		"{% for a, b in d.items() recursive %}{{ loop(l) }}{% endfor %}", "{% macro m(x) %}{{ m(x) }}{% endmacro %}{{ m(1) }}",
		"{{ 'x' * 10 ** 9 }}", "{{ '%999999999d' % 1 }}", "{{ '{:>999999999}'.format(1) }}", "{{ range(10 ** 9) | list }}",
		"{{ 2 ** 2 ** 2 ** 9 }}", "{{ \"\\x\" }}", "{{ '\\N{dash}' }}", "{% set ns = namespace() %}{% set ns.a = 1 %}", "{{ a[1:2, 3] }}",
	} {
		f.Add(s)
	}
	d := recordedVars(f)
	limits := jinja.Limits{Output: 1 << 20, Sequence: 10000, Text: 1 << 20, Steps: 100000}
	f.Fuzz(func(t *testing.T, src string) {
		start := time.Now()
		opts := jinja.Options{TrimBlocks: true, LineStatement: "#%", LineComment: "##", LstripBlocks: len(src)%2 == 0}
		if p, err := jinja.CompileExpr(src, nil, opts); err == nil {
			_, _ = p.RenderFinal(&jinja.Render{Vars: &vars{d: d}, Limits: limits})
		}
		if p, err := jinja.Compile(src, "", nil, opts); err == nil {
			_, _ = p.RenderText(&jinja.Render{Vars: &vars{d: d}, Limits: limits})
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("took %v", took)
		}
	})
}
