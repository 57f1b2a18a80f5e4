package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"volant/controller/config"
	"volant/controller/events"
	"volant/controller/fault"
	"volant/controller/inventory"
	"volant/controller/playbook"
	"volant/controller/plugins"
	"volant/controller/template"
	"volant/controller/union"
	"volant/controller/vars"
	"volant/controller/vault"
	"volant/controller/yaml"
	"volant/wire/value"
)

// project is what every command that knows hosts and files works with.
type project struct {
	*process
	config  *config.Config
	display *events.Display
	vault   *vault.Vault
	files   *yaml.Files
	engine  *template.Engine
	inv     *inventory.Inventory
	extra   *value.Dict
	prompt  *prompter
	plugins *plugins.Helper // nil before it is known where they are
}

// configure reads the configuration and makes the display.
func configure(p *process, verbose int) (*project, error) {
	cfg, err := config.Load(config.Source{Getenv: p.getenv, Dir: p.dir, Home: p.home})
	if err != nil { // so early the reference has another form, too
		fmt.Fprintf(p.stderr, "ERROR: %s\n", strings.TrimSpace(fault.Verbose(err)))
		return nil, &exit{code: codeOptions}
	}
	j := &project{process: p, config: cfg, prompt: newPrompter(p)}
	log := openLog(p, cfg.String("DEFAULT_LOG_PATH"), cfg.Strings("DEFAULT_LOG_FILTER"))
	d := events.NewDisplay(p.stdout, p.stderr, log)
	d.Verbosity = verbose + cfg.Int("DEFAULT_VERBOSITY")
	d.LogVerbosity = cfg.Int("LOG_VERBOSITY")
	d.Color = (p.color || cfg.Bool("ANSIBLE_FORCE_COLOR")) && !cfg.Bool("ANSIBLE_NOCOLOR")
	if p.width > 0 {
		d.Columns = max(79, p.width-1)
	}
	d.Deprecations = cfg.Bool("DEPRECATION_WARNINGS")
	d.VerboseErr = cfg.Bool("VERBOSE_TO_STDERR")
	d.Debugging = cfg.Bool("DEFAULT_DEBUG")
	d.Colors = colors(cfg)
	j.display, p.said = d, d
	j.oldOnes()
	return j, nil
}

// colorNames are the events whose colours can be set.
var colorNames = []string{
	"changed", "debug", "deprecate", "diff_add", "diff_lines", "diff_remove", "error", "highlight", "included", "ok",
	"skip", "unreachable", "verbose", "warn",
}

func colors(cfg *config.Config) map[string]string {
	out := map[string]string{}
	for _, n := range colorNames {
		out[n] = cfg.String("COLOR_" + strings.ToUpper(n))
	}
	return out
}

// greet shows which configuration is in use.
func (j *project) greet() {
	if j.display.Verbosity >= 2 {
		j.display.Print(j.banner(), "verbose")
	}
	if j.config.File != "" {
		j.display.Verbose(1, fmt.Sprintf("Using %s as config file", j.config.File))
	} else {
		j.display.Verbose(1, "No config file found; using defaults")
	}
	for _, w := range j.config.Warnings() {
		j.display.Note("%s", w)
	}
	for _, d := range j.config.Deprecations() {
		j.display.Deprecated(d)
	}
}

// banner is what --version prints under the names of ansible-core's commands.
func (j *project) banner() string {
	file := j.config.File
	if file == "" {
		file = "None"
	}
	self, _ := os.Executable()
	name := strings.TrimPrefix(j.name, "volant ")
	return fmt.Sprintf("%s [core %s]\n  config file = %s\n  configured module search path = %s\n  ansible collection location = %s\n  executable location = %s\n  volant version = %s",
		name, union.CoreVersion, file, value.Repr(value.Strings(j.config.Strings("DEFAULT_MODULE_PATH")...)),
		strings.Join(j.config.Strings("COLLECTIONS_PATHS"), ":"), self, release())
}

