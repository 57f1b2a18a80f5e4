package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"volant/controller/config"
	"volant/controller/events"
	"volant/controller/fault"
	"volant/controller/yaml"
	"volant/wire/value"
)

type configCommon struct {
	verbosityOptions
	Config string   `short:"c" help:"Configuration file; the first one found otherwise."`
	Type   string   `short:"t" default:"base" help:"Which settings: base, all, or a kind of plugin."`
	Args   []string `arg:"" optional:"" help:"Plugins, with --type."`
}

// configMain shows and checks the configuration.
func configMain(ctx context.Context, p *process, args []string) error {
	var opt struct {
		List struct {
			configCommon
			Format string `short:"f" enum:"json,yaml" default:"yaml" help:"Format: json or yaml."`
		} `cmd:"" help:"Print all settings there are."`
		Dump struct {
			configCommon
			OnlyChanged bool   `aliases:"changed-only" help:"Only those that are not at their default."`
			Format      string `short:"f" enum:"json,yaml,display" default:"display" help:"Format: json, yaml or display."`
		} `cmd:"" help:"Show the current settings."`
		View struct {
			configCommon
		} `cmd:"" help:"Show the configuration file."`
		Init struct {
			configCommon
			Format   string `short:"f" enum:"ini,env,vars" default:"ini" help:"Format: ini, env or vars."`
			Disabled bool   `help:"Put a comment mark before each entry."`
		} `cmd:"" help:"Write a first configuration."`
		Validate struct {
			configCommon
			Format string `short:"f" enum:"ini,env" default:"ini" help:"What to check: ini or env."`
		} `cmd:"" help:"Check the configuration file or the environment."`
	}
	if err := parse(p, &opt, "View the configuration.", args); err != nil {
		return err
	}
	action := p.action
	common := map[string]*configCommon{"list": &opt.List.configCommon, "dump": &opt.Dump.configCommon,
		"view": &opt.View.configCommon, "init": &opt.Init.configCommon, "validate": &opt.Validate.configCommon}[action]
	if common.Config != "" {
		if err := p.useConfig(common.Config); err != nil {
			return err
		}
	}
	j, err := configure(p, common.Verbose)
	if err != nil {
		return err
	}
	j.greet()
	c, d := j.config, j.display
	r := configReport{c: c, kind: common.Type, plugins: common.Args}
	switch action {
	case "view":
		return r.view(ctx, p, d)
	case "list":
		return p.page(ctx, c, d, r.list(opt.List.Format))
	case "init":
		return p.page(ctx, c, d, r.init(opt.Init.Format, opt.Init.Disabled))
	case "validate":
		return r.validate(p, d, opt.Validate.Format)
	}
	text, err := r.dump(opt.Dump.Format, opt.Dump.OnlyChanged, p)
	if err != nil {
		return err
	}
	return p.page(ctx, c, d, text)
}

// useConfig makes file the configuration file, as ANSIBLE_CONFIG does.
func (p *process) useConfig(file string) error {
	if !filepath.IsAbs(file) {
		file = filepath.Join(p.dir, file)
	}
	if unix.Access(file, unix.R_OK) != nil {
		return optionsError("The provided configuration file is missing or not accessible: %s", file)
	}
	getenv := p.getenv
	p.getenv = func(name string) (string, bool) {
		if name == "ANSIBLE_CONFIG" {
			return file, true
		}
		return getenv(name)
	}
	return nil
}

