package actions

import (
	"strings"

	"volant/wire/argspec"
	"volant/wire/value"
)

// tagged is where actions check arguments: values there have a place.
var tagged = argspec.Environment{Tagged: true}

// validate checks an action's own arguments and returns them with aliases
// resolved, types converted and defaults filled in.
func validate(r *Run, name string, args *value.Dict, spec *argspec.Spec) (*value.Dict, error) {
	res := argspec.ValidateIn(tagged, spec, args)
	if len(res.Errors) == 0 {
		return res.Params, nil
	}
	msg := res.Errors[0].Error()
	if res.Unsupported {
		msg = "Unsupported parameters for (" + name + ") module: " + msg
	}
	return nil, Fail("%s", msg)
}

// validateRole checks arguments against a role's argument spec and returns the
// text of every fault.
func validateRole(spec, args *value.Dict) ([]string, error) {
	parsed, err := argspec.FromDict(spec)
	if err != nil {
		return nil, err
	}
	var problems []string
	for _, e := range argspec.ValidateIn(tagged, parsed, args).Errors {
		problems = append(problems, strings.TrimSpace(e.Error()))
	}
	return problems, nil
}
