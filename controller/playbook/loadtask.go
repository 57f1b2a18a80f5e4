package playbook

import (
	"fmt"
	"strings"

	"volant/controller/fault"
	"volant/wire/value"
)

// task loads a task, handler or include statement.
func (l *Loader) task(d *value.Dict, w where, kind Include) (*Task, error) {
	t := &Task{ID: l.id(), Pos: d.Pos(), Parent: w.parent, Role: w.role, Handler: w.handlers, Include: kind}
	if t.Pos.IsZero() {
		t.Excerpt = fault.Shorten(value.Str(d))
	}
	cls := taskClass
	switch {
	case kind == IncludeRole || kind == ImportRole:
		if w.handlers {
			name, _ := firstAction(d)
			return nil, fault.New(fault.Parser, d.Pos(), "Using '%s' as a handler is not supported.", name)
		}
		cls = includeRoleClass
	case kind != NotInclude && w.handlers:
		cls = handlerIncClass
	case kind != NotInclude:
		cls = taskIncludeClass
	case w.handlers:
		cls = handlerClass
	}
	collections, err := l.taskCollections(d, t)
	if err != nil {
		return nil, err
	}
	s, err := l.parseAction(d, collections, true)
	if err != nil {
		if e, ok := err.(*fault.Error); ok && e.Kind == fault.Parser && e.Pos.IsZero() { //nolint:errorlint // outermost link
			return nil, fault.New(fault.Parser, d.Pos(), "Error parsing task arguments.").Because(err)
		}
		return nil, err
	}
	t.Action, t.Resolved, t.Args = s.action, s.resolved, s.args
	if builtinTask(s.name()) {
		t.Resolved = "ansible.builtin." + plain(s.name())
	}
	in, err := l.taskEntries(d, s, collections)
	if err != nil {
		return nil, err
	}
	if kind == IncludeTasks || kind == IncludeRole {
		if in, err = l.includeEntries(in, cls, t.Pos); err != nil {
			return nil, err
		}
	}
	if t.Keywords, t.Vars, err = l.fields(cls, in, t.Pos); err != nil {
		return nil, err
	}
	if err := l.finishTask(t); err != nil {
		return nil, err
	}
	switch kind {
	case IncludeTasks, ImportTasks:
		err = checkInclude(t)
	case IncludeRole, ImportRole:
		err = checkIncludeRole(t)
	}
	return t, err
}

// firstAction is the first key of a task that is no keyword.
func firstAction(d *value.Dict) (string, bool) {
	for k := range d.All() {
		if s := keyText(k); !anyTaskKeyword[s] && !strings.HasPrefix(s, "with_") {
			return s, true
		}
	}
	for _, key := range []string{"action", "local_action"} {
		if s, ok := d.Str(key); ok {
			name, _, _ := strings.Cut(s, " ")
			return name, true
		}
	}
	return "", false
}

// taskCollections is the search list for the task's action.
func (l *Loader) taskCollections(d *value.Dict, t *Task) ([]string, error) {
	var names []string
	if v := d.Lookup("collections"); v != nil {
		var err error
		if names, err = textList(Collections, v, d.ValuePos("collections")); err != nil {
			return nil, err
		}
	} else if v, ok := inherited(t.Parent, Collections); ok {
		if list, ok := v.(*value.List); ok {
			for _, item := range list.Items {
				s, _ := value.Text(item)
				names = append(names, s)
			}
		}
	}
	if c := l.defaultCollection; c != "" && t.Role == nil && !contains(names, c) {
		names = append([]string{c}, names...)
	}
	if len(names) > 0 && !contains(names, "ansible.builtin") && !contains(names, "ansible.legacy") {
		names = append(names, "ansible.legacy")
	}
	return names, nil
}

