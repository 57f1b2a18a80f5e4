package modules

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"volant/wire/value"
)

type sysvinitArgs struct {
	Name      string   `arg:"name,required,alias=service"`
	State     *string  `arg:"state,choices=started|stopped|restarted|reloaded"`
	Enabled   *bool    `arg:"enabled"`
	Sleep     int64    `arg:"sleep,default=1"`
	Pattern   *string  `arg:"pattern"`
	Arguments *string  `arg:"arguments,alias=args"`
	Runlevels []string `arg:"runlevels"`
	Daemonize bool     `arg:"daemonize,default=no"`
}

// initScript is one sysvinit task at work.
type initScript struct {
	*call
	ctx    context.Context
	args   *sysvinitArgs
	script string
	words  []string // further words of its command line
	last   *ran     // the command that the result tells of
	status *value.Dict
	result Result
}

// sysvinit is the sysvinit module: it asks the script, or ps, whether the
// service runs, looks at the runlevels' links, and has update-rc.d or chkconfig
// and the script change what is not as asked.
func sysvinit(ctx context.Context, c *call, a *sysvinitArgs) (Result, error) {
	if !plainWord(a.Name) {
		return nil, handBack("a service's name that needs quoting")
	}
	for _, r := range a.Runlevels {
		if !plainWord(r) || strings.Contains(r, "/") {
			return nil, handBack("a runlevel that needs quoting")
		}
	}
	s := &initScript{call: c, ctx: ctx, args: a, script: sysvScript(a.Name), last: &ran{}, status: value.NewDict(2)}
	s.result = value.DictOf("name", a.Name, "changed", false, "status", s.status)
	if !exists(s.script) {
		return nil, fail("Could not find the requested service " + a.Name + ": ")
	}
	if a.State != nil {
		switch {
		case a.Sleep < 0 || a.Sleep > 1<<31:
			return nil, handBack("a sleep that is none")
		case a.Daemonize && syscall.Access(s.script, 1) != nil:
			return nil, handBack("the script cannot be run")
		case a.Arguments != nil:
			var err error
			if s.words, err = c.split(*a.Arguments, !a.Daemonize); err != nil {
				return nil, err
			}
		}
	}
	running, err := s.runs()
	if err != nil {
		return nil, err
	}
	if err := s.enable(); err != nil {
		return nil, err
	}
	if err := s.bring(running); err != nil {
		return nil, err
	}
	return s.result, nil
}

// do runs a program; a Python module ends where it cannot be started.
func (s *initScript) do(argv ...string) error {
	r, err := s.run(s.ctx, &command{argv: argv})
	if err != nil {
		return commandFailed(err, argv)
	}
	s.last = r
	return nil
}

// runs reports whether the service runs, by the many signs there are.
func (s *initScript) runs() (bool, error) {
	if p := opted(s.args.Pattern); p != "" {
		lines, _, err := s.processes(s.ctx, p, nil)
		if len(lines) == 0 && err == nil {
			s.Warn("Unable to determine if service is up, assuming it is down")
		}
		return len(lines) > 0, err
	}
	argv := []string{s.script, "status"}
	if tool := s.initTool("service"); tool != "" {
		argv = []string{tool, s.args.Name, "status"}
	}
	if err := s.do(argv...); err != nil {
		return false, err
	}
	if running, known := sysvStatus(s.args.Name, s.last); known {
		return running, nil
	}
	if s.last.rc == 0 {
		return true, nil
	}
	lines, _, err := s.processes(s.ctx, s.args.Name, nil)
	if len(lines) > 0 {
		s.Warn("Used ps output to match service name and determine it is up, this is very unreliable")
		return true, nil
	}
	if err == nil {
		s.Warn("Unable to determine if service is up, assuming it is down")
	}
	return false, err
}

// sysvStatus reads what a script's status printed, and then its code.
func sysvStatus(name string, r *ran) (running, known bool) {
	if r.rc == -1 { // ended by a hang-up: what it said does not count
		return false, false
	}
	out := string(r.stdout)
	if name == "iptables" && strings.Contains(out, "ACCEPT") {
		return true, true
	}
	if said, short := wordsOf(out, name); short {
		switch {
		case containsAny(said, "stop", "is dead ", "dead but ", "could not access pid file", "inactive"):
			return false, true
		case containsAny(said, "run", "start", "active") && !strings.Contains(said, "not "):
			return true, true
		}
	}
	return false, slices.Contains(lsbDown, r.rc)
}

