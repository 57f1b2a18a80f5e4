package template_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"volant/controller/fault"
	"volant/controller/template"
	"volant/wire/value"
)

// What is undefined somewhere inside a term of with_first_found is left out,
// and does not fail what the terms are made with.
func TestFirstFoundUndefined(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, terms := range []string{
		`{{ [nosuch, "there"] }}`,
		`{{ [{"files": nosuch}, {"files": ["there"]}] }}`,
		`{{ [[{"files": nosuch}], [{"files": ["there"]}]] }}`,
		`{{ [{"files": nosuch}] | zip([{"files": ["there"]}]) }}`,
		`{{ [{"files": nosuch}] | zip([{"files": ["there"]}]) | list }}`,
		`{{ [{"files": nosuch}] | product([{"files": ["there"]}]) }}`,
		`{{ [{"files": [nosuch]}, {"files": ["there"]}] | permutations(2) | list }}`,
		`{{ ({"files": nosuch}, {"files": "there"}) }}`,
	} {
		s := template.New(template.Options{}).Scope(t.Context(), varMap{d: value.NewDict(0)}, template.ScopeOptions{SearchPath: []string{dir}, Basedir: dir})
		items, _, err := s.With("first_found", value.NewTemplate(terms, value.Pos{File: filepath.Join(dir, "site.yml"), Line: 1, Column: 1}), "files")
		if err != nil || len(items) != 1 || items[0] != there {
			t.Errorf("%s: %v, %v", terms, items, err)
		}
	}
}

// TestWithSaysWhat: what fails shows the expression that the keyword stands for,
// but not where something undefined has a place of its own.
func TestWithSaysWhat(t *testing.T) {
	pos := value.Pos{File: "/site.yml", Line: 1, Column: 1}
	for name, c := range map[string]struct {
		terms any
		want  string
	}{
		"first_found": {value.ListOf(), "invoke_lookup()"},
		"vars":        {value.ListOf("nosuch"), "invoke_lookup()"},
		"items":       {value.NewTemplate("{{ nosuch }}", pos), "{{ nosuch }}"},
	} {
		s := template.New(template.Options{}).Scope(t.Context(), varMap{d: value.NewDict(0)}, template.ScopeOptions{Basedir: t.TempDir()})
		_, _, err := s.With(name, c.terms, "files")
		var e *fault.Error
		if !errors.As(err, &e) || e.Excerpt != c.want {
			t.Errorf("%s: %#v", name, err)
		}
	}
}
