package modules

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"volant/wire/argspec"
	"volant/wire/value"
)

type systemdArgs struct {
	Name         *string `arg:"name,alias=service|unit"`
	State        *string `arg:"state,choices=reloaded|restarted|started|stopped"`
	Enabled      *bool   `arg:"enabled"`
	Force        *bool   `arg:"force"`
	Masked       *bool   `arg:"masked"`
	DaemonReload bool    `arg:"daemon_reload,default=no,alias=daemon-reload"`
	DaemonReexec bool    `arg:"daemon_reexec,default=no,alias=daemon-reexec"`
	Scope        string  `arg:"scope,default=system,choices=system|user|global"`
	NoBlock      bool    `arg:"no_block,default=no"`
}

// systemdRules are the dependencies between the module's options.
func systemdRules(s *argspec.Spec) {
	s.RequiredOneOf = [][]string{{"state", "enabled", "masked", "daemon_reload", "daemon_reexec"}}
	s.RequiredBy = []argspec.RequiredBy{
		{Key: "state", Need: []string{"name"}}, {Key: "enabled", Need: []string{"name"}}, {Key: "masked", Need: []string{"name"}},
	}
}

// unit is one systemd task at work.
type unit struct {
	*call
	ctx       context.Context
	args      *systemdArgs
	systemctl []string
	name      string
	status    *value.Dict
	initd     bool // there is an init script of that name
	found     bool
	result    Result
}