// secrets loads the vault's passwords.
func (j *project) secrets(ctx context.Context, opt vaultOptions) error {
	j.vault = vault.New()
	j.vault.MatchID = j.config.Bool("DEFAULT_VAULT_ID_MATCH")
	if _, err := j.vault.Load(ctx, vaultWanted(j.process, j.config, opt), asker{j.asking(), ctx}, j.display); err != nil {
		return err
	}
	j.files = &yaml.Files{Vault: j.vault, Sink: j.display, Done: ctx.Done()}
	switch j.config.String("DUPLICATE_YAML_DICT_KEY") {
	case "error":
		j.files.Duplicates = yaml.DuplicatesError
	case "ignore":
		j.files.Duplicates = yaml.DuplicatesIgnore
	}
	j.engine = template.New(template.Options{
		Vault: j.vault, Sink: j.display, Getenv: j.getenv,
		AllowBrokenConditionals: j.config.Bool("ALLOW_BROKEN_CONDITIONALS"),
		NoEmbeddedTemplates:     !j.config.Bool("ALLOW_EMBEDDED_TEMPLATES"),
		ManagedString:           j.config.String("DEFAULT_MANAGED_STR"),
		Settings:                settings{j},
		Plugins:                 latePlugins{j},
		Lookups:                 latePlugins{j}.lookup,
	})
	return nil
}

// settings answers the config lookup.
type settings struct{ j *project }

// Setting implements template.Settings. Plugins in no table of ours are asked
// for in Python.
func (s settings) Setting(l *template.LookupCall, name, kind, plugin string) (v any, origin string, ok bool, err error) {
	var bad error // of a variable that does not render
	vars := func(name string) (any, bool) {
		v, ok, err := l.Variable(name)
		bad = cmp.Or(bad, err)
		return v, ok && err == nil
	}
	var got config.Value
	switch {
	case kind == "":
		got, ok, err = s.j.config.InTask(name, vars)
	case config.PluginOption(kind, plugin, name) != nil:
		ok = true
		got, err = s.j.config.Option(kind, plugin, name, vars, nil)
	case s.j.plugins == nil:
		return nil, "", false, &fault.Error{Msg: fmt.Sprintf("Unable to load %s plugin %s.", kind, value.Repr(plugin))}
	default:
		return s.j.plugins.Setting(l, name, kind, plugin)
	}
	return got.Value, got.Origin, ok, cmp.Or(bad, err)
}

// variables reads the options -e.
func (j *project) variables(opts []string) error {
	j.extra = value.NewDict(0)
	for _, o := range opts {
		if o == "" {
			continue
		}
		var v any
		var err error
		shown := o
		switch {
		case o[0] == '@':
			shown = "@" + j.absolute(o[1:])
			v, _, err = j.files.LoadFile(shown[1:])
		case o[0] == '/' || o[0] == '.':
			return fault.New(fault.Options, value.Pos{}, "Please prepend extra_vars filename '%s' with '@'", o)
		case o[0] == '[' || o[0] == '{':
			v, err = j.files.LoadString(o, "<CLI option '-e'>")
		default:
			v, err = playbook.ParseKV(o, false, value.Pos{File: "<CLI option '-e'>"})
		}
		if err != nil {
			return err
		}
		d, ok := v.(*value.Dict)
		if !ok {
			return fault.New(fault.Options, value.Pos{}, "Invalid extra vars data supplied. '%s' could not be made into a dictionary", shown)
		}
		j.extra = inventory.CombineVars(j.extra, d, j.config.String("DEFAULT_HASH_BEHAVIOUR") == "merge")
	}
	return nil
}

func (j *project) absolute(path string) string {
	if strings.HasPrefix(path, "~/") {
		path = filepath.Join(j.home, path[2:])
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(j.dir, path)
	}
	return filepath.Clean(path)
}

// gather reads the variables of -e and the inventory; what is wrong with the
// variables is said after what is wrong with the inventory.
func (j *project) gather(ctx context.Context, extra, sources []string, playbookDir string, fresh bool) error {
	bad := j.variables(extra)
	if err := j.load(ctx, sources, playbookDir, fresh); err != nil {
		return err
	}
	return bad
}

// load reads the inventory. playbookDir, where there is one, may hold inventory
// plugins; fresh has those read again what they keep.
func (j *project) load(ctx context.Context, sources []string, playbookDir string, fresh bool) error {
	if len(sources) == 0 {
		sources = j.config.Strings("DEFAULT_HOST_LIST")
	}
	opt := j.inventoryOptions()
	late := &lateSources{j: j, dir: playbookDir}
	defer late.end()
	opt.Plugins, opt.NoCache = late, fresh
	inv, err := inventory.Load(ctx, sources, opt)
	j.inv = inv
	if ctx.Err() != nil { // what was interrupted is not an inventory that is wrong
		return ctx.Err()
	}
	return err
}

func (j *project) inventoryOptions() inventory.Options {
	return inventory.Options{
		Config: j.config, Files: j.files, Sink: j.display, Dir: j.dir, Templar: templar{j.engine}, Extra: j.extra,
	}
}

