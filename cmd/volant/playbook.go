package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"volant/controller/compile"
	"volant/controller/events"
	"volant/controller/execute"
	"volant/controller/fault"
	"volant/controller/inventory"
	"volant/controller/journal"
	"volant/controller/playbook"
	"volant/controller/union"
	"volant/controller/vars"
	"volant/hostagent"
	"volant/wire/value"
)

// playbookOptions are those of ansible-playbook and a few of our own.
type playbookOptions struct {
	verbosityOptions
	inventoryOptions
	runOptions
	vaultOptions   `group:"Vault options"`
	connectOptions `group:"Connection options"`
	becomeOptions  `group:"Privilege escalation options"`
	ownOptions     `group:"Options of Volant alone"`

	Tags          []string `short:"t" sep:"none" help:"Only run plays and tasks with these tags."`
	SkipTags      []string `sep:"none" help:"Only run plays and tasks without these tags."`
	ForceHandlers bool     `help:"Run handlers even if a task fails."`
	SyntaxCheck   bool     `help:"Check the syntax of the playbooks and do nothing else."`
	ListTasks     bool     `help:"List the tasks that would run and do nothing else."`
	ListTags      bool     `help:"List the tags there are and do nothing else."`
	Step          bool     `help:"Confirm each task before it runs."`
	StartAtTask   string   `help:"Start at the task of this name."`
	Resume        string   `placeholder:"RUN" help:"Go on with a run that was broken off: --resume RUN, or --resume last. Without a name: list the runs."`
	Version       bool     `help:"Show the version."`
	Playbook      []string `arg:"" optional:"" help:"Playbooks to run, one after the other."`
}

// listing says that nothing is run.
func (o *playbookOptions) listing() bool {
	return o.SyntaxCheck || o.ListHosts || o.ListTasks || o.ListTags
}

