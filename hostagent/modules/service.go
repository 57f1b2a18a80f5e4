package modules

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"volant/hostagent/python"
	"volant/wire/argspec"
	"volant/wire/value"
)

type serviceArgs struct {
	Name      string  `arg:"name,required"`
	State     *string `arg:"state,choices=started|stopped|reloaded|restarted"`
	Sleep     *int64  `arg:"sleep"`
	Pattern   *string `arg:"pattern"`
	Enabled   *bool   `arg:"enabled"`
	Runlevel  string  `arg:"runlevel,default=default"`
	Arguments string  `arg:"arguments,alias=args"`
}

// serviceRules are what tags do not say: a default that is empty.
func serviceRules() []rule {
	return []rule{
		oneOf("state", "enabled"),
		option("arguments", func(o *argspec.Option) { o.Default, o.HasDef = "", true }),
	}
}

// manager is a kind of init system as the service module knows them.
type manager int

// The kinds; what the module calls upstart's is left to it.
const (
	underScripts manager = iota
	underSystemd
	underOpenRC
)

// serviceTask is one service task at work.
type serviceTask struct {
	*call
	ctx     context.Context
	args    *serviceArgs
	words   []string // further words of the command line
	kind    manager
	control []string // what starts and stops; the verb's place depends on kind
	enabler string
	locale  []string // the environment in which words are read
	running *bool
	crashed bool
	changed bool
	result  Result
}

// service is the service module, which the action runs where the host's init
// system is another than systemd, or on demand.
func service(ctx context.Context, c *call, a *serviceArgs) (Result, error) {
	switch {
	case !plainWord(a.Name):
		return nil, handBack("a service's name that needs quoting")
	case !plainWord(a.Runlevel):
		return nil, handBack("a runlevel that needs quoting")
	case a.Sleep != nil && (*a.Sleep < 0 || *a.Sleep > 1<<31):
		return nil, handBack("a sleep that is none")
	}
	s := &serviceTask{call: c, ctx: ctx, args: a, result: value.DictOf("name", a.Name)}
	var err error
	if s.words, err = c.split(a.Arguments, false); err != nil { // daemons' words are not expanded
		return nil, err
	}
	if err := s.tools(); err != nil {
		return nil, err
	}
	l := c.parsable(ctx)
	s.locale = []string{"LANG=" + l, "LC_ALL=" + l, "LC_MESSAGES=" + l}
	if a.Enabled != nil {
		done, err := s.enable(*a.Enabled)
		if err != nil || done != nil {
			return done, err
		}
		s.result.Set("enabled", *a.Enabled)
	}
	if a.State == nil {
		s.result.Set("changed", s.changed)
		return s.result, nil
	}
	return s.bring(*a.State)
}

// tools finds what the host's init system is handled with.
func (s *serviceTask) tools() error {
	script := "/etc/init.d/" + s.args.Name
	if !isFile(script) {
		script = ""
	}
	systemctl, openrc := s.initTool("systemctl"), s.initTool("rc-service")
	switch {
	case systemctl != "" && s.systemdManaged():
		s.kind, s.control, s.enabler = underSystemd, []string{systemctl}, systemctl
		return nil
	case s.initTool("initctl") != "":
		return handBack("there is upstart's initctl")
	case openrc != "":
		s.kind, s.control, s.enabler = underOpenRC, []string{openrc, s.args.Name}, s.initTool("rc-update")
		return nil
	}
	for _, tool := range []string{"update-rc.d", "insserv", "chkconfig"} {
		if s.enabler == "" && script != "" {
			s.enabler = s.initTool(tool)
		}
	}
	if s.enabler == "" {
		return fail("Could not find the requested service " + s.args.Name + ": host")
	}
	if s.control = []string{script}; syscall.Access(script, 1) != nil {
		s.control = nil
	}
	if tool := s.initTool("service"); tool != "" {
		s.control = []string{tool, s.args.Name}
	}
	if s.control == nil {
		return handBack("the script cannot be run")
	}
	return nil
}

// ask runs a tool and waits for it.
func (s *serviceTask) ask(argv ...string) (*ran, error) {
	r, err := s.run(s.ctx, &command{argv: argv, env: s.locale})
	if err != nil {
		return nil, commandFailed(err, argv)
	}
	return r, nil
}

// verb has the init system do something with the service, as a daemon: in a
// session, directory and environment of its own.
func (s *serviceTask) verb(verb string) (*ran, error) {
	argv := append(s.control[:len(s.control):len(s.control)], verb)
	if s.kind == underSystemd {
		argv = append(argv, s.args.Name)
	}
	return s.daemon(append(argv, s.words...))
}

func (s *serviceTask) daemon(argv []string) (*ran, error) {
	r, err := s.run(s.ctx, &command{argv: argv, env: s.locale, bare: true, apart: true, dir: "/"})
	if err != nil {
		return nil, commandFailed(err, argv)
	}
	return r, nil
}

