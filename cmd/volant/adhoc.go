package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"volant/controller/compile"
	"volant/controller/events"
	"volant/controller/execute"
	"volant/controller/fault"
	"volant/controller/playbook"
	"volant/controller/vars"
	"volant/wire/pyjson"
	"volant/wire/value"
)

// adhocOptions are those of ansible.
type adhocOptions struct {
	verbosityOptions
	inventoryOptions
	runOptions
	vaultOptions   `group:"Vault options"`
	connectOptions `group:"Connection options"`
	becomeOptions  `group:"Privilege escalation options"`
	ownOptions     `group:"Options of Volant alone"`

	Module      string `short:"m" name:"module-name" default:"" help:"Action to run."`
	Args        string `short:"a" help:"The action's arguments, as k=v or JSON."`
	Background  int    `short:"B" help:"Run in the background, failing after this many seconds."`
	Poll        *int   `short:"P" help:"Poll a background job every so many seconds."`
	OneLine     bool   `short:"o" help:"One line of output a host."`
	Tree        string `short:"t" help:"Write results to files in this directory."`
	PlaybookDir string `help:"Directory that stands for the playbook's."`
	TaskTimeout int    `help:"Seconds the task may take."`
	Version     bool   `help:"Show the version."`
	Pattern     string `arg:"" optional:"" help:"Hosts to run on."`
}

func adhocMain(ctx context.Context, p *process, args []string) error {
	var opt adhocOptions
	if err := parse(p, &opt, "Run a single task on hosts.", args); err != nil {
		return err
	}
	j, err := configure(p, opt.Verbose)
	if err != nil {
		return err
	}
	if err := j.forksGiven(opt.runOptions); err != nil {
		return err
	}
	j.greet()
	return j.adhoc(ctx, &opt)
}

func (j *project) adhoc(ctx context.Context, opt *adhocOptions) error {
	if opt.Module == "" {
		opt.Module = j.config.String("DEFAULT_MODULE_NAME")
	}
	if opt.Args == "" {
		opt.Args = j.config.String("DEFAULT_MODULE_ARGS")
	}
	login := j.login(opt.connectOptions, opt.becomeOptions)
	if err := j.askPasswords(ctx, login, opt.connectOptions, opt.becomeOptions); err != nil {
		return err
	}
	if err := j.secrets(ctx, opt.vaultOptions); err != nil {
		return err
	}
	if err := j.gather(ctx, opt.ExtraVars, opt.Inventory, j.playbookDir(opt.PlaybookDir), opt.FlushCache); err != nil {
		return err
	}
	limit := opt.Limit
	if err := j.limit(limit, opt.Pattern); err != nil {
		if limit != "" || fault.KindOf(err) != fault.Generic {
			return err
		}
		j.display.Note("No hosts matched, nothing to do")
		if opt.ListHosts {
			j.display.Print("  hosts (0):", "")
			return nil
		}
	}
	if opt.ListHosts {
		return j.listHosts(opt.Pattern)
	}
	short := strings.TrimPrefix(strings.TrimPrefix(opt.Module, "ansible.builtin."), "ansible.legacy.")
	switch {
	case playbook.FreeForm(opt.Module) && opt.Args == "":
		hint := ""
		if strings.HasSuffix(opt.Pattern, ".yml") {
			hint = " (did you mean to run ansible-playbook?)"
		}
		return fault.New(fault.Options, value.Pos{}, "No argument passed to %s module%s", opt.Module, hint)
	case short == "import_playbook":
		return fault.New(fault.Options, value.Pos{}, "'%s' is not a valid action for ad-hoc commands", opt.Module)
	}
	return j.adhocRun(ctx, opt, login)
}

// playbookDir is the directory that stands for a playbook's; given is the
// option's.
func (j *project) playbookDir(given string) string {
	dir := cmp.Or(given, j.config.String("PLAYBOOK_DIR"))
	if dir == "" {
		return ""
	}
	return j.absolute(dir)
}

func (j *project) listHosts(pattern string) error {
	hosts, err := j.inv.Select(pattern)
	if err != nil {
		return err
	}
	fmt.Fprintf(j.stdout, "  hosts (%d):\n", len(hosts))
	for _, h := range hosts {
		fmt.Fprintf(j.stdout, "    %s\n", h.Name)
	}
	return nil
}

// adhocArgs are the task's arguments; text is the operator's.
func adhocArgs(opt *adhocOptions) (*value.Dict, error) {
	pos := value.Pos{File: "<CLI option '-a'>"}
	if strings.HasPrefix(opt.Args, "{") && strings.HasSuffix(opt.Args, "}") {
		if v, err := pyjson.DecodeString(opt.Args); err == nil {
			if d, ok := trusted(v, pos).(*value.Dict); ok && d.Len() > 0 {
				return d, nil
			}
		}
	}
	return playbook.ParseKV(opt.Args, playbook.FreeForm(opt.Module), pos)
}

// trusted makes templates of the text in v.
func trusted(v any, pos value.Pos) any {
	switch v := v.(type) {
	case string:
		return value.NewTemplate(v, pos)
	case *value.List:
		for i, e := range v.Items {
			v.Items[i] = trusted(e, pos)
		}
	case *value.Dict:
		for i := range v.Len() {
			_, e := v.At(i)
			v.SetAt(i, trusted(e, pos))
		}
	}
	return v
}

