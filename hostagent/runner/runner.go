// Package runner decides how a sub-task runs: by a native module where one
// stands in, else by the Python module, in a warm server or as a process of its
// own. It joins hostagent with hostagent/modules and hostagent/python, which
// know nothing of sessions and links.
package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"volant/hostagent"
	"volant/hostagent/modules"
	"volant/hostagent/python"
	"volant/wire"
	"volant/wire/value"
)

// Runner implements hostagent.Runner for one process and so for one user.
type Runner struct {
	log *slog.Logger

	mu     sync.Mutex // guards what follows
	pool   *python.Pool
	joined map[[2]string]*sync.Once
	found  map[string]*wire.Interpreter // by mode, candidates and PATH
}

var _ hostagent.Runner = (*Runner)(nil)

// New returns a Runner; nothing is started before it is needed.
func New(log *slog.Logger) *Runner {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Runner{log: log, joined: map[[2]string]*sync.Once{}, found: map[string]*wire.Interpreter{}}
}

// Close ends the warm servers.
func (r *Runner) Close() error {
	r.mu.Lock()
	pool := r.pool
	r.pool = nil
	r.mu.Unlock()
	if pool == nil {
		return nil
	}
	return pool.Close()
}

// Run implements hostagent.Runner.
func (r *Runner) Run(ctx context.Context, env *hostagent.Env, t *wire.Task) (*wire.Outcome, error) {
	begin := time.Now()
	environ := environment(env.Environ, t.Environment)
	found := r.discover(ctx, t.Python, environ)
	why := ""
	if m, ok := modules.Table[short(t.Module)]; ok && t.Native {
		out, err := r.native(ctx, env, t, m, environ, found)
		var back *modules.HandBack
		if !errors.As(err, &back) {
			if out != nil {
				out.Found = found
				out.Timings.Work = int64(time.Since(begin))
			}
			return out, err
		}
		why = back.Reason
	}
	if t.Python == nil {
		return noModule(t, why), nil
	}
	out, err := r.python(ctx, env, t, environ, found)
	if out != nil {
		out.Found = found
		if why != "" {
			out.Path += " (handed back: " + why + ")"
		}
	}
	return out, err
}

func noModule(t *wire.Task, why string) *wire.Outcome {
	text := fmt.Sprintf("The module %s is not built in and no Python file came with it", t.Module)
	if why != "" {
		text = fmt.Sprintf("The native module %s does not cover this (%s) and there is no Python one", t.Module, why)
	}
	return &wire.Outcome{Fault: &wire.Fault{Code: wire.FaultModule, Text: text}}
}

// short is a module's own name: native modules stand in for ansible.builtin's.
func short(module string) string { return module[strings.LastIndexByte(module, '.')+1:] }

func (r *Runner) native(ctx context.Context, env *hostagent.Env, t *wire.Task, m modules.Module, environ []string, found *wire.Interpreter) (*wire.Outcome, error) {
	opt := t.Options
	me := &modules.Env{
		Name: t.Module, Check: t.Check, Diff: t.Diff, NoLog: opt.Bool("no_log"),
		Environ: environ, Cwd: env.Cwd, Umask: env.Umask, Tmpdir: env.Staging,
		IgnoreUnknown: opt.Bool("ignore_unknown_opts"),
		Output:        func(stream int, p []byte) { env.Output(uint8(stream), p) },
		Forked:        env.Forked,
	}
	me.ShellExecutable, _ = opt.Str("shell_executable")
	me.Version, _ = opt.Str("version")
	if t.Python != nil {
		me.Python = interpreter(t.Python, found)
		if t.Python.Core != "" {
			me.Version = t.Python.Core
		}
	}
	args := t.Args.Dict
	if args == nil {
		args = value.NewDict(0)
	}
	res, err := m(ctx, me, args)
	if err != nil {
		return nil, err
	}
	return &wire.Outcome{Result: wire.Dict{Dict: res}, Path: "native"}, nil
}

// interpreter is the Python to use: configured, else discovered.
func interpreter(py *wire.Python, found *wire.Interpreter) string {
	if found != nil {
		return found.Path
	}
	return py.Interpreter
}

