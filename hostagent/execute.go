package hostagent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"volant/stage"
	"volant/wire"
	"volant/wire/value"
)

var (
	errCancelled = errors.New("cancelled by the controller")
	errTimeout   = errors.New("timed out")
)

// executor runs sub-tasks as this process's user: in the agent for its own
// user, in a worker for another.
type executor struct {
	runner  Runner
	area    *stage.Area
	store   *stage.Store
	cache   string
	login   func() Login
	session string
	maxFile int64 // bytes of one staged file; 0: no limit
	log     *slog.Logger
}

// hooks is what happens around a sub-task that its owner must know.
type hooks struct {
	started func() error    // before anything is done; an error refuses the sub-task
	forked  func(group int) // it runs in that process group
}

// execute stages, runs and cleans up one sub-task. It always returns an outcome.
func (x *executor) execute(ctx context.Context, t *talk, task *wire.Task, h hooks) (out *wire.Outcome) {
	begin := time.Now()
	defer func() {
		if p := recover(); p != nil {
			x.log.Error("Module panicked", "module", task.Module, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			out = fault(wire.FaultInternal, true, fmt.Errorf("module %s: internal error: %v", task.Module, p))
		}
	}()
	dir, err := x.area.Get()
	if err != nil {
		return fault(wire.FaultInternal, false, err)
	}
	defer dir.Put()
	var tr *tree
	if task.Module == wire.TreeModule {
		if tr, err = readTree(task, x.login().Cwd); err != nil {
			return fault(wire.FaultInternal, false, err)
		}
	}
	if err := x.stage(ctx, t, task, dir, tr); err != nil {
		return x.failure(ctx, err, wire.FaultStage, false)
	}
	later, err := x.stageThen(ctx, t, task, dir)
	if err != nil {
		return x.failure(ctx, err, wire.FaultStage, false)
	}
	if err := h.started(); err != nil {
		return fault(wire.FaultInternal, false, err)
	}
	staged := time.Since(begin)
	t.started(0)

	if task.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, time.Duration(task.Timeout), errTimeout)
		defer cancel()
	}
	start := time.Now()
	out, err = x.run(ctx, t, task, dir, h, tr, later)
	if err != nil {
		return x.failure(ctx, err, wire.FaultInternal, true)
	}
	if out == nil {
		return fault(wire.FaultInternal, true, fmt.Errorf("module %s gave no outcome", task.Module))
	}
	out.Timings.Stage += int64(staged)
	if out.Timings.Work == 0 {
		out.Timings.Work = int64(time.Since(start))
	}
	return out
}

func (x *executor) run(ctx context.Context, t *talk, task *wire.Task, dir *stage.Dir, h hooks, tr *tree, later string) (*wire.Outcome, error) {
	l := x.login()
	env := &Env{
		Session: x.session, Staging: dir.Path, Cache: x.cache, Log: x.log,
		Home: l.Home, Cwd: l.Cwd, Environ: l.Environ, Umask: l.Umask,
		Layout: func(ctx context.Context, m stage.Hash) (string, error) {
			return x.store.Layout(ctx, m, t.fetch)
		},
		Forked: func(group int) {
			if h.forked != nil {
				h.forked(group)
			}
		},
		Output: func(uint8, []byte) {},
		Send:   t.sendFile,
	}
	if task.Live {
		s := t.listen()
		defer close(s.over)
		env.Output = s.put
	}
	if task.Module == wire.GetModule {
		return get(ctx, env, task)
	}
	if tr != nil {
		return tr.run(ctx, x.runner, env, task)
	}
	out, err := x.runner.Run(ctx, env, task)
	if err == nil && out != nil && task.Then != nil {
		return then(ctx, x.runner, env, task, later, out)
	}
	return out, err
}

