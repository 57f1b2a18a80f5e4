package jinja_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"volant/controller/jinja"
	"volant/wire/pyjson"
	"volant/wire/value"
)

// loader finds templates in a map.
type loader map[string]string

func (l loader) Load(_ *jinja.Context, name, _ string) (*jinja.Template, error) {
	src, ok := l[name]
	if !ok {
		return nil, fmt.Errorf("%w", missing(name))
	}
	return jinja.Compile(src, name, undefGlobals{}, jinja.Options{TrimBlocks: true})
}

type missing string

func (m missing) Error() string   { return string(m) }
func (m missing) Is(e error) bool { return errors.Is(jinja.ErrNotFound, e) }

// TestLanguage renders templates that use others, scopes, macros and broken
// syntax; recorded like those of TestRecorded.
func TestLanguage(t *testing.T) {
	files := loader{}
	b, err := os.ReadFile("testdata/templates.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &files); err != nil {
		t.Fatal(err)
	}
	if b, err = os.ReadFile("testdata/language-vars.json"); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("testdata/language.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var c struct{ Template, Want, Error string }
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		v, err := pyjson.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		d := written(v).(*value.Dict)
		got, gotErr := "", ""
		p, err := jinja.Compile(c.Template, "", undefGlobals{}, jinja.Options{TrimBlocks: true})
		if err == nil {
			var v any
			if v, err = p.RenderFinal(&jinja.Render{Vars: &vars{d: d}, Load: files}); err == nil {
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
	if n < 150 {
		t.Errorf("only %d cases", n)
	}
}
