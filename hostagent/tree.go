package hostagent

import (
	"context"
	"crypto/sha1" //nolint:gosec // what the reference's modules compare
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"volant/stage"
	"volant/wire"
	"volant/wire/value"
)

// tree is one sub-task of wire.TreeModule.
type tree struct {
	cwd      string
	dest     string
	force    bool
	preserve bool
	copy     *value.Dict
	file     *value.Dict
	entries  []treeEntry
}

// treeEntry is a file, or arguments for the file module.
type treeEntry struct {
	name, sha1, mode string
	staged           string // where its content is, empty when it was not lacking
	other            *value.Dict
	size             int64
}

var errTree = errors.New("malformed arguments of " + wire.TreeModule)

func readTree(task *wire.Task, cwd string) (*tree, error) {
	a := task.Args.Dict
	if a == nil {
		return nil, errTree
	}
	t := &tree{cwd: cwd, force: a.Bool("force"), preserve: a.Bool("preserve")}
	var ok [4]bool
	var list *value.List
	t.dest, ok[0] = a.Str("dest")
	t.copy, ok[1] = a.Lookup("copy").(*value.Dict)
	t.file, ok[2] = a.Lookup("file").(*value.Dict)
	list, ok[3] = a.Lookup("entries").(*value.List)
	if ok != [4]bool{true, true, true, true} {
		return nil, errTree
	}
	files := 0
	for _, e := range list.Items {
		var entry treeEntry
		switch e := e.(type) {
		case *value.Dict:
			entry.other = e
		case *value.List:
			if e.Len() != 3 || files >= len(task.Files) {
				return nil, errTree
			}
			for i, to := range []*string{&entry.name, &entry.sha1, &entry.mode} {
				text, ok := value.Text(e.Items[i])
				if !ok {
					return nil, errTree
				}
				*to = text
			}
			entry.size = task.Files[files].Size
			files++
		default:
			return nil, errTree
		}
		t.entries = append(t.entries, entry)
	}
	if files != len(task.Files) {
		return nil, errTree
	}
	return t, nil
}

// state is what is to be done about a file.
type state int

const (
	stateKeep    state = iota + 1 // there, and not to be replaced
	stateSame                     // the content is right
	stateDiffers                  // it must be written
	stateUnclear                  // the stat module shall say
)

func (t *tree) look(e *treeEntry) state {
	path := t.dest + e.name
	if strings.ContainsAny(path, "$\x00") {
		return stateUnclear // module arguments expand it
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(t.cwd, path)
	}
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return stateDiffers
	case err != nil, st.IsDir():
		return stateUnclear
	case !t.force:
		return stateKeep
	case !st.Mode().IsRegular() || st.Size() != e.size:
		return stateDiffers
	}
	f, err := os.Open(path)
	if err != nil {
		return stateDiffers
	}
	defer f.Close()
	sum := sha1.New() //nolint:gosec // as above
	if _, err := io.Copy(sum, f); err != nil || hex.EncodeToString(sum.Sum(nil)) != e.sha1 {
		return stateDiffers
	}
	return stateSame
}

// stage brings what is lacking into dir.
func (t *tree) stage(ctx context.Context, fetch stage.Fetch, task *wire.Task, dir *stage.Dir) error {
	if task.Check {
		return nil
	}
	var want []stage.Hash
	var lacking []*treeEntry
	files := 0
	for i := range t.entries {
		e := &t.entries[i]
		if e.other != nil {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if t.look(e) == stateDiffers {
			want, lacking = append(want, task.Files[files].Hash), append(lacking, e)
		}
		files++
	}
	if len(want) == 0 {
		return nil
	}
	return fetch(ctx, want, func(i int, r io.Reader) error {
		f, err := dir.Create(filepath.Ext(lacking[i].name))
		if err != nil {
			return err
		}
		_, err = stage.Receive(f, r, want[i], lacking[i].size)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return fmt.Errorf("staging %s: %w", lacking[i].name, err)
		}
		lacking[i].staged = f.Name()
		return nil
	})
}

// run does what is to be done, entry by entry.
func (t *tree) run(ctx context.Context, runner Runner, env *Env, task *wire.Task) (*wire.Outcome, error) {
	changed, done, left := false, 0, ""
	var failed *value.Dict
	for i := range t.entries {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		module, args, mark := t.step(task, &t.entries[i])
		if mark != "" {
			left = mark
			break
		}
		if module == "" { // nothing to ask a module for
			changed = changed || args != nil
			done++
			continue
		}
		out, err := runner.Run(ctx, env, nativeTask(task, module, args))
		if err != nil {
			return nil, err
		}
		if f := out.Fault; f != nil {
			if f.Started {
				return out, nil
			}
			left = f.Text
			break
		}
		if res := out.Result.Dict; res.Bool("failed") {
			failed = res
			break
		}
		changed = changed || out.Result.Dict.Bool("changed")
		done++
	}
	d := value.DictOf("changed", changed, "done", int64(done))
	if left != "" {
		d.Set("left", left)
	}
	if failed != nil {
		d.Set("result", failed)
	}
	return &wire.Outcome{Result: wire.Dict{Dict: d}, Path: "native"}, nil
}

// step is the module that an entry needs, with its arguments. No module and
// arguments: it would change; neither: nothing is to be done. left says why it
// cannot be done here.
func (t *tree) step(task *wire.Task, e *treeEntry) (module string, args *value.Dict, left string) {
	if e.other != nil {
		return "ansible.legacy.file", e.other, ""
	}
	switch t.look(e) {
	case stateKeep:
		return "", nil, ""
	case stateSame:
		args = t.file.Clone()
		args.Set("dest", t.dest)
		args.Set("_original_basename", e.name)
		args.Set("recurse", false)
		args.Set("state", "file")
		module = "ansible.legacy.file"
	case stateDiffers:
		if task.Check {
			return "", value.NewDict(0), ""
		}
		if e.staged == "" {
			return "", nil, "it changed meanwhile"
		}
		args = t.copy.Clone()
		args.Set("src", e.staged)
		args.Set("dest", t.dest)
		args.Set("_original_basename", e.name)
		args.Set("follow", false)
		if !value.Truth(args.Lookup("checksum")) {
			args.Set("checksum", e.sha1)
		}
		module = "ansible.legacy.copy"
	default:
		return "", nil, "the path needs a module"
	}
	if t.preserve {
		args.Set("mode", e.mode)
	}
	return module, args, ""
}

// nativeTask is a part of a sub-task: another module, and only a native does it.
func nativeTask(task *wire.Task, module string, args *value.Dict) *wire.Task {
	one := *task
	one.Module, one.Args, one.Files, one.Python, one.Native, one.Then = module, wire.Dict{Dict: args}, nil, nil, true, nil
	options := value.NewDict(1)
	if task.Options.Dict != nil {
		options = task.Options.Dict.Clone()
	}
	options.Set("module_name", module)
	one.Options = wire.Dict{Dict: options}
	return &one
}
