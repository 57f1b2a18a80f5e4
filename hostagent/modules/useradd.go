package modules

import (
	"cmp"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"volant/wire/rx"
	"volant/wire/value"
)

// groupsInFiles reports whether /etc/group is all there is of groups.
func groupsInFiles() bool {
	return onlyFiles("group", "systemd") && !exists("/run/systemd/userdb/io.systemd.Home") && !exists("/etc/userdb") && !exists("/run/userdb")
}

// tool runs one of the tools, with the name last; in check mode it only
// counts as run.
func (u *account) tool(name string, words []string) error {
	u.res.Set("changed", true)
	if u.Check {
		return nil
	}
	bin, _ := u.binPath(name)
	argv := append(append([]string{bin}, words...), u.a.Name)
	r, err := u.run(u.ctx, &command{argv: argv})
	if err != nil {
		return commandFailed(err, argv)
	}
	if r.rc != 0 {
		return fail(string(r.stderr), "name", u.a.Name, "rc", int64(r.rc))
	}
	if name != "chage" {
		said(u.res, string(r.stdout), string(r.stderr))
	}
	return nil
}

func (u *account) remove() error {
	var words []string
	if u.a.Force {
		words = append(words, "-f")
	}
	if u.a.Remove {
		words = append(words, "-r")
	}
	if err := u.tool("userdel", words); err != nil {
		return err
	}
	u.res.Set("force", u.a.Force)
	u.res.Set("remove", u.a.Remove)
	return nil
}

