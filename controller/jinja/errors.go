package jinja

import (
	"errors"
	"fmt"
)

// ErrNotFound is what a Loader's error wraps when there is no such template.
var ErrNotFound = errors.New("template not found")

// SyntaxError is a template that cannot be parsed or compiled. Msg is
// Jinja2's text.
type SyntaxError struct {
	Msg  string
	Line int    // counted from 1 within the template
	Name string // of the included template, else ""
}

func (e *SyntaxError) Error() string { return e.Msg }

// LimitError is a template that wanted more than Limits allow.
type LimitError struct {
	What  string // name of the limit, such as "output"
	Limit int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("template exceeds the %s limit of %d", e.What, e.Limit)
}

// PluginError is a filter or test that failed; Err says how.
type PluginError struct {
	Kind string // filter, test
	Name string // Plugin.Name
	Err  error
}

func (e *PluginError) Error() string {
	return fmt.Sprintf("The %s plugin '%s' failed: %v", e.Kind, e.Name, e.Err)
}

func (e *PluginError) Unwrap() error { return e.Err }
