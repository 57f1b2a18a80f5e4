package plugins

import (
	"testing"

	"volant/wire/value"
)

// Texts that the operator wrote and that hold no template stay trusted; what was
// rendered, or came from elsewhere, does not.
func TestAsWritten(t *testing.T) {
	tmpl := func(s string) any { return value.NewTemplate(s, value.Pos{}) }
	raw := value.DictOf("literal", tmpl("item"), "made", tmpl("{{ x }}"), "data", "item", "escaped", tmpl("{% raw %}a{% endraw %}"),
		"deep", value.ListOf(value.DictOf("k", tmpl("v"), "m", tmpl("{{ x }}"))), "short", value.ListOf(tmpl("a")))
	got := asWritten(raw, value.DictOf("literal", "item", "made", "item", "data", "item", "escaped", "a",
		"deep", value.ListOf(value.DictOf("k", "v", "m", "v")), "short", value.ListOf("a", "b"), "more", "item"), 0).(*value.Dict)
	trusted := func(v any) bool { _, ok := v.(*value.Template); return ok }
	deep := got.Lookup("deep").(*value.List).Items[0].(*value.Dict)
	for name, c := range map[string]struct {
		v    any
		want bool
	}{
		"literal": {got.Lookup("literal"), true}, "made": {got.Lookup("made"), false}, "data": {got.Lookup("data"), false},
		"escaped": {got.Lookup("escaped"), false}, "more": {got.Lookup("more"), false},
		"deep literal": {deep.Lookup("k"), true}, "deep made": {deep.Lookup("m"), false},
		"of another length": {got.Lookup("short").(*value.List).Items[0], false},
	} {
		if trusted(c.v) != c.want {
			t.Errorf("%s: %v, trusted %v", name, c.v, !c.want)
		}
	}
}
