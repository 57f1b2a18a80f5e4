package playbook

import (
	"errors"
	"fmt"
	"strings"

	"volant/controller/fault"
	"volant/wire/value"
)

// entry is one key of an object's mapping, after preprocessing.
type entry struct {
	key            any
	val            any
	keyPos, valPos value.Pos
}

// entries lists the entries of a mapping but those with a key in skip.
func entries(ds *value.Dict, skip ...string) []entry {
	out := make([]entry, 0, ds.Len())
next:
	for k, v := range ds.All() {
		name := keyText(k)
		for _, s := range skip {
			if s == name {
				continue next
			}
		}
		out = append(out, entry{k, v, ds.KeyPos(name), ds.ValuePos(name)})
	}
	return out
}

// keyText is a mapping key as text.
func keyText(k any) string {
	if s, ok := value.Text(k); ok {
		return s
	}
	return value.Str(k)
}

// fields checks and loads the entries of an object: unknown keys, vars,
// collections, tags, module_defaults and the type of texts. pos is where the
// object is; the lists of tasks and roles are the caller's.
func (l *Loader) fields(c *class, in []entry, pos value.Pos) (Keywords, *value.Dict, error) {
	for _, e := range in {
		name := keyText(e.key)
		if _, ok := c.keywords[name]; !ok {
			msg := fmt.Sprintf("'%s' is not a valid attribute for a %s", name, c.name)
			if c.keywords["action"] != NoKeyword {
				msg += "\nThis error can be suppressed as a warning using the \"invalid_task_attribute_failed\" configuration"
			}
			return nil, nil, fault.New(fault.Parser, e.keyPos, "%s", msg)
		}
	}
	vars := value.NewDict(0)
	var kw Keywords
	for _, first := range []bool{true, false} {
		for _, e := range in {
			k := c.keywords[keyText(e.key)]
			if first != (k == Vars || k == Collections) {
				continue
			}
			v := e.val
			var err error
			switch k {
			case Vars:
				if vars, err = l.loadVars(c.name, v, e.valPos, pos); err != nil {
					return nil, nil, err
				}
				continue
			case Collections:
				v, err = l.loadCollections(v, e.valPos)
			case Tags:
				v, err = loadTags(v, e.valPos)
			case ModuleDefaults:
				v, err = l.loadModuleDefaults(v, e.valPos)
			case When, ChangedWhen, FailedWhen:
				if _, ok := v.(*value.List); !ok {
					v = value.ListOf(v)
				}
			}
			if err != nil {
				return nil, nil, err
			}
			kw.Set(k, v, e.valPos)
		}
	}
	for _, s := range kw {
		if s.Key.Spec().Kind != String || s.Key == Register {
			continue
		}
		switch s.Value.(type) {
		case *value.List, *value.Dict:
			return nil, nil, fault.New(fault.Parser, pos, "The field '%s' is supposed to be a string type,"+
				" however the incoming data structure is a %s", s.Key, className(s.Value))
		}
	}
	return kw, vars, nil
}

// loadVars checks a `vars` keyword.
func (l *Loader) loadVars(class string, v any, pos, owner value.Pos) (*value.Dict, error) {
	switch v := v.(type) {
	case nil:
		return value.NewDict(0), nil
	case *value.Dict:
		for k := range v.All() {
			if err := CheckVariableName(k, v.KeyPos(keyText(k))); err != nil {
				return nil, err
			}
		}
		return v, nil
	}
	if p := value.PosOf(v); !p.IsZero() {
		pos = p
	}
	if pos.IsZero() {
		pos = owner
	}
	return nil, fault.New(fault.Parser, pos, "Vars in a %s must be specified as a dictionary.", class)
}

