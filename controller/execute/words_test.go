package execute_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"volant/controller/execute"
	"volant/wire"
	"volant/wire/value"
)

// What tasks see and say, by playbook: the lines of the output that matter.
func TestWhatTasksSee(t *testing.T) {
	for _, tt := range []struct {
		name, tasks string
		want        []string
	}{
		{
			"settings of the connection are variables, but not of the loop", `
    - debug: msg="{{ ansible_host }} {{ ansible_ssh_host }} {{ ansible_connection }} {{ ansible_port }} {{ ansible_user is defined }}"
    - debug: msg=x
      when: ansible_host == inventory_hostname
    - debug: msg="{{ hostvars[inventory_hostname].ansible_host | default('none') }}"
    - debug: msg=x
      loop: "{{ [ansible_host] }}"
      ignore_errors: true
`, []string{
				`    "msg": "a a ssh 77 False"`, `    "msg": "x"`, `    "msg": "none"`,
				`fatal: [a]: FAILED! => {"msg": "Task failed: 'ansible_host' is undefined"}`,
			},
		},
		{
			"the operator's text in items and facts is an expression where one is asked for", `
    - debug: var={{ item }}
      loop: [x, y]
    - debug: var={{ item.name }}
      with_items: "{{ list }}"
    - set_fact: {cond: "x == '1'", shout: "{{ 'x' ~ '' }}"}
    - debug: msg=ran
      when: "{{ cond }}"
    - debug: var={{ shout }}
      ignore_errors: true
`, []string{
				`    "x": "1"`, `    "y": "2"`, `    "y": "2"`, `    "msg": "ran"`,
				"fatal: [a]: FAILED! => {\"msg\": \"Task failed: Error while resolving `var` expression: Encountered untrusted template or expression.\"}",
			},
		},
		{
			"and in registered facts", `
    - set_fact: {cond: "x == '1'"}
      register: one
    - debug: var={{ one.ansible_facts.cond }}
    - set_fact: {cond: "x == '1'", made: "{{ 'x' ~ '' }}"}
      loop: [1]
      register: many
    - debug: var={{ many.results[0].ansible_facts.cond }}
    - debug: var={{ many.results[0].ansible_facts.made }}
      ignore_errors: true
`, []string{
				`    "x == '1'": true`, `    "x == '1'": true`,
				"fatal: [a]: FAILED! => {\"msg\": \"Task failed: Error while resolving `var` expression: Encountered untrusted template or expression.\"}",
			},
		},
		{
			"and so it is in the items of registered results", `
    - debug: msg=x
      loop: [{cond: "x == '1'"}, {cond: "{{ 'y' ~ ' == 2' }}"}]
      register: r
    - debug: var={{ item.item.cond }}
      loop: "{{ r.results }}"
      ignore_errors: true
`, []string{
				`    "msg": "x"`, `    "msg": "x"`, `    "x == '1'": true`,
				`fatal: [a]: FAILED! => {"msg": "One or more items failed"}`,
			},
		},
		{
			"what fails in the var of debug fails, what is undefined or omitted is shown", `
    - debug: var=1/0
      ignore_errors: true
    - debug: var=nothing
    - debug: var=omit
`, []string{
				"fatal: [a]: FAILED! => {\"msg\": \"Task failed: Error while resolving `var` expression: Error rendering expression: division by zero\"}",
				`    "nothing": "<< error 1 - 'nothing' is undefined >>"`, `    "omit": "<<Omit>>"`,
			},
		},
		{
			"a keyword that is omitted is the one around the task", `
    - ignore_errors: "{{ true }}"
      block:
        - fail: {msg: one}
          ignore_errors: "{{ omit }}"
        - debug: msg=on
    - ignore_errors: "{{ omit }}"
      fail: {msg: two}
`, []string{`fatal: [a]: FAILED! => {"msg": "one"}`, `    "msg": "on"`, `fatal: [a]: FAILED! => {"msg": "two"}`},
		},
		{
			"white space around what an action says stays", `
    - fail: {msg: "abc "}
      ignore_errors: true
    - fail: {msg: " d\n"}
`, []string{
				`fatal: [a]: FAILED! => {"msg": "abc "}`,
				"[ERROR]: Task failed: Action failed:  d", `fatal: [a]: FAILED! => {"msg": " d\n"}`,
			},
		},
		{
			"names that set_fact makes", `
    - set_fact: {"{{ 1 }}": x}
      ignore_errors: true
    - set_fact: {lookup: x}
`, []string{
				`fatal: [a]: FAILED! => {"msg": "Task failed: Invalid variable name '1' of type 'int'."}`,
				`[WARNING]: Found variable using reserved name 'lookup'.`,
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			site := "- hosts: all\n  gather_facts: false\n  vars: {x: \"1\", y: \"2\", list: [{name: y}]}\n  tasks:" + tt.tasks
			s := &scripted{answer: good}
			_, out, err := run(t.Context(), t, "a ansible_port=77\n", site, s)
			if err != nil {
				t.Fatal(err, out)
			}
			got := lines(out, `    "`, "fatal:", "[WARNING]: Found", "[ERROR]: Task failed: Action failed:  ")
			for i := range got {
				got[i] = strings.Replace(strings.TrimSuffix(got[i], ","), `{"changed": false, "msg"`, `{"msg"`, 1)
			}
			var kept []string
			for _, l := range got {
				if !strings.Contains(l, `"item"`) && !strings.Contains(l, `"name"`) {
					kept = append(kept, l)
				}
			}
			if diff := cmp.Diff(tt.want, kept); diff != "" {
				t.Error(diff, out)
			}
		})
	}
}

// A throttle that is no number ends the run where it is reached.
func TestBadThrottle(t *testing.T) {
	s := &scripted{answer: good}
	code, out, err := run(t.Context(), t, "a\n", "- hosts: all\n  gather_facts: false\n  tasks:\n    - name: it\n      ping:\n      throttle: \"{{ 'nope' }}\"\n", s)
	if err == nil || !strings.Contains(err.Error(), "Failed to convert the throttle value to an integer") || !strings.Contains(out, "TASK [it]") {
		t.Error(code, err, out)
	}
}

// A meta task as a handler runs once for each time it is notified.
func TestMetaHandlerOnce(t *testing.T) {
	s := &scripted{answer: func(context.Context, string, *wire.Task) (*value.Dict, error) {
		return value.DictOf("changed", true), nil
	}}
	_, out, err := run(t.Context(), t, "a\n", `- hosts: all
  gather_facts: false
  tasks:
    - ping:
      notify: rest
  handlers:
    - name: rest
      meta: noop
`, s, func(*execute.Options) {})
	if err != nil || strings.Count(out, "RUNNING HANDLER [rest]") != 1 {
		t.Error(err, out)
	}
}
