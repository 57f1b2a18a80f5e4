package modules

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"volant/hostagent/python"
	"volant/wire"
	"volant/wire/argspec"
	"volant/wire/value"
)

// failure is a module that ends with fail_json: msg, what else the result has,
// and the exception it was given.
type failure struct {
	msg   string
	extra *value.Dict
	cause error
}

func (f *failure) Error() string { return f.msg }

// fail ends a module with a message and further keys of the result.
func fail(msg string, kv ...any) error { return &failure{msg: msg, extra: value.DictOf(kv...)} }

// failBecause is fail with the exception that led to it.
func failBecause(cause error, msg string, kv ...any) error {
	return &failure{msg: msg, extra: value.DictOf(kv...), cause: cause}
}

// raised is an exception that the Python module does not catch; msgs are it
// and its causes, outermost first.
type raised struct{ msgs []string }

func (r *raised) Error() string { return strings.Join(r.msgs, ": ") }

func raise(msgs ...string) error { return &raised{msgs} }

// printed is a module that prints its result itself, and no more is added.
type printed struct{ res Result }

func (p *printed) Error() string { return "the module printed its result" }

// skip is a module that does nothing in check mode, and says so.
type skip struct{ msg string }

func (s *skip) Error() string { return s.msg }

// osError is an OSError as Python shows it.
type osError struct {
	errno syscall.Errno
	path  string
	bytes bool // the path was given as bytes
}

// Error is str() of the exception.
func (e *osError) Error() string {
	s := "[Errno " + strconv.Itoa(int(e.errno)) + "] " + strerror(e.errno)
	if e.path != "" {
		r := value.Repr(e.path)
		if e.bytes {
			r = value.Repr([]byte(e.path))
		}
		s += ": " + r
	}
	return s
}

// asOSError gives err, of a call on path, as Python's exception.
func asOSError(err error, path string, bytes bool) *osError {
	return &osError{errnoOf(err), path, bytes}
}

func errnoOf(err error) syscall.Errno {
	var no syscall.Errno
	switch {
	case errors.As(err, &no):
		return no
	case errors.Is(err, fs.ErrNotExist):
		return syscall.ENOENT
	case errors.Is(err, fs.ErrPermission):
		return syscall.EACCES
	}
	return syscall.EIO
}

