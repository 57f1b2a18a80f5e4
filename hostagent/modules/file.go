package modules

import (
	"bytes"
	"context"
	"io"
	"os"
	"path"
	"strings"
	"syscall"

	"volant/wire/argspec"
	"volant/wire/value"
)

type optionSpec = argspec.Option

type fileArgs struct {
	State    *string `arg:"state,choices=absent|directory|file|hard|link|touch"`
	Path     string  `arg:"path,required,type=path,alias=dest|name"`
	Basename *string `arg:"_original_basename"`
	Recurse  bool    `arg:"recurse,default=no"`
	Force    bool    `arg:"force,default=no"`
	Follow   bool    `arg:"follow,default=yes"`
	Peek     *bool   `arg:"_diff_peek"`
	Src      *string `arg:"src,type=path"`
	MTime    *string `arg:"modification_time"`
	MTimeFmt string  `arg:"modification_time_format,default=%Y%m%d%H%M.%S"`
	ATime    *string `arg:"access_time"`
	ATimeFmt string  `arg:"access_time_format,default=%Y%m%d%H%M.%S"`
	fileCommon
}

// fileRun is one run of the file module.
type fileRun struct {
	*call
	a            *fileArgs
	mtime, atime stamp
}

func fileModule(ctx context.Context, c *call, a *fileArgs) (Result, error) {
	if selinuxOn() {
		return nil, handBack("SELinux is on")
	}
	if strings.IndexByte(a.Path, 0) >= 0 || a.Path == "" {
		return nil, handBack("an unusual path")
	}
	f := &fileRun{call: c, a: a}
	state, err := f.handleParameters()
	if err != nil {
		return nil, err
	}
	if c.Check && state != "absent" {
		f.warnOfUnknownOwners()
	}
	if a.Peek != nil {
		return value.DictOf("path", a.Path, "changed", false, "appears_binary", looksBinary(c.p(a.Path))), nil
	}
	if err := f.readTimes(state); err != nil {
		return nil, err
	}
	if err := f.plan(); err != nil {
		return nil, err
	}
	var res *value.Dict
	switch state {
	case "file":
		res, err = f.file(ctx)
	case "directory":
		res, err = f.directory(ctx)
	case "link":
		res, err = f.link(ctx)
	case "hard":
		res, err = f.hard(ctx)
	case "touch":
		res, err = f.touch(ctx)
	case "absent":
		res, err = f.absent()
	}
	if err != nil {
		return nil, err
	}
	if !c.Diff {
		res.Delete("diff")
	}
	return res, nil
}

// plan looks at what could only be handed back, before anything is written.
func (f *fileRun) plan() error {
	return usableMode(f.a.Mode)
}

// usableMode hands back modes that Python's own number handling decides on.
func usableMode(mode any) error {
	n := int64(0)
	switch m := mode.(type) {
	case nil, bool:
	case int64:
		n = m
	case string:
		n, _ = octal(m)
	default:
		return handBack("mode is a %s", value.TypeName(mode))
	}
	if n < 0 || n > 1<<31 {
		return handBack("mode is %s", value.Str(mode))
	}
	return nil
}

// pathState is get_state.
func pathState(p string) string {
	var st syscall.Stat_t
	if syscall.Lstat(p, &st) != nil {
		return "absent"
	}
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFLNK:
		return "link"
	case syscall.S_IFDIR:
		return "directory"
	}
	if st.Nlink > 1 {
		return "hard"
	}
	return "file"
}

