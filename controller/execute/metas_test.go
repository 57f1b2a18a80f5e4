package execute

import (
	"testing"

	"volant/controller/compile"
	"volant/controller/playbook"
	"volant/wire/value"
)

// TestMetaWords: what meta tasks say they did, and why not.
func TestMetaWords(t *testing.T) {
	words := map[string][3]string{ // done, nothing to do, condition false
		"noop":              {"noop", "noop"},
		"flush_handlers":    {"triggered running handlers for h", "flush_handlers", "flush_handlers conditional evaluated to False, not running handlers for h"},
		"refresh_inventory": {"inventory successfully refreshed", "refresh_inventory"},
		"clear_facts":       {"facts cleared", "clear_facts", "clear_facts conditional evaluated to False, not clearing facts and fact cache for h"},
		"clear_host_errors": {"cleared host errors", "clear_host_errors", "clear_host_errors conditional evaluated to False, not clearing host error state for h"},
		"end_batch":         {"ending batch", "end_batch", "end_batch conditional evaluated to False, continuing current batch"},
		"end_play":          {"ending play", "end_play", "end_play conditional evaluated to False, continuing play"},
		"end_host": {"ending play for h", "end_host conditional evaluated to false, continuing execution for h",
			"end_host conditional evaluated to False, continuing execution for h"},
		"role_complete":    {"role_complete for h", "role_complete"},
		"end_role":         {"ending role  for h", "end_role", "end_role conditional evaluated to Falsecontinuing role  for h"},
		"reset_connection": {"reset connection", "reset_connection"},
	}
	for name, a := range metaActions {
		want, ok := words[name]
		if !ok {
			t.Errorf("%s says nothing", name)
		}
		task := &playbook.Task{Action: "meta", Resolved: "ansible.builtin.meta", Args: value.DictOf("_raw_params", name)}
		m := &metaTask{step: &compile.Step{Task: task}, h: &host{name: "h"}}
		if name != "noop" { // it never does anything
			if _, got := a.result(m, true, true); got != want[0] {
				t.Errorf("%s done: %q", name, got)
			}
		}
		if _, got := a.result(m, true, false); got != want[1] {
			t.Errorf("%s with nothing to do: %q", name, got)
		}
		res, got := a.result(m, false, false)
		if a.otherwise != "" && (got != want[2] || res.Lookup("skip_reason") != got || res.Lookup("msg") != want[1]) || (a.otherwise == "") != (want[2] == "") {
			t.Errorf("%s with a false condition: %q %v", name, got, res)
		}
	}
}