// discover looks for Python when the task asks for it; what was found is
// remembered for this process.
func (r *Runner) discover(ctx context.Context, py *wire.Python, environ []string) *wire.Interpreter {
	if py == nil || !python.IsDiscovery(py.Interpreter) || len(py.Fallback) == 0 {
		return nil
	}
	path := ""
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	key := strings.Join(append([]string{py.Interpreter, path}, py.Fallback...), "\x00")
	r.mu.Lock()
	f := r.found[key]
	r.mu.Unlock()
	if f != nil && !f.Absent { // one may have been installed meanwhile
		return f
	}
	d := python.Discover(ctx, py.Interpreter, py.Fallback, environ)
	f = &wire.Interpreter{Path: d.Path, Warnings: d.Warnings, Absent: !d.Found}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.found) > 256 {
		clear(r.found)
	}
	r.found[key] = f
	return f
}

func (r *Runner) python(ctx context.Context, env *hostagent.Env, t *wire.Task, environ []string, found *wire.Interpreter) (*wire.Outcome, error) {
	py := t.Python
	begin := time.Now()
	extra, err := env.Layout(ctx, py.Extra)
	if err != nil {
		return nil, err
	}
	req := &python.Request{
		Name: t.Module, FQN: py.FQN, File: py.File, Style: int(py.Style), Args: pythonArgs(env, t),
		Interpreter: r.interpreterFor(py, found), BaseHash: py.Base.String(), ExtraDir: extra,
		Environ: environ, Cwd: env.Cwd, Umask: env.Umask, TempDir: env.Staging,
	}
	if req.Style == python.StylePython || req.Style == python.StyleJSONArgs {
		if req.BaseDir, err = env.Layout(ctx, py.Base); err != nil {
			return nil, err
		}
		if err := r.join(req.BaseDir, extra); err != nil {
			return nil, err
		}
	}
	laid := time.Since(begin)
	out, err := r.servers(env).Run(ctx, req, env.Forked, func(stream int, p []byte) { env.Output(uint8(stream), p) })
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	res := python.Parse(out, req.Interpreter)
	return &wire.Outcome{
		Result: wire.Dict{Dict: res}, Path: "python",
		Timings: wire.Timings{Stage: int64(laid), Work: int64(max(out.Work, 1)), Queue: int64(time.Since(begin) - laid - out.Work)},
	}, nil
}

// interpreterFor is what runs the module: Python, or what is configured for
// the program of its shebang line.
func (r *Runner) interpreterFor(py *wire.Python, found *wire.Interpreter) string {
	words := strings.Fields(py.Shebang)
	if py.Style == python.StylePython || py.Style == python.StyleJSONArgs || len(words) == 0 {
		return interpreter(py, found)
	}
	name := filepath.Base(words[0])
	if name == "env" && len(words) > 1 {
		name = filepath.Base(words[1])
	}
	name = strings.TrimRight(name, "0123456789.")
	if name == "python" {
		return interpreter(py, found)
	}
	for _, o := range py.Overrides {
		if o.Name == name {
			return o.Value
		}
	}
	return ""
}

// join makes extra usable with base, once for a pair in this process.
func (r *Runner) join(base, extra string) (err error) {
	key := [2]string{base, extra}
	r.mu.Lock()
	once := r.joined[key]
	if once == nil {
		once = new(sync.Once)
		r.joined[key] = once
	}
	r.mu.Unlock()
	once.Do(func() {
		if err = python.Join(base, extra); err != nil {
			r.mu.Lock()
			delete(r.joined, key)
			r.mu.Unlock()
		}
	})
	return err
}

func (r *Runner) servers(env *hostagent.Env) *python.Pool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pool == nil {
		r.pool = python.NewPool(python.Options{Dir: filepath.Join(env.Cache, "python"), Log: r.log})
	}
	return r.pool
}

// pythonArgs are a Python module's arguments with the internal ones.
func pythonArgs(env *hostagent.Env, t *wire.Task) *value.Dict {
	args := value.NewDict(t.Args.Len() + t.Options.Len() + 4)
	args.Update(t.Args.Dict)
	for k, v := range t.Options.All() {
		if name, ok := value.Text(k); ok {
			args.Set("_ansible_"+name, v)
		}
	}
	args.Set("_ansible_check_mode", t.Check)
	args.Set("_ansible_diff", t.Diff)
	args.Set("_ansible_tmpdir", env.Staging)
	return args
}

// environment is a login's with the task's own on top.
func environment(login []string, task []wire.EnvVar) []string {
	if len(task) == 0 {
		return login
	}
	out := slices.Clone(login)
	for _, v := range task {
		prefix := v.Name + "="
		out = slices.DeleteFunc(out, func(kv string) bool { return strings.HasPrefix(kv, prefix) })
		out = append(out, prefix+v.Value)
	}
	return out
}
