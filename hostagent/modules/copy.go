package modules

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"encoding/hex"
	"io"
	"os"
	"strings"
	"syscall"

	"volant/wire/shlex"
	"volant/wire/value"
)

type copyArgs struct {
	Src         *string `arg:"src,type=path"`
	Basename    *string `arg:"_original_basename"`
	Content     *string `arg:"content,nolog"`
	Dest        string  `arg:"dest,required,type=path"`
	Backup      bool    `arg:"backup,default=no"`
	Force       bool    `arg:"force,default=yes"`
	Validate    *string `arg:"validate"`
	DirMode     any     `arg:"directory_mode,type=raw"`
	RemoteSrc   bool    `arg:"remote_src,default=no"`
	LocalFollow *bool   `arg:"local_follow"`
	Checksum    *string `arg:"checksum"`
	Follow      bool    `arg:"follow,default=no"`
	fileCommon
}

// copyRun is one run of the copy module, from looking to acting.
type copyRun struct {
	*call
	a              *copyArgs
	src, dest      string
	sha, md5       any // of src; None when it has none
	changed        bool
	backup         string
	validateFormat func(string) string
}

func copyModule(ctx context.Context, c *call, a *copyArgs) (Result, error) {
	r := &copyRun{call: c, a: a, dest: a.Dest}
	if err := r.covered(); err != nil {
		return nil, err
	}
	if err := r.lookAtSource(ctx); err != nil {
		return nil, err
	}
	if res, err := r.intermediate(ctx); res != nil || err != nil {
		return res, err
	}
	sumDest, res, err := r.lookAtDest(ctx)
	if res != nil || err != nil {
		return res, err
	}
	if r.sha != sumDest || isLink(r.p(r.dest)) {
		if !c.Check {
			if err := r.install(ctx); err != nil {
				return nil, err
			}
		}
		r.changed = true
	}
	out := value.DictOf("dest", r.dest, "src", r.src, "md5sum", r.md5, "checksum", r.sha)
	if r.backup != "" {
		out.Set("backup_file", r.backup)
	}
	r.changed, err = c.setAttrs(ctx, c.commonArgs(&a.fileCommon, r.dest, a.Follow), r.changed, nil)
	if err != nil {
		return nil, err
	}
	out.Set("changed", r.changed)
	return out, nil
}

// covered hands back what only the Python module does.
func (r *copyRun) covered() error {
	a := r.a
	switch {
	case selinuxOn():
		return handBack("SELinux is on")
	case a.Src == nil || *a.Src == "":
		return handBack("no src")
	case a.Dest == "" || strings.IndexByte(a.Dest+*a.Src, 0) >= 0:
		return handBack("an unusual path")
	case isDir(r.p(*a.Src)):
		return handBack("src is a directory")
	}
	r.src = *a.Src
	if err := usableMode(a.DirMode); err != nil {
		return err
	}
	var err error
	if r.validateFormat, err = validateFormat(a.Validate); err != nil {
		return err
	}
	if !strings.Contains(r.dest, "/") {
		r.dest = "./" + r.dest
	}
	return nil
}

// validateFormat reads the command of `validate`, in which %s stands for the
// file; nil when it has none. A format that does more is handed back.
func validateFormat(v *string) (func(string) string, error) {
	if v == nil {
		return nil, nil
	}
	parts := strings.Split(strings.ReplaceAll(*v, "%%", "\x00"), "%s")
	if strings.Contains(strings.Join(parts, ""), "%") || len(parts) > 2 || strings.Contains(*v, "\x00") {
		return nil, handBack("validate has a format of its own")
	}
	if len(parts) < 2 {
		return nil, nil
	}
	return func(path string) string { return strings.ReplaceAll(strings.Join(parts, path), "\x00", "%") }, nil
}

