package modules

import (
	"context"
	"os"
	"strings"

	"volant/wire/rx"
	"volant/wire/value"
)

type serviceFactsArgs struct{}

// serviceFacts lists services as systemd, the init scripts and OpenRC have
// them; other init systems are left to the Python module.
func serviceFacts(ctx context.Context, c *call, _ *serviceFactsArgs) (Result, error) {
	for _, tool := range []string{"lssrc", "rcctl"} {
		if _, ok := c.binPath(tool); ok {
			return nil, handBack("there is %s", tool)
		}
	}
	s := &services{call: c, ctx: ctx, all: value.NewDict(256)}
	if err := s.scripts(); err != nil {
		return nil, err
	}
	if err := s.systemd(); err != nil {
		return nil, err
	}
	if s.all.Len() == 0 {
		return value.DictOf("skipped", true, "msg",
			"Failed to find any services. This can be due to privileges or some other configuration issue."), nil
	}
	return value.DictOf("ansible_facts", value.DictOf("services", s.all)), nil
}

type services struct {
	*call
	ctx context.Context
	all *value.Dict
}

func (s *services) ask(argv ...string) (*ran, error) {
	r, err := s.run(s.ctx, &command{argv: argv, env: []string{"LANG=C", "LC_ALL=C"}})
	if err != nil && s.ctx.Err() == nil {
		return nil, handBack("running %s: %v", argv[0], err)
	}
	return r, err
}

func (s *services) set(name, state, status, source string) {
	d := value.DictOf("name", name, "state", state)
	if status != "" {
		d.Set("status", status)
	}
	d.Set("source", source)
	s.all.Set(name, d)
}

var sysvLine = rx.Lazy(`(?m)^\s*\[ (\+|-) \]\s+(.+)$`)

func (s *services) sysv() error {
	bin, ok := s.binPath("service")
	if !ok {
		return nil
	}
	r, err := s.ask(bin, "--status-all")
	if err != nil {
		return err
	}
	if r.rc == 4 && !exists("/etc/init.d") {
		return nil
	}
	if r.rc != 0 {
		s.Warn("Unable to query 'service' tool (%d): %s", r.rc, r.stderr)
	}
	for _, m := range sysvLine.FindAllStringSubmatch(string(r.stdout), -1) {
		state := "stopped"
		if m[1] == "+" {
			state = "running"
		}
		s.set(m[2], state, "", "sysv")
	}
	return nil
}

// systemdManaged reports whether systemd runs this machine.
func (c *call) systemdManaged() bool {
	if _, ok := c.binPath("systemctl"); !ok {
		return false
	}
	for _, d := range []string{"/run/systemd/system/", "/dev/.run/systemd/", "/dev/.systemd/"} {
		if exists(d) {
			return true
		}
	}
	b, err := os.ReadFile("/proc/1/comm")
	return err == nil && strings.TrimSpace(string(b)) == "systemd"
}

func (s *services) systemd() error {
	if !s.systemdManaged() {
		return nil
	}
	bin, _ := s.binPath("systemctl")
	r, err := s.ask(bin, "list-units", "--no-pager", "--type", "service", "--all", "--plain")
	if err != nil {
		return err
	}
	if r.rc != 0 {
		s.Warn("Could not list units from systemd: %s", r.stderr)
	} else if err := s.units(string(r.stdout)); err != nil {
		return err
	}
	if r, err = s.ask(bin, "list-unit-files", "--no-pager", "--type", "service", "--all"); err != nil {
		return err
	}
	if r.rc != 0 {
		s.Warn("Could not get unit files data from systemd: %s", r.stderr)
		return nil
	}
	return s.unitFiles(bin, string(r.stdout))
}

// badState reports whether a unit's state stays as its status.
func badState(s string) bool { return s == "not-found" || s == "masked" || s == "failed" }

func (s *services) units(out string) error {
	for line := range strings.Lines(out) {
		if !strings.Contains(line, ".service") {
			continue
		}
		f := strings.Fields(line)
		if len(f) < 4 {
			return handBack("an odd line of systemctl")
		}
		status, bad := f[2], 0
		for _, w := range f[:len(f)-1] {
			if badState(w) {
				status = w
				bad++
			}
		}
		if bad > 1 { // which of them the module finds first is not fixed
			return handBack("a unit in several bad states")
		}
		state := "stopped"
		if f[3] == "running" {
			state = "running"
		}
		s.set(f[0], state, status, "systemd")
	}
	return nil
}

// unitFiles completes what list-units said; the state of units that are not
// loaded is asked for in one go.
func (s *services) unitFiles(bin, out string) error {
	var unknown, statuses []string
	for line := range strings.Lines(out) {
		if !strings.Contains(line, ".service") {
			continue
		}
		f := strings.Fields(line)
		if len(f) < 2 {
			return handBack("an odd line of systemctl")
		}
		d, ok := s.all.Lookup(f[0]).(*value.Dict)
		switch {
		case !ok:
			unknown, statuses = append(unknown, f[0]), append(statuses, f[1])
		default:
			if status, _ := d.Str("status"); !badState(status) {
				d.Set("status", f[1])
			}
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	for i, name := range unknown {
		r, err := s.ask(bin, "show", name, "--property=ActiveState")
		if err != nil {
			return err
		}
		state := "unknown"
		if r.rc == 0 && len(r.stdout) > 0 {
			state = strings.TrimRight(strings.ReplaceAll(string(r.stdout), "ActiveState=", ""), " \t\r\n")
		}
		s.set(name, state, statuses[i], "systemd")
	}
	return nil
}
