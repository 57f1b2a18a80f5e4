package actions

import (
	"context"

	"volant/wire/value"
)

// dnfBackends are the names `use` may have, and the module each runs.
var dnfBackends = map[string]string{"yum": "yum", "yum4": "dnf", "dnf": "dnf", "dnf4": "dnf", "dnf5": "dnf5"}

// dnf chooses between the modules of the two generations of dnf.
func dnf(ctx context.Context, r *Run) (Result, error) {
	if r.Args.Has("use") && r.Args.Has("use_backend") {
		return nil, Fail("parameters are mutually exclusive: ('use', 'use_backend')")
	}
	backend := "auto"
	for _, arg := range []string{"use_backend", "use"} {
		if s, ok := r.Args.Str(arg); ok {
			backend = s
		}
	}
	if backend == "yum" || backend == "auto" {
		if s, ok := r.Host.Facts().Str("pkg_mgr"); ok {
			backend = s
		}
	}
	res := value.NewDict(8)
	if dnfBackends[backend] == "" {
		name, ok, err := askFact(ctx, r, "pkg_mgr", "dnf")
		if err != nil {
			return nil, err
		}
		backend = "auto"
		if ok {
			backend = name
		}
		if (!r.Delegated || r.DelegateFacts) && backend != "auto" {
			res.Set("ansible_facts", value.DictOf("pkg_mgr", backend))
		}
	}
	module := dnfBackends[backend]
	if module == "" {
		res.Set("failed", true)
		res.Set("msg", value.Tuple{ // the reference shows it as one
			"Could not detect which major revision of dnf is in use, which is required to determine module backend.",
			"You should manually specify use_backend to tell the module whether to use the dnf4 or dnf5 backend})"})
		return res, nil
	}
	module = "ansible.legacy." + module
	if !r.Controller.HasModule(module) {
		res.Set("failed", true)
		res.Set("msg", "Could not find a dnf module backend for "+module+".")
		return res, nil
	}
	got, err := runModule(r)(ctx, module, without(r.Args, "use_backend", "use"))
	if err != nil {
		return nil, err
	}
	return merge(res, got), nil
}
