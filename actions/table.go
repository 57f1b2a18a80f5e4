package actions

import (
	"context"
	"sort"
	"strings"
)

// Spec says how the executor treats an action.
type Spec struct {
	Run Action
	// Controller actions never need the host: it is not connected for them.
	Controller bool
	// Once actions run once for the whole batch, on its first host.
	Once bool
	// Async actions may be run in the background; Check false means the action
	// is skipped in check mode with the reference's text.
	Async, NoCheck bool
	// Args are the only arguments accepted; nil leaves it to the action.
	Args []string
	// Early says that the action has answers, in check mode and on a local
	// connection, that come before anything is looked at.
	Early bool
}

// table holds every action plugin of the reference under its short name.
var table = map[string]Spec{
	"add_host":               {Run: addHost, Controller: true, Once: true},
	"assemble":               {Run: assemble},
	"assert":                 {Run: assert, Controller: true},
	"async_status":           {Run: asyncStatus},
	"command":                {Run: command, Async: true},
	"copy":                   {Run: copyAction},
	"debug":                  {Run: debug, Controller: true},
	"dnf":                    {Run: dnf, Async: true},
	"fail":                   {Run: fail, Controller: true, Args: []string{"msg"}},
	"fetch":                  {Run: fetch},
	"gather_facts":           {Run: gatherFacts},
	"group_by":               {Run: groupBy, Controller: true, Args: []string{"key", "parents"}},
	"include_vars":           {Run: includeVars, Controller: true},
	"package":                {Run: packageAction, Async: true},
	"pause":                  {Run: pause, Controller: true, Once: true},
	"raw":                    {Run: raw},
	"reboot":                 {Run: reboot, Args: rebootArgs, Early: true},
	"script":                 {Run: script},
	"service":                {Run: service, Async: true},
	"set_fact":               {Run: setFact, Controller: true},
	"set_stats":              {Run: setStats, Controller: true, Args: []string{"aggregate", "data", "per_host"}},
	"shell":                  {Run: shell, Async: true},
	"template":               {Run: template},
	"unarchive":              {Run: unarchive},
	"uri":                    {Run: uri, Async: true, NoCheck: true},
	"validate_argument_spec": {Run: validateArgumentSpec, Controller: true},
	"wait_for_connection":    {Run: waitForConnection, Args: []string{"connect_timeout", "delay", "sleep", "timeout"}, Early: true},
	"yum":                    {Run: dnf, Async: true},
}

// Short returns the short name of an action of ansible-core: the name without
// ansible.builtin. or ansible.legacy. in front.
func Short(name string) string {
	if s, ok := strings.CutPrefix(name, "ansible.builtin."); ok {
		return s
	}
	if s, ok := strings.CutPrefix(name, "ansible.legacy."); ok {
		return s
	}
	return name
}

// Lookup returns the action for a task's action name. A name without an action
// plugin of its own is a module and gets the normal action: ok is false then.
func Lookup(name string) (spec Spec, ok bool) {
	if s, ok := table[Short(name)]; ok {
		return s, true
	}
	return Spec{Run: normal, Async: true}, false
}

// Names lists the action plugins there are, sorted.
func Names() []string {
	names := make([]string, 0, len(table)+1)
	for n := range table {
		names = append(names, n)
	}
	names = append(names, "normal")
	sort.Strings(names)
	return names
}

// Start runs the action of r's task after the checks that all actions share.
func Start(ctx context.Context, r *Run) (Result, error) {
	spec, _ := Lookup(r.Action)
	if r.Spec != nil {
		spec = *r.Spec
	}
	early := spec.Early && (r.Check || r.Local && Short(r.Action) == "reboot")
	switch {
	case early:
		return spec.Run(ctx, r)
	case r.Async > 0 && !spec.Async:
		return nil, Fail("This action (%s) does not support async.", r.Action)
	case r.Check && spec.NoCheck:
		return nil, &Skip{Msg: "This action (" + r.Action + ") does not support check mode."}
	}
	if spec.Args != nil {
		if bad := unknownArgs(r, spec.Args); len(bad) > 0 {
			return nil, Fail("Invalid options for %s: %s", r.Action, strings.Join(bad, ","))
		}
	}
	return spec.Run(ctx, r)
}

func unknownArgs(r *Run, known []string) (bad []string) {
	for k := range r.Args.All() {
		name, _ := k.(string)
		found := false
		for _, n := range known {
			found = found || n == name
		}
		if !found {
			bad = append(bad, name)
		}
	}
	sort.Strings(bad)
	return bad
}
