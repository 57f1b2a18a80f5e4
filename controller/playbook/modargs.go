package playbook

import (
	"sort"
	"strings"

	"volant/controller/fault"
	"volant/wire/value"
)

// statement is what a task's mapping says it does.
type statement struct {
	action   any // text, maybe a template
	resolved string
	args     *value.Dict
	// delegate is the delegate_to value; delegated says there is one.
	delegate  any
	delegated bool
}

func (s *statement) name() string {
	t, _ := value.Text(s.action)
	return t
}

// parseAction finds the action of a task in one of its forms: `module: args`,
// `action: module args`, `local_action:`, each with text, a mapping or none,
// and with `args:` underneath. Without names every key that is no keyword is
// taken for an action; with them only what is installed is.
func (l *Loader) parseAction(ds *value.Dict, collections []string, names bool) (*statement, error) {
	s := &statement{args: value.NewDict(0)}
	s.delegate, s.delegated = ds.Get("delegate_to")
	extra, hasExtra := ds.Get("args")
	found := false
	set := func(read func() (any, *value.Dict, error)) error {
		under, err := l.argsKeyword(ds, extra, hasExtra)
		if err != nil {
			return err
		}
		action, args, err := read()
		if err != nil {
			return err
		}
		final, err := mergeArgs(action, args, under)
		s.action, s.args, found = action, final, action != nil
		return err
	}
	if thing, ok := ds.Get("action"); ok {
		if err := set(func() (any, *value.Dict, error) { return l.oldStyle(ds, thing) }); err != nil {
			return nil, err
		}
	}
	if thing, ok := ds.Get("local_action"); ok {
		if found {
			return nil, fault.New(fault.Parser, ds.Pos(), "action and local_action are mutually exclusive")
		}
		s.delegate, s.delegated = "localhost", true
		if err := set(func() (any, *value.Dict, error) { return l.oldStyle(ds, thing) }); err != nil {
			return nil, err
		}
	}
	bad := ""
	for k, v := range ds.All() {
		key, ok := value.Text(k)
		if _, keyword := anyTaskKeyword[key]; !ok || keyword || strings.HasPrefix(key, "with_") {
			continue
		}
		if bad == "" {
			bad = key
		}
		if names && !builtinTask(key) {
			resolved, ok, err := l.Plugins.Action(key, collections)
			if err != nil {
				return nil, at(err, ds.Pos())
			}
			if !ok {
				continue
			}
			s.resolved = resolved
		}
		if found {
			return nil, fault.New(fault.Parser, ds.Pos(), "conflicting action statements: %s, %s", s.name(), key)
		}
		action := value.NewTemplate(key, ds.KeyPos(key))
		if err := set(func() (any, *value.Dict, error) {
			args, err := l.newStyle(ds, v, key, ds.ValuePos(key), hasExtra)
			return action, args, err
		}); err != nil {
			return nil, err
		}
	}
	if found {
		return s, nil
	}
	if bad != "" {
		return nil, fault.New(fault.Parser, ds.Pos(), "couldn't resolve module/action '%s'. This often indicates a "+
			"misspelling, missing collection, or incorrect module path.", bad)
	}
	return nil, fault.New(fault.Parser, ds.Pos(), "no module/action detected in task.")
}

// at puts a position on an error that has none.
func at(err error, pos value.Pos) error {
	if e, ok := err.(*fault.Error); ok && e.Pos.IsZero() { //nolint:errorlint // the outermost link only
		c := *e
		c.Pos = pos
		return &c
	}
	return err
}

// newStyle reads the value of `module: value`.
func (l *Loader) newStyle(ds *value.Dict, thing any, action string, pos value.Pos, hasExtra bool) (*value.Dict, error) {
	switch v := thing.(type) {
	case nil:
		return nil, nil
	case *value.Dict:
		return v, nil
	case *value.Vault:
		return value.DictOf("_raw_params", v), nil
	case string, *value.Template:
		text, _ := value.Text(v)
		args, err := ParseKV(text, FreeForm(action), pos)
		if err != nil || !hasExtra {
			return args, err
		}
		var keys []string
		for k := range args.All() {
			if s, _ := value.Text(k); s != "_raw_params" {
				keys = append(keys, value.Repr(s))
			}
		}
		if sort.Strings(keys); len(keys) > 0 {
			l.deprecated(pos, "2.23", "Include all task args in the task `args` mapping.",
				"Merging legacy k=v args (%s) into task args.", strings.Join(keys, ", "))
		}
		return args, nil
	}
	return nil, fault.New(fault.Parser, ds.Pos(), "unexpected parameter type in action: %s", className(thing))
}

