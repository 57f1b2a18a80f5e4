package playbook

import (
	"fmt"
	"os"
	"path/filepath"

	"volant/controller/fault"
	"volant/wire/value"
)

// where is what a list of tasks is loaded for.
type where struct {
	play     *Play
	role     *Role
	parent   Parent // block around the list, or the include that brought it in
	handlers bool
}

// malformed is the reference's assertion about the shape of a list; callers
// wrap it with what they were loading.
type malformed struct{ msg string }

func (m *malformed) Error() string { return m.msg }

// wrapMalformed says what was being loaded when a list had the wrong shape.
func wrapMalformed(err error, v any, pos value.Pos, format string, args ...any) error {
	if _, ok := err.(*malformed); !ok { //nolint:errorlint // never wrapped
		return err
	}
	e := fault.New(fault.Parser, pos, format, args...).Because(err)
	if pos.IsZero() {
		e.Excerpt = value.Str(v)
	}
	return e
}

// blocks loads a list of tasks and blocks; runs of bare tasks get an implicit
// block.
func (l *Loader) blocks(v any, w where) ([]*Block, error) {
	list, ok := v.(*value.List)
	if !ok {
		if v == nil {
			return nil, nil
		}
		return nil, &malformed{fmt.Sprintf("%s should be a list or None but is %s", value.Str(v), className(v))}
	}
	var out []*Block
	for i := 0; i < len(list.Items); {
		if d, ok := list.Items[i].(*value.Dict); ok && isBlock(d) {
			b, err := l.block(d, w)
			if err != nil {
				return nil, err
			}
			out = append(out, b)
			i++
			continue
		}
		start := i
		for i < len(list.Items) && list.Items[i] != nil {
			if d, ok := list.Items[i].(*value.Dict); ok && isBlock(d) {
				break
			}
			i++
		}
		if start == i { // an empty item
			i++
			continue
		}
		b := l.newBlock(w, true)
		nodes, err := l.tasks(value.ListOf(list.Items[start:i]...), w.inside(b))
		if err != nil {
			return nil, wrapMalformed(err, value.ListOf(list.Items[start:i]...), value.Pos{}, "A malformed block was encountered while loading a block")
		}
		b.Block = nodes
		out = append(out, b)
	}
	return out, nil
}

func isBlock(d *value.Dict) bool { return d.Has("block") || d.Has("rescue") || d.Has("always") }

func (w where) inside(b *Block) where {
	w.parent = b
	return w
}

func (l *Loader) newBlock(w where, implicit bool) *Block {
	return &Block{
		ID: l.id(), Vars: value.NewDict(0), Implicit: implicit,
		Parent: w.parent, Play: w.play, Role: w.role,
	}
}

func (l *Loader) id() uint64 {
	l.nextID++
	return l.nextID
}

// block loads a block written as such.
func (l *Loader) block(d *value.Dict, w where) (*Block, error) {
	b := l.newBlock(w, false)
	b.Pos = d.Pos()
	for _, k := range d.Keys() { // unknown keywords come before what is inside
		if _, ok := blockClass.keywords[keyText(k)]; !ok {
			_, _, err := l.fields(blockClass, []entry{{key: k, keyPos: d.KeyPos(keyText(k))}}, b.Pos)
			return nil, err
		}
	}
	var err error
	if v, ok := d.Get("collections"); ok { // what is inside is found with it
		first := []entry{{"collections", v, d.KeyPos("collections"), d.ValuePos("collections")}}
		if b.Keywords, _, err = l.fields(blockClass, first, b.Pos); err != nil {
			return nil, err
		}
	}
	for _, part := range []struct {
		key   string
		nodes *[]Node
		say   string
	}{
		{"block", &b.Block, "A malformed block was encountered while loading a block"},
		{"rescue", &b.Rescue, "A malformed block was encountered while loading rescue."},
		{"always", &b.Always, "A malformed block was encountered while loading always"},
	} {
		v, ok := d.Get(part.key)
		if !ok {
			continue
		}
		if *part.nodes, err = l.tasks(v, w.inside(b)); err != nil {
			return nil, wrapMalformed(err, d, b.Pos, "%s", part.say)
		}
	}
	if b.Keywords, b.Vars, err = l.fields(blockClass, entries(d, "block", "rescue", "always"), b.Pos); err != nil {
		return nil, err
	}
	for _, part := range []struct {
		name  string
		nodes []Node
	}{{"rescue", b.Rescue}, {"always", b.Always}} {
		if len(part.nodes) > 0 && len(b.Block) == 0 {
			return nil, fault.New(fault.Parser, b.Pos, "'%s' keyword cannot be used without 'block'", part.name)
		}
	}
	return b, nil
}

// tasks loads the list of a block. Static imports are replaced by what they
// bring in.
func (l *Loader) tasks(v any, w where) ([]Node, error) {
	list, ok := v.(*value.List)
	if !ok {
		return nil, &malformed{fmt.Sprintf("The ds (%s) should be a list but was a %s", value.Str(v), className(v))}
	}
	var out []Node
	for _, item := range list.Items {
		d, ok := item.(*value.Dict)
		if !ok {
			kind := "<class 'list'>"
			if list.Place != nil {
				kind = className(list)
			}
			return nil, &malformed{fmt.Sprintf("The ds (%s) should be a dict but was a %s", value.Str(list), kind)}
		}
		nodes, err := l.node(d, w)
		if err != nil {
			return nil, err
		}
		out = append(out, nodes...)
	}
	return out, nil
}

