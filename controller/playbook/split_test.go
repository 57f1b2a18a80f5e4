package playbook

import (
	"fmt"
	"strings"
	"testing"

	"volant/wire/value"
)

func TestSplitArgs(t *testing.T) {
	tests := []struct{ in, want string }{
		{"a=b c=d", "[`a=b` `c=d`]"},
		{`a="b c" d`, "[`a=\"b c\"` `d`]"},
		{"a={{ b c }} d", "[`a={{ b c }}` `d`]"},
		{"{% if x %} y {% endif %}", "[`{% if x %}` `y` `{% endif %}`]"},
		{"one  two", "[`one ` `two`]"},
		{"one\ntwo", "[`one\n` `two`]"},
		{"a \\\nb", "[`a` `b`]"},
		{`a='it''s' b`, "[`a='it''s'` `b`]"},
		{`say \"x y\"`, "[`say` `\\\"x` `y\\\"`]"},
		{"", "[]"},
		{" x", "[`x`]"},
	}
	for _, tt := range tests {
		got, err := SplitArgs(tt.in)
		if err != nil {
			t.Errorf("SplitArgs(%q): %v", tt.in, err)
		}
		var quoted []string
		for _, s := range got {
			quoted = append(quoted, "`"+s+"`")
		}
		if text := "[" + strings.Join(quoted, " ") + "]"; text != tt.want {
			t.Errorf("SplitArgs(%q) = %s, want %s", tt.in, text, tt.want)
		}
	}
	for _, bad := range []string{"a='b", `"`, "{{ x", "{% x", "{# x"} {
		if got, err := SplitArgs(bad); err == nil {
			t.Errorf("SplitArgs(%q) = %q, want an error", bad, got)
		}
	}
}

func TestParseKV(t *testing.T) {
	tests := []struct {
		in   string
		free bool
		want string
	}{
		{"src=a dest='b c'", false, "{'src': 'a', 'dest': 'b c'}"},
		{"echo a=b chdir=/tmp", true, "{'chdir': '/tmp', '_raw_params': 'echo a=b'}"},
		{"echo a=b", false, "{'a': 'b', '_raw_params': 'echo'}"},
		{`msg=a\nb`, false, `{'msg': 'a\nb'}`},
		{`a\=b`, false, "{'_raw_params': 'a=b'}"},
		{"=x", false, "{'_raw_params': '=x'}"},
		{`x="\u00e9"`, false, "{'x': 'é'}"},
		{`msg="{{ a | b('c d') }}"`, false, `{'msg': "{{ a | b('c d') }}"}`},
		{"echo 'a  b'   c", true, `{'_raw_params': "echo 'a  b'   c"}`},
		{"echo one\necho two", true, `{'_raw_params': 'echo one\necho two'}`},
	}
	for _, tt := range tests {
		d, err := ParseKV(tt.in, tt.free, value.Pos{})
		if err != nil {
			t.Errorf("ParseKV(%q): %v", tt.in, err)
		}
		if got := value.Repr(d); got != tt.want {
			t.Errorf("ParseKV(%q) = %s, want %s", tt.in, got, tt.want)
		}
	}
}

func TestCoerce(t *testing.T) {
	tests := []struct {
		k    Keyword
		in   any
		want string // repr, or the error
	}{
		{Become, "yes", "True"},
		{Become, " Off ", "False"},
		{Become, int64(1), "True"},
		{Become, 1.0, "True"},
		{Become, int64(2), "The value 2 could not be converted to 'bool'."},
		{Become, "maybe", "The value 'maybe' could not be converted to 'bool'."},
		{Become, "1.0", "The value '1.0' could not be converted to 'bool'."},
		{Port, "22", "22"},
		{Port, " 22 ", "22"},
		{Port, "2.0", "2"},
		{Port, "1e3", "1000"},
		{Port, 2.5, "The value 2.5 could not be converted to 'int'."},
		{Port, "2.5", "The value '2.5' could not be converted to 'int'."},
		{Port, "many", "The value 'many' could not be converted to 'int'."},
		{Delay, "1.5", "1.5"},
		{Delay, nil, "The value None could not be converted to 'float'."},
		{MaxFailPercentage, "30%", "30.0"},
		{MaxFailPercentage, int64(5), "5.0"},
		{Tags, "a", "['a']"},
		{Tags, value.ListOf("a", int64(1)), "['a', 1]"},
		{Tags, value.ListOf("a", 1.5), "Keyword 'tags' items must be of type 'str' or 'int', not 'float'."},
		{Hosts, value.ListOf("a", ""), "Keyword 'hosts' is required, and cannot have empty values."},
		{Hosts, value.ListOf("a", int64(1)), "Keyword 'hosts' items must be of type 'str', not 'int'."},
		{Notify, nil, "[]"},
		{RemoteUser, int64(5), "'5'"},
		{Vars, "x", "'x' is not a dictionary"},
	}
	for _, tt := range tests {
		v, err := Coerce(tt.k, tt.in, value.Pos{})
		got := fmt.Sprint(err)
		if err == nil {
			got = value.Repr(v)
		}
		if got != tt.want {
			t.Errorf("Coerce(%s, %v) = %s, want %s", tt.k, tt.in, got, tt.want)
		}
	}
}

func TestKeywordTable(t *testing.T) {
	seen := map[string]Keyword{}
	for k := Name; k < nKeywords; k++ {
		if k.String() == "" {
			t.Errorf("keyword %d has no entry in the table", k)
		}
		if other, ok := seen[k.String()]; ok {
			t.Errorf("keywords %d and %d are both %s", k, other, k)
		}
		seen[k.String()] = k
	}
}

func FuzzParseKV(f *testing.F) {
	f.Add("a=b c='d e' {{ x y }} \\", true)
	f.Fuzz(func(t *testing.T, s string, free bool) {
		d, err := ParseKV(s, free, value.Pos{})
		if err != nil {
			return
		}
		for k := range d.All() {
			if _, ok := value.Text(k); !ok {
				t.Errorf("a key is %T", k)
			}
		}
	})
}
