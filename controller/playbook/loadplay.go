package playbook

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"volant/controller/fault"
	"volant/wire/value"
)

// Load reads a playbook file (or "ns.coll.name") with everything it imports.
func (l *Loader) Load(path string) (*Playbook, error) {
	collection := ""
	file := path
	if p, c, ok := l.Plugins.PlaybookPath(path); ok {
		file, collection = p, c
	} else {
		st, err := os.Stat(path)
		if err != nil {
			return nil, fault.New(fault.Generic, value.Pos{}, "the playbook: %s could not be found", path)
		}
		if m := st.Mode(); !m.IsRegular() && m&os.ModeNamedPipe == 0 {
			return nil, fault.New(fault.Generic, value.Pos{}, "the playbook: %s does not appear to be a file", path)
		}
		collection = l.Plugins.CollectionOf(path)
	}
	l.defaultCollection = collection
	l.depth = 0
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("finding the playbook %s: %w", path, err)
	}
	pb := &Playbook{Path: path, Dir: filepath.Dir(abs)}
	pb.Plays, err = l.plays(abs, value.NewDict(0))
	return pb, err
}

// plays loads the plays of a file, those of imported files in place.
func (l *Loader) plays(file string, vars *value.Dict) ([]*Play, error) {
	before := l.basedir
	l.basedir = filepath.Dir(file)
	defer func() { l.basedir = before }()
	l.Plugins.AddDir(l.basedir)
	data, _, err := l.Files.LoadFile(file)
	if err != nil {
		return nil, err
	}
	list, ok := data.(*value.List)
	switch {
	case data == nil:
		return nil, fault.New(fault.Parser, value.Pos{}, "Empty playbook, nothing to do: %s", unfrack(file))
	case !ok:
		return nil, fault.New(fault.Parser, value.PosOf(data), "A playbook must be a list of plays, got a %s instead: %s", className(data), unfrack(file))
	case len(list.Items) == 0:
		return nil, fault.New(fault.Parser, value.Pos{}, "A playbook must contain at least one play: %s", unfrack(file))
	}
	var out []*Play
	for i, item := range list.Items {
		d, ok := item.(*value.Dict)
		if !ok {
			e := fault.New(fault.Parser, list.ItemPos(i), "playbook entries must be either valid plays or 'import_playbook' statements")
			if value.PosOf(item).IsZero() {
				e.Pos, e.Excerpt = value.Pos{}, value.Str(item)
				if item == nil {
					e.Excerpt = ""
				}
			}
			return nil, e
		}
		var plays []*Play
		if importKey(d) != "" {
			plays, err = l.importPlaybook(d)
		} else {
			var p *Play
			if p, err = l.loadPlay(d, vars); err == nil {
				plays = []*Play{p}
			}
		}
		if err != nil {
			return nil, err
		}
		out = append(out, plays...)
	}
	return out, nil
}

func importKey(d *value.Dict) string {
	for _, k := range importPlaybookKeys {
		if d.Has(k) {
			return k
		}
	}
	return ""
}

