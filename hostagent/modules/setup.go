package modules

import (
	"context"
	"errors"
	"time"

	"volant/hostagent/facts"
	"volant/wire/argspec"
	"volant/wire/value"
)

type setupArgs struct {
	GatherSubset  []string `arg:"gather_subset,default=all"`
	GatherTimeout int64    `arg:"gather_timeout,default=10"`
	Filter        []string `arg:"filter"`
	FactPath      string   `arg:"fact_path,type=path,default=/etc/ansible/facts.d"`
}

// setup gathers facts; package facts says what it leaves to Python.
func setup(ctx context.Context, c *call, a *setupArgs) (Result, error) {
	out, err := facts.Collect(ctx,
		&facts.Host{Environ: c.Environ, Python: c.Python, Now: c.Now, Cache: c.Cache},
		&facts.Request{Subset: a.GatherSubset, Filter: a.Filter, Timeout: time.Duration(a.GatherTimeout) * time.Second, FactPath: a.FactPath})
	var back *facts.HandBack
	switch {
	case errors.As(err, &back):
		return nil, handBack("%s", back.Reason)
	case err != nil:
		return nil, err
	}
	c.warnings = append(c.warnings, out.Warnings...)
	return value.DictOf("ansible_facts", out.Facts), nil
}

// emptyFilter gives filter its default, an empty list, which no tag can write.
func emptyFilter(s *argspec.Spec) {
	for i := range s.Options {
		if s.Options[i].Name == "filter" {
			s.Options[i].Default, s.Options[i].HasDef = value.ListOf(), true
		}
	}
}