// page shows text through the pager when standard output is a terminal.
func (p *process) page(ctx context.Context, c *config.Config, d *events.Display, text string) error {
	pager := c.String("PAGER")
	f, ok := p.stdout.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || pager == "" {
		d.Print(text, "")
		return nil
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", pager)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), f, os.Stderr
	cmd.Env = append(os.Environ(), "LESS=FRSX")
	if err := cmd.Run(); err != nil {
		d.Print(text, "")
	}
	return nil
}

// configReport makes the outputs of the config command.
type configReport struct {
	c       *config.Config
	kind    string // base, all, or a kind of plugin
	plugins []string
}

func (r configReport) base() bool { return r.kind == "base" || r.kind == "all" }

// settings are the reference's settings; our own have their own section.
func (r configReport) settings() []config.Setting {
	var out []config.Setting
	for _, s := range config.Settings() {
		if !s.Own() && !strings.HasPrefix(s.Name, "_Z_") {
			out = append(out, s)
		}
	}
	return out
}

// entry is one setting with its value.
type configEntry struct {
	name  string
	value config.Value
}

func (e configEntry) dict() *value.Dict {
	return value.DictOf("name", e.name, "value", e.value.Value, "origin", e.value.Origin)
}

func (e configEntry) line() string {
	return fmt.Sprintf("%s(%s) = %s", e.name, e.value.Origin, value.Str(e.value.Value))
}

func (r configReport) entries(changed bool) []configEntry {
	out := []configEntry{{"CONFIG_FILE", r.c.Lookup("CONFIG_FILE")}}
	for _, s := range r.settings() {
		v := r.c.Lookup(s.Name)
		if s.Type == config.TmpPath {
			if dir, ok := v.Value.(string); ok {
				v.Value = fmt.Sprintf("%s/ansible-local-%d%08x", dir, os.Getpid(), rand.Uint32()) //nolint:gosec // a name to show
			}
		}
		out = append(out, configEntry{s.Name, v})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	if !changed {
		return out
	}
	kept := out[:0]
	for _, e := range out {
		if !e.value.IsDefault() {
			kept = append(kept, e)
		}
	}
	return kept
}

// pluginEntries are the options of one plugin.
func (r configReport) pluginEntries(kind, plugin string, changed bool) ([]configEntry, error) {
	var out []configEntry
	for _, s := range config.PluginOptions(kind, plugin) {
		v, err := r.c.Option(kind, plugin, s.Name, nil, nil)
		if err != nil {
			return nil, err
		}
		if !changed || !v.IsDefault() {
			out = append(out, configEntry{s.Name, v})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out, nil
}

func (r configReport) kinds() []string {
	switch r.kind {
	case "base":
		return nil
	case "all":
		return config.PluginKinds()
	}
	return []string{r.kind}
}

func (r configReport) names(kind string) []string {
	if r.kind == kind && len(r.plugins) > 0 {
		return r.plugins
	}
	return config.PluginNames(kind)
}

func (r configReport) dump(format string, changed bool, p *process) (string, error) {
	var lines []string
	list := &value.List{}
	if r.base() {
		for _, e := range r.entries(changed) {
			lines = append(lines, e.line())
			list.Items = append(list.Items, e.dict())
		}
		lines = append(lines, "\nGALAXY_SERVERS:\n")
		list.Items = append(list.Items, value.DictOf("GALAXY_SERVERS", value.NewDict(0)))
	}
	for _, kind := range r.kinds() {
		var own []string
		ownList := &value.List{}
		for _, name := range r.names(kind) {
			entries, err := r.pluginEntries(kind, name, changed)
			if err != nil {
				return "", err
			}
			if len(entries) == 0 {
				continue
			}
			own = append(own, "\n"+name+":\n"+strings.Repeat("_", len(name)))
			items := &value.List{}
			for _, e := range entries {
				own = append(own, e.line())
				items.Items = append(items.Items, e.dict())
			}
			ownList.Items = append(ownList.Items, value.DictOf(name, items))
		}
		if r.kind != "all" {
			lines, list.Items = append(lines, own...), append(list.Items, ownList.Items...)
			continue
		}
		if !changed || len(own) > 0 {
			lines = append(lines, "\n"+strings.ToUpper(kind)+":\n"+strings.Repeat("=", len(kind)))
			lines = append(lines, own...)
		}
		list.Items = append(list.Items, value.DictOf(strings.ToUpper(kind)+"_PLUGINS", ownList))
	}
	switch format {
	case "json":
		return indentedJSON(list, jsonStyle{ascii: true}), nil
	case "yaml":
		return yaml.Dump(list, dumpStyle())
	}
	return strings.Join(lines, "\n"), nil
}

// dumpStyle is the config command's: escaped where Block's is not.
func dumpStyle() yaml.Style {
	s := yaml.Block(2)
	s.AllowUnicode = false
	return s
}

func (r configReport) view(ctx context.Context, p *process, d *events.Display) error {
	if r.c.File == "" {
		return &exit{code: codeError, err: fault.New(fault.Generic, value.Pos{}, "Invalid or no config file was supplied")}
	}
	data, err := os.ReadFile(r.c.File)
	if err != nil {
		return fault.New(fault.Generic, value.Pos{}, "Failed to open config file: %s", err)
	}
	return p.page(ctx, r.c, d, string(data))
}

// describe is a setting as the list shows it.
func describe(s config.Setting) *value.Dict {
	d := value.NewDict(6)
	d.Set("name", s.Name)
	if s.Type != config.Any {
		d.Set("type", string(s.Type))
	}
	switch v := s.Default.(type) {
	case []string:
		d.Set("default", value.Strings(v...))
	case [][2]string:
		m := value.NewDict(len(v))
		for _, kv := range v {
			m.Set(kv[0], kv[1])
		}
		d.Set("default", m)
	default:
		d.Set("default", v)
	}
	if len(s.Choices) > 0 {
		d.Set("choices", value.Strings(s.Choices...))
	}
	names := func(list []string) *value.List {
		l := &value.List{}
		for _, n := range list {
			l.Items = append(l.Items, value.DictOf("name", n))
		}
		return l
	}
	if len(s.Env) > 0 {
		d.Set("env", names(s.Env))
	}
	if len(s.Vars) > 0 {
		d.Set("vars", names(s.Vars))
	}
	if len(s.Ini) > 0 {
		l := &value.List{}
		for _, e := range s.Ini {
			l.Items = append(l.Items, value.DictOf("key", e.Key, "section", e.Section))
		}
		d.Set("ini", l)
	}
	return d
}

func (r configReport) list(format string) string {
	all := value.NewDict(0)
	if r.base() {
		for _, s := range config.Settings() {
			if !strings.HasPrefix(s.Name, "_Z_") {
				all.Set(s.Name, describe(s))
			}
		}
		all.Set("GALAXY_SERVERS", value.NewDict(0))
	}
	if kinds := r.kinds(); len(kinds) > 0 {
		byKind := value.NewDict(0)
		for _, kind := range kinds {
			plugins := value.NewDict(0)
			for _, name := range r.names(kind) {
				options := value.NewDict(0)
				for _, s := range config.PluginOptions(kind, name) {
					options.Set(s.Name, describe(s))
				}
				plugins.Set(name, options)
			}
			if r.kind == "all" {
				kind = strings.ToUpper(kind)
			}
			byKind.Set(kind, plugins)
		}
		all.Set("PLUGINS", byKind)
	}
	if format == "json" {
		return indentedJSON(all, jsonStyle{ascii: true})
	}
	text, err := yaml.Dump(all, dumpStyle())
	if err != nil {
		return err.Error()
	}
	return text
}

// init is a configuration with every setting at its default.
func (r configReport) init(format string, disabled bool) string {
	var settings []config.Setting
	if r.base() {
		settings = config.Settings()
	}
	for _, kind := range r.kinds() {
		for _, name := range r.names(kind) {
			settings = append(settings, config.PluginOptions(kind, name)...)
		}
	}
	mark := ""
	if disabled {
		mark = map[string]string{"ini": ";", "env": "#", "vars": "#"}[format]
	}
	var order []string
	sections := map[string][]string{}
	seen := map[string]bool{}
	add := func(section, name, line string, s config.Setting) {
		if seen[section+"\x00"+name] {
			return
		}
		seen[section+"\x00"+name] = true
		if sections[section] == nil {
			order = append(order, section)
		}
		kind := string(s.Type)
		if kind == "" {
			kind = "string"
		}
		sections[section] = append(sections[section], "# ("+kind+") "+s.Name, mark+line, "")
	}
	for _, s := range settings {
		if strings.HasPrefix(s.Name, "_") {
			continue
		}
		def := initDefault(s, format)
		switch {
		case format == "ini" && len(s.Ini) > 0:
			e := s.Ini[len(s.Ini)-1]
			add(e.Section, e.Key, e.Key+"="+def, s)
		case format == "env" && len(s.Env) > 0:
			name := s.Env[len(s.Env)-1]
			add("", name, name+"="+def, s)
		case format == "vars" && len(s.Vars) > 0:
			name := s.Vars[len(s.Vars)-1]
			add("", name, name+": "+def, s)
		}
	}
	var out []string
	for _, section := range order {
		if format == "ini" {
			out = append(out, "["+section+"]")
		}
		out = append(out, sections[section]...)
		if format == "ini" {
			out = append(out, "")
		}
	}
	return strings.Join(out, "\n")
}

func initDefault(s config.Setting, format string) string {
	switch v := s.Default.(type) {
	case nil:
		return ""
	case bool:
		if format == "env" {
			if v {
				return "1"
			}
			return "0"
		}
		return value.Str(v)
	case []string:
		return strings.Join(v, ", ")
	case [][2]string:
		m := value.NewDict(len(v))
		for _, kv := range v {
			m.Set(kv[0], kv[1])
		}
		return value.Repr(m)
	case string:
		if strings.HasPrefix(v, "{{") {
			return strings.NewReplacer(`{{ ANSIBLE_HOME ~ "`, "~/.ansible", `" }}`, "", "{{ANSIBLE_HOME}}", "~/.ansible").Replace(v)
		}
		return v
	}
	return value.Str(s.Default)
}

// validate names what nobody knows in the file or the environment.
func (r configReport) validate(p *process, d *events.Display, format string) error {
	keys, env := map[string]map[string]bool{}, map[string]bool{}
	know := func(s config.Setting) {
		for _, e := range s.Ini {
			if keys[e.Section] == nil {
				keys[e.Section] = map[string]bool{}
			}
			keys[e.Section][strings.ToLower(e.Key)] = true
		}
		for _, n := range s.Env {
			env[n] = true
		}
	}
	for _, s := range config.Settings() {
		if r.base() || s.Own() {
			know(s)
		}
	}
	for _, kind := range r.kinds() {
		for _, name := range r.names(kind) {
			for _, s := range config.PluginOptions(kind, name) {
				know(s)
			}
		}
	}
	found := false
	unknown := func(format string, args ...any) {
		found = true
		d.Error(fault.New(fault.Generic, value.Pos{}, format, args...), true)
	}
	switch format {
	case "ini":
		for _, s := range r.c.FileSections() {
			if keys[s.Name] == nil {
				unknown("Found unknown section '%s' in '%s.", s.Name, r.c.File)
				continue
			}
			for _, k := range s.Keys {
				if !keys[s.Name][k] {
					unknown("Found unknown key '%s' in section '%s' in '%s.", k, s.Name, r.c.File)
				}
			}
		}
	case "env":
		for _, kv := range os.Environ() {
			name, _, _ := strings.Cut(kv, "=")
			if !strings.HasPrefix(name, "ANSIBLE_") || strings.HasPrefix(name, "ANSIBLE_TEST_") ||
				strings.HasPrefix(name, "ANSIBLE_LINT_") || name == "ANSIBLE_CONFIG" || name == "ANSIBLE_DEV_HOME" {
				continue
			}
			if !env[name] {
				unknown("Found unknown environment variable '%s'.", name)
			}
		}
	}
	if found {
		return &exit{code: codeError}
	}
	_, err := io.WriteString(p.stdout, "All configurations seem valid!\n")
	return err
}
