package actions

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"volant/wire/value"
)

// maxTree bounds the entries of one copied directory.
const maxTree = 1_000_000

// entry is a file, directory or link of a tree: from is the controller path (a
// link's target), to the path below dest.
type entry struct{ from, to string }

// tree is what a directory holds, in the reference's order of work.
type tree struct{ files, dirs, links []entry }

// copyTree copies a directory: its contents when slash is set, else itself.
func (c *copier) copyTree(ctx context.Context, top string, slash bool) (Result, error) {
	t, err := walkTree(top, slash, option(c.args, "local_follow", true))
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(c.dest, "/") {
		c.dest += "/"
	}
	if c.dest, err = expandUser(ctx, c.Run, c.dest); err != nil {
		return nil, err
	}
	c.follow = len(t.dirs) == 0 && option(c.args, "follow", false)
	last, failed, changed, err := c.batcher(t).run(ctx)
	if err != nil {
		return nil, err
	}
	if failed != nil {
		return invocation(c.Run, failed), nil
	}
	if last != nil && len(t.files) == 1 {
		if p, ok := last.Get("path"); ok && !last.Has("dest") {
			last.Set("dest", p)
		}
		return invocation(c.Run, last), nil
	}
	src := top
	if slash {
		src += "/"
	}
	return invocation(c.Run, value.DictOf("dest", c.dest, "src", src, "changed", changed)), nil
}

// walkTree lists top as the reference does: files first, links followed when
// follow is set unless that would go round in a circle.
func walkTree(top string, slash, follow bool) (*tree, error) {
	t := &tree{}
	base := ""
	if !slash {
		base = filepath.Base(top)
	}
	if info, err := os.Lstat(top); err == nil && info.Mode()&fs.ModeSymlink != 0 && !follow {
		target, err := os.Readlink(top)
		if err != nil {
			return nil, fmt.Errorf("reading link: %w", err)
		}
		t.links = append(t.links, entry{target, filepath.Base(top)})
		return t, nil
	}
	real, err := filepath.EvalSymlinks(top)
	if err != nil {
		return nil, fmt.Errorf("resolving %s: %w", top, err)
	}
	if !slash {
		// The directory itself is made by the files below it or explicitly
		// when it is empty, as in the reference.
		base = filepath.Base(top)
	}
	return t, t.walk(top, base, []string{real}, follow)
}

func (t *tree) walk(dir, to string, parents []string, follow bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("reading directory: %w", err)
	}
	var below []func() error
	for _, e := range entries {
		from, dest := filepath.Join(dir, e.Name()), path.Join(to, e.Name())
		if len(t.files)+len(t.dirs)+len(t.links) > maxTree {
			return fmt.Errorf("%s holds more than %d files", dir, maxTree)
		}
		link := e.Type()&fs.ModeSymlink != 0
		info, err := os.Stat(from)
		switch {
		case link && (err != nil || !follow):
			target, err := os.Readlink(from)
			if err != nil {
				return fmt.Errorf("reading link: %w", err)
			}
			t.links = append(t.links, entry{target, dest})
		case err != nil:
			return fmt.Errorf("reading %s: %w", from, err)
		case info.IsDir():
			real, err := filepath.EvalSymlinks(from)
			if err != nil {
				return fmt.Errorf("resolving %s: %w", from, err)
			}
			if link && inside(real, parents) {
				target, err := os.Readlink(from)
				if err != nil {
					return fmt.Errorf("reading link: %w", err)
				}
				t.links = append(t.links, entry{target, dest})
				continue
			}
			t.dirs = append(t.dirs, entry{from, dest})
			below = append(below, func() error {
				return t.walk(from, dest, append(parents[:len(parents):len(parents)], real), follow)
			})
		default:
			if link {
				if from, err = filepath.EvalSymlinks(from); err != nil {
					return fmt.Errorf("resolving link: %w", err)
				}
			}
			t.files = append(t.files, entry{from, dest})
		}
	}
	for _, walk := range below {
		if err := walk(); err != nil {
			return err
		}
	}
	return nil
}

// inside reports whether dir is one of the directories being walked.
func inside(dir string, parents []string) bool {
	for _, p := range parents {
		if p == dir {
			return true
		}
	}
	return false
}
