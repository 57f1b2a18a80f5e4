package plugins

import (
	"encoding/base64"

	"volant/controller/fault"
	"volant/controller/template"
	"volant/wire/value"
)

// answer reads the frame that ends a call.
func answer(d *value.Dict, c codec) (any, error) {
	if hint, ok := d.Str("undefined"); ok {
		return nil, &value.Undefined{Hint: hint}
	}
	if chain, ok := d.Lookup("error").(*value.List); ok {
		return nil, exceptions(chain.Items)
	}
	return c.decode(d.Lookup("value"), 0)
}

// exceptions makes errors of what Python raised, outermost first. What a plugin
// raises of its own is an exception, what ansible-core words is an error with
// its text.
func exceptions(chain []any) error {
	var err error = &fault.Error{Msg: "the plugin failed without saying why"}
	for i := len(chain) - 1; i >= 0; i-- {
		d, ok := chain[i].(*value.Dict)
		if !ok {
			continue
		}
		class, _ := d.Str("class")
		msg, _ := d.Str("msg")
		help, _ := d.Str("help")
		var cause error
		if i < len(chain)-1 {
			cause = err
		}
		if cause == nil && help == "" {
			err = value.Raise(class, "%s", msg)
		} else {
			err = &fault.Error{Class: class, Msg: msg, Help: help, Cause: cause}
		}
	}
	return err
}

// notes shows the messages of a plugin.
func notes(sink fault.Sink) serve {
	return func(frame *value.Dict) *value.Dict {
		note(sink, frame)
		return nil
	}
}

func note(sink fault.Sink, frame *value.Dict) {
	msg, _ := frame.Str("msg")
	help, _ := frame.Str("help")
	switch kind, _ := frame.Str("note"); kind {
	case "warning":
		e := &fault.Error{Msg: msg, Help: help}
		if chain, ok := frame.Lookup("chain").(*value.List); ok && chain.Len() > 0 {
			e.Cause = exceptions(chain.Items)
		}
		sink.Warning(e)
	case "deprecated":
		d := fault.Deprecation{}
		d.Msg, d.Help = msg, help
		d.Version, _ = frame.Str("version")
		d.Plugin, _ = frame.Str("plugin")
		sink.Deprecated(d)
	case "verbose":
		level, _ := value.ToInt(frame.Lookup("level"))
		sink.Verbose(int(level), msg)
	}
}

// questions answers what a lookup asks while it runs, and shows its messages.
func questions(l *template.LookupCall) serve {
	return func(frame *value.Dict) *value.Dict {
		if frame.Has("note") {
			note(l.Sink(), frame)
			return nil
		}
		v, err := asked(l, frame)
		if err == nil {
			v, err = encode(v, 0)
		}
		if err != nil {
			return refusal(err.Error())
		}
		d := value.NewDict(1)
		d.Set("value", v)
		return d
	}
}

func asked(l *template.LookupCall, frame *value.Dict) (any, error) {
	switch what, _ := frame.Str("ask"); what {
	case "names":
		return value.Strings(l.Variables()...), nil
	case "variable":
		name, _ := frame.Str("name")
		v, _, err := l.Variable(name)
		return v, err
	case "host":
		v, _, err := l.Scope.Render(hostVars(frame))
		return v, err
	case "decrypt":
		text, _ := frame.Str("data")
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, err
		}
		return l.Decrypt(data)
	}
	return nil, &fault.Error{Msg: "the helper for Python plugins asked what nobody answers"}
}

// hostVars is a template that gives the variables of the host asked for.
func hostVars(frame *value.Dict) *value.Template {
	name, _ := frame.Str("name")
	return value.NewTemplate("{{ hostvars["+value.Repr(name)+"] }}", value.Pos{})
}