func playbookMain(ctx context.Context, p *process, args []string) error {
	var opt playbookOptions
	if name, rest, ok := takeResume(args); ok && p.describe == nil {
		return resumeMain(ctx, p, name, rest)
	}
	if err := parse(p, &opt, "Run playbooks on the hosts of an inventory.", args); err != nil {
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
	for _, f := range opt.Playbook {
		if err := findPlaybook(j, f); err != nil {
			return err
		}
	}
	return j.playbooks(ctx, &opt, &keeper{args: args})
}

// findPlaybook refuses what is no file and no playbook of a collection.
func findPlaybook(j *project, name string) error {
	st, err := os.Stat(j.absolute(name))
	switch {
	case errors.Is(err, fs.ErrNotExist) && !collectionName(name):
		return &fault.Error{Msg: fmt.Sprintf("the playbook: %s could not be found", name)}
	case err == nil && !st.Mode().IsRegular() && st.Mode()&(fs.ModeNamedPipe|fs.ModeCharDevice) == 0:
		return &fault.Error{Msg: fmt.Sprintf("the playbook: %s does not appear to be a file", name)}
	}
	return nil
}

// flush forgets the cached facts of every host, where that was asked for.
func (j *project) flush(store *vars.Store, opt inventoryOptions) {
	if !opt.FlushCache {
		return
	}
	store.ClearFacts("localhost")
	for _, h := range j.inv.Hosts() {
		store.ClearFacts(h.Name)
	}
}

// playbookDirs are the directories whose `collections` come before those of the
// configuration.
func (j *project) playbookDirs(names []string) []string {
	var dirs []string
	for _, name := range names {
		path := j.absolute(name)
		if _, err := os.Stat(path); err != nil {
			continue // a collection's
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		dirs = append(dirs, filepath.Dir(path))
	}
	return dirs
}

func collectionName(s string) bool {
	return strings.Count(s, ".") >= 2 && !strings.ContainsAny(s, "/ ")
}

// playbooks is the whole command once its options are known.
func (j *project) playbooks(ctx context.Context, opt *playbookOptions, k *keeper) error {
	login := j.login(opt.connectOptions, opt.becomeOptions)
	if !opt.listing() {
		if err := j.askPasswords(ctx, login, opt.connectOptions, opt.becomeOptions); err != nil {
			return err
		}
	}
	if err := j.secrets(ctx, opt.vaultOptions); err != nil {
		return err
	}
	if k.w != nil || !opt.listing() && j.config.Int("VOLANT_KEEP_RUNS") > 0 {
		j.files.Seen = k.seen
	}
	dirs := j.playbookDirs(opt.Playbook)
	u, err := j.core(opt.ModulePath, dirs...)
	if err != nil {
		return err
	}
	if u != nil {
		defer func() { _ = u.Save() }() // a cache that cannot be kept costs time only
	}
	names, end := j.names(u, dirs...)
	defer end()
	for _, d := range dirs {
		names.AddDir(d)
	}
	if err := j.gather(ctx, opt.ExtraVars, opt.Inventory, "", opt.FlushCache); err != nil {
		return err
	}
	if err := j.limit(opt.Limit, "all"); err != nil {
		return err
	}
	tags, skip := j.tags("TAGS_RUN", opt.Tags), j.tags("TAGS_SKIP", opt.SkipTags)
	base := filepath.Dir(j.absolute(opt.Playbook[0]))
	store := j.store(base, j.runVars(opt.runOptions, opt.inventoryOptions, tags, skip))
	j.flush(store, opt.inventoryOptions)
	loader := j.loader(ctx, store, names)
	copt := compile.Options{Tags: tags, SkipTags: skip, ForceHandlers: opt.ForceHandlers || j.config.Bool("DEFAULT_FORCE_HANDLERS")}
	switch {
	case opt.SyntaxCheck:
		return j.syntax(ctx, loader, opt)
	case opt.ListHosts || opt.ListTasks || opt.ListTags:
		return j.list(loader, opt, copt)
	}
	if err := j.preflight(loader, names, opt, copt); err != nil {
		return err
	}
	return j.drive(ctx, opt, k, &execute.Options{
		Config: j.config, Inventory: j.inv, Store: store, Engine: j.engine, Loader: loader, Names: names, Actions: j.foreignAction, Files: j.files,
		Display: j.display, Modules: modulesOf(u), Compile: copt, Login: *login, Becomes: becomes,
		Check: opt.Check, Diff: opt.Diff || j.config.Bool("DIFF_ALWAYS"), Verbosity: j.display.Verbosity, Forks: j.forks(opt.runOptions),
		StartAt: opt.StartAtTask, Step: opt.Step, ForceHandlers: opt.ForceHandlers, Prompt: j.asker(), Line: j.lines(), Keys: j.keys(), AsyncDir: j.asyncDir(), Log: j.debugLog(),
		BootID: hostagent.BootID(), Unpack: journal.Unpacker{Decrypt: j.vault.DecryptString},
	})
}

// drive runs the playbooks that were prepared for: it connects, listens to
// what happens, and ends the run's journal and metrics.
func (j *project) drive(ctx context.Context, opt *playbookOptions, k *keeper, prepared *execute.Options) error {
	pr := newProfile(opt.Profile)
	m := newMeter(opt.MetricsFile, j.config.String("VOLANT_METRICS_FILE"), strings.Join(opt.Playbook, ","), j.config.Bool("VOLANT_METRICS_HOSTS"))
	m.try(func(text string) { j.display.Note("%s", text) })
	bus := events.NewBus()
	if pr != nil {
		defer func() { pr.report(j.stderr) }()
	}
	// As in the reference a playbook that cannot be read is refused first.
	listen := sync.OnceValue(func() error {
		err := j.callbacks(bus, j.config.String("DEFAULT_STDOUT_CALLBACK"), opt)
		bus.Add(m)
		if pr != nil {
			bus.Add(pr)
		}
		bus.Add(j.progress())
		return err
	})
	if err := k.begin(j, opt); err != nil {
		return err
	}
	tr, err := j.transports(ctx, filepath.Dir(j.absolute(opt.Playbook[0])), m, k)
	if err != nil {
		return errors.Join(err, k.w.Close())
	}
	defer tr.Close()
	prepared.Bus, prepared.Transport, prepared.Journal, prepared.Past = bus, tr, k.w, k.past
	r := execute.New(*prepared)
	code, err := r.Run(ctx, func(i int) (*playbook.Playbook, error) {
		book, err := prepared.Loader.Load(opt.Playbook[i])
		if err != nil {
			return nil, err
		}
		return book, listen()
	}, len(opt.Playbook))
	k.w.Sync() // before agents are told to forget
	tr.Close()
	k.end(j, code, err, len(r.Stats().Hosts()) > 0)
	m.end(codeAfter(code, err), r.Stats(), func(text string) { j.display.Note("%s", text) })
	if errors.Is(err, execute.ErrQuit) {
		return &exit{code: codeInterrupted}
	}
	if err != nil {
		return err
	}
	if code != 0 {
		return &exit{code: code}
	}
	return nil
}

// forks is how many hosts are worked on at once where the operator said so, or
// 0.
func (j *project) forks(opt runOptions) int {
	switch {
	case opt.Forks != nil:
		return *opt.Forks
	case j.config.IsSet("DEFAULT_FORKS"):
		return j.config.Int("DEFAULT_FORKS")
	}
	return 0
}

// forksGiven refuses less than one host at once.
func (j *project) forksGiven(opt runOptions) error {
	forks := j.config.Int("DEFAULT_FORKS")
	if opt.Forks != nil {
		forks = *opt.Forks
	}
	if forks < 1 {
		return j.refuse(j.grammar, "The number of processes (--forks) must be >= 1")
	}
	return nil
}

// modulesOf keeps a nil union from becoming an interface that is not nil.
func modulesOf(u *union.Union) execute.Modules {
	if u == nil {
		return nil
	}
	return u
}

func (j *project) loader(ctx context.Context, store *vars.Store, names *execute.Names) *playbook.Loader {
	cfg := playbook.Config{
		RolesPath: j.config.Strings("DEFAULT_ROLES_PATH"), InvalidTaskAttrFailed: j.config.Bool("INVALID_TASK_ATTRIBUTE_FAILED"),
		Combine: func(a, b *value.Dict) *value.Dict {
			return inventory.CombineVars(a, b, j.config.String("DEFAULT_HASH_BEHAVIOUR") == "merge")
		},
	}
	if j.config.IsSet("DEFAULT_PRIVATE_ROLE_VARS") {
		b := j.config.Bool("DEFAULT_PRIVATE_ROLE_VARS")
		cfg.PrivateRoleVars = &b
	}
	return &playbook.Loader{
		Files: j.files, Render: execute.NewRenderer(ctx, store, j.engine), Plugins: names, Sink: j.display, Config: cfg,
		Hosts: func(patterns []string) error {
			_, err := j.inv.Select(patterns...)
			return err
		},
		Variables: func(p *playbook.Play) error {
			_, err := store.Play(p, "", nil).For(ctx, "", nil, nil)
			return err
		},
	}
}

// tags are those of the configuration and of an option given any number of
// times, each time several separated by commas.
func (j *project) tags(setting string, given []string) []string {
	given = append(slices.Clone(j.config.Strings(setting)), given...)
	var out []string
	seen := map[string]bool{}
	for _, g := range given {
		for _, t := range strings.Split(g, ",") {
			if t = strings.TrimSpace(t); t != "" && !seen[t] {
				seen[t] = true
				out = append(out, t)
			}
		}
	}
	return out
}

// runVars are the magic variables that are the same for every task.
func (j *project) runVars(opt runOptions, inv inventoryOptions, tags, skip []string) *value.Dict {
	forks := j.config.Int("DEFAULT_FORKS")
	if opt.Forks != nil {
		forks = *opt.Forks
	}
	if len(tags) == 0 {
		tags = []string{"all"}
	}
	v := strings.Split(union.CoreVersion, ".")
	number := func(i int) any {
		n := int64(0)
		_, _ = fmt.Sscan(v[i], &n)
		return n
	}
	d := value.DictOf(
		"ansible_playbook_python", j.python(),
		"ansible_config_file", j.config.Get("CONFIG_FILE"),
		"ansible_version", value.DictOf("string", union.CoreVersion, "full", union.CoreVersion, "major", number(0), "minor", number(1), "revision", number(2)),
		"ansible_check_mode", opt.Check,
		"ansible_diff_mode", opt.Diff || j.config.Bool("DIFF_ALWAYS"),
		"ansible_forks", int64(forks),
		"ansible_inventory_sources", value.Strings(j.inv.Sources...),
		"ansible_skip_tags", value.Strings(skip...),
		"ansible_run_tags", value.Strings(tags...),
		"ansible_verbosity", int64(j.display.Verbosity),
	)
	if inv.Limit != "" {
		d.Set("ansible_limit", inv.Limit)
	}
	return d
}

// python is a Python of the controller's machine.
func (j *project) python() string {
	path, _ := j.getenv("PATH")
	for _, dir := range filepath.SplitList(path) {
		p := filepath.Join(dir, "python3")
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return p
		}
	}
	return "/usr/bin/python3"
}

func (j *project) asker() func(ctx context.Context, text string, echo bool, seconds int) (string, error) {
	if j.prompt == nil {
		return nil
	}
	return j.prompt.ask
}

// lines asks for lines of standard input where there is no terminal as well: what
// a step or the debugger is told may come from a file.
func (j *project) lines() func(ctx context.Context, text string) (string, error) {
	t := j.prompt
	if t == nil {
		if j.stdin == nil {
			return nil
		}
		t = &prompter{in: j.stdin, out: j.stdout, lines: bufio.NewReader(j.stdin)}
	}
	return func(ctx context.Context, text string) (string, error) { return t.ask(ctx, text, true, 0) }
}

func (j *project) asyncDir() string {
	d, _ := j.getenv("ANSIBLE_ASYNC_DIR")
	return d
}

// syntax is --syntax-check.
func (j *project) syntax(_ context.Context, l *playbook.Loader, opt *playbookOptions) error {
	if _, err := j.listed(l, opt.Playbook); err != nil {
		return err
	}
	for _, f := range opt.Playbook {
		fmt.Fprintf(j.stdout, "\nplaybook: %s\n", f)
	}
	return nil
}

// listed loads playbooks that are not to be run.
func (j *project) listed(l *playbook.Loader, names []string) ([]*playbook.Playbook, error) {
	books := make([]*playbook.Playbook, len(names))
	for i, name := range names {
		book, err := l.Load(name)
		if err != nil {
			return nil, err
		}
		j.display.Verbose(2, fmt.Sprintf("%d plays in %s", len(book.Plays), name))
		for _, p := range book.Plays {
			if _, err := l.Finish(p); err != nil {
				return nil, err
			}
		}
		books[i] = book
	}
	return books, nil
}

// list is --list-hosts, --list-tasks and --list-tags.
func (j *project) list(l *playbook.Loader, opt *playbookOptions, copt compile.Options) error {
	show := compile.ListOptions{Hosts: opt.ListHosts, Tasks: opt.ListTasks, Tags: opt.ListTags}
	copt.Tags = show.ListTags(copt.Tags, copt.SkipTags)
	books, err := j.listed(l, opt.Playbook)
	if err != nil {
		return err
	}
	for i, book := range books {
		text, err := compile.List(l, opt.Playbook[i], book.Plays, copt, show, func(p *playbook.Play) ([]string, error) {
			hosts, err := j.inv.Select(p.Values.Hosts...)
			var out []string
			for _, h := range hosts {
				out = append(out, h.Name)
			}
			return out, err
		})
		if err != nil {
			return err
		}
		fmt.Fprint(j.stdout, text)
	}
	return nil
}

// login are the connection options.
func (j *project) login(c connectOptions, b becomeOptions) *execute.Login {
	cfg := j.config
	l := &execute.Login{
		User: cmp.Or(c.User, cfg.String("DEFAULT_REMOTE_USER")), Connection: cmp.Or(c.Connection, cfg.String("DEFAULT_TRANSPORT")),
		PrivateKey:    cmp.Or(c.PrivateKey, cfg.String("DEFAULT_PRIVATE_KEY_FILE")),
		SSHCommonArgs: c.SSHCommonArgs, SSHExtraArgs: c.SSHExtraArgs,
		Timeout: time.Duration(cfg.Int("DEFAULT_TIMEOUT")) * time.Second,
		Become:  b.Become || cfg.Bool("DEFAULT_BECOME"), BecomeMethod: cmp.Or(b.BecomeMethod, cfg.String("DEFAULT_BECOME_METHOD")),
		BecomeUser: cmp.Or(b.BecomeUser, cfg.String("DEFAULT_BECOME_USER")),
	}
	if c.Timeout > 0 {
		l.Timeout = time.Duration(c.Timeout) * time.Second
	}
	if v, err := cfg.Option("connection", "ssh", "timeout", nil, nil); err == nil && c.Timeout == 0 && !v.IsDefault() {
		n, _ := v.Value.(int64)
		l.Timeout = time.Duration(n) * time.Second
	}
	l.Host, l.LocalUser = j.surroundings(), userName()
	return l
}