// taskEntries are the entries of a task once its action is taken out and
// with_X is made a loop.
func (l *Loader) taskEntries(d *value.Dict, s *statement, collections []string) ([]entry, error) {
	var in []entry
	if s.delegated {
		in = append(in, entry{"delegate_to", s.delegate, d.KeyPos("delegate_to"), d.ValuePos("delegate_to")})
	}
	if len(collections) > 0 {
		in = append(in, entry{"collections", value.Strings(collections...), d.KeyPos("collections"), d.ValuePos("collections")})
	}
	looped := false
	name := s.name()
	for _, e := range entries(d, "action", "local_action", "args", "delegate_to", "collections", "shell", name) {
		key := keyText(e.key)
		if lookup, ok := strings.CutPrefix(key, "with_"); ok && l.Plugins.Lookup(lookup) {
			if looped {
				return nil, fault.New(fault.Generic, d.Pos(), "duplicate loop in task: %s", lookup)
			}
			if e.val == nil {
				return nil, fault.New(fault.Generic, d.Pos(), "you must specify a value when using %s", key)
			}
			in = append(in, entry{"loop_with", lookup, e.keyPos, e.keyPos}, entry{"loop", e.val, e.keyPos, e.valPos})
			looped = true
			continue
		}
		if key == "loop" && e.val != nil {
			looped = true
		}
		if _, ok := handlerClass.keywords[key]; !ok && !l.Config.InvalidTaskAttrFailed && includeRoleClass.keywords[key] == NoKeyword {
			l.warn(value.Pos{}, "Ignoring invalid attribute: %s", key)
			continue
		}
		in = append(in, e)
	}
	return in, nil
}

// includeEntries refuses the keywords that dynamic includes do not take.
func (l *Loader) includeEntries(in []entry, cls *class, pos value.Pos) ([]entry, error) {
	out := in[:0:0]
	for _, e := range in {
		key := keyText(e.key)
		if includeKeywordSet[key] || key == "listen" && cls == handlerIncClass {
			out = append(out, e)
			continue
		}
		if l.Config.InvalidTaskAttrFailed {
			return nil, fault.New(fault.Parser, pos, "'%s' is not a valid attribute for a %s", key, cls.name)
		}
		l.warn(value.Pos{}, "Ignoring invalid attribute: %s", key)
		out = append(out, e)
	}
	return out, nil
}

// finishTask validates what needs more than a type.
func (l *Loader) finishTask(t *Task) error {
	if v, ok := t.Keywords.Get(LoopControlKeyword); ok {
		d, ok := v.(*value.Dict)
		if !ok {
			return fault.New(fault.Parser, t.Keywords.PosOf(LoopControlKeyword), "the `loop_control` value must be specified as a dictionary and cannot "+
				"be a variable itself (though it can contain variables)")
		}
		lc, err := l.loopControl(d)
		if err != nil {
			return err
		}
		t.LoopControl = lc
	} else {
		t.LoopControl = &LoopControl{}
	}
	if v, ok := t.Keywords.Get(Register); ok && v != nil {
		pos := t.Keywords.PosOf(Register)
		if err := CheckVariableName(v, pos); err != nil {
			return fault.New(fault.Parser, pos, "Invalid 'register' specified.").Because(err)
		}
	}
	if v, ok := t.Keywords.Get(Listen); ok {
		names, err := textList(Listen, v, t.Keywords.PosOf(Listen))
		if err != nil {
			return err
		}
		t.Listen = names
		if t.Role != nil {
			for _, n := range names {
				t.Listen = append(t.Listen, t.Role.FullName(true)+" : "+n, t.Role.FullName(false)+" : "+n)
			}
		}
	}
	return nil
}

func (l *Loader) loopControl(d *value.Dict) (*LoopControl, error) {
	kw, _, err := l.fields(loopControlClass, entries(d), d.Pos())
	if err != nil {
		return nil, err
	}
	return &LoopControl{
		LoopVar: kw.Value(LoopVar), IndexVar: kw.Value(IndexVar), Label: kw.Value(Label), Pause: kw.Value(Pause),
		Extended: kw.Value(Extended), ExtendedAllitems: kw.Value(ExtendedAllitems), BreakWhen: kw.Value(BreakWhen),
		Pos: d.Pos(),
	}, nil
}

