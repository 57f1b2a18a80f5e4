package execute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"volant/actions"
	"volant/controller/events"
	"volant/controller/fault"
	"volant/controller/fleet"
	"volant/controller/playbook"
	"volant/controller/union"
	"volant/stage"
	"volant/wire"
	"volant/wire/value"
)

// remote is the managed host of one item: what an action calls.
type remote struct {
	*item
	n    uint32 // sub-tasks sent for this attempt
	conn *connection
	tr   Transport
	// found is the interpreter that the last sub-task discovered, nil when it
	// was named.
	found *wire.Interpreter
	// then is the result of what followed in the last sub-task, nil when nothing did.
	then   Dict
	noTree bool // the agent does not know directories
}

var (
	_ actions.TreeHost = (*remote)(nil)
	_ actions.StatHost = (*remote)(nil)
)

// rawModule runs a command line without Python.
const rawModule = "ansible.builtin.raw"

// Facts implements actions.Host.
func (h *remote) Facts() *value.Dict {
	name := h.h.name
	if h.delegate != "" {
		name = h.r.hostNamed(h.delegate)
	}
	return h.r.opt.Store.Facts(name)
}

// Module implements actions.Host.
func (h *remote) Module(ctx context.Context, name string, args *value.Dict, files ...stage.File) (actions.Result, error) {
	return h.module(ctx, name, args, false, files)
}

// Job implements actions.Host.
func (h *remote) Job(ctx context.Context, name string, args *value.Dict, files ...stage.File) (actions.Result, error) {
	return h.module(ctx, name, args, true, files)
}

func (h *remote) module(ctx context.Context, name string, args *value.Dict, job bool, files []stage.File) (actions.Result, error) {
	req, err := h.request(ctx, name, args, files)
	if err != nil {
		return nil, err
	}
	if t := &req.Task; job {
		t.Async = int64(h.f.async)
		t.JobID = jobID()
		t.Options.Dict = t.Options.Clone()
		if dir, ok := h.connVar(ctx, "ansible_async_dir"); ok {
			t.Options.Dict.Set("async_dir", dir)
		} else {
			t.Options.Dict.Set("async_dir", h.asyncDir())
		}
	}
	return h.answer(ctx, req)
}