// limit restricts the hosts to patterns and warns or fails when none is left.
func (j *project) limit(subset, pattern string) error {
	// Hosts of a source that could not be read to its end are in no group.
	everyone, err := j.inv.Match("all")
	if err != nil {
		return err
	}
	none := len(everyone) == 0
	if none && j.config.Bool("LOCALHOST_WARNING") && !slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, pattern) {
		j.display.Note("provided hosts list is empty, only localhost is available. Note that the implicit localhost does not match 'all'")
	}
	if subset != "" {
		if err := j.inv.Limit(subset); err != nil {
			return err
		}
	}
	found, err := j.inv.Select(pattern)
	if err != nil {
		return err
	}
	if len(found) == 0 && !none {
		return &fault.Error{Msg: "Specified inventory, host pattern and/or --limit leaves us with no hosts to target."}
	}
	return nil
}

// store makes the variables of a run.
func (j *project) store(basedir string, run *value.Dict) *vars.Store {
	return vars.New(j.storeOptions(basedir, run))
}

func (j *project) storeOptions(basedir string, run *value.Dict) vars.Options {
	return vars.Options{
		Config: j.config, Inventory: j.inv, Dirs: inventory.NewVarsDirs(j.inventoryOptions()), Files: j.files, Engine: j.engine,
		Sink: j.display, Extra: j.extra, Run: run, Cache: j.cache(), Basedir: basedir,
	}
}

// core finds ansible-core and makes the union of modules; nil without error
// when there is none. dirs are the playbooks', which may hold collections.
func (j *project) core(modulePath []string, playbookDirs ...string) (*union.Union, error) {
	path, _ := j.getenv("PATH")
	env, _ := j.getenv("VOLANT_ANSIBLE_CORE")
	core, err := union.FindCore(union.Places{
		Env: env, Config: j.config.String("VOLANT_ANSIBLE_CORE"), PATH: withoutSelf(filepath.SplitList(path)), Venvs: j.coreDirs(),
	})
	var missing *union.MissingError
	switch {
	case errors.As(err, &missing):
		return nil, nil
	case err != nil:
		return nil, err
	}
	cache := ""
	if dir := j.cacheDir(); dir != "" {
		cache = filepath.Join(dir, "union")
	}
	var dirs []string
	for _, m := range modulePath {
		for _, d := range filepath.SplitList(m) {
			dirs = append(dirs, j.absolute(d))
		}
	}
	var collections []string
	for _, d := range playbookDirs {
		collections = append(collections, filepath.Join(d, "collections"))
	}
	natives, facts := j.config.Bool("VOLANT_NATIVE_MODULES"), j.config.String("VOLANT_FACTS")
	return union.New(union.Options{
		Python: func(short string) bool { return !natives || short == "setup" && facts == "python" },
		Core:   core, Collections: append(collections, j.config.Strings("COLLECTIONS_PATHS")...),
		NoSysPath:       !j.config.Bool("COLLECTIONS_SCAN_SYS_PATH"),
		ModulePath:      append(dirs, j.config.Strings("DEFAULT_MODULE_PATH")...),
		ModuleUtilsPath: j.config.Strings("DEFAULT_MODULE_UTILS_PATH"), CacheDir: cache,
	}), nil
}

// withoutSelf leaves out directories whose `ansible` is a link to us.
func withoutSelf(dirs []string) []string {
	self, err := os.Executable()
	if err != nil {
		return dirs
	}
	self, _ = filepath.EvalSymlinks(self)
	var out []string
	for _, d := range dirs {
		if p, err := filepath.EvalSymlinks(filepath.Join(d, "ansible")); err == nil && p == self {
			continue
		}
		out = append(out, d)
	}
	return out
}

func (j *project) cacheDir() string {
	if d := j.config.String("VOLANT_CACHE_DIR"); d != "" {
		return d
	}
	return j.xdg("XDG_CACHE_HOME", ".cache")
}

func (j *project) stateDir() string {
	if d := j.config.String("VOLANT_STATE_DIR"); d != "" {
		return d
	}
	return j.xdg("XDG_STATE_HOME", ".local/state")
}

func (j *project) dataDir() string { return j.xdg("XDG_DATA_HOME", ".local/share") }

// xdg is Volant's directory below one of the user's.
func (j *project) xdg(env, below string) string {
	if d, ok := j.getenv(env); ok && filepath.IsAbs(d) {
		return filepath.Join(d, "volant")
	}
	if j.home == "" {
		return ""
	}
	return filepath.Join(j.home, below, "volant")
}
