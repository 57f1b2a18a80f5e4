package events

import (
	"strings"

	"volant/wire/value"
)

// kept are the internal keys that callbacks use.
var kept = map[string]bool{
	"_ansible_verbose_always": true, "_ansible_item_label": true,
	"_ansible_no_log": true, "_ansible_verbose_override": true,
}

// hiddenText replaces what no_log hides.
const hiddenText = "the output has been hidden due to the fact that 'no_log: true' was specified for this result"

// debugActions are the names of the debug action.
var debugActions = map[string]bool{"debug": true, "ansible.builtin.debug": true, "ansible.legacy.debug": true}

// Shown is the result as callbacks see it: a fresh top level without status
// and internal keys, censored where no_log asks for it.
func Shown(t *Task, o *Outcome) *value.Dict {
	src := o.Value
	if src == nil {
		return value.NewDict(0)
	}
	var out *value.Dict
	if t.NoLog || value.Truth(src.Lookup("_ansible_no_log")) {
		out = censor(src)
		if items, ok := src.Lookup("results").(*value.List); ok && items.Len() > 0 {
			results := make([]any, 0, items.Len())
			for _, it := range items.Items {
				if d, ok := it.(*value.Dict); ok && value.Truth(d.Lookup("_ansible_no_log")) {
					it = censor(d)
				}
				results = append(results, it)
			}
			out.Set("results", value.ListOf(results...))
		}
	} else {
		debug := debugActions[t.Action]
		out = value.NewDict(src.Len())
		for k, v := range src.All() {
			s, _ := value.Text(k)
			if s == "failed" || s == "skipped" || (debug && s == "invocation") {
				continue
			}
			if strings.HasPrefix(s, "_ansible_") && !kept[s] {
				continue
			}
			out.Set(k, stripInternal(v, kept))
		}
	}
	if dv, ok := src.Lookup("_ansible_delegated_vars").(*value.Dict); ok {
		sub := value.NewDict(4)
		for k, v := range dv.All() {
			switch s, _ := value.Text(k); s {
			case "ansible_host", "ansible_port", "ansible_user", "ansible_connection":
				sub.Set(k, v)
			}
		}
		out.Set("_ansible_delegated_vars", sub)
	}
	return out
}

func censor(d *value.Dict) *value.Dict {
	out := value.NewDict(6)
	for _, k := range []string{"attempts", "changed", "retries", "_ansible_no_log", "exception", "warnings", "deprecations"} {
		if v, ok := d.Get(k); ok {
			out.Set(k, v)
		}
	}
	out.Set("censored", hiddenText)
	return out
}

// StripInternal returns v without keys that begin with _ansible_, at any
// depth. What has none is returned as it is.
func StripInternal(v any) any { return stripInternal(v, nil) }

func stripInternal(v any, except map[string]bool) any {
	switch v := v.(type) {
	case *value.Dict:
		if !dirty(v) {
			return v
		}
		out := value.NewDict(v.Len())
		for k, e := range v.All() {
			if s, ok := value.Text(k); ok && strings.HasPrefix(s, "_ansible_") && !except[s] {
				continue
			}
			out.Set(k, stripInternal(e, except))
		}
		return out
	case *value.List:
		if !dirty(v) {
			return v
		}
		out := make([]any, len(v.Items))
		for i, e := range v.Items {
			out[i] = stripInternal(e, except)
		}
		return value.ListOf(out...)
	}
	return v
}

// dirty reports whether an internal key is anywhere in v.
func dirty(v any) bool {
	switch v := v.(type) {
	case *value.Dict:
		for k, e := range v.All() {
			if s, ok := value.Text(k); ok && strings.HasPrefix(s, "_ansible_") {
				return true
			}
			if dirty(e) {
				return true
			}
		}
	case *value.List:
		for _, e := range v.Items {
			if dirty(e) {
				return true
			}
		}
	}
	return false
}

// hideInDebug are the keys that `debug: var=` does not show.
var hideInDebug = []string{
	"changed", "failed", "skipped", "invocation", "skip_reason",
	"ansible_loop_var", "ansible_index_var", "ansible_loop",
}

// cleanDebug removes from a debug result what is not its message or variable.
func cleanDebug(d *value.Dict) {
	if !d.Has("msg") {
		for _, k := range hideInDebug {
			d.Delete(k)
		}
		return
	}
	for _, k := range d.Keys() {
		s, _ := value.Text(k)
		switch s {
		case "msg", "exception", "warnings", "deprecations":
		default:
			if !strings.HasPrefix(s, "_") {
				d.Delete(k)
			}
		}
	}
}

// cleanResult is cleanDebug for debug tasks and nothing for others.
func cleanResult(t *Task, d *value.Dict) {
	if debugActions[t.Action] {
		cleanDebug(d)
	}
}

// hostLabel is the host's name and, when delegated, where to.
func hostLabel(host string, t *Task, shown *value.Dict) string {
	if t.DelegateTo == "" || t.DelegateTo == host {
		return host
	}
	label := host + " -> " + t.DelegateTo
	if dv, ok := shown.Lookup("_ansible_delegated_vars").(*value.Dict); ok {
		if a, ok := dv.Str("ansible_host"); ok && a != t.DelegateTo {
			label += "(" + a + ")"
		}
	}
	return label
}

// itemLabel is the text of an item's label.
func itemLabel(shown *value.Dict) any {
	if value.Truth(shown.Lookup("_ansible_no_log")) {
		return "(censored due to no_log)"
	}
	if v, ok := shown.Get("_ansible_item_label"); ok {
		return v
	}
	return shown.Lookup("item")
}
