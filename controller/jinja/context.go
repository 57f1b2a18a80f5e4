package jinja

import (
	"context"

	"volant/wire/value"
)

// Context is one render in progress. Filters, tests and functions get it to
// read lazily rendered values and to call each other.
type Context struct {
	r *Render
}

// Data is what the caller of the render passed as Render.Data.
func (c *Context) Data() any { return c.r.Data }

// Ctx is the context.Context of the render.
func (c *Context) Ctx() context.Context { return c.r.Ctx }

// Pos is where the template being rendered was written.
func (c *Context) Pos() value.Pos { return c.r.Pos }

// Lookup returns the variable or global name as an expression would see it.
func (c *Context) Lookup(name string) (v any, ok bool, err error) { return nil, false, nil }

// Read returns v ready for use: a *value.Template rendered, a *value.Vault
// decrypted, anything else itself. It may return a marker.
func (c *Context) Read(v any) (any, error) { return v, nil }

// Realize returns v with everything inside it rendered; it returns v itself
// when there was nothing to do. A marker in it is returned as the error.
func (c *Context) Realize(v any) (any, error) { return v, nil }

// Finalize does what the reference does to a result that leaves the template:
// Realize, tuples become lists, Omit inside containers goes, markers go
// through Render.Marker or are returned as the error.
func (c *Context) Finalize(v any) (any, error) { return v, nil }

// Items returns what iterating over v yields, each item ready for use (markers
// stay in place). The error is Python's. The slice must not be changed.
func (c *Context) Items(v any) ([]any, error) { return nil, nil }

// GetAttr is v.name: attribute or method first, then item. What is missing is
// a marker.
func (c *Context) GetAttr(v any, name string) (any, error) { return nil, nil }

// GetItem is v[key]: item first, then attribute. What is missing is a marker.
func (c *Context) GetItem(v, key any) (any, error) { return nil, nil }

// Str is Python's str(v); lazily rendered items are rendered.
func (c *Context) Str(v any) (string, error) { return "", nil }

// Repr is Python's repr(v); lazily rendered items are rendered.
func (c *Context) Repr(v any) (string, error) { return "", nil }

// Truth is Python's bool(v). A marker is raised.
func (c *Context) Truth(v any) (bool, error) { return false, nil }

// Equal is Python's a == b. A marker is raised.
func (c *Context) Equal(a, b any) (bool, error) { return false, nil }

// CallFilter applies the filter name to a.Pos[0].
func (c *Context) CallFilter(name string, a Args) (any, error) { return nil, nil }

// CallTest applies the test name to a.Pos[0].
func (c *Context) CallTest(name string, a Args) (bool, error) { return false, nil }

// Call calls a value of the template (a macro, a method, a global function).
func (c *Context) Call(fn any, a Args) (any, error) { return nil, nil }