// step adds a step's part of the status.
func (s *initScript) step(name string) *value.Dict {
	d := value.DictOf("changed", false, "rc", nil, "stdout", nil, "stderr", nil)
	s.status.Set(name, d)
	return d
}

// done says in a step's part what its last command did.
func (s *initScript) done(step *value.Dict) {
	step.Set("rc", int64(s.last.rc))
	step.Set("stdout", string(s.last.stdout))
	step.Set("stderr", string(s.last.stderr))
}

// enable makes the runlevels start the service, or not. Where runlevels are
// named, the module takes no word on enabled for a no, and so do we.
func (s *initScript) enable() error {
	step, levels := s.step("enabled"), s.args.Runlevels
	want := s.args.Enabled != nil && *s.args.Enabled
	changed := false
	if len(levels) > 0 {
		list := value.ListOf()
		for _, l := range levels {
			list.Items = append(list.Items, l)
			changed = changed || s.args.Enabled == nil || want != sysvEnabledIn(l, s.args.Name)
		}
		step.Set("runlevels", list)
	} else {
		changed = s.args.Enabled != nil && want != sysvEnabled(s.args.Name)
	}
	if !changed {
		return nil
	}
	s.result.Set("changed", true)
	step.Set("changed", true)
	if s.Check {
		return nil
	}
	if argv := s.enabler(want); argv != nil {
		if err := s.do(argv...); err != nil {
			return err
		}
	}
	s.done(step)
	if strings.Contains(string(s.last.stderr), "illegal runlevel specified") {
		var kv []any
		for k, v := range s.result.All() {
			kv = append(kv, k, v)
		}
		return fail("Illegal runlevel specified for enable operation on service "+s.args.Name, kv...)
	}
	return nil
}

// enabler is the command that enables or disables the service; none where the
// host has no tool for it.
func (s *initScript) enabler(on bool) []string {
	levels, name := s.args.Runlevels, s.args.Name
	if tool := s.initTool("update-rc.d"); tool != "" {
		switch {
		case on && len(levels) > 0:
			return append([]string{tool, name, "enable"}, levels...)
		case on:
			return []string{tool, name, "defaults"}
		}
		return append([]string{tool, name, "disable"}, levels...)
	}
	tool := s.initTool("chkconfig")
	if tool == "" {
		return nil
	}
	word := "off"
	if on {
		word = "on"
	}
	if len(levels) > 0 {
		return []string{tool, "--level", strings.Join(levels, ""), name, word}
	}
	return []string{tool, name, word}
}

// sysvVerbs are the words of init scripts for the states.
var sysvVerbs = map[string]string{"started": "start", "stopped": "stop", "restarted": "restart", "reloaded": "reload"}

// bring starts, stops, restarts or reloads the service.
func (s *initScript) bring(running bool) error {
	if s.args.State == nil {
		s.step("null") // the key is None
		return nil
	}
	step, verb := s.step(*s.args.State), sysvVerbs[*s.args.State]
	if verb == "start" && running || verb == "stop" && !running {
		return nil
	}
	s.result.Set("changed", true)
	step.Set("changed", true)
	if s.Check {
		return nil
	}
	verbs := []string{verb}
	if verb == "restart" {
		verbs = []string{"stop", "start"}
	}
	for _, v := range verbs {
		if err := s.act(v, verb); err != nil {
			return err
		}
		if verb == "restart" {
			if err := pause(s.ctx, s.args.Sleep); err != nil {
				return err
			}
		}
	}
	s.done(step)
	return nil
}

// act has the script do something, as part of what is asked.
func (s *initScript) act(verb, asked string) error {
	c := &command{argv: append([]string{s.script, verb}, s.words...)}
	if s.args.Daemonize {
		c.apart, c.dir = true, "/"
	}
	r, err := s.run(s.ctx, c)
	if err != nil {
		return commandFailed(err, c.argv)
	}
	s.last = r
	if r.rc != 0 {
		return fail(fmt.Sprintf("Failed to %s service: %s", asked, s.args.Name), "rc", int64(r.rc), "stdout", string(r.stdout), "stderr", string(r.stderr))
	}
	return nil
}
