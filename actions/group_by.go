package actions

import (
	"context"
	"strings"

	"volant/wire/value"
)

// groupBy puts the host in a group named by key.
func groupBy(_ context.Context, r *Run) (Result, error) {
	key, ok := r.Args.Get("key")
	if !ok {
		return value.DictOf("failed", true, "msg", "the 'key' param is required when using group_by"), nil
	}
	name, ok := value.Text(key)
	if !ok {
		return nil, &pythonError{"'" + value.TaggedName(key) + "' object has no attribute 'replace'"}
	}
	if r.Marked("key") && strings.ContainsAny(name, "/\\") {
		return nil, Fail("the 'key' of this task was named by a managed host, and '%s' is no plain group name", name)
	}
	var parents []string
	switch p := r.Args.Lookup("parents").(type) {
	case nil:
		parents = []string{"all"}
	case *value.List:
		parents, ok = stringList(p)
		if !ok {
			return nil, &pythonError{"group_by parents must be strings"}
		}
	default:
		text, ok := value.Text(p)
		if !ok {
			return nil, &pythonError{"'" + value.TaggedName(p) + "' object is not iterable"}
		}
		parents = []string{text}
	}
	for i, p := range parents {
		parents[i] = strings.ReplaceAll(p, " ", "-")
	}
	return value.DictOf("changed", false,
		"add_group", strings.ReplaceAll(name, " ", "-"),
		"parent_groups", value.Strings(parents...)), nil
}

// pythonError is a fault that the reference meets as a Python exception.
type pythonError struct{ text string }

// Error returns the exception's text.
func (e *pythonError) Error() string { return e.text }
