//go:build gonja

package difftest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nikolalohinski/gonja/v2"
	"github.com/nikolalohinski/gonja/v2/exec"

	"volant/controller/jinja"
	"volant/wire/value"
)

// shared makes up templates of what gonja does as Jinja2 does: text, reading
// variables, conditions, loops, plain filters, integers.
type shared struct{ *rand.Rand }

func (g shared) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g shared) text() string {
	e := g.pick("s", "d.alpha", "'A-b'", "''", "d['mid']", "nested.x.y", "('a' ~ 'b')", "(s ~ n)")
	for range g.IntN(3) {
		e += " | " + g.pick("upper", "lower", "trim", "replace('l', 'L')", "default('x')", "capitalize")
	}
	return e
}

func (g shared) number(depth int) string {
	if depth == 0 {
		return g.pick("0", "1", "7", "n", "big", "l | length", "s | length")
	}
	return "(" + g.number(depth-1) + " " + g.pick("+", "-", "*") + " " + g.number(depth-1) + ")"
}

func (g shared) truth(depth int) string {
	if depth == 0 {
		return g.pick(g.number(1)+" "+g.pick("==", "!=", "<", ">", "<=", ">=")+" "+g.number(1), "n in l", "nosuch is defined", "s is defined", "t", "f", "s == 'hello world'")
	}
	return "(" + g.truth(depth-1) + " " + g.pick("and", "or") + " " + g.pick("", "not ") + g.truth(depth-1) + ")"
}

func (g shared) template(depth int) string {
	var b strings.Builder
	for range 1 + g.IntN(3) {
		inner := func() string {
			if depth == 0 {
				return g.pick("x", " ", "a\nb")
			}
			return g.template(depth - 1)
		}
		switch g.IntN(6) {
		case 0:
			fmt.Fprintf(&b, "{%% if %s %%}%s{%% elif %s %%}%s{%% else %%}%s{%% endif %%}", g.truth(1), inner(), g.truth(0), inner(), inner())
		case 1:
			fmt.Fprintf(&b, "{%% for i in %s %%}[{{ i }}%s{{ loop.%s }}]{%% else %%}none{%% endfor %%}", g.pick("l", "e", "words"), inner(), g.pick("index", "index0", "revindex", "length"))
		case 2:
			fmt.Fprintf(&b, "{%%- set v = %s -%%} <{{ v }}>", g.text())
		case 3:
			fmt.Fprintf(&b, "{{ %s }}", g.number(g.IntN(3)))
		case 4:
			fmt.Fprintf(&b, "{{ %s | join('%s') }}{# note #}", g.pick("words", "l"), g.pick(",", " ", ""))
		default:
			fmt.Fprintf(&b, "{{ %s }} ", g.text())
		}
	}
	return b.String()
}

func byGonja(text string, vars map[string]any) (out string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("gonja panics: %v", r)
		}
	}()
	t, err := gonja.FromString(text)
	if err != nil {
		return "", err
	}
	return t.ExecuteToString(exec.NewContext(vars))
}

// TestGonja compares with gonja on the subset it gets right.
func TestGonja(t *testing.T) {
	theirs := map[string]any{
		"s": "hello world", "n": 5, "big": 100000, "t": true, "f": false, "l": []int{3, 1, 5}, "e": []int{}, "words": []string{"b", "a", "C"},
		"d": map[string]any{"alpha": "one", "mid": "two"}, "nested": map[string]any{"x": map[string]any{"y": "deep"}},
	}
	vars := value.DictOf("s", "hello world", "n", int64(5), "big", int64(100000), "t", true, "f", false, "l", value.ListOf(int64(3), int64(1), int64(5)),
		"e", value.ListOf(), "words", value.Strings("b", "a", "C"), "d", value.DictOf("alpha", "one", "mid", "two"),
		"nested", value.DictOf("x", value.DictOf("y", "deep")))
	g := shared{rand.New(rand.NewPCG(*seed, 2))}
	for range 3000 {
		text := g.template(1)
		want, err := byGonja(text, theirs)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		p, err := jinja.Compile(text, "", nil, jinja.Options{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := p.RenderText(&jinja.Render{Vars: ourVars{vars}})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got != want {
			t.Errorf("%s\ngonja %q\nours  %q", text, want, got)
		}
	}
}
