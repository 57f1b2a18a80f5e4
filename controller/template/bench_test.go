package template_test

import (
	"testing"

	"volant/controller/template"
	"volant/wire/value"
)

// A new scope each time, as for a task: what the engine compiled stays.
func BenchmarkRender(b *testing.B) {
	vars := varMap{d: value.DictOf("a", value.DictOf("b", value.DictOf("c", "x")), "port", op("{{ a.b.c }}80"))}
	e := template.New(template.Options{})
	for name, text := range map[string]string{"access": "{{ a.b.c | default('x') }}", "nested": "http://{{ port }}/", "plain": "no template"} {
		t := op(text)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := e.Scope(b.Context(), vars, template.ScopeOptions{}).Render(t); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	cond := op("a.b.c == 'x' and port is defined")
	b.Run("condition", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if ok, err := e.Scope(b.Context(), vars, template.ScopeOptions{}).Condition(cond); err != nil || !ok {
				b.Fatal(ok, err)
			}
		}
	})
}