// answer sends a module's sub-task and completes its result.
func (h *remote) answer(ctx context.Context, req *fleet.Request) (actions.Result, error) {
	res, err := h.send(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := h.checked(res); err != nil {
		return nil, err
	}
	h.discovered(res)
	return res, nil
}

// StatThen implements actions.StatHost.
func (h *remote) StatThen(ctx context.Context, args *value.Dict, next actions.Then) (stat, then actions.Result, err error) {
	req, err := h.request(ctx, "ansible.legacy.stat", args, nil)
	if err != nil {
		return nil, nil, err
	}
	if next.Same.Len()+next.Differs.Len() > 0 && h.builtins("ansible.legacy.copy", "ansible.legacy.file") { // else it is a stat like any
		req.Task.Then = &wire.Then{Checksum: next.Checksum, Same: wire.Dict{Dict: next.Same}, Differs: wire.Dict{Dict: next.Differs}}
		req.Later = next.File
	}
	if stat, err = h.answer(ctx, req); err != nil {
		return nil, nil, err
	}
	if then = h.then; then != nil {
		if err := h.checked(then); err != nil {
			return nil, nil, err
		}
		h.discovered(then)
	}
	return stat, then, nil
}

// builtins tells whether the names stand for the reference's own modules.
func (h *remote) builtins(names ...string) bool {
	for _, name := range names {
		if mod, err := h.resolve(name); err != nil || mod != nil && !mod.Builtin {
			return false
		}
	}
	return true
}

// request is a module's sub-task.
func (h *remote) request(ctx context.Context, name string, args *value.Dict, files []stage.File) (*fleet.Request, error) {
	req := &fleet.Request{Files: files}
	t := &req.Task
	t.Module = name
	t.Args = wire.Dict{Dict: args}
	mod, err := h.resolve(name)
	if err != nil {
		return nil, err
	}
	if mod != nil {
		t.Module = mod.Name
		t.Native = mod.Builtin
		py, err := h.r.opt.Modules.Python(mod)
		if err != nil {
			return nil, err
		}
		if err := h.interpreter(ctx, py); err != nil {
			return nil, err
		}
		t.Python = py
		req.Union = h.r.opt.Modules
		for _, w := range mod.Warnings {
			h.warn(events.Warning{Msg: w})
		}
	} else {
		t.Native = true
	}
	t.Options = wire.Dict{Dict: h.options(ctx, name)} // modules name themselves as they were called
	t.Check, t.Diff = h.f.check, h.f.diff
	t.Environment = h.f.environment
	return req, nil
}

// checked refuses a module's result that is no text where text is due, and
// completes it.
func (h *remote) checked(res Dict) error {
	if c := h.r.opt.Config; c == nil || c.Bool("MODULE_STRICT_UTF8_RESPONSE") {
		if err := strictText(res, 0); err != nil {
			return &fault.Error{Msg: "Refusing to deserialize an invalid UTF8 string value.", Cause: err,
				Help: "This check can be disabled with the `MODULE_STRICT_UTF8_RESPONSE` setting."}
		}
	}
	h.received(res)
	return nil
}

// resolve finds the file that a module name stands for; nil when there is no
// ansible-core and only natives can run.
func (h *remote) resolve(name string) (*union.Module, error) {
	if h.r.opt.Modules == nil {
		return nil, nil
	}
	m, err := h.r.opt.Modules.Resolve(name, h.unionScope())
	if errors.Is(err, union.ErrNotFound) {
		return nil, fmt.Errorf("The module %s was not found in configured module paths", name) //nolint:staticcheck // shown to users
	}
	return m, err
}

func (h *item) unionScope() union.Scope { return h.r.opt.Names.Scope(h.collections()) }

// options are the reference's _ansible_ arguments of a module. They are shared
// between hosts and not to be changed.
func (h *remote) options(ctx context.Context, name string) *value.Dict {
	k := moduleOptions{name: name, noLog: h.f.noLog || h.r.opt.Config != nil && h.quiet(ctx)}
	if h.r.opt.Config != nil {
		k.logInfo = cmp.Or(h.connText(ctx, "ansible_target_log_info"), h.r.opt.Config.String("TARGET_LOG_INFO"))
	}
	return h.r.moduleOptions.of(k, h.r)
}

// quiet tells whether modules leave nothing of their arguments in the log of
// the host.
func (h *remote) quiet(ctx context.Context) bool {
	if v, ok := h.connVar(ctx, "ansible_no_target_syslog"); ok {
		b, _ := playbook.ToBool(v)
		return b
	}
	return h.r.opt.Config.Bool("DEFAULT_NO_TARGET_SYSLOG")
}

// shell is what command lines run in.
func (r *Runner) shell() string {
	if r.opt.Config == nil {
		return "/bin/sh"
	}
	return cmp.Or(r.opt.Config.String("DEFAULT_EXECUTABLE"), "/bin/sh")
}

// send runs a sub-task on the host the item works on.
func (h *remote) send(ctx context.Context, req *fleet.Request) (Dict, error) {
	h.n++
	req.Task.ID = wire.TaskID{Host: h.h.name, Step: h.seq, Item: h.index, Attempt: h.attempt, N: h.n}
	begin := time.Now()
	ans, err := h.dispatch(ctx, req)
	wall := time.Since(begin)
	h.touched = h.touched || !h.own(ctx)
	ev := events.SubTask{Host: h.h.name, Action: h.ev.Action, Module: req.Task.Module, Wire: wall, Err: err}
	if ans != nil && ans.Outcome != nil {
		ev.Path = ans.Path
		if ans.Then.Dict != nil {
			ev.Module = "ansible.legacy.copy"
		}
		ev.RoundTrips, ev.Sent, ev.Received = ans.RoundTrips, ans.Sent, ans.Received
		ev.Work = time.Duration(ans.Timings.Work)
		ev.Wire = wall - ev.Work
		if ans.Became != "" {
			h.r.opt.Display.Verbose(4, "<"+h.targetName()+"> BECOME "+ans.Became)
		}
	}
	h.timing.Wire += ev.Wire
	h.timing.Host += ev.Work
	h.emit(ev)
	if err != nil {
		return nil, h.sendError(ctx, err)
	}
	d := ans.Result.Dict
	if d == nil {
		d = value.NewDict(0)
	}
	h.found, h.then = ans.Found, ans.Then.Dict
	return d, nil
}

// own reports whether what a sub-task answers is the controller's own word: it
// ran on the controller itself, and no managed host had a say in it.
func (h *remote) own(ctx context.Context) bool {
	c, err := h.decide(ctx)
	return err == nil && c.local && !h.said
}

// discovered adds to a result which Python was found, once a host.
func (h *remote) discovered(res Dict) {
	f := h.found
	if f == nil {
		return
	}
	host := h.targetName()
	if _, known := h.r.opt.Store.Facts(host).Str("discovered_interpreter_python"); known {
		return
	}
	for _, w := range f.Warnings {
		h.warn(events.Warning{Msg: strings.ReplaceAll(w, "%s", value.Repr(host))})
	}
	facts, ok := res.Lookup("ansible_facts").(*value.Dict)
	if !ok {
		facts = value.NewDict(1)
		res.Set("ansible_facts", facts)
	}
	facts.Set("discovered_interpreter_python", f.Path)
}

// sendError turns what the link says into what actions expect.
func (h *remote) sendError(ctx context.Context, err error) error {
	var (
		gone *fleet.Unreachable
		f    *wire.Fault
	)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, fleet.ErrLost):
		return actions.ErrLost
	case errors.As(err, &gone):
		return &actions.Unreachable{Err: gone}
	case errors.As(err, &f):
		if f.Code == wire.FaultLost {
			return actions.ErrLost
		}
		if f.Code == wire.FaultSilent {
			return &actions.Unreachable{Err: errors.New(f.Text)}
		}
		return f
	}
	return err
}