// strerror is the C library's text of an errno: Go's begins in lower case.
func strerror(e syscall.Errno) string {
	s := e.Error()
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// errTooLarge says that what a command printed went beyond the limit.
var errTooLarge = &wire.Fault{Code: wire.FaultTooLarge, Text: "The output is larger than max_result allows.", Started: true}

// rule adjusts a reflected spec.
type rule func(*argspec.Spec)

func oneOf(names ...string) rule {
	return func(s *argspec.Spec) { s.RequiredOneOf = append(s.RequiredOneOf, names) }
}

func exclusive(names ...string) rule {
	return func(s *argspec.Spec) { s.MutuallyExclusive = append(s.MutuallyExclusive, names) }
}

func option(name string, change func(*argspec.Option)) rule {
	return func(s *argspec.Spec) {
		for i := range s.Options {
			if s.Options[i].Name == name {
				change(&s.Options[i])
			}
		}
	}
}

// call is one run of a native module: its environment and its parameters as
// they stand, which the result shows as `invocation`.
type call struct {
	*Env
	params *value.Dict
}

// native makes a Module of a function over an argument struct.
func native[A any](run func(context.Context, *call, *A) (Result, error), rules ...rule) Module {
	var zero A
	spec := argspec.Reflect(zero)
	for _, r := range rules {
		r(spec)
	}
	return func(ctx context.Context, env *Env, args *value.Dict) (Result, error) {
		checked := argspec.ValidateIn(env.args(), spec, args)
		c := &call{Env: env, params: checked.Params}
		env.warnings = append(env.warnings, checked.Warnings...)
		if err := firstError(env, checked); err != "" {
			return c.finish(value.DictOf("failed", true, "msg", err), checked.NoLog), nil
		}
		var a A
		if err := argspec.Fill(checked.Params, &a); err != nil {
			return nil, handBack("%v", err)
		}
		res, err := run(ctx, c, &a)
		if env.truncated {
			return nil, errTooLarge
		}
		if err == nil {
			return c.finish(res, checked.NoLog), nil
		}
		var f *failure
		var r *raised
		var p *printed
		var s *skip
		switch {
		case errors.As(err, &s):
			return c.finish(value.DictOf("skipped", true, "msg", s.msg), checked.NoLog), nil
		case errors.As(err, &p):
			return p.res, nil
		case errors.As(err, &f):
			out := f.extra
			out.Set("failed", true)
			out.Set("msg", f.msg)
			if f.cause != nil {
				out.Set("exception", python.Exception("", f.msg, f.cause.Error()))
			}
			return c.finish(out, checked.NoLog), nil
		case errors.As(err, &r):
			return value.DictOf("failed", true, "exception", python.Raised(r.msgs...)), nil
		}
		return nil, err
	}
}

func firstError(env *Env, checked *argspec.Result) string {
	if len(checked.Errors) == 0 {
		return ""
	}
	e := checked.Errors[0]
	if checked.Unsupported {
		if env.IgnoreUnknown {
			return ""
		}
		return "Unsupported parameters for (" + env.Name + ") module: " + e.Text
	}
	return e.Text
}

// finish is what exit_json and fail_json add to a result.
func (c *call) finish(res Result, noLog []string) Result {
	c.addPathInfo(res)
	if !res.Has("invocation") {
		res.Set("invocation", value.DictOf("module_args", c.params))
	}
	if len(c.warnings) > 0 {
		l := value.ListOf()
		for _, w := range c.warnings {
			if !slices.Contains(l.Items, any(w)) {
				l.Items = append(l.Items, w)
			}
		}
		res.Set("warnings", l)
	}
	if len(c.deprecations) > 0 {
		res.Set("deprecations", value.ListOf(c.deprecations...))
	}
	if len(noLog) > 0 {
		slices.SortStableFunc(noLog, func(a, b string) int { return len(b) - len(a) })
		for i := range res.Len() {
			_, v := res.At(i)
			if _, isBool := v.(bool); !isBool && v != nil {
				res.SetAt(i, censor(v, noLog, 0))
			}
		}
	}
	return res
}

// hidden stands for what must not be shown.
const hidden = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"

// maxDepth bounds how deep results are looked into.
const maxDepth = 64

// censor takes no_log texts out of a value, longest first.
func censor(v any, secrets []string, depth int) any {
	if depth > maxDepth {
		return hidden
	}
	switch v := v.(type) {
	case string:
		if slices.Contains(secrets, v) {
			return hidden
		}
		for _, s := range secrets {
			v = strings.ReplaceAll(v, s, "********")
		}
		return v
	case int64, float64:
		text := value.Str(v)
		for _, s := range secrets {
			if strings.Contains(text, s) {
				return hidden
			}
		}
	case *value.Dict:
		out := value.NewDict(v.Len())
		for k, e := range v.All() {
			out.Set(k, censor(e, secrets, depth+1))
		}
		return out
	case *value.List:
		out := &value.List{Items: make([]any, len(v.Items))}
		for i, e := range v.Items {
			out.Items[i] = censor(e, secrets, depth+1)
		}
		return out
	}
	return v
}

// addPathInfo completes a result that names a file with what the file is like.
func (c *call) addPathInfo(res Result) {
	path, ok := res.Str("path")
	if !ok {
		if path, ok = res.Str("dest"); !ok {
			return
		}
	}
	p := c.p(path)
	var target syscall.Stat_t
	if syscall.Stat(p, &target) != nil {
		return
	}
	var st syscall.Stat_t
	if syscall.Lstat(p, &st) != nil {
		return
	}
	res.Set("uid", int64(st.Uid))
	res.Set("gid", int64(st.Gid))
	res.Set("owner", userName(st.Uid))
	res.Set("group", groupName(st.Gid))
	res.Set("mode", modeText(st.Mode))
	state := "file"
	switch {
	case st.Mode&syscall.S_IFMT == syscall.S_IFLNK:
		state = "link"
	case st.Mode&syscall.S_IFMT == syscall.S_IFDIR:
		state = "directory"
	case target.Nlink > 1:
		state = "hard"
	}
	res.Set("state", state)
	res.Set("size", st.Size)
}

// opted is an option's text, empty where it is not given.
func opted(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// modeText is '0%03o' of the permission bits.
func modeText(mode uint32) string {
	s := strconv.FormatUint(uint64(mode&0o7777), 8)
	for len(s) < 3 {
		s = "0" + s
	}
	return "0" + s
}

func exists(path string) bool {
	var st syscall.Stat_t
	return syscall.Stat(path, &st) == nil
}

func lexists(path string) bool {
	var st syscall.Stat_t
	return syscall.Lstat(path, &st) == nil
}

func isDir(path string) bool {
	var st syscall.Stat_t
	return syscall.Stat(path, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFDIR
}

func isFile(path string) bool {
	var st syscall.Stat_t
	return syscall.Stat(path, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFREG
}

func isLink(path string) bool {
	var st syscall.Stat_t
	return syscall.Lstat(path, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFLNK
}

// selinuxOn reports whether SELinux labels files here.
func selinuxOn() bool {
	_, err := os.Stat("/sys/fs/selinux/enforce")
	return err == nil
}
