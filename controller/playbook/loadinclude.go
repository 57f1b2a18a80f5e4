package playbook

import (
	"volant/controller/fault"
	"volant/wire/value"
)

// importRole loads the role of an import_role statement; its handlers join the
// play's.
func (l *Loader) importRole(t *Task, w where) ([]*Block, error) {
	// The reference makes the statement final here, where no host is known yet.
	if v, ok := t.Keywords.Get(Name); ok && MaybeTemplate(v) && l.Sink != nil && l.Sink != fault.Discard {
		if err := l.Render.RenderName(w.play, t, v); err != nil {
			return nil, KeywordError(Name, value.PosOf(v), err)
		}
	}
	name, err := l.renderText(w.play, t, t.RoleArgs.Name)
	if err != nil {
		return nil, err
	}
	t.RoleArgs.Name = value.NewTemplate(name, orPos(t.RoleArgs.Name, t.Pos))
	from := map[string]string{}
	for key, v := range t.RoleArgs.From {
		if from[key], err = l.renderText(w.play, t, v); err != nil {
			return nil, err
		}
	}
	opt := value.NewDict(3)
	for _, o := range []struct {
		k Keyword
		v any
	}{{Public, t.RoleArgs.Public}, {AllowDuplicates, t.RoleArgs.AllowDuplicates}, {RolespecValidate, t.RoleArgs.Validate}} {
		if o.v == nil {
			continue
		}
		v := o.v
		if MaybeTemplate(v) {
			if v, err = l.Render.Render(w.play, t, nil, v); err != nil {
				return nil, KeywordError(o.k, value.PosOf(o.v), err)
			}
		}
		if v, err = Coerce(o.k, v, value.PosOf(o.v)); err != nil {
			return nil, KeywordError(o.k, value.PosOf(o.v), err)
		}
		opt.Set(o.k.String(), v)
	}
	blocks, handlers, err := l.includedRole(t, w.play, name, value.PosOf(t.RoleArgs.Name), from, opt)
	if err != nil {
		return nil, err
	}
	w.play.Handlers = append(w.play.Handlers, handlers...)
	return blocks, nil
}

// includedRole loads a role for an include_role or import_role statement.
// options are the coerced public, allow_duplicates and rolespec_validate.
func (l *Loader) includedRole(t *Task, p *Play, name string, pos value.Pos, from map[string]string, options *value.Dict) (blocks, handlers []*Block, err error) {
	var collections []string
	if v, ok := t.Keywords.Get(Collections); ok {
		collections = collectionNames(Keywords{{Key: Collections, Value: v}})
	} else if v, ok := inherited(t.Parent, Collections); ok {
		collections = collectionNames(Keywords{{Key: Collections, Value: v}})
	}
	opt := roleOptions{
		parent: t.RoleArgs.ParentRole, from: from, fromInclude: true, dynamic: t.Include == IncludeRole,
		collections: collections, setDuplicates: true, duplicates: true,
	}
	if v, ok := options.Get("public"); ok {
		b := options.Bool("public")
		if v != nil {
			opt.public = &b
		}
	}
	if _, ok := options.Get("allow_duplicates"); ok {
		opt.duplicates = options.Bool("allow_duplicates")
	}
	if _, ok := options.Get("rolespec_validate"); ok {
		opt.skipSpec = !options.Bool("rolespec_validate")
	}
	u, err := l.roleUse(value.NewTemplate(name, pos), p, opt)
	if err != nil {
		return nil, nil, err
	}
	u.vars = t.Vars.Clone()
	r, err := l.loadRole(u, p, opt)
	if err != nil {
		return nil, nil, err
	}
	p.Roles = append(p.Roles, r)
	t.RoleArgs.Path = r.Path
	parent, err := l.applyBlock(t, p)
	if err != nil {
		return nil, nil, err
	}
	if b, ok := parent.(*Block); ok {
		b.Keywords.Set(Collections, value.Strings(r.Collections...), value.Pos{})
	}
	chain := r.DepChain()
	blocks, handlers = l.RoleBlocks(r, chain), RoleHandlers(r, chain)
	for _, b := range blocks {
		b.Parent = parent
		b.Keywords.Set(Collections, value.Strings(r.Collections...), value.Pos{})
	}
	for _, b := range handlers {
		b.Parent = parent
	}
	return blocks, handlers, nil
}

// applyBlock is what included blocks stand in: a block with the keywords of
// `apply`, or the statement itself.
func (l *Loader) applyBlock(t *Task, p *Play) (Parent, error) {
	apply, ok := t.Args.Lookup("apply").(*value.Dict)
	if !ok || apply.Len() == 0 {
		return t, nil
	}
	d := apply.Clone()
	d.Places = apply.Places
	d.Set("block", &value.List{})
	b, err := l.block(d, where{play: p, role: t.Role, parent: t})
	if err != nil {
		return nil, err
	}
	b.Pos = apply.Pos()
	return b, nil
}