// received completes a module's result as the reference does when it arrives.
func (h *remote) received(res Dict) {
	for _, k := range res.Keys() {
		s, _ := value.Text(k)
		if strings.HasPrefix(s, "_ansible_") && s != "_ansible_parsed" || s == "add_host" || s == "add_group" {
			h.r.opt.Display.Note("Removed unexpected internal key in module return: %s = %s", s, text(res.Lookup(k)))
			res.Delete(k)
		}
	}
	for _, k := range []string{"warnings", "deprecations"} {
		if v, ok := res.Get(k); ok && !value.Truth(v) {
			res.Delete(k)
		}
	}
	if facts, ok := res.Lookup("ansible_facts").(*value.Dict); ok {
		for _, k := range facts.Keys() {
			s, _ := value.Text(k)
			if strings.HasPrefix(s, "discovered_interpreter_") || strings.HasPrefix(s, "ansible_discovered_interpreter_") {
				facts.Delete(k)
			}
		}
	}
	for _, k := range []string{"stdout", "stderr"} {
		if s, ok := res.Str(k); ok && !res.Has(k+"_lines") {
			res.Set(k+"_lines", lines(s))
		}
	}
	exc, had := res.Get("exception")
	if value.Truth(res.Lookup("failed")) || had && value.Truth(exc) {
		msg := "Unknown error."
		if m, ok := res.Get("msg"); ok {
			msg = text(m)
		}
		err := summary(exc, 0)
		if err == nil {
			err = &fault.Error{Msg: msg, AsIs: true}
		}
		parsed, ok := res.Lookup("_ansible_parsed").(bool)
		res.Set("exception", &captured{err, ok && !parsed})
	} else if had {
		res.Delete("exception")
	}
}

// maxCauses bounds the chain of errors that a module's result describes.
const maxCauses = 10

// summary is the error that a module described in its result: an ErrorSummary,
// or the event of one.
func summary(v any, depth int) error {
	d, ok := v.(*value.Dict)
	if !ok || depth > maxCauses {
		return nil
	}
	if ev, ok := d.Lookup("event").(*value.Dict); ok {
		d = ev
	}
	msg, ok := d.Str("msg")
	if !ok {
		return nil
	}
	e := &fault.Error{Msg: msg, AsIs: true}
	e.Help, _ = d.Str("help_text")
	if chain, ok := d.Lookup("chain").(*value.Dict); ok {
		follow, has := chain.Get("follow")
		if next := summary(chain.Lookup("event"), depth+1); next != nil && (!has || value.Truth(follow)) {
			e.Cause = next
		}
	}
	return e
}

