package actions

import (
	"context"

	"volant/wire/argspec"
	"volant/wire/value"
)

var assertSpec = argspec.Spec{
	Options: []argspec.Option{
		{Name: "fail_msg", Type: "raw", Aliases: []string{"msg"}, Default: "Assertion failed", HasDef: true},
		{Name: "success_msg", Type: "raw", Default: "All assertions passed", HasDef: true},
		{Name: "quiet", Type: "bool", Default: false, HasDef: true},
		{Name: "that", Type: "raw", Required: true},
	},
}

// assert evaluates conditions in order and stops at the first that is false.
// The executor leaves `that` unrendered in RawArgs, see Finalize.
func assert(_ context.Context, r *Run) (Result, error) {
	args, err := validate(r, "assert", r.Args, &assertSpec)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"fail_msg", "success_msg"} {
		if v := args.Lookup(name); !textOrTexts(v) {
			return nil, Fail("argument '%s' is of type %s and we were unable to convert to str_or_list_of_str: a string or list of strings is required", name, typeName(v))
		}
	}
	res := value.NewDict(5)
	if quiet, _ := args.Lookup("quiet").(bool); !quiet {
		res.Set("_ansible_verbose_always", true)
	}
	// As written, not as validated: validation forgets that it is the operator's text.
	that, ok := r.Args.Lookup("that").(*value.List)
	if !ok { // a single condition of whatever type
		that = value.ListOf(r.Args.Lookup("that"))
	}
	for _, condition := range that.Items {
		ok, err := r.Controller.Condition(condition)
		if err != nil {
			return nil, err
		}
		if !ok {
			res.Set("failed", true)
			res.Set("evaluated_to", false)
			if text, isText := value.Text(condition); isText {
				condition = text
			}
			res.Set("assertion", condition)
			res.Set("msg", args.Lookup("fail_msg"))
			return res, nil
		}
	}
	res.Set("changed", false)
	res.Set("msg", args.Lookup("success_msg"))
	return res, nil
}

func textOrTexts(v any) bool {
	if _, ok := value.Text(v); ok {
		return true
	}
	l, ok := v.(*value.List)
	if !ok {
		return false
	}
	for _, e := range l.Items {
		if _, ok := value.Text(e); !ok {
			return false
		}
	}
	return true
}

// Unrendered names the argument of an action that reaches it unrendered, or "".
// assert's `that` is resolved (Controller.Resolve) to its container only, so
// that each condition is evaluated when its turn comes.
func Unrendered(action string) string {
	if Short(action) == "assert" {
		return "that"
	}
	return ""
}