// systemd is the systemd_service module: what is already as asked costs one
// `systemctl show` the first time, and a question over the bus afterwards.
func systemd(ctx context.Context, c *call, a *systemdArgs) (Result, error) {
	bin, ok := c.binPath("systemctl")
	if !ok {
		return nil, handBack("there is no systemctl")
	}
	u := &unit{call: c, ctx: ctx, args: a, systemctl: []string{bin}, status: value.NewDict(0)}
	var name any
	if a.Name != nil {
		u.name, name = *a.Name, *a.Name
		for _, glob := range []string{"*", "?", "["} {
			if strings.Contains(u.name, glob) {
				return nil, fail(fmt.Sprintf("This module does not currently support using glob patterns, found '%s' in service name: %s", glob, u.name))
			}
		}
		if strings.ContainsAny(u.name, `'"\`) {
			return nil, handBack("the unit's name needs quoting")
		}
	}
	if a.Scope != "system" {
		u.systemctl = append(u.systemctl, "--"+a.Scope)
	}
	if a.NoBlock {
		u.systemctl = append(u.systemctl, "--no-block")
	}
	if a.Force != nil && *a.Force {
		u.systemctl = append(u.systemctl, "--force")
	}
	u.result = value.DictOf("name", name, "changed", false, "status", u.status)
	for _, step := range []struct {
		wanted bool
		verb   string
	}{{a.DaemonReload, "daemon-reload"}, {a.DaemonReexec, "daemon-reexec"}} {
		if step.wanted && !c.Check {
			if err := u.daemon(step.verb); err != nil {
				return nil, err
			}
		}
	}
	if u.name == "" {
		return u.result, nil
	}
	for _, step := range []func() error{u.look, u.mask, u.enable, u.bring} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return u.result, nil
}

// ctl runs systemctl with further words.
func (u *unit) ctl(words ...string) (*ran, error) {
	c := &command{argv: append(u.systemctl[:len(u.systemctl):len(u.systemctl)], words...)}
	if u.Getenv("XDG_RUNTIME_DIR") == "" {
		c.env = []string{fmt.Sprintf("XDG_RUNTIME_DIR=/run/user/%d", os.Geteuid())}
	}
	return u.run(u.ctx, c)
}

func (u *unit) daemon(verb string) error {
	r, err := u.ctl(verb)
	if err != nil || r.rc == 0 {
		return err
	}
	if inChroot() || u.Getenv("SYSTEMD_OFFLINE") == "1" {
		u.Warn("%s failed, but target is a chroot or systemd is offline. Continuing. Error was: %d / %s", verb, r.rc, r.stderr)
		return nil
	}
	return fail(fmt.Sprintf("failure %d during %s: %s", r.rc, verb, r.stderr))
}

// look reads the unit's properties and decides whether there is such a unit.
func (u *unit) look() error {
	u.initd = exists(sysvScript(u.name))
	isUnit := false
	r, err := u.show()
	if err != nil {
		return err
	}
	out, errText := string(r.stdout), string(r.stderr)
	switch {
	case r.rc == 0 && !ignoredRequest(out) && !ignoredRequest(errText):
		if out != "" {
			u.setStatus(parseShow(out))
			load, has := u.status.Str("LoadState")
			isUnit = has && load != "not-found"
			if loadError, bad := u.status.Str("LoadError"); isUnit && load != "masked" && bad {
				return fail(fmt.Sprintf("Error loading unit file '%s': %s", u.name, loadError))
			}
		}
	case errText != "" && r.rc == 1 && strings.Contains(errText, "Failed to parse bus message"):
		u.setStatus(parseShow(out))
		base, _, at := strings.Cut(u.name, "@")
		if at {
			base += "@"
		}
		files, err := u.ctl("list-unit-files", base+"*")
		if err != nil {
			return err
		}
		isUnit = strings.Contains(string(files.stdout), base)
		active, err := u.ctl("is-active", u.name)
		if err != nil {
			return err
		}
		u.status.Set("ActiveState", strings.TrimRight(string(active.stdout), "\n"))
	default:
		if isUnit, err = u.offline(); err != nil {
			return err
		}
	}
	u.found = isUnit || u.initd
	if u.initd && !isUnit {
		u.Warn("The service (%s) is actually an init script but the system is managed by systemd", u.name)
	}
	return nil
}

func (u *unit) setStatus(d *value.Dict) {
	u.status = d
	u.result.Set("status", d)
}

// enabledStates are what is-enabled prints of units there are.
var enabledStates = map[string]bool{
	"enabled": true, "enabled-runtime": true, "linked": true, "linked-runtime": true, "masked": true, "masked-runtime": true,
	"static": true, "indirect": true, "disabled": true, "generated": true, "transient": true,
}

// offline asks for unit files where systemd does not answer, in a chroot say.
func (u *unit) offline() (bool, error) {
	r, err := u.ctl("is-enabled", u.name)
	if err != nil {
		return false, err
	}
	if enabledStates[strings.TrimSpace(string(r.stdout))] {
		return true, nil
	}
	if r, err = u.ctl("list-unit-files", u.name); err != nil || r.rc == 0 {
		return err == nil, err
	}
	if r, err = u.ctl(); err != nil {
		return false, err
	}
	if r.rc != 0 {
		return false, fail(strings.TrimRight(string(r.stderr), "\n"), "cmd", strings.Join(u.systemctl, " "), "rc", int64(r.rc),
			"stdout", string(r.stdout), "stderr", string(r.stderr))
	}
	return false, nil
}

func (u *unit) missing() error {
	if u.found {
		return nil
	}
	return fail(fmt.Sprintf("Could not find the requested service %s: host", u.name))
}

func (u *unit) mask() error {
	if u.args.Masked == nil {
		return nil
	}
	r, err := u.ctl("is-enabled", u.name)
	if err != nil {
		return err
	}
	if (strings.TrimSpace(string(r.stdout)) == "masked") == *u.args.Masked {
		return nil
	}
	u.result.Set("changed", true)
	verb := "unmask"
	if *u.args.Masked {
		verb = "mask"
	}
	if u.Check {
		return nil
	}
	if r, err = u.ctl(verb, u.name); err != nil || r.rc == 0 {
		return err
	}
	if err := u.missing(); err != nil {
		return err
	}
	return fail(fmt.Sprintf("Failed to %s the service (%s): %s", verb, u.name, strings.TrimSpace(string(r.stderr))))
}

func (u *unit) enable() error {
	if u.args.Enabled == nil {
		return nil
	}
	if err := u.missing(); err != nil {
		return err
	}
	want := *u.args.Enabled
	enabled, err := u.isEnabled()
	if err != nil {
		return err
	}
	u.result.Set("enabled", enabled)
	if enabled == want {
		return nil
	}
	u.result.Set("changed", true)
	if !u.Check {
		verb := "disable"
		if want {
			verb = "enable"
		}
		r, err := u.ctl(verb, u.name)
		if err != nil {
			return err
		}
		if r.rc != 0 {
			return fail(fmt.Sprintf("Unable to %s service %s: %s", verb, u.name, string(r.stdout)+string(r.stderr)))
		}
	}
	u.result.Set("enabled", !enabled)
	return nil
}

// isEnabled is what `systemctl is-enabled` leads the module to think. Where
// `show` already said it of the very unit, nothing is run: these states are
// those of unit files, which systemctl prefers to an init script of that name.
func (u *unit) isEnabled() (bool, error) {
	state, _ := u.status.Str("UnitFileState")
	id, _ := u.status.Str("Id")
	if u.args.Scope == "system" && u.args.Masked == nil && (id == u.name || id == u.name+".service") {
		switch state {
		case "enabled", "static":
			return true, nil
		case "disabled":
			return false, nil
		}
	}
	r, err := u.ctl("is-enabled", u.name, "-l")
	if err != nil {
		return false, err
	}
	out := string(r.stdout)
	switch r.rc {
	case 0:
		switch strings.TrimRight(out, " \t\r\n") {
		case "enabled-runtime", "indirect", "alias":
			return false, nil
		}
		return true, nil
	case 1:
		return u.args.Scope == "system" && u.initd && !strings.HasSuffix(strings.TrimSpace(out), "disabled") && sysvEnabled(u.name), nil
	}
	return false, nil
}

// bring starts, stops, reloads or restarts the unit.
func (u *unit) bring() error {
	if u.args.State == nil {
		return nil
	}
	if err := u.missing(); err != nil {
		return err
	}
	want := *u.args.State
	u.result.Set("state", want)
	active, known := u.status.Str("ActiveState")
	running := active == "active" || active == "activating"
	verb := ""
	switch {
	case !known && (inChroot() || u.Getenv("SYSTEMD_OFFLINE") == "1"):
		u.Warn("Target is a chroot or systemd is offline. This can lead to false positives or prevent the init system tools from working.")
	case !known:
		return fail("Service is in unknown state", "status", u.status)
	case want == "started":
		if !running {
			verb = "start"
		}
	case want == "stopped":
		if running || active == "deactivating" {
			verb = "stop"
		}
	default:
		verb = strings.TrimSuffix(want, "ed")
		if !running {
			verb = "start"
		}
		u.result.Set("state", "started")
	}
	if verb == "" {
		return nil
	}
	u.result.Set("changed", true)
	if u.Check {
		return nil
	}
	r, err := u.ctl(verb, u.name)
	if err != nil {
		return err
	}
	if r.rc != 0 {
		return fail(fmt.Sprintf("Unable to %s service %s: %s", verb, u.name, r.stderr))
	}
	return nil
}

func ignoredRequest(out string) bool {
	return !strings.Contains(out, "=") && (strings.Contains(out, "ignoring request") || strings.Contains(out, "ignoring command"))
}

// parseShow reads `systemctl show`; a value of an Exec property that begins
// with { goes on to the line that ends with }.
func parseShow(out string) *value.Dict {
	d := value.NewDict(256)
	key := ""
	var multi []string
	for _, line := range strings.Split(out, "\n") {
		if key != "" {
			multi = append(multi, line)
			if strings.HasSuffix(strings.TrimRight(line, " \t\r"), "}") {
				d.Set(key, strings.TrimSpace(strings.Join(multi, "\n")))
				key, multi = "", nil
			}
			continue
		}
		k, v, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		if strings.HasPrefix(k, "Exec") && strings.HasPrefix(strings.TrimLeft(v, " \t"), "{") && !strings.HasSuffix(strings.TrimRight(v, " \t\r"), "}") {
			key, multi = k, append(multi, v)
			continue
		}
		d.Set(k, strings.TrimSpace(v))
	}
	return d
}

func sysvScript(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return "/etc/init.d/" + name
}

// sysvEnabled reports whether any runlevel starts the init script.
func sysvEnabled(name string) bool { return sysvEnabledIn("?", name) }

// sysvEnabledIn reports whether the runlevel starts the init script.
func sysvEnabledIn(runlevel, name string) bool {
	dir := "/etc"
	if info, err := os.Stat("/etc/rc0.d/"); err != nil || !info.IsDir() {
		dir = "/etc/init.d"
	}
	found, _ := filepath.Glob(dir + "/rc" + runlevel + ".d/S??" + name)
	return len(found) > 0
}

// inChroot reports whether the process's root is not that of process 1.
func inChroot() bool {
	var root, init syscall.Stat_t
	if syscall.Stat("/", &root) != nil {
		return false
	}
	if syscall.Stat("/proc/1/root/.", &init) != nil {
		return root.Ino != 2
	}
	return root.Ino != init.Ino || root.Dev != init.Dev
}
