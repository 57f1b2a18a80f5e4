package execute

import (
	"cmp"
	"context"
	"crypto/sha1" //nolint:gosec // what the reference's modules compare
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"

	"volant/actions"
	"volant/controller/events"
	"volant/controller/fault"
	"volant/controller/playbook"
	"volant/controller/template"
	"volant/stage"
	"volant/wire/value"
)

// local is the controller's side of one item: what an action may use of it.
type local struct {
	*item
	ctx context.Context //nolint:containedctx // lives as long as one action
}

var _ actions.Controller = (*local)(nil)

// actionRun is what the item's action is given.
func (it *item) actionRun(ctx context.Context) *actions.Run {
	become := it.f.become
	if v, ok := it.connVar(ctx, "ansible_become"); ok {
		become, _ = playbook.ToBool(v)
	}
	plugin := actions.Short(cmp.Or(it.connText(ctx, "ansible_connection"), it.f.connection, "ssh"))
	_, marked, _ := it.v.Lookup("inventory_hostname")
	t := &actions.Task{
		Action: it.action, Args: it.args.Dict, RawArgs: it.raw,
		Marked:  func(arg string) bool { return it.args.Marked[arg] },
		Fetched: func(path string) bool { return it.r.opt.Store.Fetched(it.h.name, path) },
		Name:    it.ev.Bare, Check: it.f.check, Diff: it.f.diff, NoLog: it.f.noLog,
		Async: it.f.async, Poll: it.f.poll, AsyncDir: it.asyncDir(),
		Become: become, Local: plugin == "local", Delegated: it.delegate != "", DelegateFacts: it.f.delegateFacts,
		Verbosity: it.r.opt.Verbosity, Env: len(it.f.environment) > 0,
		Hostname: it.h.name, HostnameMarked: marked,
		Defaults: func(module string) *value.Dict {
			resolved, ok, err := it.r.opt.Loader.Plugins.Action(module, it.collections())
			if err != nil || !ok {
				resolved = module
			}
			s := it.scope(ctx, it.v)
			d, _, err := it.defaultArgs(s, resolved)
			if err != nil {
				return value.NewDict(0)
			}
			out, err := s.RenderArgs(d)
			if err != nil {
				return value.NewDict(0)
			}
			it.said = it.said || s.Saw()
			return out.Dict
		},
	}
	if strings.HasPrefix(it.task.Pos.File, "/") {
		t.TaskFile = it.task.Pos.File
	}
	if become {
		if b, err := it.becomeOf(ctx, "", 0); err == nil && b != nil {
			t.BecomeUser = b.User
		}
	}
	t.RemoteUser = cmp.Or(it.connText(ctx, "ansible_ssh_user", "ansible_user"), it.f.remoteUser)
	if cfg := it.r.opt.Config; cfg != nil {
		if t.MaxDiff = int64(cfg.Int("MAX_FILE_SIZE_FOR_DIFF")); t.MaxDiff <= 0 {
			t.MaxDiff = -1
		}
		t.FactModules = cfg.Strings("FACTS_MODULES")
		t.NetworkFacts, _ = cfg.Get("CONNECTION_FACTS_MODULES").(*value.Dict)
	}
	t.NetworkOS = func() string { return it.connText(ctx, "ansible_network_os") }
	if v, ok := it.connVar(ctx, "ansible_facts_modules"); ok {
		t.FactModules = texts(v)
	}
	if len(t.FactModules) == 0 {
		t.FactModules = []string{"smart"}
	}
	return &actions.Run{Task: t, Host: it.host, Controller: &local{item: it, ctx: ctx}}
}

func texts(v any) []string {
	l, ok := v.(*value.List)
	if !ok {
		return []string{text(v)}
	}
	var out []string
	for _, e := range l.Items {
		out = append(out, text(e))
	}
	return out
}

// Find implements actions.Controller.
func (c *local) Find(dir, name string) (string, error) {
	if name == "" {
		c.warn(events.Warning{Msg: `Invalid request to find a file that matches a "null" value`})
		return "", fileNotFound("", nil)
	}
	// Unlike lookups actions look beside the playbook last only, and once.
	path, tried, ok := c.scopeIn(c.ctx, c.v, c.task.SearchPath()).FindFile(dir, name)
	if ok {
		return path, nil
	}
	return "", fileNotFound(name, tried)
}

// fileNotFound is the reference's error for a missing controller file.
func fileNotFound(name string, tried []string) error {
	msg := "Could not find file"
	if name != "" {
		msg = fmt.Sprintf("Could not find or access '%s'", name)
	}
	if len(tried) > 0 {
		msg += "\nSearched in:\n\t" + strings.Join(tried, "\n\t")
	}
	msg += " on the Ansible Controller.\nIf you are using a module and expect the file to exist on the remote, see the remote_src option"
	return &fault.Error{Kind: fault.NotFound, Msg: msg}
}

