package value

import "testing"

func TestClassNames(t *testing.T) {
	for _, c := range []struct {
		v           any
		name, class string
	}{
		{"x", "_AnsibleTaggedStr", "<class 'ansible.module_utils._internal._datatag._AnsibleTaggedStr'>"},
		{NewTemplate("x", Pos{}), "_AnsibleTaggedStr", "<class 'ansible.module_utils._internal._datatag._AnsibleTaggedStr'>"},
		{int64(1), "_AnsibleTaggedInt", "<class 'ansible.module_utils._internal._datatag._AnsibleTaggedInt'>"},
		{ListOf(), "_AnsibleTaggedList", "<class 'ansible.module_utils._internal._datatag._AnsibleTaggedList'>"},
		{true, "bool", "<class 'bool'>"},
		{nil, "NoneType", "<class 'NoneType'>"},
		{Tuple{}, "tuple", "<class 'tuple'>"},
	} {
		if got := TaggedName(c.v); got != c.name {
			t.Errorf("%v: %s, want %s", c.v, got, c.name)
		}
		if got := TaggedClass(c.v); got != c.class {
			t.Errorf("%v: %s, want %s", c.v, got, c.class)
		}
	}
	for r, want := range map[rune]string{'\x07': `\x07`, 'é': `\xe9`, '€': `\u20ac`, '😀': `\U0001f600`} {
		if got := EscapeRune(r); got != want {
			t.Errorf("%q: %s, want %s", r, got, want)
		}
	}
}
