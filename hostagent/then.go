package hostagent

import (
	"context"
	"path/filepath"

	"volant/stage"
	"volant/wire"
	"volant/wire/value"
)

// stageThen brings the content into dir if the file that stat will be asked of
// lacks it, and returns its path; empty when it does not, or that is unclear.
func (x *executor) stageThen(ctx context.Context, t *talk, task *wire.Task, dir *stage.Dir) (string, error) {
	next := task.Then
	if next == nil || next.File == nil || task.Check || next.Differs.Dict.Len() == 0 {
		return "", nil
	}
	if err := x.fits(next.File); err != nil {
		return "", err
	}
	path, _ := task.Args.Str("path")
	there := tree{cwd: x.login().Cwd, dest: path, force: next.Checksum != ""}
	if task.Args.Bool("follow") && filepath.IsAbs(path) {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			there.dest = real
		}
	}
	if there.look(&treeEntry{sha1: next.Checksum, size: next.File.Size}) != stateDiffers {
		return "", nil
	}
	paths, err := stageFiles(ctx, t, dir, *next.File)
	if err != nil {
		return "", err
	}
	return paths[0], nil
}

// then runs the module that follows stat, unless that is the controller's to do:
// where stat failed or was not native, or the module that follows hands back.
func then(ctx context.Context, runner Runner, env *Env, task *wire.Task, staged string, out *wire.Outcome) (*wire.Outcome, error) {
	if out.Fault != nil || out.Path != "native" {
		return out, nil
	}
	module, args := follows(task.Then, out.Result.Dict, staged)
	if module == "" {
		return out, nil
	}
	next, err := runner.Run(ctx, env, nativeTask(task, module, args))
	switch {
	case err != nil:
		return nil, err
	case next.Fault != nil && next.Fault.Started:
		return next, nil
	case next.Fault == nil:
		out.Then = next.Result
	}
	return out, nil
}

// follows is the module that what stat found calls for; empty: none.
func follows(next *wire.Then, found *value.Dict, staged string) (module string, args *value.Dict) {
	stat, ok := found.Lookup("stat").(*value.Dict)
	if !ok || found.Bool("failed") {
		return "", nil
	}
	exists := stat.Bool("exists")
	sum, _ := stat.Str("checksum")
	switch {
	case exists && (next.Checksum == "" || stat.Bool("isdir")):
		return "", nil
	case exists && sum == next.Checksum:
		if next.Same.Dict.Len() == 0 {
			return "", nil
		}
		return "ansible.legacy.file", next.Same.Dict
	case staged == "":
		return "", nil
	}
	args = next.Differs.Dict.Clone()
	args.Set(next.File.Arg, staged)
	return "ansible.legacy.copy", args
}