// badOptions lists the arguments that are not among those known.
func badOptions(args *value.Dict, known ...string) string {
	var bad []string
	for k := range args.All() {
		if s := keyText(k); !contains(known, s) {
			bad = append(bad, s)
		}
	}
	return strings.Join(bad, ",")
}

// checkInclude validates the options of include_tasks and import_tasks.
func checkInclude(t *Task) error {
	action := t.ActionName()
	if bad := badOptions(t.Args, "file", "_raw_params", "apply"); bad != "" {
		return fault.New(fault.Parser, t.Pos, "Invalid options for %s: %s", action, bad)
	}
	args := t.Args.Clone()
	if !value.Truth(args.Lookup("_raw_params")) {
		file := args.Lookup("file")
		args.Delete("file")
		if !value.Truth(file) {
			return fault.New(fault.Parser, t.Pos, "No file specified for %s", action)
		}
		args.Set("_raw_params", file)
	}
	t.Args = args
	return checkApply(t, IncludeTasks)
}

// checkApply validates the apply option, which only the dynamic kind takes.
func checkApply(t *Task, dynamic Include) error {
	apply, ok := t.Args.Get("apply")
	if !ok {
		return nil
	}
	if value.Truth(apply) && t.Include != dynamic {
		return fault.New(fault.Parser, t.Pos, "Invalid options for %s: apply", t.ActionName())
	}
	if _, ok := apply.(*value.Dict); !ok {
		return fault.New(fault.Parser, t.Pos, "Expected a dict for apply but got %s instead", className(apply))
	}
	return nil
}

// roleFrom are the options that choose files of a role.
var roleFrom = []string{"tasks_from", "vars_from", "defaults_from", "handlers_from"}

// checkIncludeRole validates the options of include_role and import_role.
func checkIncludeRole(t *Task) error {
	action := t.ActionName()
	name, ok := t.Args.Get("name")
	if !ok {
		name = t.Args.Lookup("role")
	}
	if name == nil {
		return fault.New(fault.Parser, t.Pos, "'name' is a required field for %s.", action)
	}
	known := append([]string{"name", "role", "apply", "public", "allow_duplicates", "rolespec_validate"}, roleFrom...)
	if bad := badOptions(t.Args, known...); bad != "" {
		return fault.New(fault.Parser, t.Pos, "Invalid options for %s: %s", action, bad)
	}
	r := &RoleArgs{Name: name, From: map[string]any{}, ParentRole: t.Role}
	for _, key := range roleFrom {
		v, ok := t.Args.Get(key)
		if !ok {
			continue
		}
		if _, isText := value.Text(v); !isText {
			return fault.New(fault.Parser, value.Pos{}, "Expected a string for %s but got %s instead", key, className(v))
		}
		r.From[strings.TrimSuffix(key, "_from")] = v
	}
	r.Public, r.AllowDuplicates, r.Validate = t.Keywords.Value(Public), t.Keywords.Value(AllowDuplicates), t.Keywords.Value(RolespecValidate)
	for key, to := range map[string]*any{"public": &r.Public, "allow_duplicates": &r.AllowDuplicates, "rolespec_validate": &r.Validate} {
		if v, ok := t.Args.Get(key); ok {
			*to = v
		}
	}
	t.RoleArgs = r
	return checkApply(t, IncludeRole)
}

// renderText renders a value that must be a text at load time.
func (l *Loader) renderText(play *Play, t *Task, v any) (string, error) {
	out := v
	if MaybeTemplate(v) {
		var err error
		if out, err = l.Render.Render(play, t, nil, v); err != nil {
			return "", err
		}
	}
	s, ok := value.Text(out)
	if !ok {
		return value.Str(out), nil
	}
	return s, nil
}

func (l *Loader) verbose(level int, format string, args ...any) {
	if l.Sink != nil {
		l.Sink.Verbose(level, fmt.Sprintf(format, args...))
	}
}

// play is the play the task is in.
func (t *Task) play() *Play {
	for p := t.Parent; p != nil; p = p.up() {
		if b, ok := p.(*Block); ok && b.Play != nil {
			return b.Play
		}
	}
	return nil
}
