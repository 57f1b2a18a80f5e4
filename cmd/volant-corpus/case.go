package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"volant/controller/config"
	"volant/controller/fault"
	"volant/controller/inventory"
	"volant/controller/jinja"
	"volant/controller/template"
	"volant/controller/vault"
	"volant/wire/pyjson"
	"volant/wire/value"
)

// caseTime bounds one case.
const caseTime = 30 * time.Second

// testCase is one recorded case.
type testCase struct {
	id, cat, line string
	d             *value.Dict
	warn          bool
	dir           string
	env           map[string]string
	messages      []string
}

// check renders the case in dir, which it makes and removes. problem is empty
// when everything is as recorded.
func (c *testCase) check(base, dir string) (problem string, err error) {
	c.dir = dir
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", fmt.Errorf("making a directory: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chdir(dir); err != nil {
		return "", fmt.Errorf("changing directory: %w", err)
	}
	defer func() { _ = os.Chdir("/") }()
	here := func(v any) (*value.Dict, error) {
		text, err := value.EncodeJSON(v, value.JSONStyle{Indent: -1})
		if err != nil {
			return nil, err
		}
		out, err := pyjson.DecodeString(strings.ReplaceAll(text, "$CASE_DIR", dir))
		if err != nil {
			return nil, err
		}
		d, _ := out.(*value.Dict)
		return d, nil
	}
	in, err := here(value.DictOf("template", c.d.Lookup("template"), "vars", c.d.Lookup("vars"), "opts", c.d.Lookup("opts"), "files", c.d.Lookup("files"), "env", c.d.Lookup("env")))
	if err != nil {
		return "", err
	}
	b, err := pyjson.DecodeString(strings.ReplaceAll(base, "$CASE_DIR", dir))
	if err != nil {
		return "", err
	}
	if err := c.writeFiles(in.Lookup("files")); err != nil {
		return "", err
	}
	c.env = map[string]string{
		"HOME": dir, "USER": "deploy", "LOGNAME": "deploy", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC", "SHELL": "/bin/sh",
	}
	if env, ok := in.Lookup("env").(*value.Dict); ok {
		for k, v := range env.All() {
			c.env[value.Str(k)] = value.Str(v)
		}
	}
	vars := b.(*value.Dict)
	if more, ok := in.Lookup("vars").(*value.Dict); ok {
		vars.Update(more)
	}
	got, rerr := c.render(vars, in)
	return c.compare(got, rerr), nil
}

func (c *testCase) writeFiles(v any) error {
	files, ok := v.(*value.Dict)
	if !ok {
		return nil
	}
	for k, content := range files.All() {
		path := filepath.Join(c.dir, value.Str(k))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("making a directory: %w", err)
		}
		var err error
		switch content := content.(type) {
		case string:
			err = os.WriteFile(path, []byte(content), 0o644)
		case *value.Dict:
			if h, ok := content.Str("$hex"); ok {
				data, herr := hex.DecodeString(h)
				if herr != nil {
					return fmt.Errorf("reading a file of the case: %w", herr)
				}
				err = os.WriteFile(path, data, 0o644)
			} else if to, ok := content.Str("$link"); ok {
				err = os.Symlink(to, path)
			} else {
				err = os.MkdirAll(path, 0o755)
			}
		}
		if err != nil {
			return fmt.Errorf("writing a file of the case: %w", err)
		}
	}
	return nil
}

// vars are a case's variables.
type vars struct{ *value.Dict }

func (v vars) Lookup(name string) (any, bool, bool) {
	x, ok := v.Get(name)
	return x, false, ok
}

func (v vars) Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, k := range v.Keys() {
			if s, ok := value.Text(k); ok && !yield(s) {
				return
			}
		}
	}
}

// hosts are a case's inventory.
type hosts struct {
	vars  *value.Dict
	names []string
	inv   *inventory.Inventory
}

func (h *hosts) HostVars(name string) (template.Vars, bool) {
	d, ok := h.vars.Lookup(name).(*value.Dict)
	return vars{d}, ok
}
func (h *hosts) Hosts() []string { return h.names }
func (h *hosts) Match(pattern string) ([]string, error) {
	found, err := h.inv.Match(strings.Split(pattern, ",")...)
	names := make([]string, len(found))
	for i, x := range found {
		names[i] = x.Name
	}
	return names, err
}

// settings answers the config lookup from the defaults.
type settings struct{ c *config.Config }

func (s settings) Setting(_ *template.LookupCall, name, _, plugin string) (any, string, bool, error) {
	if plugin != "" {
		return nil, "default", true, nil
	}
	v := s.c.Lookup(name)
	return v.Value, v.Origin, v.Origin != "", nil
}

// Warning implements fault.Sink.
func (c *testCase) Warning(err error) { c.messages = append(c.messages, fault.Brief(err)) }

// Deprecated implements fault.Sink.
func (c *testCase) Deprecated(d fault.Deprecation) { c.messages = append(c.messages, d.Msg) }

// Verbose implements fault.Sink.
func (c *testCase) Verbose(int, string) {}

func (c *testCase) inventory(ctx context.Context, groups any) (*inventory.Inventory, error) {
	var b strings.Builder
	d, _ := groups.(*value.Dict)
	if d != nil {
		if all, ok := d.Lookup("all").(*value.List); ok {
			for _, h := range all.Items {
				fmt.Fprintln(&b, value.Str(h))
			}
		}
		for name, members := range d.All() {
			list, ok := members.(*value.List)
			if !ok || name == "all" || name == "ungrouped" {
				continue
			}
			fmt.Fprintf(&b, "[%s]\n", value.Str(name))
			for _, h := range list.Items {
				fmt.Fprintln(&b, value.Str(h))
			}
		}
	}
	path := c.dir + ".ini"
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		return nil, fmt.Errorf("writing the inventory: %w", err)
	}
	defer os.Remove(path)
	return inventory.Load(ctx, []string{path}, inventory.Options{Sink: c})
}

