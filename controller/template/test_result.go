package template

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"syscall"

	"volant/controller/jinja"
	"volant/controller/vault"
	"volant/wire/value"
)

// resultTests are the tests of what a task registered.
var resultTests = map[string]*jinja.Plugin{
	"failed":      lazy(def("failed(result)", key("failed", "failed", false))),
	"failure":     lazy(def("failed(result)", key("failed", "failed", false))),
	"succeeded":   lazy(def("success(result)", key("failed", "failed", true))),
	"success":     lazy(def("success(result)", key("failed", "failed", true))),
	"successful":  lazy(def("success(result)", key("failed", "failed", true))),
	"reachable":   lazy(def("reachable(result)", key("unreachable", "unreachable", true))),
	"unreachable": lazy(def("unreachable(result)", key("unreachable", "unreachable", false))),
	"skipped":     lazy(def("skipped(result)", key("skipped", "skipped", false))),
	"skip":        lazy(def("skipped(result)", key("skipped", "skipped", false))),
	"changed":     lazy(def("changed(result)", changedTest)),
	"change":      lazy(def("changed(result)", changedTest)),
	"timedout":    lazy(def("timedout(result)", timedoutTest)),
	"started":     lazy(def("started(result)", asyncTest("started"))),
	"finished":    lazy(def("finished(result)", asyncTest("finished"))),
}

// read is an entry of a result, rendered; what fails is a marker.
func read(c *jinja.Context, v any) any {
	r, err := c.Read(v)
	if err != nil {
		return &value.Undefined{Hint: err.Error(), Err: err}
	}
	return r
}

func needDict(v any, test string) (*value.Dict, error) {
	if d, ok := v.(*value.Dict); ok {
		return d, nil
	}
	return nil, failf("The '%s' test expects a dictionary", test)
}

// key tests the truth of one key of a result, or its absence.
func key(name, test string, not bool) call {
	return func(c *jinja.Context, a []any) (any, error) {
		d, err := needDict(a[0], test)
		if err != nil {
			return nil, err
		}
		b, err := c.Truth(read(c, d.Lookup(name)))
		return b != not, err
	}
}

func changedTest(c *jinja.Context, a []any) (any, error) {
	d, err := needDict(a[0], "changed")
	if err != nil {
		return nil, err
	}
	if v, ok := d.Get("changed"); ok {
		return c.Truth(read(c, v))
	}
	results, ok := read(c, d.Lookup("results")).(*value.List)
	if !ok {
		return false, nil
	}
	if len(results.Items) == 0 {
		return nil, value.Raise("IndexError", "list index out of range")
	}
	if _, ok := read(c, results.Items[0]).(*value.Dict); !ok {
		return false, nil
	}
	for _, r := range results.Items {
		rd, ok := read(c, r).(*value.Dict)
		if !ok {
			return nil, value.Raise("AttributeError", "'%s' object has no attribute 'get'", lazyName(r))
		}
		if truth(c, read(c, rd.Lookup("changed"))) {
			return true, nil
		}
	}
	return false, nil
}

func timedoutTest(c *jinja.Context, a []any) (any, error) {
	d, err := needDict(a[0], "timedout")
	if err != nil {
		return nil, err
	}
	t := read(c, d.Lookup("timedout"))
	if !truth(c, t) {
		return false, nil
	}
	td, ok := t.(*value.Dict)
	if !ok {
		return nil, value.Raise("AttributeError", "'%s' object has no attribute 'get'", lazyName(t))
	}
	return c.Truth(read(c, td.Lookup("period")))
}

func asyncTest(name string) call {
	return func(c *jinja.Context, a []any) (any, error) {
		d, err := needDict(a[0], name)
		if err != nil {
			return nil, err
		}
		if v, ok := d.Get(name); ok {
			return c.Truth(read(c, v))
		}
		if s := of(c); s != nil {
			s.warn("The '"+name+"' test expects an async task, but a non-async task was tested", nil, "")
		}
		return true, nil
	}
}

// fileTests look at the controller's file system.
var fileTests = map[string]*jinja.Plugin{
	"directory":    def("isdir(s)", statTest("isdir", func(st os.FileInfo) bool { return st.IsDir() })),
	"is_dir":       def("isdir(s)", statTest("isdir", func(st os.FileInfo) bool { return st.IsDir() })),
	"file":         def("isfile(path)", statTest("isfile", func(st os.FileInfo) bool { return st.Mode().IsRegular() })),
	"is_file":      def("isfile(path)", statTest("isfile", func(st os.FileInfo) bool { return st.Mode().IsRegular() })),
	"exists":       def("exists(path)", statTest("exists", func(os.FileInfo) bool { return true })),
	"link":         def("islink(path)", lstatTest("lstat", func(st os.FileInfo) bool { return st.Mode()&os.ModeSymlink != 0 })),
	"is_link":      def("islink(path)", lstatTest("lstat", func(st os.FileInfo) bool { return st.Mode()&os.ModeSymlink != 0 })),
	"link_exists":  def("lexists(path)", lstatTest("lstat", func(os.FileInfo) bool { return true })),
	"abs":          def("isabs(s)", absTest),
	"is_abs":       def("isabs(s)", absTest),
	"same_file":    def("samefile(f1, f2)", sameFileTest),
	"is_same_file": def("samefile(f1, f2)", sameFileTest),
	"mount":        def("ismount(path)", mountTest),
	"is_mount":     def("ismount(path)", mountTest),
	"vaulted_file": def("vaulted_file(value)", vaultedFileTest),
}

