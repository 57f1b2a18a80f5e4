package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"volant/controller/config"
	"volant/controller/events"
	"volant/controller/fault"
	"volant/controller/plugindoc"
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
	lib, err := j.docLibrary()
	if err != nil {
		d.Note("Without the descriptions of ansible-core: %s", err) // what is set can be shown all the same
	}
	r := configReport{c: c, kind: common.Type, plugins: common.Args, lib: lib, warn: d.Note}
	switch action {
	case "view":
		return r.view(ctx, p, d)
	case "list":
		defs, err := r.definitions()
		if err != nil {
			return err
		}
		text, err := defs.list(r.kind, opt.List.Format)
		if err != nil {
			return err
		}
		return p.page(ctx, c, d, text)
	case "init":
		defs, err := r.definitions()
		if err != nil {
			return err
		}
		return p.page(ctx, c, d, defs.init(opt.Init.Format, opt.Init.Disabled, c.String("ANSIBLE_HOME")))
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
	f, ok := p.direct().(*os.File)
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
	lib     *plugindoc.Library // nil without an ansible-core
	warn    func(format string, args ...any)
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

// required is the origin of what has no default and must be set.
const required = "REQUIRED"

// set tells whether somebody set it.
func (e configEntry) set() bool { return !e.value.IsDefault() && e.value.Origin != required }

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
	settings, err := r.options(kind, plugin)
	if err != nil {
		return nil, err
	}
	for _, s := range settings {
		v, err := r.c.Value(s.Setting)
		if err != nil {
			return nil, err
		}
		if s.required && v.Value == nil && v.IsDefault() {
			v.Origin = required
		}
		if s.other != nil && v.IsDefault() {
			v.Value = s.other
		}
		if e := (configEntry{s.Name, v}); !changed || e.set() {
			out = append(out, e)
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
		return configTypes[2:]
	}
	return []string{r.kind}
}

// names are the plugins of a kind that were named, or all. One that is deprecated
// starts with an underscore.
func (r configReport) names(kind string) []string {
	known := config.PluginNames(kind)
	if r.lib != nil {
		known = r.lib.Configurable(kind)
	}
	if r.kind != kind || len(r.plugins) == 0 {
		return known
	}
	var names []string
	for _, n := range r.plugins {
		short, ok := strings.TrimPrefix(n, "ansible.builtin."), false
		if r.lib != nil {
			short, ok = r.lib.Configured(kind, n)
		} else {
			ok = slices.Contains(known, short)
		}
		if ok {
			names = append(names, short)
		} else {
			r.warn("Skipping %s as we could not find matching plugin", n)
		}
	}
	return names
}

// niceName is how the name of a plugin is shown.
func niceName(name string) string {
	if short, old := strings.CutPrefix(name, "_"); old {
		return short + " (DEPRECATED)"
	}
	return name
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
		byServer := value.NewDict(0)
		for _, server := range r.servers() {
			entries, err := r.serverEntries(server)
			if err != nil {
				return "", err
			}
			all := &value.List{}
			for _, e := range entries {
				d := e.dict()
				d.Set("type", nil)
				all.Items = append(all.Items, d)
			}
			byServer.Set(server, all)
			lines = append(lines, "\n"+server+"\n"+strings.Repeat("=", len(server)))
			sort.Slice(entries, func(i, j int) bool { return entries[i].name < entries[j].name })
			for _, e := range entries {
				if !changed || e.set() {
					lines = append(lines, e.line())
				}
			}
		}
		list.Items = append(list.Items, value.DictOf("GALAXY_SERVERS", byServer))
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
			name = niceName(name)
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
	if r.base() {
		for _, server := range r.servers() {
			for _, s := range serverSettings(server, r.c) {
				know(s)
			}
		}
	}
	for _, kind := range r.kinds() {
		for _, name := range r.names(kind) {
			options, err := r.options(kind, name)
			if err != nil {
				return err
			}
			for _, s := range options {
				know(s.Setting)
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
