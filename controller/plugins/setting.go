package plugins

import (
	"volant/controller/template"
	"volant/wire/value"
)

// Setting answers the lookup config for an option of a plugin that ansible-core
// finds: its value in that task and where it came from. ok is false when the
// plugin has no such option.
func (h *Helper) Setting(l *template.LookupCall, name, kind, plugin string) (v any, origin string, ok bool, err error) {
	frame := op("setting")
	frame.Set("kind", kind)
	frame.Set("plugin", plugin)
	frame.Set("name", name)
	got, err := h.call(l.C.Ctx(), frame, questions(l))
	if err != nil {
		return nil, "", false, err
	}
	d, ok := got.(*value.Dict)
	if !ok || !d.Bool("known") {
		return nil, "", false, nil
	}
	origin, _ = d.Str("origin")
	return d.Lookup("value"), origin, true, nil
}
