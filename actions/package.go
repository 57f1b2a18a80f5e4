package actions

import (
	"context"

	"volant/wire/value"
)

// packageManagers is the closed table of package modules a host's own answer
// may choose from: what a host reports is a key into it and nothing else.
var packageManagers = map[string]bool{
	"atomic_container": true, "dnf": true, "dnf5": true, "apt": true, "zypper": true, "urpmi": true, "pacman": true,
	"opkg": true, "pkgin": true, "macports": true, "homebrew": true, "apk": true, "pkgng": true, "swdepot": true,
	"portage": true, "svr4pkg": true, "pkg5": true, "xbps": true, "swupd": true, "sorcery": true, "installp": true,
	"openbsd_pkg": true, "yum": true,
}

// packageAction runs the module of the host's package manager.
func packageAction(ctx context.Context, r *Run) (Result, error) {
	module, _ := r.Args.Str("use")
	if !r.Args.Has("use") {
		module = "auto"
	}
	fromHost := false
	if module == "auto" {
		var err error
		if module, fromHost, err = hostPackageManager(ctx, r); err != nil {
			return nil, err
		}
	}
	switch {
	case module == "" || module == "auto":
		return nil, Fail(`Could not detect which package manager to use. Try gathering facts or setting the "use" option.`)
	case fromHost && !packageManagers[module], !r.Controller.HasModule(module):
		return nil, Fail(`Could not find a matching action for the "%s" package manager.`, module)
	}
	args := withDefaults(r, module, without(r.Args, "use"))
	if packageManagers[module] {
		module = "ansible.legacy." + module
	}
	return runModule(r)(ctx, module, args)
}

// hostPackageManager asks configuration, facts and then the host which package
// manager it has; fromHost says that the name is the host's own word.
func hostPackageManager(ctx context.Context, r *Run) (name string, fromHost bool, err error) {
	if v, ok := r.Controller.Var("ansible_package_use"); ok && present(v) {
		name, _ = value.Text(v)
		return name, true, nil
	}
	if name, ok := r.Host.Facts().Str("pkg_mgr"); ok && name != "" {
		return name, true, nil
	}
	name, ok, err := askFact(ctx, r, "pkg_mgr", "package")
	if err == nil && !ok {
		err = Fail(`Could not detect a package manager. Try using the "use" option.`)
	}
	return name, true, err
}

// askFact runs setup for one fact. action names the plugin in its error.
func askFact(ctx context.Context, r *Run, fact, action string) (string, bool, error) {
	res, err := r.Host.Module(ctx, "ansible.legacy.setup", value.DictOf("filter", "ansible_"+fact, "gather_subset", "!all"))
	if err != nil {
		return "", false, err
	}
	if res.Bool("failed") {
		msg, _ := res.Str("msg")
		return "", false, &Failure{
			Msg:    "Failed to fetch ansible_" + fact + " to determine the " + action + " action backend: " + msg,
			Result: res,
		}
	}
	facts, _ := res.Lookup("ansible_facts").(*value.Dict)
	name, ok := facts.Str("ansible_" + fact)
	return name, ok, nil
}

// withDefaults lays args over the module_defaults of the module chosen.
func withDefaults(r *Run, module string, args *value.Dict) *value.Dict {
	if r.Defaults == nil {
		return args
	}
	defaults := r.Defaults(module)
	if defaults.Len() == 0 {
		return args
	}
	merged := defaults.Clone()
	merged.Update(args)
	return merged
}
