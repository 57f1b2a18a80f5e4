// Package jinja is the template language: Jinja2 3.1 as the reference's
// environment speaks it, parsed to an AST with positions and compiled to
// closures over values in Python's shape (package value). It knows nothing of
// playbooks: variables come through a Resolver, filters, tests and globals
// through a Table, and what a *value.Template inside data means is decided by
// Resolver.Template.
package jinja

import "volant/wire/value"

// Resolver gives a render its variables. It is used by one render at a time.
type Resolver interface {
	// Resolve returns the variable name as the template sees it, or ok false
	// when nobody set it. Containers it returns may hold *value.Template
	// items; they are rendered through Template when read.
	Resolve(name string) (v any, ok bool, err error)
	// Template renders operator-written text found inside data (a nested
	// variable). It is where recursion is detected.
	Template(t *value.Template) (any, error)
}

// Args are the evaluated arguments of a call to a filter, test, function or
// method. For a filter or test Pos[0] is the value it is applied to.
type Args struct {
	Pos []any
	Kw  []Kwarg // in the order written; names are unique
}

// Kwarg is one keyword argument.
type Kwarg struct {
	Name  string
	Value any
}

// Func is a filter, test, global function or method. The error's text is the
// reference's. c is the render in progress. Undefined arguments arrive as
// *value.Undefined and fail where they are used.
type Func func(c *Context, a Args) (any, error)

// Table resolves the names of filters, tests and global functions when a
// template is compiled. A project's own plugins are another Table in front.
type Table interface {
	Filter(name string) (Func, bool)
	Test(name string) (Func, bool)
	Global(name string) (any, bool)
}