// adhocPlay is the play of the one task, and the task as messages show it.
func (j *project) adhocPlay(opt *adhocOptions) (*value.Dict, string, error) {
	args, err := adhocArgs(opt)
	if err != nil {
		return nil, "", err
	}
	poll := int64(j.config.Int("DEFAULT_POLL_INTERVAL"))
	if opt.Poll != nil {
		poll = int64(*opt.Poll)
	}
	task := value.DictOf("action", opt.Module, "args", args, "timeout", int64(opt.TaskTimeout))
	short := strings.TrimPrefix(strings.TrimPrefix(opt.Module, "ansible.builtin."), "ansible.legacy.")
	include := short == "include_tasks" || short == "include_role" || short == "import_tasks" || short == "import_role"
	if !include && (opt.Background != 0 || poll != 0) {
		task.Set("async_val", int64(opt.Background))
		task.Set("poll", poll)
	}
	shown := value.Repr(plainText(task))
	action := value.NewTemplate(opt.Module, value.Pos{File: "<CLI option '-m'>"})
	task.Set("action", action)
	task.Places = &value.Places{File: fmt.Sprintf("<adhoc %s task>", value.Repr(opt.Module))}
	return value.DictOf("name", "Ansible Ad-Hoc", "hosts", value.NewTemplate(opt.Pattern, value.Pos{}), "gather_facts", false, "tasks", value.ListOf(task)), shown, nil
}

// plainText is v with the operator's text as data.
func plainText(v any) any {
	switch v := v.(type) {
	case *value.Template:
		return v.Text
	case *value.List:
		out := &value.List{}
		for _, e := range v.Items {
			out.Items = append(out.Items, plainText(e))
		}
		return out
	case *value.Dict:
		out := value.NewDict(v.Len())
		for k, e := range v.All() {
			out.Set(k, plainText(e))
		}
		return out
	}
	return v
}

func (j *project) adhocRun(ctx context.Context, opt *adhocOptions, login *execute.Login) error {
	base := cmp.Or(j.playbookDir(opt.PlaybookDir), j.dir)
	so := j.storeOptions(filepath.Clean(base), j.runVars(opt.runOptions, opt.inventoryOptions, nil, nil))
	if opt.PlaybookDir == "" {
		so.BaseName = "." // as the reference has the directory it was started in
	}
	store := vars.New(so)
	j.flush(store, opt.inventoryOptions)
	u, err := j.core(opt.ModulePath, base)
	if err != nil {
		return err
	}
	if u != nil {
		defer func() { _ = u.Save() }() // a cache that cannot be kept costs time only
	}
	names, end := j.names(u, base)
	defer end()
	if given := j.playbookDir(opt.PlaybookDir); given != "" {
		names.AddDir(given)
	}
	loader := j.loader(ctx, store, names)
	late := &lateNames{Plugins: names, loading: true}
	loader.Plugins = late
	data, shown, err := j.adhocPlay(opt)
	if err != nil {
		return err
	}
	play, err := loader.Make(data, base)
	if err != nil {
		return err
	}
	late.loading = false
	m := newMeter(opt.MetricsFile, j.config.String("VOLANT_METRICS_FILE"), "ad hoc", j.config.Bool("VOLANT_METRICS_HOSTS"))
	pr := newProfile(opt.Profile)
	bus, err := j.bus(j.adhocCallback(opt), nil)
	if err != nil {
		return err
	}
	bus.Add(m)
	if pr != nil {
		bus.Add(pr)
		defer func() { pr.report(j.stderr) }()
	}
	bus.Add(j.progress())
	if opt.Tree != "" {
		bus.Add(events.NewTree(j.display, events.Format{DiffContext: 3}, j.absolute(opt.Tree)))
	}
	tr, err := j.transports(ctx, base, m, nil)
	if err != nil {
		return err
	}
	defer tr.Close()
	r := execute.New(execute.Options{
		Config: j.config, Inventory: j.inv, Store: store, Engine: j.engine, Loader: loader, Names: names, Actions: j.foreignAction, Files: j.files,
		Display: j.display, Bus: bus, Transport: tr, Modules: modulesOf(u), Compile: compile.Options{}, Login: *login, Becomes: becomes,
		Check: opt.Check, Diff: opt.Diff || j.config.Bool("DIFF_ALWAYS"), Verbosity: j.display.Verbosity, Forks: j.forks(opt.runOptions),
		Prompt: j.asker(), Line: j.lines(), Keys: j.keys(), AsyncDir: j.asyncDir(), Log: j.debugLog(), Excerpt: shown,
	})
	book := &playbook.Playbook{Path: "__adhoc_playbook__", Dir: base, Plays: []*playbook.Play{play}}
	code, err := r.Run(ctx, func(int) (*playbook.Playbook, error) { return book, nil }, 1)
	m.end(codeAfter(code, err), r.Stats(), func(text string) { j.display.Note("%s", text) })
	if err != nil {
		return err
	}
	if code != 0 {
		return &exit{code: code}
	}
	return nil
}

// lateNames leaves a name that nothing stands for to the run: the one task of
// an ad hoc command fails on each host.
type lateNames struct {
	playbook.Plugins
	loading bool
}

// Action implements playbook.Plugins.
func (n *lateNames) Action(name string, collections []string) (string, bool, error) {
	resolved, ok, err := n.Plugins.Action(name, collections)
	if n.loading && !ok && err == nil {
		return "", true, nil
	}
	return resolved, ok, err
}

// adhocCallback is the name of the callback for standard output.
func (j *project) adhocCallback(opt *adhocOptions) string {
	set := j.config.String("DEFAULT_STDOUT_CALLBACK")
	switch {
	case opt.OneLine:
		return "oneline"
	case j.config.Bool("DEFAULT_LOAD_CALLBACK_PLUGINS") && shortCallback(set) != "default":
		return set
	}
	return "minimal"
}
