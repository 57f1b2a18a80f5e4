package actions

import (
	"context"
	"errors"
	"strings"

	"volant/stage"
	"volant/wire/value"
)

// ErrNoTree is returned by TreeHost.Tree when nothing was done, and every entry
// is to be done by modules of its own.
var ErrNoTree = errors.New("no trees on this host")

// TreeHost is a Host that may do a part of a directory in one sub-task.
type TreeHost interface {
	Host
	// Tree does the entries in turn, up to the first that fails, or that needs
	// a module of its own; files are staged only where they are lacking. args
	// are those of wire.TreeModule, files the contents of its files in order.
	Tree(ctx context.Context, args *value.Dict, files ...stage.File) (TreeAnswer, error)
}

// TreeAnswer is how far a part of a directory came.
type TreeAnswer struct {
	Done    int // entries that are finished
	Changed bool
	Failed  Result // of the entry behind them, nil when it did not fail
}

const (
	batchEntries = 1000     // of one sub-task
	batchBytes   = 64 << 20 // of their contents; a longer file goes alone
	maxLeft      = 8        // entries that needed modules of their own before all do
)

// step is one entry of a tree on its way: a source, or arguments for file.
type step struct {
	name string // below dest, of a file
	src  *Source
	args *value.Dict
}

// batcher does the steps of one directory, many at once where the host can.
type batcher struct {
	*copier
	t     *tree
	host  TreeHost // nil: one by one
	ahead *step    // opened, but too big for the batch it was opened for
	left  int
}

func (c *copier) batcher(t *tree) *batcher {
	b := &batcher{copier: c, t: t}
	if host, ok := c.Host.(TreeHost); ok && len(t.files) != 1 && !c.follow && !strings.Contains(c.dest, "$") {
		b.host = host
	}
	return b
}

func (b *batcher) len() int { return len(b.t.files) + len(b.t.dirs) + len(b.t.links) }

// step opens entry i.
func (b *batcher) step(i int) (*step, error) {
	if s := b.ahead; s != nil {
		b.ahead = nil
		return s, nil
	}
	t := b.t
	if i < len(t.files) {
		f := t.files[i]
		src, err := b.Controller.Open(f.from, option(b.args, "decrypt", true))
		if err != nil {
			return nil, err
		}
		return &step{name: f.to, src: &src}, nil
	}
	if i -= len(t.files); i < len(t.dirs) {
		return &step{args: value.DictOf("path", joinPath(b.dest, t.dirs[i].to), "state", "directory",
			"mode", b.args.Lookup("directory_mode"), "recurse", false)}, nil
	}
	l := t.links[i-len(t.dirs)]
	args := value.DictOf("path", joinPath(b.dest, l.to), "src", l.from, "state", "link", "force", true)
	if len(t.dirs) > 0 {
		args.Set("follow", false)
	}
	return &step{args: args}, nil
}

// one does a step with modules of its own; a nil result means nothing was to be done.
func (b *batcher) one(ctx context.Context, s *step) (Result, error) {
	if s.src != nil {
		return b.copyFile(ctx, opened(*s.src), s.name)
	}
	return b.Host.Module(ctx, "ansible.legacy.file", b.otherArgs(s))
}

// otherArgs are the file module's for a directory or link.
func (b *batcher) otherArgs(s *step) *value.Dict {
	args := b.fileModuleArgs()
	if m, _ := args.Str("mode"); m == "preserve" {
		args.Delete("mode")
	}
	if !s.args.Has("src") {
		args.Delete("src")
	}
	args.Update(s.args)
	return args
}

// some does steps from i on in one sub-task; all says that none of those it
// took is left.
func (b *batcher) some(ctx context.Context, i int) (ans TreeAnswer, all bool, err error) {
	var files []stage.File
	var steps []*step
	entries, size := &value.List{}, int64(0)
	for n := i; n < b.len() && len(steps) < batchEntries; n++ {
		s, err := b.step(n)
		if err != nil && len(steps) > 0 {
			break // said when it is its turn
		}
		if err != nil {
			return ans, false, err
		}
		if s.src != nil {
			if size += s.src.Size; size > batchBytes {
				b.ahead = s
				break
			}
			files = append(files, s.src.File)
			entries.Items = append(entries.Items, value.ListOf(s.name, s.src.SHA1, octal(s.src.Mode)))
		} else {
			entries.Items = append(entries.Items, b.otherArgs(s))
		}
		steps = append(steps, s)
	}
	if len(steps) < 2 {
		if len(steps) == 1 {
			b.ahead = steps[0]
		}
		return ans, false, nil
	}
	mode, _ := b.args.Str("mode")
	file := b.fileModuleArgs()
	file.Delete("src") // goes as _original_basename
	ans, err = b.host.Tree(ctx, value.DictOf("dest", b.dest, "force", option(b.args, "force", true), "preserve", mode == "preserve",
		"copy", without(b.args, "content", "decrypt"), "file", file, "entries", entries), files...)
	if err != nil {
		b.ahead = nil
		return ans, false, err
	}
	if ans.Done < 0 || ans.Done > len(steps) || ans.Failed != nil && ans.Done == len(steps) {
		return ans, false, errors.New("the host says that it did more of the directory than it was asked to")
	}
	if ans.Done < len(steps) {
		b.ahead = nil // of a later entry
		if s := steps[ans.Done]; ans.Failed == nil {
			b.ahead = s
		} else if s.src != nil {
			res := value.DictOf("diff", value.ListOf())
			res.Update(ans.Failed)
			if !present(res.Lookup("checksum")) {
				res.Set("checksum", s.src.SHA1)
			}
			ans.Failed = res
		}
		if b.left++; b.left > maxLeft && ans.Done < len(steps)/2 {
			b.host = nil
		}
	}
	return ans, ans.Done == len(steps), nil
}

// run does every step until one fails, and returns its result. last is the
// result of the last that was done by a module of its own.
func (b *batcher) run(ctx context.Context) (last, failed Result, changed bool, err error) {
	// The first entry goes alone: its modules find the interpreter.
	for i := 0; i < b.len(); i++ {
		for i > 0 && b.host != nil && i < b.len() {
			ans, all, err := b.some(ctx, i)
			if errors.Is(err, ErrNoTree) {
				b.host = nil
				break
			}
			if err != nil {
				return nil, nil, false, err
			}
			changed = changed || ans.Changed
			if i += ans.Done; ans.Failed != nil {
				return last, ans.Failed, changed, nil
			}
			if !all {
				break
			}
		}
		if i == b.len() {
			break
		}
		s, err := b.step(i)
		if err != nil {
			return nil, nil, false, err
		}
		res, err := b.one(ctx, s)
		switch {
		case err != nil:
			return nil, nil, false, err
		case res == nil: // there already, and we may not replace it
			continue
		case res.Bool("failed"):
			return last, res, changed, nil
		}
		last = res
		changed = changed || res.Bool("changed")
	}
	return last, nil, changed, nil
}