// CheckVariableName refuses what cannot be the name of a variable.
func CheckVariableName(name any, pos value.Pos) error {
	s, isText := value.Text(name)
	if isText && validName(s) {
		return nil
	}
	desc := "name"
	switch name.(type) {
	case *value.List, *value.Dict, value.Tuple:
	default:
		desc += " " + value.Repr(keyText(name))
	}
	if !isText {
		desc += " of type " + value.Repr(value.TypeName(name))
	}
	e := fault.New(fault.Generic, pos, "Invalid variable %s.", desc)
	if b, ok := name.(bool); ok || name == nil { // these know no place
		e.Pos = value.Pos{}
		if name != nil {
			e.Excerpt = value.Str(b)
		}
	} else if pos.IsZero() { // made by a template
		e.Excerpt = keyText(name)
	}
	return e.WithHelp("Variable names must be strings starting with a letter or underscore character, and contain only letters, numbers and underscores.")
}

func validName(s string) bool {
	if s == "" || jinjaKeywords[s] {
		return false
	}
	for i, r := range s {
		switch {
		case r == '_', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
		case r >= '0' && r <= '9' && i > 0:
		default:
			return false
		}
	}
	return true
}

// loadTags makes a list of a `tags` keyword.
func loadTags(v any, pos value.Pos) (any, error) {
	switch v := v.(type) {
	case *value.List:
		return v, nil
	case string, *value.Template:
		text, _ := value.Text(v)
		out := &value.List{}
		for _, tag := range strings.Split(text, ",") {
			var item any = strings.TrimSpace(tag)
			if t, ok := v.(*value.Template); ok {
				item = value.NewTemplate(strings.TrimSpace(tag), t.Pos)
			}
			out.Items = append(out.Items, item)
		}
		return out, nil
	}
	return nil, fault.New(fault.Generic, pos, "tags must be specified as a list")
}

// loadCollections checks a `collections` keyword and adds what is always
// searched. The result is a list of plain strings, or nil.
func (l *Loader) loadCollections(v any, pos value.Pos) (any, error) {
	names, err := textList(Collections, v, pos)
	if err != nil {
		return nil, err
	}
	names = l.searchList(names)
	if len(names) == 0 {
		return nil, nil
	}
	return value.Strings(names...), nil
}

// searchList adds the default collection and ansible.legacy to a list.
func (l *Loader) searchList(names []string) []string {
	if d := l.defaultCollection; d != "" && !contains(names, d) {
		names = append([]string{d}, names...)
	}
	if len(names) > 0 && !contains(names, "ansible.builtin") && !contains(names, "ansible.legacy") {
		names = append(names, "ansible.legacy")
	}
	return names
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// textList reads a keyword that is a list of texts.
func textList(k Keyword, v any, pos value.Pos) ([]string, error) {
	out, err := Coerce(k, v, pos)
	if err != nil {
		return nil, err
	}
	list, _ := out.(*value.List)
	names := make([]string, 0, list.Len())
	if list != nil {
		for _, item := range list.Items {
			s, _ := value.Text(item)
			names = append(names, s)
		}
	}
	return names, nil
}

// warn shows a warning.
func (l *Loader) warn(pos value.Pos, format string, args ...any) {
	if l.Sink != nil {
		l.Sink.Warning(fault.New(fault.Generic, pos, format, args...))
	}
}

// deprecated shows a deprecation.
func (l *Loader) deprecated(pos value.Pos, version, help, format string, args ...any) {
	if l.Sink != nil {
		l.Sink.Deprecated(fault.Deprecation{
			Error:   fault.Error{Msg: fmt.Sprintf(format, args...), Pos: pos, Help: help},
			Version: version,
		})
	}
}

// isKind reports whether err's outermost link is of that kind.
func isKind(err error, kind fault.Kind) bool {
	var e *fault.Error
	return errors.As(err, &e) && e.Kind == kind
}

// jinjaKeywords mean something in templates and cannot be variables.
var jinjaKeywords = map[string]bool{
	"true": true, "false": true, "none": true, "True": true, "False": true, "None": true, "not": true,
}
