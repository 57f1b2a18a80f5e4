package main

import (
	"context"
	"iter"

	"volant/controller/inventory"
	"volant/controller/template"
	"volant/wire/value"
)

// templar evaluates what inventory sources hold.
type templar struct{ engine *template.Engine }

var _ inventory.Templar = templar{}

// plainVars are variables that come from one dict.
type plainVars struct{ d *value.Dict }

// Lookup implements template.Vars.
func (v plainVars) Lookup(name string) (any, bool, bool) {
	x, ok := v.d.Get(name)
	return x, false, ok
}

// Names implements template.Vars.
func (v plainVars) Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for k := range v.d.All() {
			if s, ok := value.Text(k); ok && !yield(s) {
				return
			}
		}
	}
}

func (t templar) scope(ctx context.Context, vars *value.Dict) *template.Scope {
	return t.engine.Scope(ctx, plainVars{vars}, template.ScopeOptions{})
}

// Expression implements inventory.Templar.
func (t templar) Expression(ctx context.Context, expr *value.Template, vars *value.Dict) (any, error) {
	v, _, err := t.scope(ctx, vars).Expression(expr)
	return v, err
}

// Condition implements inventory.Templar.
func (t templar) Condition(ctx context.Context, cond any, vars *value.Dict) (bool, error) {
	return t.scope(ctx, vars).Condition(cond)
}

// Render implements inventory.Templar.
func (t templar) Render(ctx context.Context, v any, vars *value.Dict) (any, error) {
	out, _, err := t.scope(ctx, vars).Render(v)
	return out, err
}
