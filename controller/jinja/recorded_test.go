package jinja_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"volant/controller/jinja"
	"volant/wire/pyjson"
	"volant/wire/value"
)

// undefGlobals adds the reference's undef(), which the recorded cases use.
type undefGlobals struct{}

func (undefGlobals) Filter(string) (*jinja.Plugin, bool) { return nil, false }
func (undefGlobals) Test(string) (*jinja.Plugin, bool)   { return nil, false }
func (undefGlobals) Global(name string) (any, bool) {
	if name != "undef" {
		return nil, false
	}
	return &jinja.Plugin{Name: "undef", Direct: true, Call: func(c *jinja.Context, _ jinja.Args) (any, error) {
		return c.Undefined("", "Mandatory variable has not been overridden"), nil
	}}, true
}

// written turns the strings of data into operator-written text, as a loader
// of variables does.
func written(v any) any {
	switch v := v.(type) {
	case string:
		return value.NewTemplate(v, value.Pos{})
	case *value.List:
		for i, e := range v.Items {
			v.Items[i] = written(e)
		}
	case *value.Dict:
		for i := range v.Len() {
			_, e := v.At(i)
			v.SetAt(i, written(e))
		}
	}
	return v
}

func recordedVars(t testing.TB) *value.Dict {
	b, err := os.ReadFile("testdata/vars.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := pyjson.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	return written(v).(*value.Dict)
}

// TestRecorded compares with what the templar of ansible-core 2.19.12 gave.
// Each line of the file is a template with the repr of its result or the last
// part of its error.
func TestRecorded(t *testing.T) {
	f, err := os.Open("testdata/recorded.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := recordedVars(t)
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		var c struct{ Template, Want, Error string }
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		n++
		got, gotErr := "", ""
		p, err := jinja.Compile(c.Template, "", undefGlobals{}, jinja.Options{TrimBlocks: true, EscapeBackslashes: true})
		if err == nil {
			var v any
			if v, err = p.RenderFinal(&jinja.Render{Vars: &vars{d: d}}); err == nil {
				got = value.Repr(v)
			}
		}
		if err != nil {
			gotErr = err.Error()
		}
		if got != c.Want && c.Error == "" || c.Error != "" && !strings.HasSuffix(gotErr, c.Error) {
			t.Errorf("%s\nwant %s%s\ngot  %s%s", c.Template, c.Want, c.Error, got, gotErr)
		}
	}
	if n < 300 {
		t.Errorf("only %d recorded cases", n)
	}
}