// handleParameters settles path and state as additional_parameter_handling
// does; both appear in the result's invocation.
func (f *fileRun) handleParameters() (string, error) {
	a := f.a
	state := ""
	if a.State != nil {
		state = *a.State
	}
	if state != "link" && state != "absent" && isDir(f.p(a.Path)) {
		base := ""
		if a.Basename != nil && *a.Basename != "" {
			base = *a.Basename
		} else if a.Src != nil && *a.Src != "" {
			base = path.Base(*a.Src)
			if strings.HasSuffix(*a.Src, "/") {
				base = ""
			}
		}
		if base != "" {
			a.Path = pyJoin(a.Path, base)
			f.params.Set("path", a.Path)
		}
	}
	if a.State == nil {
		switch prev := pathState(f.p(a.Path)); {
		case prev != "absent":
			state = prev
		case a.Recurse:
			state = "directory"
		default:
			state = "file"
		}
		f.params.Set("state", state)
	}
	if a.Recurse && state != "directory" {
		return "", fail("recurse option requires state to be 'directory'", "path", a.Path)
	}
	if a.Src != nil && *a.Src != "" && state != "link" && state != "hard" {
		return "", fail("src option requires state to be 'link' or 'hard'", "path", a.Path)
	}
	return state, nil
}

// pyJoin is os.path.join of two.
func pyJoin(a, b string) string {
	if strings.HasPrefix(b, "/") || a == "" {
		return b
	}
	if strings.HasSuffix(a, "/") {
		return a + b
	}
	return a + "/" + b
}

func (f *fileRun) warnOfUnknownOwners() {
	if o := f.a.Owner; o != nil && *o != "" {
		if uid, ok := pyInt(*o); ok {
			if _, ok := users.name(uint32(uid)); !ok {
				f.Warn("failed to look up user with uid %d. Create user up to this point in real play", uid)
			}
		} else if _, ok := users.id(*o); !ok {
			f.Warn("failed to look up user %s. Create user up to this point in real play", *o)
		}
	}
	if g := f.a.Group; g != nil && *g != "" {
		if gid, ok := pyInt(*g); ok {
			if _, ok := groups.name(uint32(gid)); !ok {
				f.Warn("failed to look up group with gid %d. Create group up to this point in real play", gid)
			}
		} else if _, ok := groups.id(*g); !ok {
			f.Warn("failed to look up group %s. Create group up to this point in real play", *g)
		}
	}
}

func looksBinary(p string) bool {
	file, err := os.Open(p)
	if err != nil {
		return false
	}
	defer file.Close()
	b := make([]byte, 8192)
	n, err := io.ReadFull(file, b)
	if err != nil && n == 0 {
		return false
	}
	return bytes.IndexByte(b[:n], 0) >= 0
}

// initialDiff is the diff of a change of state.
func (f *fileRun) initialDiff(p, state, prev string) *value.Dict {
	before, after := value.DictOf("path", p), value.DictOf("path", p)
	if prev != state {
		before.Set("state", prev)
		after.Set("state", state)
		if state == "absent" && prev == "directory" {
			dirs, files := value.ListOf(), value.ListOf()
			f.walk(p, func(dir string, subdirs, others []string) {
				for _, d := range subdirs {
					dirs.Items = append(dirs.Items, pyJoin(dir, d))
				}
				for _, o := range others {
					files.Items = append(files.Items, pyJoin(dir, o))
				}
			})
			before.Set("path_content", value.DictOf("directories", dirs, "files", files))
		}
	}
	return value.DictOf("before", before, "after", after)
}

// walk is os.walk: names in the order of the directory, links to directories
// listed as such but not entered.
func (f *fileRun) walk(top string, visit func(dir string, dirs, files []string)) {
	d, err := os.Open(f.p(top))
	if err != nil {
		return
	}
	names, _ := d.Readdirnames(-1)
	d.Close()
	var dirs, files []string
	for _, n := range names {
		if isDir(f.p(pyJoin(top, n))) {
			dirs = append(dirs, n)
		} else {
			files = append(files, n)
		}
	}
	visit(top, dirs, files)
	for _, n := range dirs {
		if sub := pyJoin(top, n); !isLink(f.p(sub)) {
			f.walk(sub, visit)
		}
	}
}

