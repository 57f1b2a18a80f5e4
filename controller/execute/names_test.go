package execute_test

import (
	"slices"
	"testing"
)

// TestVariableNames: what set_fact and set_stats refuse as a name, and where
// they say it was written.
func TestVariableNames(t *testing.T) {
	_, out, err := run(t.Context(), t, "a\n", `- hosts: a
  gather_facts: false
  vars: {made: {b-c: 1}}
  tasks:
    - {set_fact: {class: 1, "x{{ 1 + 1 }}": 2}}
    - {debug: {msg: "{{ class + x2 }}"}}
    - set_fact: {a-b: 1}
      ignore_errors: true
    - set_fact: {2: 1}
      ignore_errors: true
    - set_stats: {data: {"a-{{ 1 }}": 1}}
      ignore_errors: true
    - set_stats: {data: {True: 1}}
      ignore_errors: true
    - set_stats: {data: "{{ made }}"}
      ignore_errors: true
    - {set_stats: {data: {class: 1, "x{{ 1 }}": 2}}}
`, &scripted{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`    "msg": 3`,
		"[ERROR]: Task failed: Invalid variable name 'a-b'.", "Origin: DIR/site.yml:7:7", "Invalid variable name 'a-b'.", "Origin: DIR/site.yml:7:18",
		"[ERROR]: Task failed: Invalid variable name '2' of type 'int'.", "Origin: DIR/site.yml:9:7", "Invalid variable name '2' of type 'int'.", "Origin: DIR/site.yml:9:18",
		"[ERROR]: Task failed: Invalid variable name 'a-1'.", "Origin: DIR/site.yml:11:7", "Invalid variable name 'a-1'.", "Origin: DIR/site.yml:11:26",
		"[ERROR]: Task failed: Invalid variable name 'True' of type 'bool'.", "Origin: DIR/site.yml:13:7", "Invalid variable name 'True' of type 'bool'.", "Origin: <unknown>",
		"[ERROR]: Task failed: Invalid variable name 'b-c'.", "Origin: DIR/site.yml:15:7", "Invalid variable name 'b-c'.", "Origin: <unknown>",
	}
	got := lines(out, "[ERROR]", "Origin", "Invalid", `    "msg"`)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q\n%s", got, want, out)
	}
}
