package main

import (
	"context"
	"iter"
	"strings"

	"volant/actions"
	"volant/controller/compile"
	"volant/controller/fault"
	"volant/controller/playbook"
	"volant/controller/template"
	"volant/hostagent/modules"
	"volant/wire/value"
)

// lenient lets names that nothing stands for pass when playbooks are loaded,
// so that one of them does not hide the others.
type lenient struct {
	playbook.Plugins
	unknown map[string]bool
}

// Action implements playbook.Plugins.
func (l *lenient) Action(name string, collections []string) (string, bool, error) {
	resolved, ok, err := l.Plugins.Action(name, collections)
	if !ok && err == nil && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") == "" {
		l.unknown[name] = true
		return name, true, nil
	}
	return resolved, ok, err
}

// watching is the support of a run that also notes what it is asked about.
type watching struct {
	*compile.Have
	c       *checker
	ctx     context.Context //nolint:containedctx // lives as long as the check
	unknown map[string]bool
}

var _ compile.Watcher = (*watching)(nil)

const unresolved = "couldn't resolve module/action"

// Action implements compile.Support.
func (w *watching) Action(resolved string, collections []string) string {
	if w.unknown[resolved] {
		return unresolved
	}
	return w.Have.Action(resolved, collections)
}

// text is a refusal in the words of a run.
func (w *watching) text(r compile.Refusal) string {
	if r.Why != unresolved {
		return r.Text()
	}
	text := unresolved + " '" + r.Name + "'. This often indicates a misspelling, missing collection, or incorrect module path."
	if ns := strings.SplitN(r.Name, ".", 3); len(ns) == 3 && w.Catalog.Union != nil && w.Catalog.Union.CollectionDir(ns[0]+"."+ns[1]) == "" {
		text += " The collection " + ns[0] + "." + ns[1] + " is not installed."
	}
	return text
}

// Unloadable implements compile.Watcher.
func (w *watching) Unloadable(t *playbook.Task, err error) {
	pos := posOf(err)
	if pos.IsZero() {
		pos = t.Pos
	}
	w.c.warn(fault.Brief(err)+ifReached, pos)
}

// Step implements compile.Watcher.
func (w *watching) Step(t *playbook.Task, kw playbook.Keywords) {
	name := t.Resolved
	if name == "" {
		name = t.ActionName()
	}
	if name != "" {
		if w.c.tasks[name] == nil {
			w.c.tasks[name] = &checkModule{Name: name, Path: w.path(t, name)}
		}
		w.c.tasks[name].Tasks++
	}
	for _, k := range []playbook.Keyword{playbook.When, playbook.ChangedWhen, playbook.FailedWhen, playbook.Until} {
		for _, cond := range kw.List(k) {
			w.condition(cond, k, kw.PosOf(k))
		}
	}
	if playbook.Is(t.ActionName(), "assert") {
		that := t.Args.Lookup("that")
		if list, ok := that.(*value.List); ok {
			for _, cond := range list.Items {
				w.condition(cond, playbook.NoKeyword, t.Pos)
			}
		} else {
			w.condition(that, playbook.NoKeyword, t.Pos)
		}
	}
}

// helpers are the modules that actions which are no module of their own run;
// all of them are native.
var helpers = map[string]bool{"template": true, "fetch": true, "script": true, "wait_for_connection": true, "gather_facts": true}

// path is how a task runs.
func (w *watching) path(t *playbook.Task, name string) string {
	short := actions.Short(name)
	spec, own := actions.Lookup(name)
	switch {
	case t.Include != playbook.NotInclude, t.Meta() != "", own && spec.Controller:
		return "controller"
	case w.Action(name, nil) != "":
		return "nothing"
	case own && (short == "package" || short == "service"):
		return "host"
	case strings.HasPrefix(name, "ansible.legacy."): // a file of the project
		return "python"
	case modules.Table[short] != nil, own && helpers[short]:
		return "native"
	}
	return "python"
}

// condition judges what the text alone decides: its syntax, and the type of
// what names nothing. The rest depends on values.
func (w *watching) condition(cond any, k playbook.Keyword, pos value.Pos) {
	if cond == nil {
		return
	}
	t, ok := cond.(*value.Template)
	if ok {
		pos = t.Pos
	}
	_, err := w.c.engine.Scope(w.ctx, noVars{}, template.ScopeOptions{Basedir: w.c.project.dir, Sink: w.c}).Condition(cond)
	if err == nil {
		return
	}
	text := fault.Brief(err)
	if !ok || constant(t.Text) || strings.Contains(text, "Syntax error in") {
		where := "condition"
		if k != playbook.NoKeyword {
			where = k.String()
		}
		w.c.problem(&fault.Error{Msg: where + ": " + text, Pos: pos}, pos)
	}
}

// constant reports whether an expression names no variable, function, filter
// or test.
func constant(text string) bool {
	quote := byte(0)
	word := ""
	for i := 0; i <= len(text); i++ {
		c := byte(' ')
		if i < len(text) {
			c = text[i]
		}
		switch {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
			continue
		case c == '\'' || c == '"':
			quote = c
		case c == '|' || c == '{' && i+1 < len(text) && text[i+1] != '\'' && text[i+1] != '"' && text[i+1] != '}':
			return false
		case c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			word += string(c)
			continue
		}
		switch word {
		case "", "true", "True", "false", "False", "none", "None", "and", "or", "not", "in":
		default:
			if strings.Trim(word, "0123456789") != "" {
				return false
			}
		}
		word = ""
	}
	return true
}

// noVars has no variables.
type noVars struct{}

// Lookup implements template.Vars.
func (noVars) Lookup(string) (v any, marked, ok bool) { return nil, false, false }

// Names implements template.Vars.
func (noVars) Names() iter.Seq[string] { return func(func(string) bool) {} }
