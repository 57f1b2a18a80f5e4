package modules

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"volant/hostagent/python"
	"volant/wire/value"
)

// enable has the service start at boot, or not. A result ends the module.
func (s *serviceTask) enable(want bool) (Result, error) {
	if s.enabler == "" {
		return nil, fail("cannot detect command to enable service " + s.args.Name + ", typo or init system potentially unknown")
	}
	switch {
	case s.kind == underSystemd:
		return s.enableSystemd(want)
	case s.kind == underOpenRC:
		return s.enableOpenRC(want)
	case strings.HasSuffix(s.enabler, "update-rc.d"):
		return nil, s.enableLinks(want)
	case strings.HasSuffix(s.enabler, "insserv"):
		return s.enableInsserv(want)
	}
	return s.enableChkconfig(want)
}

// settle changes what is not as asked; in check mode that ends the module.
func (s *serviceTask) settle(action string, argv ...string) (Result, error) {
	s.changed = true
	if s.Check {
		return value.DictOf("changed", true), nil
	}
	r, err := s.ask(argv...)
	if err != nil || r.rc == 0 {
		return nil, err
	}
	if len(r.stderr) > 0 {
		return nil, fail(fmt.Sprintf("Error when trying to %s %s: rc=%d %s", action, s.args.Name, r.rc, r.stderr))
	}
	return nil, fail(fmt.Sprintf("Failure for %s %s: rc=%d %s", action, s.args.Name, r.rc, r.stdout))
}

// sysvStarts reports whether a runlevel's links of that kind name the service.
func sysvStarts(kind, name string) bool {
	found, _ := filepath.Glob("/etc/rc?.d/" + kind + "??" + name)
	return len(found) > 0
}

func (s *serviceTask) enableSystemd(want bool) (Result, error) {
	r, err := s.ask(s.enabler, "is-enabled", s.args.Name)
	if err != nil {
		return nil, err
	}
	enabled := r.rc == 0
	if !enabled && !strings.HasPrefix(string(r.stdout), "disabled") && syscall.Access("/etc/init.d/"+s.args.Name, 1) == nil {
		enabled = sysvStarts("S", s.args.Name)
	}
	if enabled == want {
		return nil, nil
	}
	action := "disable"
	if want {
		action = "enable"
	}
	return s.settle(action, s.enabler, action, s.args.Name)
}

func (s *serviceTask) enableOpenRC(want bool) (Result, error) {
	r, err := s.ask(s.enabler, "show")
	if err != nil {
		return nil, err
	}
	has := false
	for _, line := range python.SplitLines(string(r.stdout)) {
		name, levels, ok := strings.Cut(line, "|")
		if !ok || strings.Contains(levels, "|") {
			return nil, handBack("an odd line of rc-update")
		}
		if strings.TrimFunc(name, pySpace) == s.args.Name {
			has = slices.Contains(strings.FieldsFunc(levels, pySpace), s.args.Runlevel)
			break
		}
	}
	if has == want {
		return nil, nil
	}
	action := "delete"
	if want {
		action = "add"
	}
	return s.settle(action, s.enabler, action, s.args.Name, s.args.Runlevel)
}

// enableLinks is Debian's way, which goes on in check mode.
func (s *serviceTask) enableLinks(want bool) error {
	if sysvStarts("S", s.args.Name) == want {
		return nil
	}
	s.changed = true
	if s.Check {
		return nil
	}
	actions := []string{"disable"}
	if want {
		actions = []string{"enable"}
		if !sysvStarts("K", s.args.Name) {
			actions = []string{"defaults", "enable"}
		}
	}
	for _, action := range actions {
		r, err := s.ask(s.enabler, s.args.Name, action)
		switch {
		case err != nil:
			return err
		case r.rc != 0 && len(r.stderr) > 0:
			return fail(string(r.stderr))
		case r.rc != 0:
			return fail(string(r.stdout))
		}
	}
	return nil
}

func (s *serviceTask) enableInsserv(want bool) (Result, error) {
	argv, sign, verb := []string{s.enabler}, "enable service", "install"
	if !want {
		argv, sign, verb = append(argv, "-r"), "remove service", "remove"
	}
	dry := slices.Insert(slices.Clone(argv), 1, "-n")
	r, err := s.ask(append(dry, "-v", s.args.Name)...)
	if err != nil {
		return nil, err
	}
	s.changed = strings.Contains(string(r.stderr), sign)
	switch {
	case s.Check:
		return value.DictOf("changed", s.changed), nil
	case !s.changed:
		return nil, nil
	}
	if r, err = s.ask(append(argv, s.args.Name)...); err != nil || r.rc == 0 && len(r.stderr) == 0 {
		return nil, err
	}
	return nil, fail(fmt.Sprintf("Failed to %s service. rc: %d, out: %s, err: %s", verb, r.rc, r.stdout, r.stderr))
}

func (s *serviceTask) enableChkconfig(want bool) (Result, error) {
	name := s.args.Name
	r, err := s.ask(s.enabler, "--list", name)
	if err == nil && strings.Contains(string(r.stderr), "chkconfig --add "+name) {
		if s.Check {
			return nil, handBack("chkconfig is to learn of the service in check mode")
		}
		if _, err = s.ask(s.enabler, "--add", name); err == nil {
			r, err = s.ask(s.enabler, "--list", name)
		}
	}
	if err != nil {
		return nil, err
	}
	out, action := string(r.stdout), "off"
	if want {
		action = "on"
	}
	if !strings.Contains(out, name) {
		return nil, fail("service " + name + " does not support chkconfig")
	}
	if strings.Contains(out, "3:"+action) && strings.Contains(out, "5:"+action) {
		return nil, nil
	}
	return s.settle(action, s.enabler, name, action)
}
