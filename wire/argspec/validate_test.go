package argspec

import (
	"strings"
	"testing"

	"volant/wire/value"
)

func sampleSpec() *Spec {
	return &Spec{
		Options: []Option{
			{Name: "name", Required: true, Aliases: []string{"pkg"}},
			{Name: "state", Choices: []any{"present", "absent"}, Default: "present", HasDef: true},
			{Name: "count", Type: "int"},
			{Name: "force", Type: "bool", Default: false, HasDef: true},
			{Name: "tags", Type: "list", Elements: "int"},
			{Name: "opts", Type: "dict", Options: &Spec{Options: []Option{{Name: "a", Type: "int", Required: true}, {Name: "b"}}}},
			{Name: "key"}, {Name: "cert"}, {Name: "pass", NoLog: true},
		},
		MutuallyExclusive: [][]string{{"count", "tags"}},
		RequiredTogether:  [][]string{{"key", "cert"}},
		RequiredIf:        []RequiredIf{{Key: "state", Value: "absent", Need: []string{"count"}}},
	}
}

// The texts were recorded from the reference's ArgumentSpecValidator.
func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name   string
		args   *value.Dict
		errors string
		params string
	}{
		{"alias and defaults", value.DictOf("pkg", "x", "count", "07"), "",
			"{'pkg': 'x', 'count': 7, 'name': 'x', 'state': 'present', 'force': False, 'tags': None, 'opts': None, 'key': None, 'cert': None, 'pass': None}"},
		{"missing", value.DictOf(), "missing required arguments: name", ""},
		{"unsupported", value.DictOf("name", "x", "nope", int64(1)), "nope. Supported parameters include: cert, count, force, key, name, opts, pass, state, tags (pkg).", ""},
		{"choice", value.DictOf("name", "x", "state", "latest"), "value of state must be one of: present, absent, got: latest", ""},
		{"int", value.DictOf("name", "x", "count", "many"), `argument 'count' is of type str and we were unable to convert to int: "'many'" cannot be converted to an int`, ""},
		{"elements", value.DictOf("name", "x", "tags", value.ListOf("1", "z")), `Elements value for option 'tags' is of type str and we were unable to convert to int: "'z'" cannot be converted to an int`, ""},
		{"exclusive", value.DictOf("name", "x", "tags", "1,2", "count", int64(1)), "parameters are mutually exclusive: count|tags", ""},
		{"together", value.DictOf("name", "x", "key", "k"), "parameters are required together: key, cert", ""},
		{"required_if", value.DictOf("name", "x", "state", "absent"), "state is absent but all of the following are missing: count", ""},
		{"sub missing", value.DictOf("name", "x", "opts", value.DictOf("b", "1")), "missing required arguments: a found in opts", ""},
		{"sub unsupported", value.DictOf("name", "x", "opts", value.DictOf("a", int64(1), "zz", int64(2))), "opts.zz. Supported parameters include: a, b.", ""},
		{"dict text", value.DictOf("name", "x", "opts", "a=1, b='two words'"), "",
			"{'name': 'x', 'opts': {'a': 1, 'b': 'two words'}, 'state': 'present', 'force': False, 'count': None, 'tags': None, 'key': None, 'cert': None, 'pass': None}"},
		{"list of dict expected", value.DictOf("name", "x", "opts", value.ListOf("q")), "dictionary requested, could not parse JSON or key=value|argument 'opts' is of type list and we were unable to convert to dict: <class 'list'> cannot be converted to a dict|value of 'opts' must be of type dict or list of dicts", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := Validate(sampleSpec(), c.args)
			var got []string
			for _, e := range res.Errors {
				got = append(got, e.Text)
			}
			if text := strings.Join(got, "|"); text != c.errors {
				t.Errorf("errors\n got %s\nwant %s", text, c.errors)
			}
			if c.params != "" && value.Repr(res.Params) != c.params {
				t.Errorf("params\n got %s\nwant %s", value.Repr(res.Params), c.params)
			}
		})
	}
}

func TestNoLogIsCollected(t *testing.T) {
	res := Validate(sampleSpec(), value.DictOf("name", "x", "pass", "s3cret"))
	if len(res.NoLog) != 1 || res.NoLog[0] != "s3cret" {
		t.Errorf("got %v", res.NoLog)
	}
}

func TestConvert(t *testing.T) {
	env := Environment{Getenv: func(n string) string { return map[string]string{"HOME": "/home/me", "X": "ex"}[n] }}
	for _, c := range []struct {
		typ  string
		in   any
		want string
	}{
		{"path", "~/a/$X/${X}b/$NO", "'/home/me/a/ex/exb/$NO'"},
		{"path", "~", "'/home/me'"},
		{"int", "1e3", "1000"},
		{"int", 5.0, "5"},
		{"bool", "Yes", "True"},
		{"float", "1.5", "1.5"},
		{"list", "a,b", "['a', 'b']"},
		{"list", int64(3), "['3']"},
		{"bytes", "1.5K", "1536"},
		{"bytes", "10MB", "10485760"},
		{"bits", "1Mb", "1048576"},
		{"str", nil, "''"},
		{"str", true, "'True'"},
		{"jsonarg", value.DictOf("a", value.ListOf(int64(1), nil)), `'{"a": [1, null]}'`},
	} {
		got, err := env.Convert(c.typ, c.in)
		if err != nil {
			t.Errorf("%s %v: %v", c.typ, c.in, err)
			continue
		}
		if r := value.Repr(got); r != c.want {
			t.Errorf("%s %v: got %s, want %s", c.typ, c.in, r, c.want)
		}
	}
}

// TestConvertClasses: classes are named as Python has them, on a host and where
// values know their place.
func TestConvertClasses(t *testing.T) {
	for _, c := range []struct {
		kind   string
		v      any
		tagged bool
		want   string
	}{
		{"float", "x", false, "<class 'str'> cannot be converted to a float"},
		{"float", "x", true, "<class 'ansible.module_utils._internal._datatag._AnsibleTaggedStr'> cannot be converted to a float"},
		{"dict", value.ListOf(), true, "<class 'ansible.module_utils._internal._datatag._AnsibleTaggedList'> cannot be converted to a dict"},
		{"list", value.DictOf(), true, "<class 'ansible.module_utils._internal._datatag._AnsibleTaggedDict'> cannot be converted to a list"},
		{"json", int64(1), true, "<class 'ansible.module_utils._internal._datatag._AnsibleTaggedInt'> cannot be converted to a json string"},
		{"json", true, true, "<class 'bool'> cannot be converted to a json string"},
		{"bytes", "1Q", true, "<class 'ansible.module_utils._internal._datatag._AnsibleTaggedStr'> cannot be converted to a Byte value"},
		{"bits", "1Q", false, "<class 'str'> cannot be converted to a Bit value"},
		{"nosuch", "x", false, "'NoneType' object is not callable"},
	} {
		_, err := Environment{Tagged: c.tagged}.Convert(c.kind, c.v)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s of %v: %v, want %s", c.kind, c.v, err, c.want)
		}
	}
}
