package modules

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"

	"volant/hostagent"
	"volant/hostagent/python"
	"volant/wire"
	"volant/wire/value"
)

// RunnerOptions configure a Runner.
type RunnerOptions struct {
	// PythonDir is a private directory for the Python server's own file; empty:
	// "python" in the cache of the first sub-task's Env.
	PythonDir string
	// Children bounds the Python modules run at once, Memory the address space
	// of each in bytes; 0: the defaults of package python.
	Children int
	Memory   int64
	// NoNative sends everything that has a Python module there.
	NoNative bool
	// KeepStderr adds what a Python module wrote to standard error to its
	// result, as the reference's async_wrapper does.
	KeepStderr bool
	Log        *slog.Logger
}

// runner runs natives in this process and the rest in Python.
type runner struct {
	opt RunnerOptions
	log *slog.Logger

	mu   sync.Mutex // guards pool
	pool *python.Pool
}

var _ hostagent.Finder = (*runner)(nil)

// NewRunner returns the Runner that agents, workers and the local session use.
func NewRunner(opt RunnerOptions) hostagent.Runner {
	log := opt.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &runner{opt: opt, log: log}
}

// Close ends the Python servers.
func (r *runner) Close() error {
	r.mu.Lock()
	p := r.pool
	r.pool = nil
	r.mu.Unlock()
	if p == nil {
		return nil
	}
	return p.Close()
}

func (r *runner) python(env *hostagent.Env) *python.Pool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pool == nil {
		dir := r.opt.PythonDir
		if dir == "" {
			dir = filepath.Join(env.Cache, "python")
		}
		r.pool = python.NewPool(python.Options{Dir: dir, Children: r.opt.Children, Log: r.log})
	}
	return r.pool
}

// builtin returns the short name of an ansible.builtin module.
func builtin(name string) string {
	for _, p := range []string{"ansible.builtin.", "ansible.legacy."} {
		if s, ok := strings.CutPrefix(name, p); ok {
			return s
		}
	}
	return name
}

// Run runs one sub-task: natively where a native of that name may stand in and
// covers the case, else in Python.
func (r *runner) Run(ctx context.Context, henv *hostagent.Env, t *wire.Task) (*wire.Outcome, error) {
	if t.Async > 0 {
		return r.startJob(ctx, henv, t)
	}
	args := t.Args.Dict
	if args == nil {
		args = value.NewDict(0)
	}
	environ := environment(henv.Environ, t)
	short := builtin(t.Module)
	if short == "raw" {
		return r.raw(ctx, henv, t, args, environ)
	}
	environ = coerceLocale(environ)
	found := discover(ctx, t.Python, environ)
	out, err := r.choose(ctx, henv, t, args, environ, found)
	if out != nil {
		out.Found = found.wire()
	}
	return out, err
}

// Find implements hostagent.Finder.
func (r *runner) Find(ctx context.Context, environ []string, t *wire.Task) *wire.Interpreter {
	return discover(ctx, t.Python, coerceLocale(environment(environ, t))).wire()
}

// choose runs the native where one of that name may stand in and covers the
// case, else the Python module.
func (r *runner) choose(ctx context.Context, henv *hostagent.Env, t *wire.Task, args *value.Dict, environ []string, found discovery) (*wire.Outcome, error) {
	why := ""
	short := builtin(t.Module)
	native, ok := Table[short]
	if ok && t.Native && (!r.opt.NoNative || t.Python == nil) {
		env := r.env(henv, t, environ)
		env.Python = found.Path
		res, err := native(ctx, env, args.Clone())
		var h *HandBack
		switch {
		case errors.As(err, &h):
			why = h.Reason
		case err != nil:
			return nil, err
		default:
			res.Set("_ansible_parsed", true)
			return &wire.Outcome{Result: wire.Dict{Dict: res}, Path: "native"}, nil
		}
	}
	if t.Python == nil {
		if why != "" {
			return fault(wire.FaultInterpreter, fmt.Sprintf("The module %s needs Python for this (%s), and no ansible-core was found to send.", t.Module, why)), nil
		}
		return fault(wire.FaultModule, fmt.Sprintf("The module %s is not built into the agent, and no ansible-core was found to send.", t.Module)), nil
	}
	return r.runPython(ctx, henv, t, args, environ, found, why)
}

func fault(code wire.FaultCode, text string) *wire.Outcome {
	return &wire.Outcome{Fault: &wire.Fault{Code: code, Text: text}}
}

// environment is the login's environment with the task's on top.
func environment(login []string, t *wire.Task) []string {
	if len(t.Environment) == 0 {
		return login
	}
	set := make(map[string]bool, len(t.Environment))
	for _, v := range t.Environment {
		set[v.Name] = true
	}
	out := make([]string, 0, len(login)+len(t.Environment))
	for _, kv := range login {
		if k, _, _ := strings.Cut(kv, "="); !set[k] {
			out = append(out, kv)
		}
	}
	for _, v := range t.Environment {
		out = append(out, v.Name+"="+v.Value)
	}
	return out
}

func taskOption(t *wire.Task, name string) any {
	if t.Options.Dict == nil {
		return nil
	}
	return t.Options.Dict.Lookup(name)
}

func (r *runner) env(henv *hostagent.Env, t *wire.Task, environ []string) *Env {
	e := &Env{
		Name: builtin(t.Module), Check: t.Check, Diff: t.Diff, Environ: environ, Cwd: henv.Cwd, Umask: henv.Umask, Tmpdir: henv.Staging,
		Forked: henv.Forked, Cache: henv.Cache,
	}
	if henv.Output != nil {
		e.Output = func(stream int, p []byte) { henv.Output(uint8(stream), p) }
	}
	if s, ok := value.Text(taskOption(t, "module_name")); ok {
		e.Name = s
	}
	if s, ok := value.Text(taskOption(t, "shell_executable")); ok {
		e.ShellExecutable = s
	}
	if s, ok := value.Text(taskOption(t, "version")); ok {
		e.Version = s
	}
	e.NoLog, _ = taskOption(t, "no_log").(bool)
	e.IgnoreUnknown, _ = taskOption(t, "ignore_unknown_opts").(bool)
	return e
}

func (r *runner) raw(ctx context.Context, henv *hostagent.Env, t *wire.Task, args *value.Dict, environ []string) (*wire.Outcome, error) {
	res, err := rawModule(ctx, r.env(henv, t, environ), args)
	if err != nil {
		return nil, err
	}
	return &wire.Outcome{Result: wire.Dict{Dict: res}, Path: "raw"}, nil
}

// discovery is the interpreter of a sub-task and what finding it has to say.
type discovery struct {
	python.Discovered
	asked bool
}

// discover settles the interpreter, looking for one when the configured value
// asks for that.
func discover(ctx context.Context, p *wire.Python, environ []string) discovery {
	if p == nil {
		return discovery{}
	}
	if !python.IsDiscovery(p.Interpreter) {
		return discovery{Discovered: python.Discovered{Path: p.Interpreter, Found: true}}
	}
	mode := p.Interpreter
	if mode == "" {
		mode = "auto"
	}
	return discovery{Discovered: python.Discover(ctx, mode, p.Fallback, environ), asked: true}
}

// wire is what the controller is told of it; nil when discovery was not asked for.
func (d discovery) wire() *wire.Interpreter {
	if !d.asked {
		return nil
	}
	return &wire.Interpreter{Path: d.Path, Warnings: d.Warnings, Absent: !d.Found}
}
