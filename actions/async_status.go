package actions

import (
	"context"

	"volant/wire/argspec"
	"volant/wire/value"
)

var asyncStatusSpec = argspec.Spec{Options: []argspec.Option{
	{Name: "jid", Required: true},
	{Name: "mode", Choices: []any{"status", "cleanup"}, Default: "status", HasDef: true},
}}

// asyncStatus reads the status file of a background job.
func asyncStatus(ctx context.Context, r *Run) (Result, error) {
	args, err := validate(r, "async_status", r.Args, &asyncStatusSpec)
	if err != nil {
		return nil, err
	}
	dir, err := expandUser(ctx, r, r.AsyncDir)
	if err != nil {
		return nil, err
	}
	jid, _ := args.Str("jid")
	log := joinPath(dir, jid)
	res := value.DictOf("started", false, "finished", false, "stdout", "", "stderr", "",
		"stdout_lines", value.ListOf(), "stderr_lines", value.ListOf(), "ansible_job_id", jid)
	if mode, _ := args.Str("mode"); mode == "cleanup" {
		res.Set("erased", log)
	} else {
		res.Set("results_file", log)
		res.Set("started", true)
	}
	module := args.Clone()
	module.Set("_async_dir", dir)
	got, err := r.Host.Module(ctx, "ansible.legacy.async_status", module)
	if err != nil {
		return nil, err
	}
	res.Update(got)
	for _, key := range []string{"started", "finished"} {
		res.Set(key, present(res.Lookup(key)))
	}
	return res, nil
}