// secondary is the groups beside the main one, as they were given or by their
// names in the database, each once.
func (u *account) secondary(names bool) ([]string, error) {
	var out []string
	for _, g := range strings.Split(strings.Join(u.a.Groups, ","), ",") {
		if g == "" {
			continue
		}
		g = strings.TrimFunc(g, pySpace)
		f := groupOf(g)
		if f == nil {
			return nil, fail("Group " + g + " does not exist")
		}
		if names {
			g = f[0]
		}
		if !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	return out, nil
}

// flag adds an option with its value where there is one.
func flag(words []string, name string, v *string) []string {
	if v == nil {
		return words
	}
	return append(words, name, *v)
}

func (u *account) create() error {
	a := u.a
	if _, err := readShadow(); err != nil {
		return err // now: once the user is there, it is too late
	}
	var words []string
	if a.UID != nil {
		words = append(words, "-u", strconv.FormatInt(*a.UID, 10))
		if a.NonUnique {
			words = append(words, "-o")
		}
	}
	switch {
	case a.Group != nil && groupOf(*a.Group) == nil:
		return fail("Group " + *a.Group + " does not exist")
	case a.Group != nil:
		words = append(words, "-g", *a.Group)
	case groupOf(a.Name) != nil:
		words = append(words, "-N")
	}
	if len(strings.Join(a.Groups, ",")) > 0 {
		names, err := u.secondary(false)
		if err != nil {
			return err
		}
		words = append(words, "-G", strings.Join(names, ","))
	}
	words = flag(words, "-c", a.Comment)
	orphan := a.Home != nil && a.CreateHome && !isDir(u.p(dirname(*a.Home)))
	if orphan { // useradd makes no parents
		if err := u.makeHome(*a.Home); err != nil {
			return err
		}
	}
	words = flag(words, "-d", a.Home)
	words = flag(words, "-s", a.Shell)
	if a.Expires != nil {
		words = append(words, "-e", expiry(*a.Expires))
	}
	if a.Inactive != nil {
		words = append(words, "-f", strconv.FormatInt(*a.Inactive, 10))
	}
	if a.Password != nil { // on the command line, as the Python module has it
		words = append(words, "-p", u.hash())
	}
	if a.CreateHome {
		words = append(words, "-m")
		words = flag(words, "-k", a.Skeleton)
		if a.Umask != nil {
			words = append(words, "-K", "UMASK="+*a.Umask)
		}
	} else {
		words = append(words, "-M")
	}
	if a.System {
		words = append(words, "-r")
	}
	words = keyed(words, "UID_MIN", a.UIDMin)
	words = keyed(words, "UID_MAX", a.UIDMax)
	if err := u.tool("useradd", words); err != nil {
		return err
	}
	if err := u.look(); err != nil {
		return afterChange(err)
	}
	if orphan && u.entry != nil {
		if err := u.ownHome(*a.Home); err != nil {
			return err
		}
	}
	u.res.Set("system", a.System)
	u.res.Set("create_home", a.CreateHome)
	return nil
}

// hash is the password as it is set, locked where it is to be.
func (u *account) hash() string {
	if u.a.Lock != nil && *u.a.Lock {
		return "!" + *u.a.Password
	}
	return *u.a.Password
}

// expiry is a time as the tools take it; before 1970 means never.
func expiry(seconds float64) string {
	if seconds < 0 {
		return ""
	}
	return time.Unix(int64(math.Floor(seconds)), 0).UTC().Format("2006-01-02")
}

func (u *account) modify() error {
	a := u.a
	var words []string
	uid, _ := pyInt(u.entry[2])
	if a.UID != nil && *a.UID != uid {
		words = append(words, "-u", strconv.FormatInt(*a.UID, 10))
		if a.NonUnique {
			words = append(words, "-o")
		}
	}
	if a.Group != nil {
		g := groupOf(*a.Group)
		if g == nil {
			return fail("Group " + *a.Group + " does not exist")
		}
		if g[2] != u.entry[3] {
			words = append(words, "-g", g[2])
		}
	}
	more, err := u.membership()
	if err != nil {
		return err
	}
	words = append(words, more...)
	differs := func(want *string, at int) bool { return want != nil && *want != u.entry[at] }
	if differs(a.Comment, 4) {
		words = append(words, "-c", *a.Comment)
	}
	if differs(a.Home, 5) {
		words = append(words, "-d", *a.Home)
		if a.MoveHome {
			words = append(words, "-m")
		}
	}
	if differs(a.Shell, 6) {
		words = append(words, "-s", *a.Shell)
	}
	words = append(words, u.expires()...)
	if a.Inactive != nil {
		words = append(words, "-f", strconv.FormatInt(*a.Inactive, 10))
	}
	if words = u.secret(words); len(words) > 0 {
		if err := u.tool("usermod", words); err != nil {
			return err
		}
		if !u.Check {
			if err := u.look(); err != nil {
				return afterChange(err)
			}
		}
	}
	u.res.Set("append", a.Append)
	u.res.Set("move_home", a.MoveHome)
	return nil
}

// membership is what changes the groups beside the main one.
func (u *account) membership() ([]string, error) {
	if u.a.Groups == nil {
		return nil, nil
	}
	want, err := u.secondary(true)
	if err != nil {
		return nil, err
	}
	have := groups.of(u.a.Name)
	lacks := slices.ContainsFunc(want, func(g string) bool { return !have[g] })
	switch {
	case u.a.Append && lacks:
		return []string{"-a", "-G", strings.Join(want, ",")}, nil
	case !u.a.Append && (lacks || len(have) != len(want)):
		return []string{"-G", strings.Join(want, ",")}, nil
	}
	return nil, nil
}

func (u *account) expires() []string {
	if u.a.Expires == nil {
		return nil
	}
	have := int64(0)
	if u.shadow != nil {
		have = shadowNumber(u.shadow[7])
	}
	want := math.Floor(*u.a.Expires)
	switch {
	case want < 0 && have >= 0:
		return []string{"-e", ""}
	case want >= 0 && have != int64(math.Floor(want/86400)):
		return []string{"-e", expiry(want)}
	}
	return nil
}

// shadowNumber is a field of shadow as getspnam gives it.
func shadowNumber(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// secret adds what changes the password and its lock to usermod's words.
func (u *account) secret(words []string) []string {
	a, hash := u.a, u.entry[1]
	if len(hash) <= 1 {
		hash = ""
		if u.shadow != nil {
			hash = u.shadow[1]
		}
	}
	locked := strings.HasPrefix(hash, "!")
	if a.Password != nil && a.Update == "always" && strings.TrimLeft(hash, "!") != strings.TrimLeft(*a.Password, "!") {
		return append(words, "-p", u.hash())
	}
	switch {
	case a.Lock == nil || *a.Lock == locked:
	case *a.Lock:
		words = append(words, "-L")
	default:
		words = append(words, "-U")
	}
	return words
}

// age sets how long a password lasts.
func (u *account) age() error {
	if u.shadow == nil {
		return nil
	}
	var words []string
	for _, f := range []struct {
		flag string
		want *int64
		at   int
	}{{"-m", u.a.ExpireMin, 3}, {"-M", u.a.ExpireMax, 4}, {"-W", u.a.ExpireWarn, 5}} {
		if f.want != nil && *f.want != shadowNumber(u.shadow[f.at]) {
			words = append(words, f.flag, strconv.FormatInt(*f.want, 10))
		}
	}
	if len(words) == 0 {
		return nil
	}
	return u.tool("chage", words)
}

var (
	homeMode  = rx.Lazy(`^HOME_MODE\s+(\d+)$`)
	umaskLine = rx.Lazy(`^UMASK\s+(\d+)$`)
)

// failedHome is how the module ends when a home cannot be made.
func failedHome(err error, path string) error {
	return fail(asOSError(err, path, false).Error())
}

// makeHome makes a home directory of the skeleton.
func (u *account) makeHome(path string) error {
	if exists(u.p(path)) {
		return nil
	}
	skeleton := "/etc/skel"
	if u.a.Skeleton != nil {
		skeleton = *u.a.Skeleton
	}
	var err error
	if exists(skeleton) && skeleton != os.DevNull {
		err = copyTree(skeleton, u.p(path))
	} else {
		err = os.MkdirAll(u.p(path), 0o777&^os.FileMode(u.umask()))
	}
	if err != nil {
		return failedHome(err, path)
	}
	b, err := os.ReadFile("/etc/login.defs")
	if err != nil {
		return nil
	}
	mode := int64(0o755)
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		if m := homeMode.FindStringSubmatch(line); m != nil {
			mode, _ = octal(m[1])
			break
		}
		if m := umaskLine.FindStringSubmatch(line); m != nil {
			n, _ := octal(m[1])
			mode = 0o777 &^ n
		}
	}
	if err := syscall.Chmod(u.p(path), uint32(mode)); err != nil {
		return failedHome(err, path)
	}
	return nil
}

// copyTree is shutil.copytree with symbolic links kept.
func copyTree(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, e := range entries {
		src, dst := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		switch {
		case e.Type()&os.ModeSymlink != 0:
			var target string
			if target, err = os.Readlink(src); err == nil {
				err = os.Symlink(target, dst)
			}
		case e.IsDir():
			err = copyTree(src, dst)
		default:
			err = cmp.Or(copyContent(src, dst, 0o666), copyStat(src, dst))
		}
		if err != nil {
			return err
		}
	}
	return copyStat(from, to)
}

// ownHome gives a home, and what is in it but links, to the user.
func (u *account) ownHome(path string) error {
	uid, _ := pyInt(u.entry[2])
	gid, _ := pyInt(u.entry[3])
	err := filepath.WalkDir(u.p(path), func(p string, e os.DirEntry, err error) error {
		if err != nil || e.Type()&os.ModeSymlink != 0 {
			return err
		}
		return os.Lchown(p, int(uid), int(gid))
	})
	if err != nil {
		return failedHome(err, path)
	}
	return nil
}

// key makes the user's SSH key where there is none, and tells of it.
func (u *account) key() error {
	a, home := u.a, u.entry[5]
	file := filepath.Join(".ssh", "id_"+a.KeyType)
	if a.KeyFile != nil {
		file = *a.KeyFile
	}
	if !strings.HasPrefix(file, "/") && !exists(home) && !u.Check {
		return fail("User "+a.Name+" home directory does not exist", "name", a.Name, "rc", int64(1))
	}
	file = pyJoin(home, file)
	if err := u.makeKey(file); err != nil {
		return err
	}
	print := ""
	if exists(file) {
		bin, err := u.needBin("ssh-keygen")
		if err != nil {
			return err
		}
		r, err := u.run(u.ctx, &command{argv: []string{bin, "-l", "-f", file}})
		if err != nil {
			return commandFailed(err, []string{bin})
		}
		print = string(r.stdout)
		if r.rc != 0 {
			print = string(r.stderr)
		}
	}
	u.res.Set("ssh_fingerprint", strings.TrimFunc(print, pySpace))
	u.res.Set("ssh_key_file", file)
	var public any
	switch b, err := u.readEdited(file + ".pub"); {
	case isHandBack(err):
		return afterChange(err)
	case err == nil:
		public = strings.TrimFunc(string(b), pySpace)
	}
	u.res.Set("ssh_public_key", public)
	return nil
}

func (u *account) makeKey(file string) error {
	a, dir := u.a, dirname(file)
	failed := func(msg string) error { return fail(msg, "name", a.Name, "rc", int64(1)) }
	uid, _ := pyInt(u.entry[2])
	gid, _ := pyInt(u.entry[3])
	if !exists(dir) {
		if u.Check {
			u.res.Set("changed", true)
			return nil
		}
		err := syscall.Mkdir(dir, 0o700)
		if err == nil {
			err = os.Lchown(dir, int(uid), int(gid))
		}
		if err != nil {
			return failed("Failed to create " + dir + ": " + asOSError(err, dir, false).Error())
		}
	}
	var answer []byte
	for _, f := range []struct{ path, what string }{{file, "private"}, {file + ".pub", "public"}} {
		if !exists(f.path) {
			continue
		}
		if !a.Force {
			u.Warn(`Found existing ssh key %s file "%s", no force, so skipping ssh-keygen generation`, f.what, f.path)
			return nil
		}
		u.Warn(`Overwriting existing ssh key %s file "%s"`, f.what, f.path)
		if f.what == "private" {
			answer = []byte("y\n")
		} else if u.Check {
			continue // the Python module removes it even then
		} else if err := syscall.Unlink(f.path); err != nil {
			return raise(asOSError(err, f.path, false).Error())
		}
	}
	u.res.Set("changed", true)
	if u.Check {
		return nil
	}
	bin, err := u.needBin("ssh-keygen")
	if err != nil {
		return err
	}
	argv := []string{bin, "-t", a.KeyType}
	if a.KeyBits > 0 {
		argv = append(argv, "-b", strconv.FormatInt(a.KeyBits, 10))
	}
	argv = append(argv, "-C", value.Str(opt(a.KeyComment)), "-f", file, "-N", "")
	r, err := u.run(u.ctx, &command{argv: argv, stdin: answer})
	if err != nil {
		return commandFailed(err, argv)
	}
	if r.rc != 0 {
		return fail(string(r.stderr), "name", a.Name, "rc", int64(r.rc))
	}
	for _, f := range []string{file, file + ".pub"} {
		if err := os.Lchown(f, int(uid), int(gid)); err != nil {
			return raise(asOSError(err, f, false).Error())
		}
	}
	return nil
}
