package vars

import (
	"slices"

	"volant/controller/fault"
	"volant/wire/value"
)

// mergeDicts merges b over a, dicts within likewise; neither is changed.
func mergeDicts(a, b *value.Dict) *value.Dict {
	out := a.Clone()
	for k, v := range b.All() {
		if old, ok := out.Lookup(k).(*value.Dict); ok {
			if d, ok := v.(*value.Dict); ok {
				v = mergeDicts(old, d)
			}
		}
		out.Set(k, v)
	}
	return out
}

func sortStrings(s []string) { slices.Sort(s) }

// reserved are the names that play objects and templates use themselves.
var reserved = map[string]bool{
	"action": true, "always": true, "any_errors_fatal": true, "args": true, "async": true, "async_val": true,
	"become": true, "become_exe": true, "become_flags": true, "become_method": true, "become_user": true,
	"block": true, "changed_when": true, "check_mode": true, "collections": true, "connection": true,
	"cycler": true, "debugger": true, "delay": true, "delegate_facts": true, "delegate_to": true, "dict": true,
	"diff": true, "environment": true, "fact_path": true, "failed_when": true, "force_handlers": true,
	"gather_facts": true, "gather_timeout": true, "handlers": true, "hosts": true, "ignore_errors": true,
	"ignore_unreachable": true, "joiner": true, "lipsum": true, "local_action": true, "lookup": true,
	"loop": true, "loop_control": true, "loop_with": true, "max_fail_percentage": true, "module_defaults": true,
	"name": true, "namespace": true, "no_log": true, "notify": true, "now": true, "omit": true, "order": true,
	"poll": true, "port": true, "post_tasks": true, "pre_tasks": true, "q": true, "query": true, "range": true,
	"register": true, "remote_user": true, "rescue": true, "retries": true, "roles": true, "run_once": true,
	"serial": true, "strategy": true, "tags": true, "tasks": true, "throttle": true, "timeout": true,
	"undef": true, "until": true, "vars_files": true, "vars_prompt": true, "when": true, "with_": true,
}

// warnReserved warns once of every reserved name that a dict of variables sets.
func (s *Store) warnReserved(d *value.Dict) {
	if s.opt.Sink == nil || d.Len() == 0 {
		return
	}
	if _, seen := s.warned.LoadOrStore(d, true); seen {
		return
	}
	for k := range d.All() {
		if name, ok := value.Text(k); ok && reserved[name] {
			s.opt.Sink.Warning(&fault.Error{Msg: "Found variable using reserved name '" + name + "'.", Pos: d.KeyPos(name)})
		}
	}
}

// WarnReserved warns of a variable that a task sets, written at pos, when its
// name is reserved.
func (s *Store) WarnReserved(name string, pos value.Pos) {
	if reserved[name] && s.opt.Sink != nil {
		s.opt.Sink.Warning(&fault.Error{Msg: "Found variable using reserved name '" + name + "'.", Pos: pos})
	}
}
