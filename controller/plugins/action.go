package plugins

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"volant/actions"
	"volant/controller/fault"
	"volant/controller/jinja"
	"volant/stage"
	"volant/wire/shlex"
	"volant/wire/value"
)

// Action returns an action plugin in Python by the full name of an action, of a
// project (ansible.legacy.NAME) or a collection, or of a module whose collection
// says which action does it. Those of ansible-core itself are in package actions.
func (h *Helper) Action(resolved string) (actions.Spec, bool) {
	name, ok := "", false
	if h.opt.Handler != nil {
		name = h.opt.Handler(resolved)
	}
	if name == "" {
		name = resolved
	}
	name, ok = h.actionName(name)
	if !ok {
		return actions.Spec{}, false
	}
	return actions.Spec{Async: true, Run: func(ctx context.Context, r *actions.Run) (actions.Result, error) {
		return h.run(ctx, r, name)
	}}, true
}

// actionName is the name that ansible-core's loader knows the plugin by.
func (h *Helper) actionName(resolved string) (string, bool) {
	if name, isLegacy := strings.CutPrefix(resolved, "ansible.legacy."); isLegacy {
		h.mu.Lock()
		defer h.mu.Unlock()
		if strings.ContainsAny(name, "./") {
			return "", false
		}
		for _, dir := range h.dirs {
			if isFile(filepath.Join(dir, "action_plugins", name+".py")) {
				return name, true
			}
		}
		for _, dir := range h.opt.Configured["action"] {
			if isFile(filepath.Join(dir, name+".py")) {
				return name, true
			}
		}
		return "", false
	}
	parts := strings.SplitN(resolved, ".", 3)
	if len(parts) < 3 || parts[0]+"."+parts[1] == "ansible.builtin" || h.opt.CollectionDir == nil || strings.Contains(parts[2], "/") {
		return "", false
	}
	dir := h.opt.CollectionDir(parts[0] + "." + parts[1])
	if dir == "" || !isFile(filepath.Join(dir, "plugins", "action", strings.ReplaceAll(parts[2], ".", "/")+".py")) {
		return "", false
	}
	return resolved, true
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// run runs an action plugin; what it does on the host are sub-tasks of the task.
func (h *Helper) run(ctx context.Context, r *actions.Run, name string) (actions.Result, error) {
	if err := refuseMarked(r); err != nil {
		return nil, err
	}
	args, err := codec{raw: true}.encode(asWritten(r.RawArgs, r.Args, 0), 0)
	if err != nil {
		return nil, err
	}
	frame := op("action")
	frame.Set("name", name)
	frame.Set("args", args)
	frame.Set("basedir", r.Controller.Basedir())
	frame.Set("task", taskOf(r))
	b := &bridge{ctx: ctx, r: r, sink: h.opt.Sink}
	if b.sink == nil {
		b.sink = fault.Discard
	}
	v, err := h.call(ctx, frame, b.serve)
	if b.fatal != nil {
		return nil, b.fatal
	}
	if err != nil {
		return nil, err
	}
	return b.outcome(v)
}

// asWritten is a rendered argument, in which texts that hold no template are the
// operator's own again: a plugin may evaluate them as expressions.
func asWritten(raw, v any, depth int) any {
	if depth > maxDepth {
		return v
	}
	switch v := v.(type) {
	case string:
		if t, ok := raw.(*value.Template); ok && t.Text == v && !jinja.LooksTemplate(v) {
			return t
		}
	case *value.Dict:
		from, ok := raw.(*value.Dict)
		if !ok {
			return v
		}
		out := value.NewDict(v.Len())
		for k, e := range v.All() {
			was, _ := from.Get(k)
			out.Set(k, asWritten(was, e, depth+1))
		}
		return out
	case *value.List:
		from, ok := raw.(*value.List)
		if !ok || from.Len() != v.Len() {
			return v
		}
		out := &value.List{Items: make([]any, len(v.Items))}
		for i, e := range v.Items {
			out.Items[i] = asWritten(from.Items[i], e, depth+1)
		}
		return out
	}
	return v
}

// refuseMarked keeps a managed host from naming the controller file that an
// action sends away. Which argument names one only the plugin knows; by custom
// it is src.
func refuseMarked(r *actions.Run) error {
	src, ok := r.Args.Str("src")
	if ok && r.Marked("src") && (strings.HasPrefix(src, "/") || strings.HasPrefix(src, "~") || strings.Contains("/"+src+"/", "/../")) {
		return actions.Fail("the src '%s' was named by a managed host, and a controller file a host chose is never read", src)
	}
	return nil
}

// taskOf is what a plugin sees of its task and connection.
func taskOf(r *actions.Run) *value.Dict {
	text := func(names ...string) string {
		for _, n := range names {
			if v, ok := r.Controller.Var(n); ok {
				if s, isText := value.Text(v); isText {
					return s
				}
			}
		}
		return ""
	}
	addr, connection, delegate := text("ansible_host"), "ssh", ""
	if addr == "" {
		addr = r.Hostname
	}
	if r.Local {
		connection = "local"
	}
	if r.Delegated {
		delegate = addr
	}
	port, _ := r.Controller.Var("ansible_port")
	if _, isNumber := value.ToInt(port); !isNumber {
		port = nil
	}
	return value.DictOf("action", r.Action, "name", r.Name, "async", int64(r.Async), "poll", int64(r.Poll),
		"check", r.Check, "diff", r.Diff, "no_log", r.NoLog, "verbosity", int64(r.Verbosity), "delegate_to", delegate,
		"become", r.Become, "become_user", r.BecomeUser, "become_method", text("ansible_become_method"),
		"remote_user", r.RemoteUser, "remote_addr", addr, "port", port, "connection", connection,
		"private_key_file", text("ansible_ssh_private_key_file", "ansible_private_key_file"))
}

// outcome is the result of an action plugin, or the failure it raised.
func (b *bridge) outcome(v any) (actions.Result, error) {
	d, _ := v.(*value.Dict)
	res, _ := d.Lookup("result").(*value.Dict)
	if res == nil {
		return nil, errors.New("the action plugin returned no dict")
	}
	if text, ok := res.Str("exception"); ok && b.exceptions[text] != nil {
		res.Set("exception", b.exceptions[text])
	}
	if msg, skipped := d.Str("skip"); skipped {
		return nil, &actions.Skip{Msg: msg, Result: res}
	}
	if chain, failed := d.Lookup("fail").(*value.List); failed {
		err := exceptions(chain.Items)
		return nil, &actions.Failure{Msg: err.Error(), Result: res, Cause: errors.Unwrap(err), During: d.Bool("during")}
	}
	return res, nil
}

// bridge gives an action plugin its host.
type bridge struct {
	ctx   context.Context //nolint:containedctx // of the one action it serves
	r     *actions.Run
	sink  fault.Sink
	fatal error // the host could not be reached or the sub-task is lost
	// exceptions are those of modules' results, by the text that stands for
	// them while the plugin has them.
	exceptions map[string]any
}

// shown is a module's result as the plugin gets it.
func (b *bridge) shown(res actions.Result, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	exc, ok := res.Get("exception")
	if _, isText := value.Text(exc); !ok || isText || exc == nil {
		return res, nil
	}
	if b.exceptions == nil {
		b.exceptions = map[string]any{}
	}
	name := "(exception " + strconv.Itoa(len(b.exceptions)+1) + " of a module)"
	b.exceptions[name] = exc
	res = res.Clone()
	res.Set("exception", name)
	return res, nil
}

func (b *bridge) serve(frame *value.Dict) *value.Dict {
	if frame.Has("note") {
		note(b.sink, frame)
		return nil
	}
	v, err := b.asked(frame)
	if err == nil {
		v, err = encode(v, 0)
	}
	if err != nil {
		var gone *actions.Unreachable
		if errors.As(err, &gone) || errors.Is(err, actions.ErrLost) {
			b.fatal = err
		}
		return refusal(err.Error())
	}
	d := value.NewDict(1)
	d.Set("value", v)
	return d
}

func (b *bridge) asked(frame *value.Dict) (any, error) {
	word := func(key string) string { s, _ := frame.Str(key); return s }
	switch c := b.r.Controller; word("ask") {
	case "names":
		return value.Strings(c.Vars()...), nil
	case "variable":
		v, _, err := c.VarOrError(word("name"))
		return v, err
	case "host":
		v, _, err := c.Render(hostVars(frame))
		return v, err
	case "find":
		return c.Find(word("dir"), word("name"))
	case "module":
		got, err := decode(frame.Lookup("args"), 0)
		if err != nil {
			return nil, err
		}
		args, ok := got.(*value.Dict)
		if !ok {
			return nil, errors.New("the arguments of a module are no dict")
		}
		run := b.r.Host.Module
		if frame.Bool("background") {
			run = b.r.Host.Job
		}
		return b.shown(run(b.ctx, word("name"), args))
	case "raw":
		return b.r.Host.Raw(b.ctx, word("cmd"), word("executable"))
	case "put":
		src, err := c.Open(word("path"), false)
		if err != nil {
			return nil, err
		}
		const arg = "VOLANT_STAGED_FILE"
		src.Arg = arg
		res, err := b.r.Host.Raw(b.ctx, "cat "+arg+" > "+shlex.Quote(word("dest")), "", src.File)
		if err != nil {
			return nil, err
		}
		if rc, _ := value.ToInt(res.Lookup("rc")); rc != 0 {
			text, _ := res.Str("stderr")
			return nil, errors.New("failed to transfer file to " + word("dest") + ":\n" + text)
		}
		return nil, nil
	case "get":
		sink, err := newDownload(word("dest"))
		if err != nil {
			return nil, err
		}
		return nil, b.r.Host.Get(b.ctx, word("path"), sink)
	case "reset":
		_, err := b.r.Host.Reconnect(b.ctx)
		return nil, err
	}
	return nil, errors.New("the helper for Python plugins asked what nobody answers")
}

// download is a file fetched for a plugin: it is there once it is whole.
type download struct {
	*os.File
	dest string
}

var _ stage.Sink = (*download)(nil)

func newDownload(dest string) (*download, error) {
	f, err := os.CreateTemp(filepath.Dir(dest), ".volant-")
	if err != nil {
		return nil, err
	}
	return &download{f, dest}, nil
}

// Close implements stage.Sink.
func (d *download) Close(err error) error {
	if e := d.File.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(d.Name(), d.dest)
	}
	if err != nil {
		_ = os.Remove(d.Name())
	}
	return err
}

// Restart implements stage.Restarter.
func (d *download) Restart() error {
	if _, err := d.Seek(0, 0); err != nil {
		return err
	}
	return d.Truncate(0)
}
