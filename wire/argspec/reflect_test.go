package argspec

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"volant/wire/value"
)

type common struct {
	Mode  any     `arg:"mode,type=raw"`
	Owner *string `arg:"owner"`
}

type sample struct {
	Path  string   `arg:"path,required,type=path,alias=dest|name"`
	State *string  `arg:"state,choices=absent|file"`
	Deep  bool     `arg:"recurse,default=no"`
	N     int64    `arg:"n,default=3"`
	Names []string `arg:"names,default="`
	common
}

func TestReflectAndFill(t *testing.T) {
	spec := Reflect(sample{})
	want := &Spec{Options: []Option{
		{Name: "path", Type: "path", Required: true, Aliases: []string{"dest", "name"}},
		{Name: "state", Type: "str", Choices: []any{"absent", "file"}},
		{Name: "recurse", Type: "bool", Default: false, HasDef: true},
		{Name: "n", Type: "int", Default: int64(3), HasDef: true},
		{Name: "names", Type: "list", Elements: "str", Default: &value.List{}, HasDef: true},
		{Name: "mode", Type: "raw"},
		{Name: "owner", Type: "str"},
	}}
	if d := cmp.Diff(want, spec); d != "" {
		t.Error(d)
	}
	res := ValidateIn(Environment{Getenv: func(string) string { return "/h" }}, spec,
		value.DictOf("dest", "~/x", "recurse", "yes", "n", "7", "names", "a,b", "mode", int64(420), "owner", int64(0)))
	if len(res.Errors) > 0 {
		t.Fatal(res.Errors)
	}
	var got sample
	if err := Fill(res.Params, &got); err != nil {
		t.Fatal(err)
	}
	zero := "0"
	if d := cmp.Diff(sample{Path: "/h/x", Deep: true, N: 7, Names: []string{"a", "b"}, common: common{Mode: int64(420), Owner: &zero}}, got,
		cmp.AllowUnexported(sample{})); d != "" {
		t.Error(d)
	}
}

func TestReflectRefusesBadTags(t *testing.T) {
	for _, v := range []any{
		struct {
			A chan int `arg:"a"`
		}{},
		struct {
			A string `arg:"a,what"`
		}{},
		struct {
			A int64 `arg:"a,default=x"`
		}{},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%T was accepted", v)
				}
			}()
			Reflect(v)
		}()
	}
}

func TestLiteralDict(t *testing.T) {
	for s, want := range map[string]string{
		`{'a': 1, "b": [True, None, (1, 2), ('x')], 3: -1.5}`: `{'a': 1, 'b': [True, None, (1, 2), 'x'], 3: -1.5}`,
		`{'a': 'it\'s \x41\u00e9'}`:                           `{'a': "it's Aé"}`,
		`{}`:                                                  `{}`,
	} {
		d, err := literalDict(s)
		if err != nil || value.Repr(d) != want {
			t.Errorf("%s: got %s, %v", s, value.Repr(d), err)
		}
	}
	for _, s := range []string{`{`, `{'a'}`, `{'a': b}`, `{'a': 1} x`, `{[]: 1}`, `{'a': '`, `['a']`} {
		if d, err := literalDict(s); err == nil {
			t.Errorf("%s: got %s", s, value.Repr(d))
		}
	}
}