func statTest(_ string, ok func(os.FileInfo) bool) call {
	return func(_ *jinja.Context, a []any) (any, error) {
		p, isText := value.Text(a[0])
		if !isText {
			if value.IsInt(a[0]) { // a file descriptor, in Python
				return false, nil
			}
			return nil, value.TypeErrorf("stat: path should be string, bytes, os.PathLike or integer, not %s", lazyName(a[0]))
		}
		st, err := os.Stat(p)
		return err == nil && ok(st), nil
	}
}

func lstatTest(_ string, ok func(os.FileInfo) bool) call {
	return func(_ *jinja.Context, a []any) (any, error) {
		p, isText := value.Text(a[0])
		if !isText {
			return nil, value.TypeErrorf("lstat: path should be string, bytes or os.PathLike, not %s", lazyName(a[0]))
		}
		st, err := os.Lstat(p)
		return err == nil && ok(st), nil
	}
}

func absTest(_ *jinja.Context, a []any) (any, error) {
	p, ok := value.Text(a[0])
	if !ok {
		return nil, value.TypeErrorf("expected str, bytes or os.PathLike object, not %s", lazyName(a[0]))
	}
	return strings.HasPrefix(p, "/"), nil
}

func sameFileTest(_ *jinja.Context, a []any) (any, error) {
	var st [2]os.FileInfo
	for i, v := range a {
		p, ok := value.Text(v)
		if !ok {
			return nil, value.TypeErrorf("stat: path should be string, bytes, os.PathLike or integer, not %s", lazyName(v))
		}
		var err error
		if st[i], err = os.Stat(p); err != nil {
			return nil, osError(err, p)
		}
	}
	return os.SameFile(st[0], st[1]), nil
}

func mountTest(_ *jinja.Context, a []any) (any, error) {
	p, ok := value.Text(a[0])
	if !ok {
		return nil, value.TypeErrorf("lstat: path should be string, bytes or os.PathLike, not %s", lazyName(a[0]))
	}
	st, err := os.Lstat(p)
	if err != nil || st.Mode()&os.ModeSymlink != 0 {
		return false, nil
	}
	up, err := os.Lstat(realPath(joinPath(p, "..")))
	if err != nil {
		return false, nil
	}
	a1, ok1 := st.Sys().(*syscall.Stat_t)
	a2, ok2 := up.Sys().(*syscall.Stat_t)
	return ok1 && ok2 && (a1.Dev != a2.Dev || a1.Ino == a2.Ino), nil
}

func vaultedFileTest(_ *jinja.Context, a []any) (any, error) {
	p, ok := value.Text(a[0])
	fail := func(err error) error {
		return failBy(err, "Cannot test if the file %s is a vault.", value.Repr(a[0]))
	}
	if !ok {
		p = value.Str(a[0])
	}
	bytesError := func(err error) error { // Python opened the path as bytes
		var e *value.Exception
		if errors.As(osError(err, p), &e) {
			return value.Raise(e.Class, "%sb%s", strings.TrimSuffix(e.Msg, value.Repr(p)), value.Repr(p))
		}
		return err
	}
	f, err := os.Open(p)
	if err != nil {
		return nil, fail(bytesError(err))
	}
	defer f.Close()
	head := make([]byte, 64)
	n, err := f.Read(head)
	if err != nil && n == 0 {
		if st, serr := f.Stat(); serr == nil && st.IsDir() {
			return nil, fail(bytesError(err))
		}
		return false, nil
	}
	return vault.IsEncrypted(head[:n]) || bytes.HasPrefix(head[:n], []byte("$ANSIBLE_VAULT")), nil
}

// osError is an OSError's text.
func osError(err error, path string) error {
	var no syscall.Errno
	switch {
	case os.IsNotExist(err):
		no = syscall.ENOENT
	case os.IsPermission(err):
		no = syscall.EACCES
	default:
		if pe, ok := err.(*os.PathError); ok { //nolint:errorlint // os returns it unwrapped
			if n, ok := pe.Err.(syscall.Errno); ok { //nolint:errorlint // likewise
				no = n
			}
		}
	}
	if no == 0 {
		return value.Raise("OSError", "%s", err.Error())
	}
	return value.Raise("OSError", "%s: %s", value.Errno(no), value.Repr(path))
}

// contains is Python's `in` for text.
func contains(s, part string) bool { return strings.Contains(s, part) }
