package actions

import (
	"context"
	"strings"
)

// serviceManagers is the closed table of service modules a host's own answer
// may choose from; any other answer runs the service module.
var serviceManagers = map[string]bool{"systemd": true, "systemd_service": true, "sysvinit": true, "openwrt_init": true, "service": true}

// systemdIgnores are arguments of service that the systemd module lacks.
var systemdIgnores = []string{"pattern", "runlevel", "sleep", "arguments", "args"}

// service runs the module of the host's init system.
func service(ctx context.Context, r *Run) (Result, error) {
	module := "auto"
	if s, ok := r.Args.Str("use"); ok {
		module = strings.ToLower(s)
	}
	fromHost := module == "auto"
	if fromHost {
		name, ok := r.Host.Facts().Str("service_mgr")
		if !ok || name == "" {
			var err error
			if name, _, err = askFact(ctx, r, "service_mgr", "service"); err != nil {
				if isNotReached(err) {
					return nil, err
				}
				name = "" // a setup that failed leaves the service module
			}
		}
		module = name
	}
	if module == "" || module == "auto" || fromHost && !serviceManagers[module] || !r.Controller.HasModule(module) {
		module = "ansible.legacy.service"
	}
	args := without(r.Args, "use")
	if module == "systemd" {
		for _, name := range systemdIgnores {
			if args.Delete(name) {
				r.Controller.Warn(`Ignoring "` + name + `" as it is not used in "` + module + `"`)
			}
		}
	}
	args = withDefaults(r, module, args)
	if serviceManagers[module] {
		module = "ansible.legacy." + module
	}
	return runModule(r)(ctx, module, args)
}
