package modules

import (
	"context"
	"fmt"
	"os"
	"syscall"

	"volant/wire/value"
)

func opt(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

// dirname is os.path.dirname.
func dirname(p string) string {
	i := len(p) - 1
	for i >= 0 && p[i] != '/' {
		i--
	}
	head := p[:i+1]
	j := len(head)
	for j > 0 && head[j-1] == '/' {
		j--
	}
	if j == 0 {
		return head
	}
	return head[:j]
}

func (f *fileRun) link(ctx context.Context) (*value.Dict, error) {
	p := f.a.Path
	src := f.a.Src
	prev := pathState(f.p(p))
	if src == nil && f.a.Follow && exists(f.p(p)) {
		to, err := os.Readlink(f.p(p))
		if err != nil {
			return nil, raise(asOSError(err, p, true).Error())
		}
		src = &to
	}
	rel := dirname(p)
	if !isLink(f.p(p)) && isDir(f.p(p)) {
		rel = p
	}
	if err := f.mayLink(p, src, rel, prev); err != nil {
		return nil, err
	}
	diff := f.initialDiff(p, "link", prev)
	changed := false
	if prev != "link" {
		if src == nil {
			return nil, fail("src is required for creating new symlinks")
		}
		changed = true
	} else if src != nil {
		old, err := os.Readlink(f.p(p))
		if err != nil {
			return nil, raise(asOSError(err, p, true).Error())
		}
		if old != *src {
			note(diff, "src", old, *src)
			changed = true
		}
	}
	if changed && !f.Check {
		if err := f.place(p, prev, *src, prev == "directory", func(to string) error { return syscall.Symlink(*src, to) }, syscall.Rmdir); err != nil {
			return nil, err
		}
	}
	if f.Check && !exists(f.p(p)) {
		return value.DictOf("dest", p, "src", opt(src), "changed", changed, "diff", diff), nil
	}
	at := f.commonArgs(&f.a.fileCommon, p, f.a.Follow)
	if f.a.Follow && isLink(f.p(p)) && !exists(f.p(at.path)) {
		f.Warn("Cannot set fs attributes on a non-existent symlink target. follow should be set to False to avoid this.")
	} else {
		var err error
		if changed, err = f.setAttrs(ctx, at, changed, diff); err != nil {
			return nil, err
		}
		moved, err := f.setTimes(at.path, diff)
		if err != nil {
			return nil, err
		}
		changed = changed || moved
	}
	return value.DictOf("dest", p, "src", opt(src), "changed", changed, "diff", diff), nil
}

// mayLink refuses what a symbolic link must not replace without force.
func (f *fileRun) mayLink(p string, src *string, rel, prev string) error {
	if src != nil && !f.a.Force {
		if abs := pyJoin(rel, *src); !exists(f.p(abs)) {
			return fail("src file does not exist, use 'force=yes' if you really want to create the link: "+abs, "path", p, "src", *src)
		}
	}
	switch {
	case prev == "directory" && !f.a.Force, (prev == "file" || prev == "hard") && !f.a.Force:
		return fail("refusing to convert from "+prev+" to symlink for "+p, "path", p)
	case prev == "directory":
		if entries, err := os.ReadDir(f.p(p)); err == nil && len(entries) > 0 {
			return fail("the directory "+p+" is not empty, refusing to convert it", "path", p)
		}
	}
	return nil
}

// place puts what create makes at p: through a temporary name and a rename
// when something is there, which clear takes away first if it must.
func (f *fileRun) place(p, prev, src string, first bool, create func(to string) error, clear func(string) error) error {
	if prev == "absent" {
		if err := create(f.p(p)); err != nil {
			return fail("Error while linking: "+linkError(err, src, p), "path", p)
		}
		return nil
	}
	tmp := dirname(p) + "/" + fmt.Sprintf(".%d.%s.tmp", os.Getpid(), value.Str(float64(f.now().UnixNano())/1e9))
	if dirname(p) == "" {
		tmp = tmp[1:]
	}
	err := error(nil)
	if first {
		if err = clear(f.p(p)); err != nil {
			err = asOSError(err, p, true)
		}
	}
	if err == nil {
		if err = create(f.p(tmp)); err == nil {
			err = syscall.Rename(f.p(tmp), f.p(p))
		}
	}
	if err == nil {
		return nil
	}
	_ = os.Remove(f.p(tmp))
	text := linkError(err, tmp, p)
	if oe, ok := err.(*osError); ok { //nolint:errorlint // made right here
		text = oe.Error()
	}
	return fail("Error while replacing: "+text, "path", p)
}

// linkError is an OSError about two paths.
func linkError(err error, from, to string) string {
	return asOSError(err, from, true).Error() + " -> " + value.Repr([]byte(to))
}

func inode(p string) uint64 {
	var st syscall.Stat_t
	if syscall.Stat(p, &st) != nil {
		return 0
	}
	return st.Ino
}

func (f *fileRun) hard(ctx context.Context) (*value.Dict, error) {
	p, src := f.a.Path, f.a.Src
	prev := pathState(f.p(p))
	at := f.commonArgs(&f.a.fileCommon, p, f.a.Follow)
	if prev != "hard" && src == nil {
		return nil, fail("src is required for creating new hardlinks")
	}
	if src != nil && !exists(f.p(*src)) {
		return nil, fail("src does not exist", "dest", p, "src", *src)
	}
	diff := f.initialDiff(p, "hard", prev)
	changed, res, err := f.hardChange(p, src, prev, diff)
	if res != nil || err != nil {
		return res, err
	}
	if changed && !f.Check {
		from := *src
		if prev == "absent" && f.a.Follow && isLink(f.p(from)) {
			if from, err = os.Readlink(f.p(from)); err != nil {
				return nil, raise(asOSError(err, *src, true).Error())
			}
		}
		create := func(to string) error { return syscall.Link(f.p(from), to) }
		clear := func(at string) error {
			if err := syscall.Unlink(at); err != nil && err != syscall.ENOENT {
				return err
			}
			return nil
		}
		if err := f.place(p, prev, from, prev == "directory" && exists(f.p(p)), create, clear); err != nil {
			return nil, err
		}
	}
	if f.Check && !exists(f.p(p)) {
		return value.DictOf("dest", p, "src", opt(src), "changed", changed, "diff", diff), nil
	}
	if changed, err = f.setAttrs(ctx, at, changed, diff); err != nil {
		return nil, err
	}
	moved, err := f.setTimes(at.path, diff)
	if err != nil {
		return nil, err
	}
	return value.DictOf("dest", p, "src", opt(src), "changed", changed || moved, "diff", diff), nil
}

// hardChange decides whether a hard link is to be made.
func (f *fileRun) hardChange(p string, src *string, prev string, diff *value.Dict) (bool, *value.Dict, error) {
	switch prev {
	case "absent":
		return true, nil, nil
	case "link":
		old, err := os.Readlink(f.p(p))
		if err != nil {
			return false, nil, raise(asOSError(err, p, true).Error())
		}
		if old == *src {
			return false, nil, nil
		}
		note(diff, "src", old, *src)
		return true, nil, nil
	case "hard":
		if src == nil || inode(f.p(p)) == inode(f.p(*src)) {
			return false, nil, nil
		}
		if !f.a.Force {
			return false, nil, fail("Cannot link, different hard link exists at destination", "dest", p, "src", *src)
		}
	case "file":
		if !f.a.Force {
			return false, nil, fail("Cannot link, file exists at destination", "dest", p, "src", *src)
		}
	case "directory":
		if inode(f.p(p)) == inode(f.p(*src)) {
			return false, value.DictOf("path", p, "changed", false), nil
		}
		if !f.a.Force {
			return false, nil, fail("Cannot link: different hard link exists at destination", "dest", p, "src", *src)
		}
	}
	return true, nil, nil
}
