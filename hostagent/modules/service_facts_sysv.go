package modules

import (
	"strings"

	"volant/wire/rx"
	"volant/wire/value"
)

// scripts lists what is no unit of systemd's: the module asks chkconfig where
// there is one, else OpenRC, else `service`.
func (s *services) scripts() error {
	chkconfig, red := s.binPath("chkconfig")
	_, upstart := s.binPath("initctl")
	status, isOpenRC := s.binPath("rc-status")
	update, complete := s.binPath("rc-update")
	switch {
	case red:
		return s.chkconfig(chkconfig)
	case upstart:
		return handBack("there is upstart's initctl")
	case isOpenRC && complete:
		return s.openRC(status, update)
	case isOpenRC:
		return nil
	}
	return s.sysv()
}

var (
	chkconfigLine  = rx.Lazy(`^(.*?)\s+[0-9]:(?:on|off)\s+[0-9]:(?:on|off)\s+[0-9]:(?:on|off)\s+[0-9]:(on|off)\s+[0-9]:(?:on|off)\s+[0-9]:(?:on|off)\s+[0-9]:(?:on|off)`)
	chkconfigShort = rx.Lazy(`^.*?\s+(?:on|off)`)
)

// chkconfig asks chkconfig for the services, in the way its version wants, and
// each whether it runs.
func (s *services) chkconfig(bin string) error {
	var out string
	some := func(re *rx.Pattern) bool {
		for _, line := range strings.Split(out, "\n") {
			if re.MatchString(line) {
				return true
			}
		}
		return false
	}
	r, err := s.ask(bin)
	if err != nil {
		return err
	}
	if out = string(r.stdout); !some(chkconfigLine) {
		var more []string
		switch {
		case some(chkconfigShort): // SLES 11's
			more = []string{"-l", "--allservices"}
		case strings.Contains(string(r.stderr), "--list"): // RHEL 5's
			more = []string{"--list"}
		}
		if more != nil {
			if r, err = s.ask(append([]string{bin}, more...)...); err != nil {
				return err
			}
			out = string(r.stdout)
		}
	}
	for _, line := range strings.Split(out, "\n") {
		m := chkconfigLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if err := s.chkconfigService(m[1], m[2] == "on"); err != nil {
			return err
		}
	}
	return nil
}

// chkconfigService asks a script whether its service runs; where that takes
// rights that are not there, the code it ended with is the state.
func (s *services) chkconfigService(name string, enabled bool) error {
	bin, ok := s.binPath("service")
	if !ok || !shellWord.MatchString(name) {
		return handBack("services that cannot be asked for")
	}
	r, err := s.ask(bin, name, "status")
	if err != nil {
		return err
	}
	status := "disabled"
	if enabled {
		status = "enabled"
	}
	var state any = "stopped"
	if r.rc == 0 {
		state = "running"
	} else if containsAny(strings.ToLower(string(r.stderr)), "root", "permission", "not in sudoers") {
		state = int64(r.rc)
		s.Warn("Insufficient permissions to query sysV service \"%s\" and their states", name)
	}
	s.all.Set(name, value.DictOf("name", name, "state", state, "status", status, "source", "sysv"))
	return nil
}

// shellWord is what a shell takes as it is.
var shellWord = rx.Lazy(`^[A-Za-z0-9_.@:+-]+$`)

// openRC asks OpenRC for the services and their runlevels.
func (s *services) openRC(status, update string) error {
	if !pathWord.MatchString(status) || !pathWord.MatchString(update) {
		return handBack("tools whose names need quoting")
	}
	states, err := s.ask("/bin/sh", "-c", status+" -a -s -m 2>&1 | grep '^ ' | tr -d '[]'")
	if err != nil {
		return err
	}
	shown, err := s.ask("/bin/sh", "-c", update+" show -v 2>&1 | grep '|'")
	if err != nil {
		return err
	}
	levels := map[string]any{}
	for _, line := range strings.Split(string(shown.stdout), "\n") {
		name, rest, ok := strings.Cut(line, "|")
		if !ok {
			continue
		}
		rest, _, _ = strings.Cut(rest, "|")
		var of any
		if words := strings.FieldsFunc(rest, pySpace); len(words) > 0 {
			of = words
		}
		levels[strings.TrimFunc(name, pySpace)] = of
	}
	for _, line := range strings.Split(string(states.stdout), "\n") {
		words := strings.FieldsFunc(line, pySpace)
		if len(words) < 2 || words[0] == "*" {
			continue
		}
		of, known := levels[words[0]]
		if !known {
			s.Warn("Service %s not found in the service list", words[0])
			continue
		}
		if words, ok := of.([]string); ok {
			of = stringList(words)
		}
		s.all.Set(words[0], value.DictOf("name", words[0], "runlevels", of, "state", words[1], "source", "openrc"))
	}
	return nil
}

var pathWord = rx.Lazy(`^[A-Za-z0-9_./+-]+$`)
