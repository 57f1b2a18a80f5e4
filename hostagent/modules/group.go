package modules

import (
	"context"

	"volant/wire/argspec"
	"volant/wire/value"
)

type groupArgs struct {
	State     string `arg:"state,default=present,choices=absent|present"`
	Name      string `arg:"name,required"`
	Force     bool   `arg:"force,default=no"`
	GID       *int64 `arg:"gid"`
	System    bool   `arg:"system,default=no"`
	Local     bool   `arg:"local,default=no"`
	NonUnique bool   `arg:"non_unique,default=no"`
	GIDMin    *int64 `arg:"gid_min"`
	GIDMax    *int64 `arg:"gid_max"`
}

func groupRules(s *argspec.Spec) {
	s.RequiredIf = []argspec.RequiredIf{{Key: "non_unique", Value: true, Need: []string{"gid"}}}
}

// group is the group module where there is nothing to do; changes are left to
// the Python module.
func group(_ context.Context, c *call, a *groupArgs) (Result, error) {
	if a.Local || a.Name == "" {
		return nil, handBack("a group of files only")
	}
	res := value.DictOf("name", a.Name, "state", a.State, "changed", false)
	gid, there := groups.id(a.Name)
	switch {
	case there == (a.State == "absent"):
		if c.Check {
			return value.DictOf("changed", true), nil
		}
		return nil, handBack("the group is to change")
	case !there:
		return res, nil
	case a.GID != nil && *a.GID != int64(gid):
		return nil, handBack("the group's number is to change")
	}
	if _, ok := c.binPath("groupmod"); !ok {
		return nil, handBack("there is no groupmod")
	}
	res.Set("system", a.System)
	res.Set("gid", int64(gid))
	return res, nil
}