// lookAtSource reads what src is like and its checksums.
func (r *copyRun) lookAtSource(ctx context.Context) error {
	a, p := r.a, r.p(r.src)
	if !exists(p) {
		return fail("Source " + r.src + " not found")
	}
	if syscall.Access(p, 4) != nil {
		return fail("Source " + r.src + " not readable")
	}
	if m, ok := a.Mode.(string); ok && m == "preserve" {
		var st syscall.Stat_t
		if err := syscall.Stat(p, &st); err != nil {
			return raise(asOSError(err, r.src, true).Error())
		}
		a.Mode = modeText(st.Mode)
		r.params.Set("mode", a.Mode)
	}
	if err := usableMode(a.Mode); err != nil {
		return err
	}
	switch {
	case isFile(p):
		sha, md, err := digests(ctx, p)
		if err != nil {
			return handBack("the checksum of src: %v", err)
		}
		r.sha = sha
		if !fipsOn() {
			r.md5 = md
		}
	case a.RemoteSrc:
		return fail("Cannot copy invalid source '" + r.src + "': not a file")
	default:
		return handBack("src is not a file")
	}
	if a.Checksum != nil && *a.Checksum != "" && r.sha != *a.Checksum {
		return fail("Copied file does not match the expected checksum. Transfer failed.", "checksum", r.sha, "expected_checksum", *a.Checksum)
	}
	return nil
}

// digests are the SHA-1 and MD5 of a file, read once.
func digests(ctx context.Context, path string) (sha, md string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	h, m := sha1.New(), md5.New()
	b := copyBuffers.Get().(*[128 << 10]byte)
	defer copyBuffers.Put(b)
	for {
		n, err := f.Read(b[:])
		h.Write(b[:n])
		m.Write(b[:n])
		if err == io.EOF {
			return hex.EncodeToString(h.Sum(nil)), hex.EncodeToString(m.Sum(nil)), nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return "", "", err
		}
	}
}

