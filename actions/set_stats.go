package actions

import (
	"context"

	"volant/wire/value"
)

// setStats adds to the statistics of the run. The names in its data are rendered
// and checked before.
func setStats(_ context.Context, r *Run) (Result, error) {
	data, perHost, aggregate := value.NewDict(0), false, true
	if given, ok := r.Args.Get("data"); ok {
		if _, isDict := given.(*value.Dict); !isDict {
			out, _, err := r.Controller.Render(given)
			if err != nil {
				return nil, err
			}
			given = out
		}
		dict, isDict := given.(*value.Dict)
		if !isDict {
			return value.DictOf("failed", true, "msg", "The 'data' option needs to be a dictionary/hash"), nil
		}
		data = dict
	}
	if v := r.Args.Lookup("per_host"); v != nil {
		perHost = truth(v)
	}
	if v := r.Args.Lookup("aggregate"); v != nil {
		aggregate = truth(v)
	}
	stats := value.DictOf("data", data, "per_host", perHost, "aggregate", aggregate)
	return value.DictOf("changed", false, "ansible_stats", stats), nil
}
