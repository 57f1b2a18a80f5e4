package execute

import (
	"context"

	"volant/controller/compile"
	"volant/controller/playbook"
	"volant/controller/template"
	"volant/controller/vars"
	"volant/wire/value"
)

// Names answers what the names of a project mean: modules, actions, lookups,
// roles and playbooks of collections, action groups.
type Names = compile.Catalog

// Renderer renders what must be known while plays are loaded.
type Renderer struct {
	ctx    context.Context //nolint:containedctx // lives as long as the run
	store  *vars.Store
	engine *template.Engine
}

var _ playbook.Renderer = (*Renderer)(nil)

// NewRenderer returns a Renderer whose renders end with ctx.
func NewRenderer(ctx context.Context, store *vars.Store, engine *template.Engine) *Renderer {
	return &Renderer{ctx: ctx, store: store, engine: engine}
}

// Render implements playbook.Renderer.
func (r *Renderer) Render(p *playbook.Play, t *playbook.Task, extra *value.Dict, v any) (any, error) {
	s, err := r.scope(p, t, extra)
	if err != nil {
		return nil, err
	}
	out, _, err := s.Render(v)
	return out, err
}

// RenderName implements playbook.Renderer.
func (r *Renderer) RenderName(p *playbook.Play, t *playbook.Task, name any) error {
	s, err := r.scope(p, t, nil)
	if err != nil {
		return err
	}
	_, _, err = s.RenderReplacing(name)
	return err
}

func (r *Renderer) scope(p *playbook.Play, t *playbook.Task, extra *value.Dict) (*template.Scope, error) {
	var c *vars.Context
	var err error
	search := []string{r.store.Basedir()}
	if p == nil {
		c, err = r.store.Host("", r.store.Basedir())
	} else {
		c, err = r.store.Play(p, "", nil).For(r.ctx, "", t, nil)
		search = []string{p.Dir}
	}
	if err != nil {
		return nil, err
	}
	if t != nil {
		search = searchPath(t, search[0])
	}
	for k, e := range extra.All() {
		c.Set(text(k), e, false)
	}
	return r.engine.Scope(r.ctx, c, r.store.ScopeOptions(c, search)), nil
}