func (f *fileRun) absent() (*value.Dict, error) {
	p := f.a.Path
	prev := pathState(f.p(p))
	if prev == "absent" {
		return value.DictOf("path", p, "changed", false, "state", "absent"), nil
	}
	diff := f.initialDiff(p, "absent", prev)
	if !f.Check {
		if prev == "directory" {
			if err := os.RemoveAll(f.p(p)); err != nil {
				return nil, fail("rmtree failed: " + pyPathError(err, true))
			}
		} else if err := syscall.Unlink(f.p(p)); err != nil && err != syscall.ENOENT {
			return nil, failBecause(asOSError(err, p, true), "Unlinking failed.", "path", p)
		}
	}
	return value.DictOf("path", p, "changed", true, "diff", diff, "state", "absent"), nil
}

// pyPathError is an error of package os as Python shows it.
func pyPathError(err error, bytes bool) string {
	if pe, ok := err.(*os.PathError); ok { //nolint:errorlint // as package os returns it
		return asOSError(err, pe.Path, bytes).Error()
	}
	return asOSError(err, "", bytes).Error()
}

func (f *fileRun) file(ctx context.Context) (*value.Dict, error) {
	p := f.a.Path
	prev := pathState(f.p(p))
	at := f.commonArgs(&f.a.fileCommon, p, f.a.Follow)
	if prev == "link" && f.a.Follow {
		p = realpath(f.p(p))
		prev = pathState(p)
		at.path = p
	}
	if prev != "file" && prev != "hard" {
		return nil, fail("file ("+p+") is "+prev+", cannot continue", "path", p, "state", prev)
	}
	diff := f.initialDiff(p, "file", prev)
	changed, err := f.setAttrs(ctx, at, false, diff)
	if err != nil {
		return nil, err
	}
	moved, err := f.setTimes(at.path, diff)
	if err != nil {
		return nil, err
	}
	return value.DictOf("path", p, "changed", changed || moved, "diff", diff), nil
}

func (f *fileRun) touch(ctx context.Context) (*value.Dict, error) {
	p := f.a.Path
	prev := pathState(f.p(p))
	if prev == "absent" {
		if f.Check {
			return value.DictOf("dest", p, "changed", true), nil
		}
		if err := f.createFile(f.p(p)); err != nil {
			return nil, failBecause(asOSError(err, p, true), "Error, could not touch target.", "path", p)
		}
	}
	diff := f.initialDiff(p, "touch", prev)
	at := f.commonArgs(&f.a.fileCommon, p, f.a.Follow)
	changed, err := f.setAttrs(ctx, at, prev == "absent", diff)
	if err == nil {
		var moved bool
		moved, err = f.setTimes(at.path, diff)
		changed = changed || moved
	}
	if err != nil {
		if failed, ok := err.(*failure); ok && prev == "absent" { //nolint:errorlint // as it was made
			f.addPathInfo(failed.extra) // the result is made before the file goes
			_ = os.Remove(f.p(p))
		}
		return nil, err
	}
	return value.DictOf("dest", p, "changed", changed, "diff", diff), nil
}

// createFile makes an empty file with the mode the sub-task's umask leaves.
func (e *Env) createFile(p string) error {
	fd, err := syscall.Open(p, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_TRUNC|syscall.O_CLOEXEC, 0o666)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	if int(e.umask()) != processUmask() {
		return syscall.Fchmod(fd, 0o666&^e.umask())
	}
	return nil
}

// makeDir makes a directory with the mode the sub-task's umask leaves.
func (e *Env) makeDir(p string) error {
	if err := syscall.Mkdir(p, 0o777); err != nil {
		return err
	}
	if int(e.umask()) != processUmask() {
		var st syscall.Stat_t
		if err := syscall.Stat(p, &st); err != nil {
			return err
		}
		return syscall.Chmod(p, 0o777&^e.umask()|st.Mode&0o7000)
	}
	return nil
}

