package playbook

import (
	"path/filepath"
	"strings"

	"volant/controller/fault"
	"volant/wire/value"
)

// roleUse is one use of a role as written: in a play, as a dependency, or by
// include_role.
type roleUse struct {
	name, path, collection string
	keywords               Keywords
	vars, params           *value.Dict
	pos                    value.Pos
	text                   string // as written, shown where pos is in no file
}

// roleOptions say how a role is loaded.
type roleOptions struct {
	parent        *Role // that depends on it or includes it
	from          map[string]string
	fromInclude   bool
	skipSpec      bool // rolespec_validate: false
	public        *bool
	dynamic       bool
	baseDir       string // directory next to which a dependency may be
	collections   []string
	setDuplicates bool
	duplicates    any
}

// roles loads the `roles` of a play.
func (l *Loader) roles(v any, p *Play, pos value.Pos) ([]*Role, error) {
	if v == nil {
		return nil, nil
	}
	list, ok := v.(*value.List)
	if !ok {
		return nil, fault.New(fault.Parser, pos, "A malformed role declaration was encountered.").Because(
			&malformed{"ds (" + value.Str(v) + ") should be a list but was a " + className(v)})
	}
	opt := roleOptions{collections: collectionNames(p.Keywords)}
	uses := make([]*roleUse, 0, len(list.Items))
	for _, item := range list.Items {
		u, err := l.roleUse(item, p, opt)
		if err != nil {
			return nil, err
		}
		uses = append(uses, u)
	}
	var out []*Role
	for _, u := range uses {
		r, err := l.loadRole(u, p, opt)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func collectionNames(kw Keywords) []string {
	var out []string
	for _, v := range kw.List(Collections) {
		if s, ok := value.Text(v); ok {
			out = append(out, s)
		}
	}
	return out
}

// roleUse reads one item of a list of roles and finds the role.
func (l *Loader) roleUse(v any, p *Play, opt roleOptions) (*roleUse, error) {
	u := &roleUse{vars: value.NewDict(0), params: value.NewDict(0), pos: value.PosOf(v), text: value.Str(v)}
	var raw any
	switch d := v.(type) {
	case string, *value.Template:
		text, _ := value.Text(v)
		if strings.Contains(text, ",") {
			return nil, fault.New(fault.Generic, value.Pos{}, "Invalid old style role requirement: %s", text)
		}
		raw = v
	case *value.Dict:
		ok := false
		if raw, ok = d.Get("role"); !ok {
			raw = d.Lookup("name")
		}
		if text, isText := value.Text(raw); !isText || text == "" {
			return nil, fault.New(fault.Generic, d.Pos(), "role definitions must contain a role name")
		}
	default:
		return nil, fault.New(fault.Parser, value.PosOf(v), "Invalid role definition.")
	}
	if err := l.gather(p); err != nil {
		return nil, err
	}
	name, err := l.renderText(p, nil, raw)
	if err != nil {
		return nil, err
	}
	if err := l.findRole(u, name, opt); err != nil {
		return nil, err
	}
	d, ok := v.(*value.Dict)
	if !ok {
		return u, nil
	}
	var own []entry
	for _, e := range entries(d, "role") {
		if _, ok := roleClass.keywords[keyText(e.key)]; ok {
			own = append(own, e)
		} else {
			u.params.Set(e.key, e.val)
		}
	}
	u.params.Places = d.Places
	if u.keywords, u.vars, err = l.fields(roleClass, own, d.Pos()); err != nil {
		return nil, err
	}
	return u, nil
}

// findRole looks for the role's directory.
func (l *Loader) findRole(u *roleUse, name string, opt roleOptions) error {
	if len(opt.collections) > 0 || strings.Count(name, ".") >= 2 {
		if role, path, collection, ok := l.Plugins.RolePath(name, opt.collections); ok {
			u.name, u.path, u.collection = role, path, collection
			return nil
		}
	}
	search := append([]string{join(l.basedir, "roles")}, l.Config.RolesPath...)
	if opt.baseDir != "" {
		search = append(search, opt.baseDir)
	}
	search = append(search, l.basedir)
	for _, dir := range search {
		if path := unfrack(join(dir, name)); exists(path) {
			u.name, u.path = name, real(path)
			return nil
		}
	}
	if path := unfrack(name); exists(path) {
		u.name, u.path = filepath.Base(strings.TrimRight(name, "/")), real(path)
		return nil
	}
	err := fault.New(fault.Generic, u.pos, "the role '%s' was not found in %s", name,
		strings.Join(append(append([]string(nil), opt.collections...), search...), ":"))
	err.Excerpt = u.text
	return err
}

// loadRole loads the files of a role and of those it depends on.
func (l *Loader) loadRole(u *roleUse, p *Play, opt roleOptions) (*Role, error) {
	if l.depth++; l.depth > maxDepth {
		return nil, fault.New(fault.Generic, u.pos, "A recursion loop was detected with the roles specified. "+
			"Make sure child roles do not have dependencies on parent roles").Because(
			&fault.Error{Msg: "maximum recursion depth exceeded while calling a Python object"})
	}
	defer func() { l.depth-- }()
	r := &Role{
		ID: l.id(), Name: u.name, Path: u.path, Collection: u.collection, Keywords: u.keywords, Vars: u.vars,
		Params: u.params, Play: p, Pos: u.pos, FromInclude: opt.fromInclude, Static: !opt.dynamic, FromFiles: opt.from,
		AllowDuplicates: false,
	}
	r.realPath = real(u.path)
	switch {
	case opt.public != nil:
		r.Public = *opt.public
	case l.Config.PrivateRoleVars != nil:
		r.Public = !*l.Config.PrivateRoleVars
	default:
		r.Public = r.Static
	}
	if opt.parent != nil {
		r.Parents = []*Role{opt.parent}
	}
	if err := l.loadRoleFiles(r, opt); err != nil {
		return nil, err
	}
	if opt.setDuplicates {
		r.AllowDuplicates = opt.duplicates
	}
	p.cacheRole(r)
	return r, nil
}

func (l *Loader) loadRoleFiles(r *Role, opt roleOptions) error {
	var err error
	for _, f := range []struct {
		dir string
		to  **value.Dict
	}{{"vars", &r.RoleVars}, {"defaults", &r.Defaults}} {
		v, err := l.roleFile(r, f.dir, opt.from[f.dir], true)
		if err != nil {
			return err
		}
		d, ok := v.(*value.Dict)
		if !ok {
			if v != nil {
				return fault.New(fault.Parser, value.Pos{}, "The %s/main.yml file for role '%s' must contain a dictionary of variables", f.dir, r.Name)
			}
			d = value.NewDict(0)
		}
		*f.to = d
	}
	specs, err := l.roleMeta(r, opt)
	if err != nil {
		return err
	}
	if r.Collection == "" {
		l.Plugins.AddDir(r.Path)
	}
	r.Keywords.Set(Collections, value.Strings(r.Collections...), value.Pos{})
	tasks, err := l.roleFile(r, "tasks", opt.from["tasks"], false)
	if err != nil {
		return err
	}
	if !opt.skipSpec {
		if tasks, err = l.withValidation(r, tasks, specs, opt.from["tasks"]); err != nil {
			return err
		}
	}
	w := where{play: r.Play, role: r}
	if value.Truth(tasks) {
		if r.Blocks, err = l.blocks(tasks, w); err != nil {
			return wrapMalformed(err, tasks, value.PosOf(tasks), "The tasks/main.yml file for role %s must contain a list of tasks.", value.Repr(r.Name))
		}
	}
	handlers, err := l.roleFile(r, "handlers", opt.from["handlers"], false)
	if err != nil {
		return err
	}
	w.handlers = true
	if value.Truth(handlers) {
		if r.HandlerBlocks, err = l.blocks(handlers, w); err != nil {
			return wrapMalformed(err, handlers, value.PosOf(handlers), "The handlers/main.yml file for role %s must contain a list of tasks.", value.Repr(r.Name))
		}
	}
	return nil
}

// roleMeta reads meta/main and the roles it depends on, sets the role's
// collections, and returns its argument specs.
func (l *Loader) roleMeta(r *Role, opt roleOptions) (specs *value.Dict, err error) {
	var names []string
	v, err := l.roleFile(r, "meta", "", false)
	if err != nil {
		return nil, err
	}
	if value.Truth(v) {
		d, ok := v.(*value.Dict)
		if !ok {
			return nil, fault.New(fault.Parser, value.Pos{}, "the 'meta/main.yml' for role %s is not a dictionary", r.FullName(true))
		}
		kw, _, err := l.fields(metadataClass, entries(d), d.Pos())
		if err != nil {
			return nil, err
		}
		if v, ok := kw.Get(AllowDuplicates); ok {
			r.AllowDuplicates = v
		}
		specs, _ = kw.Value(ArgumentSpecs).(*value.Dict)
		names = collectionNames(kw)
		if err := l.dependencies(r, kw.Value(Dependencies), d, opt, names); err != nil {
			return nil, err
		}
	}
	if r.Collection != "" {
		r.Collections = []string{r.Collection}
	} else if l.defaultCollection != "" {
		r.Collections = []string{l.defaultCollection}
	}
	for _, n := range names {
		if !contains(r.Collections, n) {
			r.Collections = append(r.Collections, n)
		}
	}
	if len(r.Collections) > 0 && !contains(r.Collections, "ansible.builtin") && !contains(r.Collections, "ansible.legacy") {
		if r.Collection != "" {
			r.Collections = append(r.Collections, "ansible.builtin")
		} else {
			r.Collections = append(r.Collections, "ansible.legacy")
		}
	}
	for _, ext := range []string{".yml", ".yaml", ".json"} {
		if exists(join(r.Path, "meta", "argument_specs"+ext)) {
			v, err := l.roleFile(r, "meta", "argument_specs", false)
			if err != nil {
				return nil, err
			}
			d, _ := v.(*value.Dict)
			specs, _ = d.Lookup("argument_specs").(*value.Dict)
			break
		}
	}
	return specs, nil
}

// dependencies loads the roles that meta/main names.
func (l *Loader) dependencies(r *Role, v any, meta *value.Dict, opt roleOptions, names []string) error {
	if !value.Truth(v) {
		return nil
	}
	list, ok := v.(*value.List)
	if !ok {
		return fault.New(fault.Parser, meta.Pos(), "Expected role dependencies to be a list.")
	}
	search := append([]string(nil), names...)
	if r.Collection != "" {
		search = append([]string{r.Collection}, without(search, r.Collection)...)
	}
	if !contains(search, "ansible.legacy") {
		search = append(search, "ansible.legacy")
	}
	dep := roleOptions{parent: r, baseDir: dirname(r.Path), collections: search, dynamic: opt.dynamic}
	uses := make([]*roleUse, 0, len(list.Items))
	for _, item := range list.Items {
		if d, ok := item.(*value.Dict); ok && !d.Has("role") && !d.Has("name") {
			if src, ok := d.Str("src"); ok {
				c := d.Clone()
				c.Set("name", value.NewTemplate(repoName(src), d.ValuePos("src")))
				item = c
			}
		}
		u, err := l.roleUse(item, r.Play, dep)
		if err != nil {
			return err
		}
		uses = append(uses, u)
	}
	for _, u := range uses {
		d, err := l.loadRole(u, r.Play, dep)
		if err != nil {
			return err
		}
		r.Dependencies = append(r.Dependencies, d)
	}
	return nil
}

func without(list []string, s string) []string {
	out := list[:0:0]
	for _, x := range list {
		if x != s {
			out = append(out, x)
		}
	}
	return out
}

// repoName is the role name in a repository's address.
func repoName(url string) string {
	if !strings.Contains(url, "://") && !strings.Contains(url, "@") {
		return url
	}
	name := url[strings.LastIndexByte(url, '/')+1:]
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".git"), ".tar.gz")
	name, _, _ = strings.Cut(name, ",")
	return name
}

