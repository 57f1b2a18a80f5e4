// Package difftest compares the template language with that of an installed
// ansible-core: it makes up templates, has both sides render them and says
// where value or error differ. Nothing but its own tests uses it; see
// docs/TEMPLATES.md for how to run it longer.
package difftest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Generator makes up templates: the same seed gives the same ones.
type Generator struct{ r *rand.Rand }

// NewGenerator returns a Generator that starts from seed.
func NewGenerator(seed uint64) *Generator { return &Generator{rand.New(rand.NewPCG(seed, 1))} }

// Next returns the text of another template.
func (g *Generator) Next() string {
	for {
		t := g.template()
		// What costs one side minutes, or differs from run to run, teaches nothing.
		if strings.Contains(t, "** ") && (strings.Contains(t, "big") || strings.Contains(t, "2**70")) {
			continue
		}
		return t
	}
}

func (g *Generator) template() string {
	if g.r.IntN(10) < 7 {
		return "{{ " + g.expr([]int{1, 2, 2, 3}[g.r.IntN(4)]) + " }}"
	}
	var b strings.Builder
	for range []int{1, 1, 2, 3}[g.r.IntN(4)] {
		b.WriteString(g.statement(1))
	}
	return b.String()
}

func (g *Generator) pick(from []string) string { return from[g.r.IntN(len(from))] }

// literal is a value without operators.
func (g *Generator) literal() string {
	return g.pick([][]string{ints, ints, floats, texts, texts, texts, lists, lists, dicts, others}[g.r.IntN(10)])
}

// expr is an expression of at most depth operators inside each other.
func (g *Generator) expr(depth int) string {
	if depth <= 0 || g.r.IntN(100) < 18 {
		return g.literal()
	}
	sub := func() string { return g.expr(depth - 1) }
	switch g.r.IntN(17) {
	case 0, 1, 2, 3:
		return sub() + " " + g.pick(binary) + " " + sub()
	case 4:
		return "(" + sub() + ")"
	case 5:
		return sub() + " | " + g.pick(filters)
	case 6:
		return "(" + sub() + ") | " + g.pick(filters)
	case 7:
		return "(" + sub() + ") is " + g.pick(tests)
	case 8:
		return g.method()
	case 9:
		return "(" + sub() + ")[" + g.pick(subscripts) + "]"
	case 10:
		return "[" + sub() + ", " + sub() + "]"
	case 11:
		return "{'k': " + sub() + "}"
	case 12:
		return sub() + " if " + sub() + " else " + sub()
	case 13:
		return g.pick([]string{"not ", "-", "+"}) + sub()
	case 14:
		return "(" + sub() + ")." + g.pick(attributes)
	case 15:
		return "(" + sub() + ") | " + g.pick(reference)
	default:
		return "(" + g.pick(texts) + " | " + g.pick(markup) + ")" + g.pick(onMarkup)
	}
}

func (g *Generator) method() string {
	of, methods := texts, textMethods
	switch g.r.IntN(4) {
	case 0:
		of, methods = lists, listMethods
	case 1:
		of, methods = dicts, dictMethods
	case 2:
		of, methods = ints[:8], intMethods
	}
	recv := g.pick(of)
	if g.r.IntN(100) >= 85 {
		recv = g.literal()
	}
	return "(" + recv + ")." + g.pick(methods)
}

// statement is a piece of a template.
func (g *Generator) statement(depth int) string {
	e := func() string { return g.expr(2) }
	inner := func() string {
		if depth > 0 {
			return g.statement(depth - 1)
		}
		return ""
	}
	switch g.r.IntN(16) {
	case 0, 1, 2, 3:
		return "{{ " + e() + " }}"
	case 4:
		return g.pick([]string{"text ", " ", "\n", "-", "a\nb", "{# c #}", "{% raw %}{{ x }}{% endraw %}"})
	case 5:
		return fmt.Sprintf("{%% if %s %%}%s{%% elif %s %%}E{%% else %%}%s{%% endif %%}", e(), inner(), e(), inner())
	case 6:
		return fmt.Sprintf("{%% for x in %s %%}%s{{ x }}{%% endfor %%}", g.pick(append(lists[:len(lists):len(lists)], dicts...)), inner())
	case 7:
		return fmt.Sprintf("{%% for x in %s %%}{{ loop.%s }}{{ ',' if not loop.last }}{%% else %%}none{%% endfor %%}", g.pick(lists), g.pick(loopAttributes))
	case 8:
		return fmt.Sprintf("{%% set v = %s %%}{{ v }}", e())
	case 9:
		return fmt.Sprintf("{%% set v %%}%s{%% endset %%}{{ v }}", inner())
	case 10:
		return fmt.Sprintf("{%% macro m(a, b=%s) %%}%s{{ a }}{{ b }}{%% endmacro %%}{{ m(%s) }}", g.literal(), inner(),
			g.pick([]string{"", "1", "1,2", "b=3", "a=4,b=5", g.literal(), "*l", "1,2,3", "c=1"}))
	case 11:
		return fmt.Sprintf("{%% with w = %s %%}{{ w }}{%% endwith %%}", e())
	case 12:
		return fmt.Sprintf("{%% filter %s %%}%s{%% endfilter %%}", g.pick([]string{"upper", "trim", "length", "indent(2)", "escape"}), inner())
	case 13:
		return "{% set ns = namespace(x=0) %}{% for i in nums %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}"
	case 14:
		return fmt.Sprintf("{%% for x in %s if %s %%}{{ x }}{%%- endfor -%%} ", g.pick(lists), g.pick([]string{"x", "x is defined", "x == 1", "loop is defined", e()}))
	default:
		return fmt.Sprintf("{%% set q = %s %%}{%% set _ = q.%s %%}{{ q }}", g.pick(lists), g.pick(listMethods))
	}
}
