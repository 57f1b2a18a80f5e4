package actions

import (
	"context"

	"volant/wire/value"
)

// normal runs the module the task names: the action of every module that has
// none of its own.
func normal(ctx context.Context, r *Run) (Result, error) {
	res, err := runModule(r)(ctx, r.Action, r.Args)
	if err != nil {
		return nil, err
	}
	if Short(r.Action) == "setup" {
		res.Set("_ansible_verbose_override", true)
	}
	return res, nil
}

// command runs the command module.
func command(ctx context.Context, r *Run) (Result, error) {
	return runModule(r)(ctx, "ansible.legacy.command", r.Args)
}

// shell is command with the line given to a shell.
func shell(ctx context.Context, r *Run) (Result, error) {
	if r.Args.Has("expand_argument_vars") {
		return nil, Fail("Unsupported parameters for (%s) module: expand_argument_vars", r.Action)
	}
	args := r.Args.Clone()
	args.Set("_uses_shell", true)
	return runModule(r)(ctx, "ansible.legacy.command", args)
}

// raw runs a line in the host's shell: no module, no Python.
func raw(ctx context.Context, r *Run) (Result, error) {
	if r.Env {
		r.Controller.Warn("raw module does not support the environment keyword")
	}
	if r.Check {
		return value.DictOf("skipped", true), nil
	}
	line, _ := r.Args.Str("_raw_params")
	executable, _ := r.Args.Str("executable")
	res, err := r.Host.Raw(ctx, line, executable)
	if err != nil {
		return nil, err
	}
	return ranCommand(res), nil
}

// ranCommand completes the result of a line that always counts as a change.
func ranCommand(res Result) Result {
	res.Set("changed", true)
	if rc, _ := res.Lookup("rc").(int64); rc != 0 {
		res.Set("failed", true)
		res.Set("msg", "non-zero return code")
	}
	return res
}