// node loads one item of a list of tasks.
func (l *Loader) node(d *value.Dict, w where) ([]Node, error) {
	if d.Has("block") {
		if w.handlers {
			return nil, fault.New(fault.Parser, d.Pos(), "Using a block as a handler is not supported.")
		}
		b, err := l.block(d, w)
		if err != nil {
			return nil, err
		}
		return []Node{b}, nil
	}
	s, err := l.parseAction(d, nil, false)
	if err != nil {
		if isKind(err, fault.Parser) {
			if e, ok := err.(*fault.Error); ok && e.Pos.IsZero() { //nolint:errorlint // outermost link
				return nil, fault.New(fault.Parser, d.Pos(), "Error loading tasks.").Because(err)
			}
		}
		return nil, err
	}
	kind := includeOf(s.name())
	t, err := l.task(d, w, kind)
	if err != nil {
		return nil, err
	}
	switch kind {
	case ImportTasks:
		return l.importTasks(t, d, w)
	case ImportRole:
		if t.Keywords.Has(Loop) && t.Keywords.Value(Loop) != nil {
			return nil, fault.New(fault.Parser, d.Pos(), "You cannot use loops on 'import_role' statements. You should use 'include_role' instead.")
		}
		blocks, err := l.importRole(t, w)
		return nodesOf(blocks), err
	case NotInclude:
		if t.Meta() == "end_role" {
			switch {
			case w.handlers:
				return nil, &fault.Error{Kind: fault.Parser, Msg: "Cannot execute 'end_role' from a handler", Excerpt: "HANDLER: " + t.Title("", true)}
			case w.role == nil:
				return nil, &fault.Error{Kind: fault.Parser, Msg: "Cannot execute 'end_role' from outside of a role", Excerpt: "TASK: meta (end_role)"}
			}
		}
	}
	return []Node{t}, nil
}

func nodesOf(blocks []*Block) []Node {
	out := make([]Node, len(blocks))
	for i, b := range blocks {
		out[i] = b
	}
	return out
}

// importTasks brings in the file of an import_tasks statement.
func (l *Loader) importTasks(t *Task, d *value.Dict, w where) ([]Node, error) {
	if v, ok := t.Keywords.Get(Loop); ok && v != nil {
		return nil, fault.New(fault.Parser, d.Pos(), "You cannot use loops on 'import_tasks' statements. You should use 'include_tasks' instead.")
	}
	if err := l.gather(w.play); err != nil {
		return nil, err
	}
	raw := t.Args.Lookup("_raw_params")
	target, err := l.renderText(w.play, t, raw)
	if err != nil {
		if !fault.Is(err, fault.Undefined) {
			return nil, err
		}
		return nil, fault.New(fault.Parser, d.Pos(), "Error when evaluating variable in import path %s.", value.Repr(raw)).
			WithHelp("When using static imports, ensure that any variables used in their names are defined in vars/vars_files\n" +
				"or extra-vars passed in from the command line. Static imports cannot use variables from facts or inventory\n" +
				"sources like group or host vars.").Because(err)
	}
	path := l.locateImport(t, target, w)
	data, _, err := l.Files.LoadFile(path)
	if err != nil {
		return nil, err
	}
	list, isList := data.(*value.List)
	if !value.Truth(data) {
		l.warn(value.Pos{}, "file %s is empty and had no tasks to include", path)
		return nil, nil
	}
	if !isList {
		return nil, fault.New(fault.Parser, value.PosOf(data), "included task files must contain a list of tasks")
	}
	l.verbose(2, "statically imported: %s", path)
	if l.depth++; l.depth > maxDepth {
		return nil, fault.New(fault.Generic, t.Pos, "A recursion loop was detected: %s imports itself.", path)
	}
	defer func() { l.depth-- }()
	inner := w
	inner.parent = t
	blocks, err := l.blocks(list, inner)
	if err != nil {
		return nil, err
	}
	if !w.handlers {
		return nodesOf(blocks), nil
	}
	var out []Node
	for _, b := range blocks {
		out = append(out, b.Block...)
	}
	return out, nil
}

// maxDepth bounds static imports and role dependencies inside each other.
const maxDepth = 150

// locateImport finds the file of an import_tasks: relative to the files that
// import the file it stands in, upwards, then to the role or playbook.
func (l *Loader) locateImport(t *Task, target string, w where) string {
	subdir := "tasks"
	if w.handlers {
		subdir = "handlers"
	}
	cumulative, have := "", false
	for p := w.parent; p != nil; p = p.up() {
		inc, ok := p.(*Task)
		if !ok {
			continue
		}
		dir := l.includeDir(inc)
		if !have {
			cumulative, have = dir, true
		} else if !filepath.IsAbs(cumulative) {
			cumulative = join(dir, cumulative)
		}
		var file string
		if t.Role != nil {
			file = l.dwimRelative(join(t.Role.Path, subdir, cumulative), subdir, target, false)
		} else {
			file = l.dwimRelative(l.basedir, cumulative, target, false)
		}
		if exists(file) {
			return file
		}
	}
	if t.Role != nil {
		return l.dwimRelative(t.Role.Path, subdir, target, false)
	}
	return l.dwim(target)
}

// includeDir is the directory that an include statement's file or role is in,
// as written.
func (l *Loader) includeDir(inc *Task) string {
	if inc.RoleArgs != nil {
		return inc.RoleArgs.Path
	}
	s, err := l.renderText(inc.play(), inc, inc.Args.Lookup("_raw_params"))
	if err != nil {
		return ""
	}
	return dirname(s)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
