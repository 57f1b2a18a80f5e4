package jinja

import (
	"fmt"

	"volant/wire/value"
)

// macroCode is a compiled macro.
type macroCode struct {
	name                    string
	args                    []string
	slots                   []int // of args
	defaults                []eval
	offset                  int // args without default
	caller, kwargs, varargs int // slots; -1: not used
	explicit                bool
	fn                      *function
	run                     exec
	t                       *Template
}

// macro is a macro with the frame it was defined in.
type macro struct {
	code *macroCode
	c    *Context
	f    *frame
}

func (*macro) TypeName() string { return "Macro" }

func (m *macro) Text() string {
	if m.code.name == "None" {
		return "<Macro anonymous>"
	}
	return "<Macro " + value.Repr(m.code.name) + ">"
}

func (m *macro) Attr(_ *Context, name string) (any, bool, error) {
	switch name {
	case "name":
		if m.code.name == "None" {
			return "caller", true, nil
		}
		return m.code.name, true, nil
	case "arguments":
		t := make(value.Tuple, len(m.code.args))
		for i, a := range m.code.args {
			t[i] = a
		}
		return t, true, nil
	case "catch_kwargs":
		return m.code.kwargs >= 0, true, nil
	case "catch_varargs":
		return m.code.varargs >= 0, true, nil
	case "caller":
		return m.code.caller >= 0 || m.code.explicit, true, nil
	}
	return nil, false, nil
}

// Call runs the macro. Its arguments may be markers.
func (m *macro) Call(_ *Context, a Args) (any, error) {
	code, c := m.code, m.c
	if err := c.run.enter(); err != nil {
		return nil, err
	}
	defer c.run.leave()
	f := newFrame(code.fn, m.f)
	var kw []Kwarg
	if len(a.Kw) > 0 {
		kw = append(kw, a.Kw...)
	}
	take := func(name string) (any, bool) {
		for i, k := range kw {
			if k.Name == name {
				kw = append(kw[:i], kw[i+1:]...)
				return k.Value, true
			}
		}
		return nil, false
	}
	callerSeen := len(a.Pos) >= len(code.args) && code.explicit
	for i, name := range code.args {
		if i < len(a.Pos) {
			f.slots[code.slots[i]] = slot{a.Pos[i], true}
			continue
		}
		if v, ok := take(name); ok {
			f.slots[code.slots[i]] = slot{v, true}
		}
		if name == "caller" {
			callerSeen = true
		}
	}
	if code.caller >= 0 && !callerSeen {
		v, ok := take("caller")
		if !ok {
			v = c.undefined("caller", "No caller defined")
		}
		f.slots[code.caller] = slot{v, true}
	}
	if code.kwargs >= 0 {
		d := value.NewDict(len(kw))
		for _, k := range kw {
			d.Set(k.Name, k.Value)
		}
		f.slots[code.kwargs] = slot{d, true}
	} else if len(kw) > 0 {
		for _, k := range kw {
			if k.Name == "caller" {
				return nil, value.TypeErrorf("macro %s was invoked with two values for the special caller argument. This is most likely a bug.", value.Repr(code.name))
			}
		}
		return nil, value.TypeErrorf("macro %s takes no keyword argument %s", value.Repr(code.name), value.Repr(kw[0].Name))
	}
	if code.varargs >= 0 {
		var rest value.Tuple
		if len(a.Pos) > len(code.args) {
			rest = append(rest, a.Pos[len(code.args):]...)
		}
		f.slots[code.varargs] = slot{rest, true}
	} else if len(a.Pos) > len(code.args) {
		return nil, value.TypeErrorf("macro %s takes not more than %d argument(s)", value.Repr(code.name), len(code.args))
	}
	for i, name := range code.args {
		s := &f.slots[code.slots[i]]
		if s.set {
			continue
		}
		if i < code.offset {
			*s = slot{c.undefined(name, fmt.Sprintf("parameter %s was not provided", value.Repr(name))), true}
			continue
		}
		v, err := code.defaults[i-code.offset](c, f)
		if err != nil {
			return nil, err
		}
		f.slots[code.slots[i]] = slot{v, true}
	}
	return c.collected(code.run, f)
}
