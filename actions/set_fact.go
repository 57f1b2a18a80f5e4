package actions

import (
	"context"

	"volant/wire/value"
)

// setFact makes its arguments facts of the host. Keys that are templates are
// rendered.
func setFact(_ context.Context, r *Run) (Result, error) {
	facts := value.NewDict(r.Args.Len())
	cacheable := false
	for k, v := range r.Args.All() {
		if k == "cacheable" {
			b, err := boolean(v)
			if err != nil {
				return nil, err
			}
			cacheable = b
			continue
		}
		name, err := variableName(r, k)
		if err != nil {
			return nil, err
		}
		facts.Set(name, v)
	}
	if facts.Len() == 0 {
		return nil, Fail("No key/value pairs provided, at least one is required for this action to succeed")
	}
	return value.DictOf("ansible_facts", facts, "_ansible_facts_cacheable", cacheable), nil
}

// NameError says that a key is no variable name; Key is the key as written, so
// that its place can be shown.
type NameError struct {
	Name string
	Key  any
}

// Error is the reference's text.
func (e *NameError) Error() string { return "Invalid variable name '" + e.Name + "'." }

// Help is what is shown below the error.
func (e *NameError) Help() string {
	return "Variable names must be strings starting with a letter or underscore character, and contain only letters, numbers and underscores."
}

// variableName renders key and checks that it can name a variable.
func variableName(r *Run, key any) (string, error) {
	out, _, err := r.Controller.Render(key)
	if err != nil {
		return "", err
	}
	name, ok := value.Text(out)
	if !ok || !isIdentifier(name) {
		if !ok {
			return "", &NameError{Name: typeName(out), Key: key}
		}
		return "", &NameError{Name: name, Key: key}
	}
	return name, nil
}

// isIdentifier reports whether s can name a variable: ASCII letters, digits
// and underscores, no digit first, no keyword of Python.
func isIdentifier(s string) bool {
	if s == "" || pythonKeywords[s] {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		case c >= '0' && c <= '9' && i > 0:
		default:
			return false
		}
	}
	return true
}

var pythonKeywords = map[string]bool{
	"False": true, "None": true, "True": true, "and": true, "as": true, "assert": true, "async": true,
	"await": true, "break": true, "class": true, "continue": true, "def": true, "del": true, "elif": true,
	"else": true, "except": true, "finally": true, "for": true, "from": true, "global": true, "if": true,
	"import": true, "in": true, "is": true, "lambda": true, "nonlocal": true, "not": true, "or": true,
	"pass": true, "raise": true, "return": true, "try": true, "while": true, "with": true, "yield": true,
}