// importPlaybook loads the plays of an import_playbook statement and gives
// them its vars, tags and conditions.
func (l *Loader) importPlaybook(d *value.Dict) ([]*Play, error) {
	key := importKey(d)
	var conflicting []string
	for _, k := range importPlaybookKeys {
		if d.Has(k) {
			conflicting = append(conflicting, k)
		}
	}
	if len(conflicting) > 1 {
		return nil, fault.New(fault.Generic, value.Pos{}, "Found conflicting import_playbook actions: %s", strings.Join(conflicting, ", "))
	}
	in := entries(d)
	for i := range in {
		if in[i].key == key {
			in[i].key = "import_playbook"
		}
	}
	l.play = nil
	kw, vars, err := l.fields(playbookIncClass, in, d.Pos())
	if err != nil {
		return nil, err
	}
	raw := kw.Value(ImportPlaybook)
	if raw == nil {
		return nil, fault.New(fault.Parser, d.Pos(), "The field 'import_playbook' is required but was not set.")
	}
	name := raw
	if MaybeTemplate(raw) {
		if name, err = l.Render.Render(nil, nil, vars, raw); err != nil {
			return nil, KeywordError(ImportPlaybook, kw.PosOf(ImportPlaybook), err)
		}
	}
	file := value.Str(name)
	collection := ""
	if p, c, ok := l.Plugins.PlaybookPath(file); ok {
		file, collection = p, c
	} else {
		if !isAbs(file) {
			file = filepath.Join(l.basedir, file)
		}
		collection = l.Plugins.CollectionOf(file)
	}
	if collection != "" {
		l.defaultCollection = collection // for the plays that follow, too: projects rely on it
	}
	if l.depth++; l.depth > maxDepth {
		return nil, fault.New(fault.Generic, d.Pos(), "A recursion loop was detected: %s imports itself.", file)
	}
	defer func() { l.depth-- }()
	plays, err := l.plays(file, vars)
	if err != nil {
		return nil, err
	}
	for _, p := range plays {
		l.adopt(p, kw, vars, file)
	}
	return plays, nil
}

// adopt gives an imported play what its import_playbook statement sets.
func (l *Loader) adopt(p *Play, kw Keywords, vars *value.Dict, file string) {
	merged := p.Vars.Clone()
	merged.Update(vars)
	tags := kw.List(Tags)
	if t, ok := merged.Get("tags"); ok {
		merged.Delete("tags")
		if text, ok := value.Text(t); ok {
			for _, s := range strings.Split(text, ",") {
				tags = append(tags, s)
			}
		}
	}
	p.Vars = merged
	if len(tags) > 0 {
		p.Keywords.Set(Tags, extend(p.Keywords.Value(Tags), value.ListOf(tags...), false), p.Keywords.PosOf(Tags))
	}
	if p.IncludedDir == "" {
		p.IncludedDir = filepath.Dir(file)
		p.Dir = p.IncludedDir
	}
	when, ok := kw.Get(When)
	if !ok {
		return
	}
	p.Conditional = kw.List(When)
	add := func(to *Keywords) {
		if own, ok := to.Get(When); ok {
			to.Set(When, extend(own, when, true), to.PosOf(When))
		} else {
			to.Set(When, when, kw.PosOf(When))
		}
	}
	for _, blocks := range [][]*Block{p.PreTasks, p.Tasks, p.PostTasks} {
		for _, b := range blocks {
			add(&b.Keywords)
		}
	}
	for _, r := range p.Roles {
		add(&r.Keywords)
	}
}