// bring starts, stops, restarts or reloads the service.
func (s *serviceTask) bring(want string) (Result, error) {
	if err := s.look(); err != nil {
		return nil, err
	}
	if s.running == nil {
		return nil, fail("failed determining service state, possible typo of service name?")
	}
	running := *s.running
	change := want == "restarted" || want == "reloaded" || running != (want == "started")
	if change && s.Check {
		return value.DictOf("changed", true, "msg", "service state changed"), nil
	}
	if change {
		if err := s.act(sysvVerbs[want], running); err != nil {
			return nil, err
		}
	}
	state := "started"
	if want == "stopped" {
		state = want
	}
	s.result.Set("state", state)
	s.result.Set("changed", s.changed || change)
	return s.result, nil
}

// act does what was decided, and fails where the init system says so.
func (s *serviceTask) act(verb string, running bool) error {
	if verb == "reload" && !running {
		verb = "start"
	}
	if s.kind == underOpenRC && verb == "start" && s.crashed {
		if _, err := s.daemon([]string{s.control[0], s.args.Name, "zap"}); err != nil {
			return err
		}
	}
	var r *ran
	var err error
	if verb == "restart" && s.kind != underOpenRC {
		r, err = s.restart()
	} else {
		r, err = s.verb(verb)
	}
	if err != nil || r.rc == 0 {
		return err
	}
	switch {
	case strings.Contains(string(r.stderr), "Job is already running"):
		return nil
	case len(r.stderr) > 0:
		return fail(string(r.stderr))
	}
	return fail(string(r.stdout))
}

// restart stops and starts, since not every script can restart.
func (s *serviceTask) restart() (*ran, error) {
	down, err := s.verb("stop")
	if err != nil {
		return nil, err
	}
	if s.args.Sleep != nil {
		if err := pause(s.ctx, *s.args.Sleep); err != nil {
			return nil, err
		}
	}
	up, err := s.verb("start")
	if err != nil || down.rc != 0 && up.rc == 0 {
		return up, err
	}
	return &ran{rc: down.rc + up.rc, stdout: slices.Concat(down.stdout, up.stdout), stderr: slices.Concat(down.stderr, up.stderr)}, nil
}

// look finds out whether the service runs; running stays nil where nothing tells.
func (s *serviceTask) look() error {
	if p := opted(s.args.Pattern); p != "" {
		lines, ok, err := s.processes(s.ctx, p, s.locale)
		if ok {
			up := slices.ContainsFunc(lines, func(l string) bool { return !strings.Contains(l, "pattern=") })
			s.running = &up
		}
		return err
	}
	if s.kind == underSystemd {
		return s.lookSystemd()
	}
	r, err := s.verb("status")
	if err != nil {
		return err
	}
	if s.kind == underOpenRC {
		r, err := s.ask(s.control[0], s.args.Name, "status")
		if err != nil {
			return err
		}
		up := strings.Contains(string(r.stdout), "started")
		s.running, s.crashed = &up, strings.Contains(string(r.stderr), "crashed")
		return nil
	}
	if up, known := serviceStatus(s.args.Name, r); known {
		s.running = &up
	}
	return nil
}

// serviceStatus reads the code of a script's status, and then what it printed.
func serviceStatus(name string, r *ran) (running, known bool) {
	if slices.Contains(lsbDown, r.rc) {
		return false, true
	}
	out := string(r.stdout)
	if said, short := wordsOf(out, name); short {
		not := strings.Contains(said, "not ")
		switch {
		case strings.Contains(said, "stop"):
			return false, true
		case strings.Contains(said, "run"):
			return !not, true
		case strings.Contains(said, "start") && !not:
			return true, true
		case containsAny(said, "could not access pid file", "is dead and pid file exists", "dead but subsys locked", "dead but pid file exists"):
			return false, true
		}
	}
	up := r.rc == 0 || name == "iptables" && strings.Contains(out, "ACCEPT")
	return up, up
}

// lookSystemd asks systemd.
func (s *serviceTask) lookSystemd() error {
	r, err := s.ask(s.control[0], "show", s.args.Name)
	if err != nil {
		return err
	}
	name, out := value.Repr(s.args.Name), string(r.stdout)
	switch {
	case r.rc != 0:
		return fail(fmt.Sprintf("failure %d running systemctl show for %s: %s", r.rc, name, r.stderr))
	case strings.Contains(out, "LoadState=not-found"):
		return fail(fmt.Sprintf("systemd could not find the requested service \"%s\": %s", name, r.stderr))
	}
	active, there := activeState(out)
	if !there {
		return fail("No ActiveState value in systemctl show output for " + name)
	}
	up := active == "active"
	s.running = &up
	return nil
}

// activeState reads ActiveState of `systemctl show`, where the value of any
// property that begins with { goes on to a line that ends with }.
func activeState(out string) (string, bool) {
	state, there, within := "", false, false
	for _, line := range python.SplitLines(out) {
		key, val, ok := strings.Cut(line, "=")
		switch {
		case !ok:
		case within:
			within = !strings.HasSuffix(strings.TrimRightFunc(line, pySpace), "}")
		case strings.HasPrefix(strings.TrimLeftFunc(val, pySpace), "{"):
			within = !strings.HasSuffix(strings.TrimRightFunc(val, pySpace), "}")
		case key == "ActiveState":
			state, there = val, true
		}
	}
	return state, there
}