func (c *testCase) render(base, in *value.Dict) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), caseTime)
	defer cancel()
	v := vault.New(vault.Secret{ID: "default", Key: []byte("corpus-pass")}, vault.Secret{ID: "prod", Key: []byte("prod-pass")})
	tags := tagged{vault: v}
	h := &hosts{}
	if hv, ok := base.Lookup("hostvars").(*value.Dict); ok {
		if d, ok := hv.Lookup("$hostvars").(*value.Dict); ok {
			h.vars = tags.trusted(d).(*value.Dict)
			for _, k := range d.Keys() {
				h.names = append(h.names, value.Str(k))
			}
			base.Delete("hostvars")
		}
	}
	inv, err := c.inventory(ctx, base.Lookup("groups"))
	if err != nil {
		return nil, fmt.Errorf("loading the inventory: %w", err)
	}
	h.inv = inv
	getenv := func(name string) (string, bool) { s, ok := c.env[name]; return s, ok }
	conf, err := config.Load(config.Source{Getenv: func(string) (string, bool) { return "", false }, Dir: c.dir, Home: c.dir})
	if err != nil {
		return nil, fmt.Errorf("loading configuration: %w", err)
	}
	env := make([]string, 0, len(c.env))
	for k, x := range c.env {
		env = append(env, k+"="+x)
	}
	e := template.New(template.Options{Vault: v, Sink: c, Settings: settings{conf}, Getenv: getenv, Environ: env})
	opt := template.ScopeOptions{SearchPath: []string{c.dir}, Basedir: c.dir}
	if h.vars != nil {
		opt.Hosts = h
	}
	all := tags.trusted(base).(*value.Dict)
	s := e.Scope(ctx, vars{all}, opt)
	c.messages = nil
	tmpl := tags.trusted(in.Lookup("template"))
	opts, _ := in.Lookup("opts").(*value.Dict)
	switch mode, _ := c.d.Str("mode"); mode {
	case "conditional":
		return s.Condition(tmpl)
	case "template_file":
		return c.file(s, value.Str(in.Lookup("template")), opts)
	}
	if opts.Len() > 0 {
		t, ok := tmpl.(*value.Template)
		if !ok {
			return nil, errors.New("options for what is no text")
		}
		out, _, err := s.RenderOptions(t, overrides(opts))
		return out, err
	}
	out, _, err := s.Render(tmpl)
	return out, err
}

func overrides(opts *value.Dict) jinja.Options {
	o := jinja.Options{TrimBlocks: true, EscapeBackslashes: true}
	for k, p := range map[string]*string{
		"block_start_string": &o.BlockStart, "block_end_string": &o.BlockEnd, "variable_start_string": &o.VariableStart,
		"variable_end_string": &o.VariableEnd, "comment_start_string": &o.CommentStart, "comment_end_string": &o.CommentEnd,
		"newline_sequence": &o.NewlineSequence,
	} {
		if s, ok := opts.Str(k); ok {
			*p = s
		}
	}
	for k, p := range map[string]*bool{"trim_blocks": &o.TrimBlocks, "lstrip_blocks": &o.LstripBlocks, "keep_trailing_newline": &o.KeepTrailingNewline} {
		if b, ok := opts.Get(k); ok {
			*p = value.Truth(b)
			if text, ok := value.Text(b); ok {
				switch strings.ToLower(text) {
				case "no", "false", "off", "0", "n", "f":
					*p = false
				}
			}
		}
	}
	return o
}

// file does what the template action does before it copies.
func (c *testCase) file(s *template.Scope, text string, opts *value.Dict) (any, error) {
	fail := func(msg string) error { return &fault.Error{Class: "AnsibleActionFail", Msg: msg} }
	if opts.Has("state") {
		return nil, fail("'state' cannot be specified on a template")
	}
	o := overrides(opts)
	switch o.NewlineSequence {
	case `\n`:
		o.NewlineSequence = "\n"
	case `\r`:
		o.NewlineSequence = "\r"
	case `\r\n`:
		o.NewlineSequence = "\r\n"
	case "", "\n", "\r", "\r\n":
	default:
		return nil, fail("newline_sequence needs to be one of: \n, \r or \r\n")
	}
	path := filepath.Join(c.dir, "templates", "main.j2")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("making a directory: %w", err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return nil, fmt.Errorf("writing the template: %w", err)
	}
	enc, _ := opts.Str("output_encoding")
	fo := template.FileOptions{
		BlockStart: o.BlockStart, BlockEnd: o.BlockEnd, VariableStart: o.VariableStart, VariableEnd: o.VariableEnd,
		CommentStart: o.CommentStart, CommentEnd: o.CommentEnd, NewlineSequence: o.NewlineSequence,
		NoTrimBlocks: !o.TrimBlocks, LstripBlocks: o.LstripBlocks, OutputEncoding: enc,
	}
	out, _, err := s.TemplateFile(path, "main.j2", fo, value.DictOf("template_destpath", "/etc/app/main.conf"))
	if err != nil {
		return nil, err
	}
	if want, ok := c.d.Str("want_hex"); ok {
		return hexText{got: hex.EncodeToString(out), want: want}, nil
	}
	return string(out), nil
}

// hexText is a file in another encoding, compared by its bytes.
type hexText struct{ got, want string }