// Open implements actions.Controller.
func (c *local) Open(path string, decrypt bool) (actions.Source, error) {
	st, err := os.Stat(path)
	if err != nil {
		return actions.Source{}, err
	}
	if !st.Mode().IsRegular() {
		return actions.Source{}, fmt.Errorf("%s is not a file", path)
	}
	if decrypt && c.r.vaulted(path) {
		b, _, err := c.r.opt.Files.Read(path)
		if err != nil {
			return actions.Source{}, err
		}
		src := c.Content(b)
		// The reference decrypts to a temporary file, whose name and mode it uses.
		src.Path, src.Mode = actions.LocalTmp(), 0o600
		return src, nil
	}
	f, sum, err := c.r.hashes.file(path)
	if err != nil {
		return actions.Source{}, err
	}
	return actions.Source{
		File: f, Path: path, Mode: uint32(st.Mode().Perm()), SHA1: sum,
		Data: func() ([]byte, error) { return os.ReadFile(path) },
	}, nil
}

// vaulted reports whether the file begins as an encrypted one does.
func (r *Runner) vaulted(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len("$ANSIBLE_VAULT"))
	n, _ := io.ReadFull(f, head)
	return string(head[:n]) == "$ANSIBLE_VAULT"
}

// Content implements actions.Controller.
func (c *local) Content(b []byte) actions.Source {
	sum := sha1.Sum(b) //nolint:gosec // as above
	return actions.Source{File: stage.BytesFile("", "", b), SHA1: hex.EncodeToString(sum[:]), Data: func() ([]byte, error) { return b, nil }}
}

// Render implements actions.Controller.
func (c *local) Render(v any) (any, bool, error) {
	out, marked, err := c.scope(c.ctx, c.v).Render(v)
	c.read(marked)
	return out, marked, err
}

// read notes that the action was given what a managed host had a say in.
func (c *local) read(marked bool) { c.touched = c.touched || marked }

// Condition implements actions.Controller.
func (c *local) Condition(v any) (bool, error) { return c.scope(c.ctx, c.v).Condition(v) }

// TemplateFile implements actions.Controller.
func (c *local) TemplateFile(path string, o actions.TemplateOptions, extra *value.Dict) ([]byte, error) {
	s := c.scope(c.ctx, c.v)
	b, marked, err := s.TemplateFile(path, "", template.FileOptions{
		BlockStart: o.BlockStart, BlockEnd: o.BlockEnd, VariableStart: o.VariableStart, VariableEnd: o.VariableEnd,
		CommentStart: o.CommentStart, CommentEnd: o.CommentEnd, NewlineSequence: o.NewlineSequence,
		NoTrimBlocks: !o.TrimBlocks, LstripBlocks: o.LstripBlocks, OutputEncoding: o.OutputEncoding,
	}, extra)
	c.read(marked)
	return b, err
}

// LoadVars implements actions.Controller.
func (c *local) LoadVars(path string) (any, bool, error) { return c.r.opt.Files.LoadFile(path) }

// Var implements actions.Controller.
func (c *local) Var(name string) (any, bool) {
	v, ok, err := c.VarOrError(name)
	return v, ok && err == nil
}

// Vars implements actions.Controller.
func (c *local) Vars() []string {
	var names []string
	for n := range c.v.Names() {
		names = append(names, n)
	}
	return names
}

// VarOrError implements actions.Controller.
func (c *local) VarOrError(name string) (any, bool, error) {
	v, marked, ok := c.v.Lookup(name)
	if !ok {
		return nil, false, nil
	}
	out, read, err := c.scope(c.ctx, c.v).Render(v)
	c.read(marked || read)
	return out, true, err
}

// Resolve implements actions.Controller.
func (c *local) Resolve(v any) (any, error) {
	s := c.scope(c.ctx, c.v)
	out, marked, err := s.Container(v)
	c.read(marked)
	return out, err
}

// Expression implements actions.Controller.
func (c *local) Expression(source any) (any, error) {
	t, ok := source.(*value.Template)
	if !ok {
		s, _ := source.(string)
		t0 := &fault.Error{
			Kind: fault.Template, Class: "TemplateTrustCheckFailedError", Msg: "Encountered untrusted template or expression.", Excerpt: s,
			Help: "Templates and expressions must be defined by trusted sources such as playbooks or roles, not untrusted sources such as module results.",
		}
		return nil, &fault.Error{Kind: fault.Template, Msg: varFailed, Cause: t0}
	}
	v, marked, err := c.scope(c.ctx, c.v).ExpressionReplacing(t)
	c.read(marked)
	if err != nil && c.ctx.Err() == nil {
		err = &fault.Error{Kind: fault.KindOf(err), Msg: varFailed, Pos: t.Pos, Cause: err}
	}
	return v, err
}

const varFailed = "Error while resolving `var` expression."

// Basedir implements actions.Controller.
func (c *local) Basedir() string { return c.b.play.Dir }

// RolePath implements actions.Controller.
func (c *local) RolePath() string {
	if c.task.Role == nil {
		return ""
	}
	return c.task.Role.Path
}

// HasModule implements actions.Controller.
func (c *local) HasModule(name string) bool {
	return c.r.opt.Modules != nil && c.r.opt.Modules.Has(name, c.unionScope())
}

// Warn implements actions.Controller.
func (c *local) Warn(text string) { c.warn(events.Warning{Msg: text}) }

// Prompt implements actions.Controller.
func (c *local) Prompt(ctx context.Context, text string, keys actions.Keys) (string, bool, error) {
	if c.r.opt.Keys == nil {
		return "", false, nil
	}
	return c.r.opt.Keys(ctx, text, keys)
}

// Display implements actions.Controller.
func (c *local) Display(text string) { c.r.opt.Display.Print(text, "") }