// withValidation puts the task that validates the role's arguments in front.
func (l *Loader) withValidation(r *Role, tasks any, specs *value.Dict, entry string) (any, error) {
	if entry == "" {
		entry = "main"
	}
	spec, ok := specs.Lookup(entry).(*value.Dict)
	if !ok || spec.Len() == 0 {
		return tasks, nil
	}
	name := "Validating arguments against arg spec '" + entry + "'"
	if short, ok := spec.Get("short_description"); ok {
		text, isText := value.Text(short)
		if !isText {
			return nil, fault.New(fault.Generic, value.PosOf(spec), "can only concatenate str (not \"%s\") to str", value.TypeName(short))
		}
		name += " - " + text
	}
	options, ok := spec.Get("options")
	if !ok {
		options = value.NewDict(0)
	}
	task := value.DictOf(
		"action", "ansible.builtin.validate_argument_spec",
		"args", value.DictOf(
			"argument_spec", options,
			"provided_arguments", r.Params,
			"validate_args_context", value.DictOf("type", "role", "name", r.Name, "argument_spec_name", entry, "path", r.Path),
		),
		"name", name,
		"tags", value.Strings("always"),
	)
	list := value.ListOf(task)
	switch v := tasks.(type) {
	case nil:
	case *value.List:
		list.Items = append(list.Items, v.Items...)
		list.Place = v.Place
	default:
		return tasks, nil // refused by its shape
	}
	return list, nil
}
