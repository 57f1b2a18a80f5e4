package actions

import (
	"context"

	"volant/wire/value"
)

// setFact makes its arguments facts of the host. Their names are rendered and
// checked before.
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
		facts.Set(k, v)
	}
	if facts.Len() == 0 {
		return nil, Fail("No key/value pairs provided, at least one is required for this action to succeed")
	}
	return value.DictOf("ansible_facts", facts, "_ansible_facts_cacheable", cacheable), nil
}
