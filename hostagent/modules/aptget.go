package modules

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"volant/hostagent/python"
	"volant/wire/rx"
	"volant/wire/shlex"
	"volant/wire/value"
)

// aptNothing is in what apt-get says when an upgrade has nothing to do.
const aptNothing = "\n0 upgraded, 0 newly installed, 0 to remove"

// install is the module for the states other than absent.
func (m *aptTask) install() (Result, error) {
	a := m.a
	plan, err := m.plan()
	if err != nil {
		return nil, err
	}
	if plan.refused != "" {
		return nil, fail(plan.refused, m.cache...)
	}
	res, err := value.DictOf("changed", false), error(nil)
	if len(plan.words) > 0 {
		line := fmt.Sprintf("%s -y %s %s %s %s %s %s %s install %s", m.aptGet, m.options, optional("--only-upgrade", a.OnlyUpgrade),
			optional("--fix-broken", a.State == "fixed"), optional("--force-yes", a.Force), optional("--auto-remove", a.Autoremove),
			optional("--no-remove", a.FailOnAutoremove), optional("--simulate", m.Check), strings.Join(plan.words, " "))
		if a.State == "build-dep" {
			line = fmt.Sprintf("%s -y %s %s %s %s %s %s build-dep %s", m.aptGet, m.options, optional("--only-upgrade", a.OnlyUpgrade), "",
				optional("--force-yes", a.Force), optional("--no-remove", a.FailOnAutoremove), optional("--simulate", m.Check), strings.Join(plan.words, " "))
		}
		if r := opted(a.DefaultRelease); r != "" {
			line += " -t '" + r + "'"
		}
		if a.InstallRecommends != nil {
			line += " -o APT::Install-Recommends=" + map[bool]string{true: "yes", false: "no"}[*a.InstallRecommends]
		}
		for _, o := range []struct {
			name string
			on   bool
		}{{" --allow-unauthenticated", a.AllowUnauthenticated}, {" --allow-downgrades", a.AllowDowngrade}, {" --allow-change-held-packages", a.AllowChangeHeld}} {
			line += optional(o.name, o.on)
		}
		r, err2 := m.get(line)
		if err2 != nil {
			return nil, err2
		}
		out := string(r.stdout)
		if r.rc != 0 {
			err = fail("'"+line+"' failed: "+string(r.stderr), append([]any{"stdout", out, "stderr", string(r.stderr), "rc", int64(r.rc)}, m.cache...)...)
		} else {
			res = value.DictOf("changed", a.State != "build-dep" || !strings.Contains(out, aptNothing), "stdout", out, "stderr", string(r.stderr), "diff", m.diff(out))
		}
	}
	if a.State != "build-dep" && !m.Check {
		if err := m.mark(plan.names); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(m.cache); i += 2 {
		res.Set(m.cache[i], m.cache[i+1])
	}
	return res, nil
}

// optional is an option where it is on.
func optional(option string, on bool) string {
	if on {
		return option
	}
	return ""
}

// get runs an apt-get command line as the module does: split into words, with
// services kept from starting where policy_rc_d says so.
func (m *aptTask) get(line string) (*ran, error) {
	argv, err := shlex.Split(line)
	if err != nil {
		return nil, handBack("a command line that cannot be split")
	}
	restore, err := m.policy()
	if err != nil {
		return nil, err
	}
	r, err := m.run(m.ctx, &command{argv: argv, env: m.env})
	if err2 := restore(); err2 != nil && err == nil {
		err = err2
	}
	if err != nil {
		return nil, commandFailed(err, argv)
	}
	if unreadableApt(r) {
		return nil, handBack("apt-get failed: %s", firstLine(r.stderr))
	}
	return r, nil
}

// unreadableApt reports whether apt-get gave up before it did anything, for
// its sources or lists cannot be read; the module fails, or mends them, in its own way.
func unreadableApt(r *ran) bool {
	text := string(r.stderr)
	return r.rc != 0 && (strings.Contains(text, "The list of sources could not be read") || strings.Contains(text, "status file could not be parsed or opened"))
}

// policyFile tells Debian's scripts whether a service may be started.
const policyFile = "/usr/sbin/policy-rc.d"

// policy has policyFile say policy_rc_d, until restore is called. A file that
// is there is kept beside it meanwhile. A simulation starts nothing, so root's
// changes nothing either.
func (m *aptTask) policy() (restore func() error, err error) {
	none := func() error { return nil }
	if m.a.PolicyRcD == nil || m.Check && os.Geteuid() == 0 {
		return none, nil
	}
	kept := ""
	if exists(policyFile) {
		f, err := os.CreateTemp("/usr/sbin", ".policy-rc.d-")
		if err != nil {
			return nil, fail("Fail to move " + policyFile + ": " + err.Error())
		}
		kept = f.Name()
		f.Close()
		if err := os.Rename(policyFile, kept); err != nil {
			_ = os.Remove(kept)
			return nil, fail("Fail to move " + policyFile + " to " + kept)
		}
	}
	err = os.WriteFile(policyFile, fmt.Appendf(nil, "#!/bin/sh\nexit %d\n", *m.a.PolicyRcD), 0o666)
	if err == nil {
		err = os.Chmod(policyFile, 0o755)
	}
	restore = func() error {
		if kept != "" {
			if err := os.Rename(kept, policyFile); err != nil {
				return fail("Fail to move back " + kept + " to " + policyFile)
			}
		} else if err := os.Remove(policyFile); err != nil {
			return fail("Fail to remove " + policyFile + " (after package manipulation)")
		}
		return nil
	}
	if err != nil {
		if kept != "" {
			_ = restore()
		}
		return nil, fail("Failed to create or chmod " + policyFile)
	}
	return restore, nil
}

// mark counts packages as installed by hand, which nearly always they are.
func (m *aptTask) mark(names []string) error {
	if len(names) == 0 {
		return nil
	}
	packages, err := dpkg.installed()
	if err == nil && !slices.ContainsFunc(names, func(n string) bool { return !packages.native(n) }) {
		if auto, err := autoInstalled(names); err == nil && !auto {
			return nil
		}
	}
	bin, ok := m.binPath("apt-mark")
	if !ok {
		m.Warn("Could not find apt-mark binary, not marking package(s) as manually installed.")
		return nil
	}
	argv := append([]string{bin, "manual"}, names...)
	r, err := m.run(m.ctx, &command{argv: argv, env: m.env})
	if err != nil {
		return commandFailed(err, argv)
	}
	if r.rc != 0 {
		return fail("'"+strings.Join(argv, " ")+"' failed: "+string(r.stderr), "stdout", string(r.stdout), "stderr", string(r.stderr), "rc", int64(r.rc))
	}
	return nil
}

// remove is the module for the state absent.
func (m *aptTask) remove() (Result, error) {
	plan, err := m.plan()
	if err != nil {
		return nil, err
	}
	if len(plan.words) == 0 {
		return value.DictOf("changed", false), nil
	}
	a, words := m.a, strings.Join(plan.words, " ")
	r, err := m.get(fmt.Sprintf("%s -q -y %s %s %s %s %s %s remove %s", m.aptGet, m.options, optional("--purge", a.Purge), optional("--force-yes", a.Force),
		optional("--auto-remove", a.Autoremove), optional("--simulate", m.Check), optional("--allow-change-held-packages", a.AllowChangeHeld), words))
	if err != nil {
		return nil, err
	}
	if r.rc != 0 {
		return nil, fail("'apt-get remove "+words+"' failed: "+string(r.stderr), "stdout", string(r.stdout), "stderr", string(r.stderr), "rc", int64(r.rc))
	}
	return value.DictOf("changed", true, "stdout", string(r.stdout), "stderr", string(r.stderr), "diff", m.diff(string(r.stdout))), nil
}

// cleanup runs autoclean or autoremove; changed is in its output where it did something.
func (m *aptTask) cleanup(operation, changed string) (Result, error) {
	r, err := m.get(fmt.Sprintf("%s -y %s %s %s %s %s", m.aptGet, m.options, optional("--purge", m.a.Purge), optional("--force-yes", m.a.Force), operation,
		optional("--simulate", m.Check)))
	if err != nil {
		return nil, err
	}
	out := string(r.stdout)
	if r.rc != 0 {
		return nil, fail("'apt-get "+operation+"' failed: "+string(r.stderr), "stdout", out, "stderr", string(r.stderr), "rc", int64(r.rc))
	}
	return value.DictOf("changed", strings.Contains(out, changed), "stdout", out, "stderr", string(r.stderr), "diff", m.diff(out)), nil
}

// clean empties the archive of packages, in check mode too, as the module does.
func (m *aptTask) clean() (Result, error) {
	argv := []string{"apt-get", "clean"}
	r, err := m.run(m.ctx, &command{argv: argv, env: m.env})
	if err != nil {
		return nil, commandFailed(err, argv)
	}
	out, text := string(r.stdout), string(r.stderr)
	switch {
	case r.rc != 0:
		return nil, fail("apt-get clean failed", "stdout", out, "rc", int64(r.rc))
	case text != "":
		return nil, fail("apt-get clean failed: "+text, "stdout", out, "rc", int64(r.rc))
	}
	return value.DictOf("changed", true, "msg", out, "stdout", out, "stderr", text, "diff", m.diff(out)), nil
}

// upgrade upgrades what is installed.
func (m *aptTask) upgrade(mode string) (Result, error) {
	a := m.a
	what := "upgrade --with-new-pkgs " + optional("--auto-remove", a.Autoremove)
	if mode == "dist" || mode == "full" {
		what = "dist-upgrade " + optional("--auto-remove", a.Autoremove)
	}
	r, err := m.get(fmt.Sprintf("%s -y %s %s %s %s %s %s %s", m.aptGet, m.options, optional("--force-yes", a.Force), optional("--no-remove", a.FailOnAutoremove),
		optional("--allow-unauthenticated", a.AllowUnauthenticated), optional("--allow-downgrades", a.AllowDowngrade), optional("--simulate", m.Check), what))
	if err != nil {
		return nil, err
	}
	out := string(r.stdout)
	switch {
	case r.rc != 0:
		return nil, fail("'"+m.aptGet+" "+what+"' failed: "+string(r.stderr), "stdout", out, "rc", int64(r.rc))
	case strings.Contains(out, aptNothing):
		return value.DictOf("changed", false, "msg", out, "stdout", out, "stderr", string(r.stderr)), nil
	}
	return value.DictOf("changed", true, "msg", out, "stdout", out, "stderr", string(r.stderr), "diff", m.diff(out)), nil
}

var aptSummary = rx.Lazy(`^[0-9]+ (packages )?upgraded`)

// diff is what of apt-get's output the module shows as the difference.
func (m *aptTask) diff(out string) *value.Dict {
	if !m.Diff {
		return value.DictOf()
	}
	lines := python.SplitLines(out)
	start := slices.Index(lines, "Resolving dependencies...")
	if start < 0 {
		start = slices.Index(lines, "Reading state information...")
	}
	start++
	end := slices.IndexFunc(lines, aptSummary.MatchString)
	if end < 0 {
		end = len(lines)
	} else {
		end++
	}
	return value.DictOf("prepared", strings.Join(lines[min(start, end):end], "\n"))
}
