package actions

import (
	"context"
	"fmt"

	"volant/wire/value"
)

// validateArgumentSpec checks variables against a role's argument spec.
func validateArgumentSpec(_ context.Context, r *Run) (Result, error) {
	where, ok := r.Args.Get("validate_args_context")
	if !ok {
		where = value.NewDict(0)
	}
	given, ok := r.Args.Get("argument_spec")
	if !ok {
		return nil, fmt.Errorf(`"argument_spec" arg is required in args: %s`, value.Repr(r.Args))
	}
	spec, ok := given.(*value.Dict)
	if !ok {
		return nil, fmt.Errorf("Incorrect type for argument_spec, expected dict and got %s", value.TaggedClass(given)) //nolint:staticcheck // the reference's text
	}
	provided := value.NewDict(0)
	if v, ok := r.Args.Get("provided_arguments"); ok {
		if provided, ok = v.(*value.Dict); !ok {
			return nil, fmt.Errorf("Incorrect type for provided_arguments, expected dict and got %s", value.TaggedClass(v)) //nolint:staticcheck // the reference's text
		}
	}
	args := value.NewDict(spec.Len())
	for k := range spec.All() {
		name, _ := value.Text(k)
		v, set, err := r.Controller.VarOrError(name)
		if err != nil {
			return nil, err
		}
		if set {
			args.Set(name, v)
		}
	}
	args.Update(provided)
	problems, err := validateRole(spec, args)
	if err != nil {
		return nil, err
	}
	res := value.DictOf("validate_args_context", where)
	if len(problems) > 0 {
		text := "Validation of arguments failed:"
		for _, p := range problems {
			text += "\n" + p
		}
		res.Set("failed", true)
		res.Set("msg", text)
		res.Set("argument_spec_data", spec)
		res.Set("argument_errors", value.Strings(problems...))
		return res, nil
	}
	res.Set("changed", false)
	res.Set("msg", "The arg spec validation passed")
	return res, nil
}