// lines splits as Python's splitlines.
func lines(s string) *value.List {
	l := &value.List{Items: []any{}}
	for len(s) > 0 {
		i := strings.IndexAny(s, "\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029")
		if i < 0 {
			l.Items = append(l.Items, s)
			break
		}
		l.Items = append(l.Items, s[:i])
		switch {
		case strings.HasPrefix(s[i:], "\r\n"), strings.HasPrefix(s[i:], "\u0085"):
			i += 2
		case strings.HasPrefix(s[i:], "\u2028"), strings.HasPrefix(s[i:], "\u2029"):
			i += 3
		default:
			i++
		}
		s = s[i:]
	}
	return l
}

// Raw implements actions.Host.
func (h *remote) Raw(ctx context.Context, cmd, executable string, files ...stage.File) (actions.Result, error) {
	args := value.DictOf("_raw_params", cmd)
	if executable == "" {
		executable = h.r.shell()
	}
	if executable != "/bin/sh" {
		args.Set("executable", executable)
	}
	req := &fleet.Request{Files: files}
	req.Task.Module, req.Task.Native = rawModule, true
	req.Task.Args = wire.Dict{Dict: args}
	req.Task.Options = wire.Dict{Dict: h.options(ctx, rawModule)}
	if len(files) > 0 {
		req.Task.Environment = h.f.environment
	}
	got, err := h.send(ctx, req)
	if err != nil {
		return nil, err
	}
	return answered(got)
}

// answered is what a line's answer may hold, whatever else the host sent.
func answered(got Dict) (actions.Result, error) {
	rc, ok := got.Lookup("rc").(int64)
	if !ok {
		return nil, errors.New("the host answered a command line without a return code")
	}
	out, _ := got.Str("stdout")
	errs, _ := got.Str("stderr")
	return value.DictOf("rc", rc, "stdout", out, "stderr", errs, "stdout_lines", lines(out), "stderr_lines", lines(errs)), nil
}

// Get implements actions.Host.
func (h *remote) Get(ctx context.Context, path string, sink stage.Sink) error {
	req := &fleet.Request{Sink: sink}
	req.Task.Module, req.Task.Native = wire.GetModule, true
	req.Task.Args = wire.Dict{Dict: value.DictOf("path", path)}
	req.Task.Options = wire.Dict{Dict: value.NewDict(0)}
	res, err := h.send(ctx, req)
	if err != nil {
		return err
	}
	if value.Truth(res.Lookup("failed")) {
		msg, _ := res.Str("msg")
		return errors.New(msg)
	}
	return nil
}

// Tree implements actions.TreeHost.
func (h *remote) Tree(ctx context.Context, args *value.Dict, files ...stage.File) (ans actions.TreeAnswer, err error) {
	if h.noTree || !h.builtins("ansible.legacy.copy", "ansible.legacy.file", "ansible.legacy.stat") {
		return ans, actions.ErrNoTree
	}
	req := &fleet.Request{Files: files}
	t := &req.Task
	t.Module, t.Native = wire.TreeModule, true
	t.Args = wire.Dict{Dict: args}
	t.Options = wire.Dict{Dict: h.options(ctx, wire.TreeModule)}
	t.Check, t.Environment = h.f.check, h.f.environment
	res, err := h.send(ctx, req)
	var f *wire.Fault
	if errors.As(err, &f) && f.Code == wire.FaultModule {
		h.noTree = true // an agent of before there were trees
		return ans, actions.ErrNoTree
	}
	if err != nil {
		return ans, err
	}
	done, ok := res.Lookup("done").(int64)
	if !ok {
		return ans, errors.New("the host does not say how much of a directory it did")
	}
	ans.Done, ans.Changed = int(done), res.Bool("changed")
	if failed, ok := res.Lookup("result").(*value.Dict); ok {
		if err := h.checked(failed); err != nil {
			return ans, err
		}
		failed.Set("failed", true)
		ans.Failed = failed
	}
	return ans, nil
}

// Reconnect implements actions.Host.
func (h *remote) Reconnect(ctx context.Context) (string, error) {
	if err := h.connect(ctx); err != nil {
		return "", err
	}
	id, err := h.tr.Reconnect(ctx)
	if err != nil {
		return "", h.sendError(ctx, err)
	}
	return id, nil
}
