package template

import "volant/wire/value"

// Lookup is one lookup plugin: terms are its positional arguments, kw its
// options. It returns the list of its results.
type Lookup func(s *Scope, terms []any, kw *value.Dict) ([]any, error)