// loadPlay loads one play. vars are those of the import_playbook around it.
func (l *Loader) loadPlay(d *value.Dict, vars *value.Dict) (*Play, error) {
	p := &Play{
		Pos: d.Pos(), Dir: l.basedir, Collection: l.defaultCollection, Vars: value.NewDict(0),
		roleCache: map[string][]*Role{}, actionGroup: map[string][]string{}, groups: map[string][]string{},
	}
	l.play = p
	in := entries(d)
	if d.Has("user") {
		if d.Has("remote_user") {
			return nil, fault.New(fault.Parser, d.Pos(), "both 'user' and 'remote_user' are set for this play. "+
				"The use of 'user' is deprecated, and should be removed")
		}
		for i := range in {
			if in[i].key == "user" {
				in[i].key = "remote_user"
			}
		}
	}
	lists := map[Keyword]entry{}
	plain := in[:0:0]
	for _, e := range in {
		switch k := playClass.keywords[keyText(e.key)]; k {
		case Roles, Handlers, PreTasks, Tasks, PostTasks, VarsPrompt:
			lists[k] = e
		default:
			plain = append(plain, e)
		}
	}
	kw, own, err := l.fields(playClass, plain, p.Pos)
	if err != nil {
		return nil, err
	}
	p.Keywords = kw
	p.Vars = l.Config.combine(vars, own)
	p.VarsFiles = kw.List(VarsFiles)
	if e, ok := lists[VarsPrompt]; ok {
		if p.VarsPrompt, err = varsPrompt(e); err != nil {
			return nil, err
		}
	}
	if e, ok := lists[Roles]; ok {
		roles, err := l.roles(e.val, p, p.Pos)
		if err != nil {
			return nil, err
		}
		p.Roles = append(roles, p.Roles...)
	}
	for _, part := range []struct {
		k  Keyword
		to *[]*Block
	}{{Handlers, &p.Handlers}, {PreTasks, &p.PreTasks}, {PostTasks, &p.PostTasks}, {Tasks, &p.Tasks}} {
		e, ok := lists[part.k]
		if !ok {
			continue
		}
		blocks, err := l.blocks(e.val, where{play: p, handlers: part.k == Handlers})
		if err != nil {
			return nil, wrapMalformed(err, d, p.Pos, "A malformed block was encountered while loading %s.", part.k)
		}
		if part.k == Handlers {
			blocks = append(blocks, p.Handlers...)
		}
		*part.to = blocks
	}
	return p, checkHosts(kw, p.Pos)
}

// checkHosts validates the hosts keyword as far as its shape goes.
func checkHosts(kw Keywords, pos value.Pos) error {
	v, ok := kw.Get(Hosts)
	if !ok {
		return nil
	}
	if !value.Truth(v) {
		return fault.New(fault.Parser, value.Pos{}, "Hosts list cannot be empty. Please check your playbook")
	}
	switch v := v.(type) {
	case *value.List:
		for _, item := range v.Items {
			if item == nil {
				return fault.New(fault.Parser, value.Pos{}, "Hosts list cannot contain values of 'None'. Please check your playbook")
			}
			if _, ok := value.Text(item); !ok {
				return fault.New(fault.Parser, value.Pos{}, "Hosts list contains an invalid host value: '%s'", value.Str(item))
			}
		}
	case string, *value.Template, *value.Vault:
	default:
		return fault.New(fault.Parser, value.Pos{}, "Hosts list must be a sequence or string. Please check your playbook.")
	}
	return nil
}

// promptKeys are the keys of an item of vars_prompt.
var promptKeys = []string{"name", "prompt", "default", "private", "confirm", "encrypt", "salt_size", "salt", "unsafe"}

// varsPrompt checks a vars_prompt keyword.
func varsPrompt(e entry) ([]*value.Dict, error) {
	if e.val == nil {
		return nil, nil
	}
	list, ok := e.val.(*value.List)
	if !ok {
		list = value.ListOf(e.val)
	}
	var out []*value.Dict
	for _, item := range list.Items {
		d, ok := item.(*value.Dict)
		if !ok {
			return nil, fault.New(fault.Parser, orPos(item, e.valPos), "Invalid variable file contents.").WithHelp(
				"Variable files must contain either a dictionary of variables, or a list of dictionaries.")
		}
		out = append(out, d)
	}
	for _, d := range out {
		if !d.Has("name") {
			return nil, fault.New(fault.Parser, orPos(e.val, e.valPos), "Invalid vars_prompt data structure, missing 'name' key")
		}
		for k := range d.All() {
			if !contains(promptKeys, keyText(k)) {
				return nil, fault.New(fault.Parser, orPos(e.val, e.valPos), "Invalid vars_prompt data structure, found unsupported key '%s'", keyText(k))
			}
		}
	}
	return out, nil
}

// Make returns the play that d describes, as if a playbook in dir had it
// (ad hoc tasks).
func (l *Loader) Make(d *value.Dict, dir string) (*Play, error) {
	before := l.basedir
	l.basedir = dir
	defer func() { l.basedir = before }()
	return l.loadPlay(d, nil)
}