// intermediate makes the directories of a dest that ends in a slash. A result
// ends the module.
func (r *copyRun) intermediate(ctx context.Context) (*value.Dict, error) {
	a := r.a
	if !strings.HasSuffix(r.dest, "/") {
		return nil, nil
	}
	if a.Basename != nil && *a.Basename != "" {
		r.dest = pyJoin(r.dest, *a.Basename)
	}
	dir := dirname(r.dest)
	if exists(r.p(dir)) {
		return nil, nil
	}
	if r.Check {
		return value.DictOf("msg", "dest directory "+dir+" would be created", "changed", true, "src", r.src), nil
	}
	top, names := r.missingDirs(dir)
	cur := top
	for _, n := range names {
		cur = pyJoin(cur, n)
		if err := r.makeDir(r.p(cur)); err != nil && err != syscall.EEXIST {
			return nil, raise(asOSError(err, cur, true).Error())
		}
	}
	r.changed = true
	at := r.commonArgs(&a.fileCommon, a.Dest, a.Follow)
	at.mode = a.DirMode
	cur = top
	for _, n := range names {
		cur = pyJoin(cur, n)
		at.path = cur
		var err error
		if r.changed, err = r.setAttrs(ctx, at, r.changed, nil); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// missingDirs splits a directory into the part that exists and the names of
// those to be made below it.
func (r *copyRun) missingDirs(dir string) (string, []string) {
	head, tail := dirname(dir), dir[strings.LastIndexByte(dir, '/')+1:]
	if head == "" {
		return ".", []string{tail}
	}
	if exists(r.p(head)) {
		return head, []string{tail}
	}
	top, names := r.missingDirs(head)
	return top, append(names, tail)
}

// lookAtDest settles what is written and gives its checksum. A result ends the
// module.
func (r *copyRun) lookAtDest(ctx context.Context) (any, *value.Dict, error) {
	a := r.a
	if isDir(r.p(r.dest)) {
		base := r.src[strings.LastIndexByte(r.src, '/')+1:]
		if a.Basename != nil && *a.Basename != "" {
			base = *a.Basename
		}
		r.dest = pyJoin(r.dest, base)
	}
	var sum any
	if exists(r.p(r.dest)) {
		if isLink(r.p(r.dest)) && a.Follow {
			r.dest = realpath(r.p(r.dest))
		}
		if !a.Force {
			return nil, value.DictOf("msg", "file already exists", "src", r.src, "dest", r.dest, "changed", false), nil
		}
		if syscall.Access(r.p(r.dest), 4) == nil && isFile(r.p(r.dest)) {
			s, err := digest(ctx, r.p(r.dest), "sha1")
			if err != nil {
				return nil, nil, raise(asOSError(err, r.dest, false).Error())
			}
			sum = s
		}
	} else if dir := dirname(r.dest); !exists(r.p(dir)) {
		var st syscall.Stat_t
		if syscall.Stat(r.p(dir), &st) == syscall.EACCES {
			return nil, nil, fail("Destination directory " + dir + " is not accessible")
		}
		return nil, nil, fail("Destination directory " + dir + " does not exist")
	}
	if dir := dirname(r.dest); syscall.Access(r.p(dir), 2) != nil && !a.Unsafe {
		return nil, nil, fail("Destination " + dir + " not writable")
	}
	return sum, nil, nil
}

// install puts src in the place of dest.
func (r *copyRun) install(ctx context.Context) error {
	a, dest := r.a, r.p(r.dest)
	if a.Backup && exists(dest) {
		name, err := r.backupLocal(ctx, r.dest)
		if err != nil {
			return err
		}
		r.backup = name
	}
	if isLink(dest) { // a link becomes a file
		err := syscall.Unlink(dest)
		if err == nil {
			err = r.createFile(dest)
		}
		if err != nil {
			return r.failedCopy(err, r.dest)
		}
	}
	if a.Validate != nil && *a.Validate != "" {
		if err := r.validate(ctx); err != nil {
			return err
		}
	}
	from, shown := r.p(r.src), r.src
	if a.RemoteSrc {
		tmp, err := r.temporaryCopy(from, dirname(dest))
		if err != nil {
			return r.failedCopy(err, r.src)
		}
		from, shown = tmp, tmp
	}
	m := &mover{call: r.call, unsafe: a.Unsafe, raised: r.failedCopy}
	return m.atomicMove(from, shown, r.dest, !a.RemoteSrc)
}

// failedCopy is what the module makes of an OSError while it copies.
func (r *copyRun) failedCopy(err error, path string) error {
	return raise("Failed to copy "+value.Repr(r.src)+" to "+value.Repr(r.dest)+".", asOSError(err, path, true).Error())
}

func (r *copyRun) validate(ctx context.Context) error {
	a := r.a
	if _, err := r.setMode(r.src, a.Mode, false, nil); err != nil {
		return err
	}
	if _, err := r.setOwner(r.src, a.Owner, false, nil); err != nil {
		return err
	}
	if _, err := r.setGroup(r.src, a.Group, false, nil); err != nil {
		return err
	}
	if r.validateFormat == nil {
		return fail("validate must contain %s: " + *a.Validate)
	}
	got, err := r.runLine(ctx, r.validateFormat(r.src))
	if err != nil {
		return err
	}
	if got.rc != 0 {
		return fail("failed to validate", "exit_status", int64(got.rc), "stdout", string(got.stdout), "stderr", string(got.stderr))
	}
	return nil
}

// runLine is run_command of a line of words.
func (c *call) runLine(ctx context.Context, line string) (*ran, error) {
	words, err := shlex.Split(line)
	if err != nil {
		return nil, raise(err.Error())
	}
	for i, w := range words {
		words[i] = c.args().ExpandPath(w)
	}
	if len(words) == 0 {
		return nil, raise("list index out of range")
	}
	got, err := c.run(ctx, &command{argv: words})
	if oe, ok := err.(*osError); ok { //nolint:errorlint // as run makes it
		return nil, failBecause(oe, "Error executing command.", "rc", int64(oe.errno), "stdout", "", "stderr", "", "cmd", cleanArgs(words))
	}
	return got, err
}