// Included is what a dynamic include brought in.
type Included struct {
	Statement *Task    // a copy of the statement, with the variables of the item
	Blocks    []*Block // for handlers each Block list holds handlers
	Handlers  []*Block // that an included role adds to the play
}

// LoadTasks loads the file of an include_tasks statement. vars come on top of
// the statement's. A file with nothing in it brings in nothing.
func (l *Loader) LoadTasks(t *Task, p *Play, path string, vars *value.Dict) (*Included, error) {
	l.play, l.basedir, l.depth = p, p.Dir, 0
	l.defaultCollection = p.Collection
	data, _, err := l.Files.LoadFile(path)
	if err != nil {
		return nil, includeError(err, path)
	}
	inc := &Included{Statement: withVars(t, vars)}
	if data == nil {
		return inc, nil
	}
	list, ok := data.(*value.List)
	if !ok {
		return nil, fault.New(fault.Generic, value.Pos{}, "included task files must contain a list of tasks")
	}
	parent, err := l.applyBlock(inc.Statement, p)
	if err != nil {
		return nil, err
	}
	inc.Blocks, err = l.blocks(list, where{play: p, role: t.Role, parent: parent, handlers: t.Handler})
	return inc, includeError(err, path)
}

// includeError is what an include reports of an error that does not end the
// run.
func includeError(err error, path string) error {
	switch {
	case err == nil || isKind(err, fault.Parser):
		return err
	case isKind(err, fault.NotFound):
		return fault.New(fault.Generic, value.Pos{}, "Could not find or access '%s' on the Ansible Controller.", path).Because(err)
	}
	return err
}

// LoadRole loads the role of an include_role statement; name and from are
// rendered, options the coerced public, allow_duplicates and rolespec_validate
// that were given. The role joins the play's roles.
func (l *Loader) LoadRole(t *Task, p *Play, name string, from map[string]string, options, vars *value.Dict) (*Included, error) {
	l.play, l.basedir, l.depth = p, p.Dir, 0
	l.defaultCollection = p.Collection
	c := withVars(t, vars)
	args := *c.RoleArgs
	args.Name = name
	c.RoleArgs = &args
	pos := value.Pos{}
	if !MaybeTemplate(t.RoleArgs.Name) {
		pos = value.PosOf(t.RoleArgs.Name)
	}
	blocks, handlers, err := l.includedRole(c, p, name, pos, from, options)
	if err != nil {
		return nil, err
	}
	p.Handlers = append(p.Handlers, handlers...)
	return &Included{Statement: c, Blocks: blocks, Handlers: handlers}, nil
}

// withVars is a copy of an include statement with vars on top of its own.
func withVars(t *Task, vars *value.Dict) *Task {
	c := *t
	if vars.Len() > 0 {
		c.Vars = t.Vars.Clone()
		c.Vars.Update(vars)
	}
	return &c
}

// LocateTasks finds the file that an include_tasks statement names, once
// rendered: relative to the files that include the one it stands in, upwards,
// to its role, and to the playbook. dir gives the directory of an including
// statement, rendered in the scope of the host.
func (l *Loader) LocateTasks(t *Task, p *Play, target string, dir func(inc *Task) string) string {
	l.basedir = p.Dir
	sub := "tasks"
	if t.Handler {
		sub = "handlers"
	}
	cumulative, have := "", false
	file := ""
	for up := t.Parent; up != nil && !isNil(up); up = up.up() {
		inc, ok := up.(*Task)
		if !ok {
			continue
		}
		parent := ""
		if inc.RoleArgs != nil {
			parent = inc.RoleArgs.Path
		} else {
			parent = dirname(dir(inc))
		}
		if have && !isAbs(cumulative) {
			cumulative = join(parent, cumulative)
		} else {
			cumulative, have = parent, true
		}
		if t.Role != nil {
			for _, file = range []string{
				l.dwimRelative(t.Role.Path, sub, target, true),
				l.dwimRelative(join(t.Role.Path, sub, cumulative), sub, target, true),
			} {
				if exists(file) {
					break
				}
			}
		} else {
			file = l.dwimRelative(l.basedir, cumulative, target, false)
		}
		if exists(file) {
			return file
		}
	}
	switch {
	case file != "":
		return file
	case t.Role != nil:
		return l.dwimRelative(t.Role.Path, sub, target, true)
	}
	return l.dwim(target)
}

func isAbs(path string) bool { return path != "" && path[0] == '/' }
