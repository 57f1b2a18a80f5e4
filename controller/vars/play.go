package vars

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"volant/controller/fault"
	"volant/controller/playbook"
	"volant/controller/template"
	"volant/wire/value"
)

// Play are the variables of one play, or of one batch of it.
type Play struct {
	store *Store
	play  *playbook.Play
	name  string // rendered
	vars  *value.Dict

	mu    sync.Mutex // guards steps and files
	steps map[*playbook.Task]*stepLayers
	files *[]*value.Dict // of vars_files, once read

	batch atomic.Pointer[Batch]
}

// Batch is who takes part.
type Batch struct {
	All     []string // every host of the play's pattern
	Hosts   []string // of this batch
	Removed map[string]bool
	Failed  []string
}

// Play returns the variables of a play. prompted are the answers of
// vars_prompt and may be nil.
func (s *Store) Play(p *playbook.Play, name string, prompted *value.Dict) *Play {
	vars := p.Vars
	if prompted.Len() > 0 {
		vars = vars.Clone()
		vars.Update(prompted)
	}
	v := &Play{store: s, play: p, name: name, vars: vars, steps: map[*playbook.Task]*stepLayers{}}
	v.batch.Store(&Batch{})
	return v
}

// SetBatch says who takes part from now on. b must not be changed afterwards.
func (p *Play) SetBatch(b *Batch) { p.batch.Store(b) }

// varsFiles returns the dicts of vars_files for host, from the top.
func (p *Play) varsFiles(ctx context.Context, c *Context) ([]*value.Dict, error) {
	if len(p.play.VarsFiles) == 0 {
		return nil, nil
	}
	for _, it := range p.play.VarsFiles {
		if templated(it) { // facts and variables may change what it names
			return p.readVarsFiles(ctx, c)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.files == nil {
		out, err := p.readVarsFiles(ctx, c)
		if err != nil {
			return nil, err
		}
		p.files = &out
	}
	return *p.files, nil
}

func templated(v any) bool {
	switch v := v.(type) {
	case *value.Template:
		return strings.Contains(v.Text, "{{") || strings.Contains(v.Text, "{%")
	case *value.List:
		for _, e := range v.Items {
			if templated(e) {
				return true
			}
		}
	}
	return false
}

func (p *Play) readVarsFiles(ctx context.Context, c *Context) ([]*value.Dict, error) {
	var out []*value.Dict
	for _, item := range p.play.VarsFiles {
		names := []any{item}
		if l, ok := item.(*value.List); ok {
			names = l.Items
		}
		scope := p.store.opt.Engine.Scope(ctx, c, p.store.ScopeOptions(c, []string{p.play.Dir}))
	alternatives:
		for _, n := range names {
			v, _, err := scope.Render(n)
			switch {
			case err != nil && fault.Is(err, fault.Undefined):
				p.store.opt.Sink.Warning(&fault.Error{Msg: "skipping vars_files item due to an undefined variable", Pos: value.PosOf(item)})
				break alternatives
			case err != nil:
				return nil, err
			}
			name, ok := value.Text(v)
			if !ok {
				return nil, fault.New(fault.Parser, value.PosOf(n), "Invalid `vars_files` value of type '%s'.", value.TypeName(v)).
					WithHelp("A `vars_files` value should either be a string or list of strings.")
			}
			path, ok := findIn([]string{p.play.Dir}, "vars", name)
			if !ok {
				continue
			}
			data, _, err := p.store.opt.Files.LoadFile(path)
			switch {
			case err != nil && (fault.KindOf(err) == fault.Parser || fault.KindOf(err) == fault.Undefined):
				return nil, err
			case err != nil:
				return nil, fault.New(fault.Generic, value.Pos{}, "Invalid vars_files file %s.", value.Repr(path)).Because(err)
			}
			dicts, err := varDicts(data)
			if err != nil {
				return nil, err
			}
			for _, d := range dicts {
				if d.Len() > 0 {
					p.store.warnReserved(d)
					out = append([]*value.Dict{d}, out...)
				}
			}
			break
		}
	}
	return out, nil
}

// varDicts are the dicts of a variables file: one, a list of them, or none.
func varDicts(data any) ([]*value.Dict, error) {
	items := []any{data}
	switch data := data.(type) {
	case nil:
		return nil, nil
	case *value.List:
		items = data.Items
	}
	var out []*value.Dict
	for _, it := range items {
		d, ok := it.(*value.Dict)
		if !ok {
			return nil, fault.New(fault.Parser, value.PosOf(it), "Invalid variable file contents.").
				WithHelp("Variable files must contain either a dictionary of variables, or a list of dictionaries.")
		}
		out = append(out, d)
	}
	return out, nil
}

// findIn looks name up in dir/sub and dir of each directory.
func findIn(dirs []string, sub, name string) (string, bool) {
	if strings.HasPrefix(name, "~") {
		if home, err := os.UserHomeDir(); err == nil {
			name = home + name[1:]
		}
	}
	var tries []string
	if filepath.IsAbs(name) {
		tries = []string{name}
	} else {
		for _, d := range dirs {
			tries = append(tries, filepath.Join(d, sub, name), filepath.Join(d, name))
		}
	}
	for _, t := range tries {
		if st, err := os.Stat(t); err == nil && !st.IsDir() {
			return t, true
		}
	}
	return "", false
}

// ScopeOptions are the options of a scope over c with the given search path.
func (s *Store) ScopeOptions(c *Context, search []string) template.ScopeOptions {
	base := s.opt.Basedir
	if c.play != nil && c.play.play.Dir != "" {
		base = c.play.play.Dir
	}
	opt := template.ScopeOptions{SearchPath: search, Basedir: base, BaseName: s.opt.BaseName, Hosts: hosts{s}}
	if c.host != "" {
		opt.Fetched = func(path string) bool { return s.Fetched(c.host, path) }
	}
	return opt
}