// stage brings the task's files into dir and puts their paths in its arguments;
// of a tree, those that are lacking.
func (x *executor) stage(ctx context.Context, t *talk, task *wire.Task, dir *stage.Dir, tr *tree) error {
	if len(task.Files) == 0 {
		return nil
	}
	if len(task.Files) > wire.MaxFiles {
		return fmt.Errorf("%d files for one sub-task", len(task.Files))
	}
	if task.Args.Dict == nil {
		task.Args.Dict = value.NewDict(len(task.Files))
	}
	for i := range task.Files {
		if err := x.fits(&task.Files[i]); err != nil {
			return err
		}
	}
	if tr != nil {
		return tr.stage(ctx, t.fetch, task, dir)
	}
	paths, err := stageFiles(ctx, t, dir, task.Files...)
	for i, path := range paths {
		if arg := task.Files[i].Arg; !setArg(task.Args.Dict, arg, path) {
			task.Args.Set(arg, path)
		}
	}
	return err
}

func (x *executor) fits(f *wire.TaskFile) error {
	if x.maxFile > 0 && f.Size > x.maxFile {
		return fmt.Errorf("the file for %s has %d bytes, more than max_file allows", f.Arg, f.Size)
	}
	return nil
}

// stageFiles brings the files into dir and returns their paths.
func stageFiles(ctx context.Context, t *talk, dir *stage.Dir, files ...wire.TaskFile) ([]string, error) {
	want := make([]stage.Hash, len(files))
	for i := range files {
		want[i] = files[i].Hash
	}
	paths := make([]string, len(files))
	err := t.fetch(ctx, want, func(i int, r io.Reader) error {
		spec := files[i]
		f, err := dir.Create(spec.Suffix)
		if err != nil {
			return err
		}
		_, err = stage.Receive(f, r, spec.Hash, spec.Size)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return fmt.Errorf("staging the file for %s: %w", spec.Arg, err)
		}
		paths[i] = f.Name()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return paths, nil
}

// setArg sets the argument that path names: one of d, or, with dots between,
// one of a mapping in it. It reports whether there was one.
func setArg(d *value.Dict, path string, v any) bool {
	for k, e := range d.All() {
		name := value.Str(k)
		if name == path {
			d.Set(k, v)
			return true
		}
		sub, ok := e.(*value.Dict)
		if rest, below := strings.CutPrefix(path, name+"."); ok && below && setArg(sub, rest, v) {
			return true
		}
	}
	return false
}

// failure turns an error into the outcome that says how far things went.
func (x *executor) failure(ctx context.Context, err error, code wire.FaultCode, started bool) *wire.Outcome {
	switch cause := context.Cause(ctx); {
	case errors.Is(err, errWithdrawn):
		return fault(wire.FaultWithdrawn, false, err)
	case errors.Is(err, errNoBlob):
		return fault(wire.FaultStage, false, err)
	case errors.Is(cause, errTimeout):
		return fault(wire.FaultTimeout, started, errTimeout)
	case errors.Is(cause, errCancelled):
		return fault(wire.FaultCancelled, started, errCancelled)
	case cause != nil && started: // this process was told to end, as at a shutdown
		return fault(wire.FaultLost, true, errLost)
	case cause != nil:
		return fault(wire.FaultWithdrawn, false, errWithdrawn)
	}
	var f *wire.Fault
	if errors.As(err, &f) {
		return &wire.Outcome{Fault: f}
	}
	return fault(code, started, err)
}

func fault(code wire.FaultCode, started bool, err error) *wire.Outcome {
	return &wire.Outcome{Fault: &wire.Fault{Code: code, Text: err.Error(), Started: started}}
}

// get sends one regular file.
func get(ctx context.Context, env *Env, task *wire.Task) (*wire.Outcome, error) {
	path, _ := value.Text(task.Args.Lookup("path"))
	failed := func(err error) (*wire.Outcome, error) {
		d := value.DictOf("failed", true, "msg", err.Error())
		return &wire.Outcome{Result: wire.Dict{Dict: d}, Path: "native"}, nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(env.Cwd, path)
	}
	st, err := os.Stat(path)
	if err != nil {
		return failed(err)
	}
	if !st.Mode().IsRegular() {
		return failed(fmt.Errorf("%s is not a regular file", path))
	}
	size, err := env.Send(ctx, path)
	switch {
	case errors.Is(err, errWithdrawn) || ctx.Err() != nil:
		return nil, err
	case err != nil:
		return failed(err)
	}
	d := value.DictOf("changed", false, "size", size, "mode", fmt.Sprintf("%04o", st.Mode().Perm()))
	return &wire.Outcome{Result: wire.Dict{Dict: d}, Path: "native"}, nil
}
