package template

import (
	"volant/controller/fault"
	"volant/wire/value"
)

// Variable returns a variable of the task, rendered all through. It is for
// lookups that run outside of the engine; what a managed host sent counts as
// read by the render in progress.
func (l *LookupCall) Variable(name string) (v any, ok bool, err error) {
	s := l.Scope
	v, ok, err = s.Resolve(name)
	if err != nil || !ok {
		return nil, ok, err
	}
	if v, err = l.C.Realize(v); err != nil {
		return nil, true, err
	}
	if t, isText := v.(*value.Template); isText {
		v = t.Text
	}
	return v, true, nil
}

// Variables lists the names of the task's variables.
func (l *LookupCall) Variables() []string {
	var names []string
	for n := range l.Scope.vars.Names() {
		names = append(names, n)
	}
	return names
}

// Basedir is the playbook's directory.
func (l *LookupCall) Basedir() string { return l.Scope.opt.Basedir }

// Decrypt opens what a vaulted file holds.
func (l *LookupCall) Decrypt(data []byte) ([]byte, error) {
	v := l.Scope.e.opt.Vault
	if v == nil {
		return nil, failf("Attempting to decrypt but no vault secrets found.")
	}
	return v.Decrypt(data, "")
}

// Sink takes the lookup's messages.
func (l *LookupCall) Sink() fault.Sink { return l.Scope.sink() }

// SinkOf takes the messages of a filter or test that renders with data (the
// Context's); it is never nil.
func SinkOf(data any) fault.Sink {
	if s, ok := data.(*Scope); ok {
		return s.sink()
	}
	return fault.Discard
}
