package actions

import (
	"testing"

	"volant/wire/value"
)

// TestVarsDepth: any number is a depth, 0 and nothing are no limit, and a text
// is refused even when it spells a number, as the reference's comparison does.
func TestVarsDepth(t *testing.T) {
	for _, c := range []struct {
		v    any
		want float64
		err  string
	}{
		{nil, 0, ""}, {"", 0, ""}, {int64(0), 0, ""}, {int64(2), 2, ""}, {1.5, 1.5, ""}, {true, 1, ""}, {int64(-1), -1, ""},
		{"2", 0, "'>' not supported between instances of 'int' and '_AnsibleTaggedStr'"},
		{value.ListOf(int64(1)), 0, "'>' not supported between instances of 'int' and '_AnsibleTaggedList'"},
		{value.DictOf("a", int64(1)), 0, "'>' not supported between instances of 'int' and '_AnsibleTaggedDict'"},
	} {
		got, err := varsDepth(c.v)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if got != c.want || text != c.err {
			t.Errorf("%v: %v %q, want %v %q", c.v, got, text, c.want, c.err)
		}
	}
	for below, want := range map[string]float64{".": 1, "a": 2, "a/b": 3} {
		if got := levels(below); got != want {
			t.Errorf("levels(%q) = %v, want %v", below, got, want)
		}
	}
}