func (f *fileRun) directory(ctx context.Context) (*value.Dict, error) {
	p := f.a.Path
	prev := pathState(f.p(p))
	at := f.commonArgs(&f.a.fileCommon, p, f.a.Follow)
	if f.a.Follow && prev == "link" {
		p = realpath(f.p(p))
		at.path = p
		prev = pathState(p)
	}
	diff := f.initialDiff(p, "directory", prev)
	switch {
	case prev == "absent" && f.Check:
		return value.DictOf("path", p, "changed", true, "diff", diff), nil
	case prev == "absent":
		changed, err := f.makeDirs(ctx, p, at, diff)
		if err != nil {
			return nil, err
		}
		return value.DictOf("path", p, "changed", changed, "diff", diff), nil
	case prev != "directory":
		return nil, fail(p+" already exists as a "+prev, "path", p)
	}
	changed, err := f.setAttrs(ctx, at, false, diff)
	if err != nil {
		return nil, err
	}
	moved, err := f.setTimes(at.path, diff)
	if err != nil {
		return nil, err
	}
	changed = changed || moved
	if f.a.Recurse {
		more, err := f.recurse(ctx, p, at, 0)
		if err != nil {
			return nil, err
		}
		changed = changed || more
	}
	return value.DictOf("path", p, "changed", changed, "diff", diff), nil
}

// makeDirs makes a directory and those above it that are missing, and gives
// each the attributes.
func (f *fileRun) makeDirs(ctx context.Context, p string, at attrs, diff *value.Dict) (bool, error) {
	changed := false
	cur := ""
	for _, name := range strings.Split(strings.Trim(p, "/"), "/") {
		cur += "/" + name
		if !strings.HasPrefix(p, "/") {
			cur = strings.TrimLeft(cur, "/")
		}
		if exists(f.p(cur)) {
			continue
		}
		err := f.makeDir(f.p(cur))
		if err == nil {
			changed = true
		} else if err != syscall.EEXIST || !isDir(f.p(cur)) {
			return false, fail("There was an issue creating "+cur+" as requested: "+asOSError(err, cur, true).Error(), "path", p)
		}
		one := at
		one.path = cur
		if changed, err = f.setAttrs(ctx, one, changed, diff); err != nil {
			return false, asCreating(err, cur, p)
		}
		moved, err := f.setTimes(at.path, diff)
		if err != nil {
			return false, asCreating(err, cur, p)
		}
		changed = changed || moved
	}
	return changed, nil
}

// asCreating is what the module makes of an exception while it creates
// directories; fail_json is none.
func asCreating(err error, cur, p string) error {
	if r, ok := err.(*raised); ok { //nolint:errorlint // as it was made
		return fail("There was an issue creating "+cur+" as requested: "+r.Error(), "path", p)
	}
	return err
}

// recurse is recursive_set_attributes.
func (f *fileRun) recurse(ctx context.Context, top string, at attrs, depth int) (bool, error) {
	if depth > 100 {
		return false, fail("Could not recursively set attributes on " + top + ". Original error was: 'maximum recursion depth exceeded'")
	}
	changed := false
	var failed error
	apply := func(p string) {
		if failed != nil {
			return
		}
		one := at
		one.path = p
		var moved bool
		if changed, failed = f.setAttrs(ctx, one, changed, nil); failed == nil {
			moved, failed = f.setTimes(p, nil)
			changed = changed || moved
		}
	}
	f.walk(top, func(dir string, dirs, files []string) {
		for _, name := range append(append([]string(nil), dirs...), files...) {
			p := pyJoin(dir, name)
			link := isLink(f.p(p))
			apply(p)
			if !link || !f.a.Follow || failed != nil {
				continue
			}
			to, err := os.Readlink(f.p(p))
			if err != nil {
				failed = raise(asOSError(err, p, true).Error())
				return
			}
			p = pyJoin(dir, to)
			if !exists(f.p(p)) {
				continue
			}
			if isDir(f.p(p)) {
				var more bool
				if more, failed = f.recurse(ctx, p, at, depth+1); failed != nil {
					return
				}
				changed = changed || more
			}
			apply(p)
		}
	})
	return changed, failed
}