// oldStyle reads the value of `action:` and `local_action:`.
func (l *Loader) oldStyle(ds *value.Dict, thing any) (any, *value.Dict, error) {
	var action any
	var args *value.Dict
	switch v := thing.(type) {
	case *value.Dict:
		l.deprecated(v.Pos(), "2.23", "Use a string value for `action`.", "Using a mapping for `action` is deprecated.")
		module, ok := v.Get("module")
		if !ok {
			break
		}
		text, ok := value.Text(module)
		if !ok {
			return nil, nil, fault.New(fault.Parser, ds.Pos(), "unexpected parameter type in action: %s", className(module))
		}
		name, kv, err := splitAction(text, v.ValuePos("module"))
		if err != nil {
			return nil, nil, err
		}
		args = v.Clone()
		args.Update(kv)
		args.Delete("module")
		action = name
	case string, *value.Template:
		text, _ := value.Text(v)
		name, kv, err := splitAction(text, value.PosOf(v))
		if err != nil {
			return nil, nil, err
		}
		action, args = name, kv
	default:
		return nil, nil, fault.New(fault.Parser, ds.Pos(), "unexpected parameter type in action: %s", className(thing))
	}
	if nested, ok := args.Get("args"); ok {
		args = args.Clone()
		args.Delete("args")
		switch n := nested.(type) {
		case *value.Dict:
			args.Update(n)
		case string, *value.Template:
			text, _ := value.Text(n)
			kv, err := ParseKV(text, false, value.PosOf(n))
			if err != nil {
				return nil, nil, err
			}
			args.Update(kv)
		}
	}
	return action, args, nil
}

// splitAction splits "module k=v ..." into its name and arguments. The name is
// nil when there is none.
func splitAction(text string, pos value.Pos) (any, *value.Dict, error) {
	tokens, err := SplitArgs(text)
	if err != nil || len(tokens) == 0 {
		return nil, nil, err
	}
	name := strings.TrimSpace(tokens[0])
	args, err := ParseKV(strings.Join(tokens[1:], " "), FreeForm(name), pos)
	return value.NewTemplate(name, pos), args, err
}

// argsKeyword reads `args:`.
func (l *Loader) argsKeyword(ds *value.Dict, extra any, has bool) (*value.Dict, error) {
	if !has {
		return nil, nil
	}
	switch v := extra.(type) {
	case *value.Dict:
		return v, nil
	case nil:
		l.deprecated(ds.Pos(), "2.23", "A mapping or template which resolves to a mapping is required.",
			"Ignoring empty task `args` keyword.")
		return nil, nil
	default:
		if !wholeTemplate(v) {
			return nil, fault.New(fault.Parser, ds.ValuePos("args"), "The value of the task `args` keyword is invalid.").
				WithHelp("A mapping or template which resolves to a mapping is required.")
		}
		return value.DictOf("_variable_params", v), nil
	}
}

// mergeArgs puts the action's arguments over those of `args:`, under.
func mergeArgs(action any, args, under *value.Dict) (*value.Dict, error) {
	final := value.NewDict(args.Len())
	if args != nil {
		final.Places = args.Places
	}
	final.Update(under)
	name, _ := value.Text(action)
	if !FreeForm(name) {
		for k := range args.All() {
			if key, _ := value.Text(k); strings.HasPrefix(key, "_ansible_") {
				return nil, fault.New(fault.Generic, value.Pos{}, "Invalid parameter specified beginning with keyword '_ansible_' for action '%s': '%s'. "+
					"The prefix '_ansible_' is reserved for internal use only.", name, key)
			}
		}
	}
	final.Update(args)
	return final, nil
}
