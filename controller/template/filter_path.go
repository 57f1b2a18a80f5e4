package template

import (
	"os"
	"os/user"
	"path/filepath"
	"sort"
	"strings"

	"volant/controller/jinja"
	"volant/wire/rx"
	"volant/wire/value"
)

var pathFilters = map[string]*jinja.Plugin{
	"basename":       def("basename(p)", onPath("expected str, bytes or os.PathLike object, not %s", func(_ *Scope, p string) any { _, b := splitPath(p); return b })),
	"dirname":        def("dirname(p)", onPath("expected str, bytes or os.PathLike object, not %s", func(_ *Scope, p string) any { d, _ := splitPath(p); return d })),
	"expanduser":     def("expanduser(path)", onPath("expected str, bytes or os.PathLike object, not %s", func(s *Scope, p string) any { return s.expandUser(p) })),
	"expandvars":     def("expandvars(path)", onPath("expected str, bytes or os.PathLike object, not %s", func(s *Scope, p string) any { return s.expandVars(p) })),
	"normpath":       def("normpath(path)", onPath("expected str, bytes or os.PathLike object, not %s", func(_ *Scope, p string) any { return normPath(p) })),
	"realpath":       def("realpath(filename, *, strict=False)", onPath("expected str, bytes or os.PathLike object, not %s", func(_ *Scope, p string) any { return realPath(p) })),
	"splitext":       def("splitext(p)", onPath("expected str, bytes or os.PathLike object, not %s", func(_ *Scope, p string) any { r, e := splitExt(p); return value.Tuple{r, e} })),
	"relpath":        def("relpath(path, start=None)", relPath),
	"commonpath":     def("commonpath(paths)", commonPath),
	"path_join":      def("path_join(paths)", pathJoin),
	"fileglob":       def("fileglob(pathname)", fileGlobFilter),
	"win_basename":   def("basename(p)", onPath("expected str, bytes or os.PathLike object, not %s", func(_ *Scope, p string) any { _, b := winSplit(p); return b })),
	"win_dirname":    def("dirname(p)", onPath("expected str, bytes or os.PathLike object, not %s", func(_ *Scope, p string) any { d, _ := winSplit(p); return d })),
	"win_splitdrive": def("splitdrive(p)", onPath("expected str, bytes or os.PathLike object, not %s", func(_ *Scope, p string) any { d, r := winDrive(p); return value.Tuple{d, r} })),
}

// onPath is a filter of one path.
func onPath(what string, fn func(s *Scope, p string) any) call {
	return func(c *jinja.Context, a []any) (any, error) {
		p, ok := value.Text(a[0])
		if !ok {
			return nil, value.TypeErrorf(what, lazyName(a[0]))
		}
		return fn(of(c), p), nil
	}
}

// splitPath is Python's os.path.split.
func splitPath(p string) (head, tail string) {
	i := strings.LastIndexByte(p, '/') + 1
	head, tail = p[:i], p[i:]
	if strings.Trim(head, "/") != "" {
		head = strings.TrimRight(head, "/")
	}
	return head, tail
}

// joinPath is Python's os.path.join.
func joinPath(parts ...string) string {
	out := ""
	for i, p := range parts {
		switch {
		case i == 0 || strings.HasPrefix(p, "/"):
			out = p
		case out == "" || strings.HasSuffix(out, "/"):
			out += p
		default:
			out += "/" + p
		}
	}
	return out
}

// normPath is Python's os.path.normpath: two leading slashes stay two.
func normPath(p string) string {
	if p == "" {
		return "."
	}
	lead := ""
	if p[0] == '/' {
		lead = "/"
		if strings.HasPrefix(p, "//") && !strings.HasPrefix(p, "///") {
			lead = "//"
		}
	}
	var out []string
	for _, part := range strings.Split(p, "/") {
		switch {
		case part == "" || part == ".":
		case part != ".." || lead == "" && len(out) == 0 || len(out) > 0 && out[len(out)-1] == "..":
			out = append(out, part)
		case len(out) > 0:
			out = out[:len(out)-1]
		}
	}
	if s := lead + strings.Join(out, "/"); s != "" {
		return s
	}
	return "."
}

func splitExt(p string) (root, ext string) {
	base := strings.LastIndexByte(p, '/') + 1
	dot := strings.LastIndexByte(p, '.')
	if dot < base || strings.Trim(p[base:dot], ".") == "" {
		return p, ""
	}
	return p[:dot], p[dot:]
}

func absPath(p string) string {
	if !strings.HasPrefix(p, "/") {
		wd, err := os.Getwd()
		if err == nil {
			p = joinPath(wd, p)
		}
	}
	return normPath(p)
}

// realPath is os.path.realpath: links are followed as far as things exist.
func realPath(p string) string {
	if !strings.HasPrefix(p, "/") {
		wd, err := os.Getwd()
		if err == nil {
			p = joinPath(wd, p)
		}
	}
	rest := strings.Split(p, "/")
	out := "/"
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			out, _ = splitPath(out)
			if out == "" {
				out = "/"
			}
			continue
		}
		next := joinPath(out, part)
		target, err := os.Readlink(next)
		if err != nil {
			out = next
			continue
		}
		if links++; links > 40 {
			return joinPath(append([]string{next}, rest...)...)
		}
		if strings.HasPrefix(target, "/") {
			out = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return out
}

func relPath(_ *jinja.Context, a []any) (any, error) {
	if !value.Truth(a[0]) {
		return nil, value.ValueErrorf("no path specified")
	}
	p, ok := value.Text(a[0])
	if !ok {
		return nil, value.TypeErrorf("expected str, bytes or os.PathLike object, not %s", lazyName(a[0]))
	}
	start := "."
	if a[1] != nil {
		if start, ok = value.Text(a[1]); !ok {
			return nil, value.TypeErrorf("expected str, bytes or os.PathLike object, not %s", lazyName(a[1]))
		}
	}
	parts := func(p string) []string {
		return strings.FieldsFunc(absPath(p), func(r rune) bool { return r == '/' })
	}
	from, to := parts(start), parts(p)
	n := 0
	for n < len(from) && n < len(to) && from[n] == to[n] {
		n++
	}
	out := make([]string, 0, len(from)+len(to))
	for range from[n:] {
		out = append(out, "..")
	}
	if out = append(out, to[n:]...); len(out) == 0 {
		return ".", nil
	}
	return strings.Join(out, "/"), nil
}

func commonPath(c *jinja.Context, a []any) (any, error) {
	items, ok := elements(a[0])
	if !ok {
		return nil, failf("|commonpath expects sequence, got %s instead.", typeRepr(a[0]))
	}
	if len(items) == 0 {
		return nil, value.ValueErrorf("commonpath() arg is an empty sequence")
	}
	var common []string
	abs := false
	for i, v := range items {
		p, ok := value.Text(v)
		if !ok {
			return nil, value.TypeErrorf("expected str, bytes or os.PathLike object, not %s", lazyName(v))
		}
		if i > 0 && strings.HasPrefix(p, "/") != abs {
			return nil, value.ValueErrorf("Can't mix absolute and relative paths")
		}
		abs = strings.HasPrefix(p, "/")
		var parts []string
		for _, part := range strings.Split(p, "/") {
			if part != "" && part != "." {
				parts = append(parts, part)
			}
		}
		if i == 0 {
			common = parts
			continue
		}
		n := 0
		for n < len(common) && n < len(parts) && common[n] == parts[n] {
			n++
		}
		common = common[:n]
	}
	out := strings.Join(common, "/")
	if abs {
		out = "/" + out
	}
	return out, nil
}

func pathJoin(_ *jinja.Context, a []any) (any, error) {
	if p, ok := value.Text(a[0]); ok {
		return p, nil
	}
	items, ok := elements(a[0])
	if !ok {
		return nil, failf("|path_join expects string or sequence, got %s instead.", typeRepr(a[0]))
	}
	if len(items) == 0 {
		return nil, value.TypeErrorf("join() missing 1 required positional argument: 'a'")
	}
	parts := make([]string, len(items))
	for i, v := range items {
		p, ok := value.Text(v)
		if !ok && i == 0 {
			return nil, value.TypeErrorf("expected str, bytes or os.PathLike object, not %s", lazyName(v))
		}
		if !ok {
			return nil, value.TypeErrorf("join() argument must be str, bytes, or os.PathLike object, not '%s'", lazyName(v))
		}
		parts[i] = p
	}
	return joinPath(parts...), nil
}

// home is the home directory of a user, of our own for "".
func (s *Scope) home(name string) (string, bool) {
	if name == "" {
		if h, ok := s.e.opt.Getenv("HOME"); ok {
			return h, true
		}
		u, err := user.Current()
		if err != nil {
			return "", false
		}
		return u.HomeDir, true
	}
	u, err := user.Lookup(name)
	if err != nil {
		return "", false
	}
	return u.HomeDir, true
}

// expandUser is os.path.expanduser.
func (s *Scope) expandUser(p string) string {
	if !strings.HasPrefix(p, "~") {
		return p
	}
	i := strings.IndexByte(p, '/')
	if i < 0 {
		i = len(p)
	}
	h, ok := s.home(p[1:i])
	if !ok {
		return p
	}
	if out := strings.TrimRight(h, "/") + p[i:]; out != "" {
		return out
	}
	return "/"
}

var envPattern = rx.Lazy(`\$(\w+|\{[^}]*\})`)

// expandVars is os.path.expandvars.
func (s *Scope) expandVars(p string) string {
	return envPattern.ReplaceAllStringFunc(p, func(m string) string {
		name := strings.Trim(m[1:], "{}")
		if v, ok := s.e.opt.Getenv(name); ok {
			return v
		}
		return m
	})
}

// unfrack is the reference's unfrackpath without following links: user and
// variables expanded, made absolute below base.
func (s *Scope) unfrack(p, base string) string {
	p = s.expandUser(s.expandVars(p))
	if !strings.HasPrefix(p, "/") {
		if base == "" {
			return absPath(p)
		}
		p = joinPath(base, p)
	}
	return normPath(p)
}

func fileGlobFilter(_ *jinja.Context, a []any) (any, error) {
	p, ok := value.Text(a[0])
	if !ok {
		return nil, value.TypeErrorf("expected str, bytes or os.PathLike object, not %s", lazyName(a[0]))
	}
	return value.Strings(globFiles(p)...), nil
}

// globFiles are the regular files a Python glob pattern names, sorted.
func globFiles(p string) []string {
	names, err := filepath.Glob(pythonGlob(p))
	if err != nil {
		return nil
	}
	hidden := strings.HasPrefix(filepath.Base(p), ".")
	var out []string
	for _, n := range names {
		st, err := os.Stat(n)
		if err == nil && st.Mode().IsRegular() && (hidden || !strings.HasPrefix(filepath.Base(n), ".")) {
			out = append(out, n)
		}
	}
	sort.Strings(out)
	return out
}

// pythonGlob writes a Python pattern for filepath.Glob, where a backslash is
// ordinary and a class is negated with an exclamation mark.
func pythonGlob(p string) string {
	p = strings.ReplaceAll(p, `\`, `\\`)
	return strings.ReplaceAll(p, "[!", "[^")
}

// winDrive is ntpath.splitdrive.
func winDrive(p string) (drive, rest string) {
	n := strings.ReplaceAll(p, "/", `\`)
	if strings.HasPrefix(n, `\\`) && !strings.HasPrefix(n, `\\\`) {
		start := 2
		if strings.HasPrefix(strings.ToUpper(n), `\\?\UNC\`) {
			start = 8
		}
		i := strings.IndexByte(n[start:], '\\')
		if i < 0 {
			return p, ""
		}
		i += start
		j := strings.IndexByte(n[i+1:], '\\')
		if j < 0 {
			return p, ""
		}
		return p[:i+1+j], p[i+1+j:]
	}
	if len(n) > 1 && n[1] == ':' {
		return p[:2], p[2:]
	}
	return "", p
}

// winSplit is ntpath.split.
func winSplit(p string) (head, tail string) {
	drive, rest := winDrive(p)
	i := strings.LastIndexAny(rest, `\/`) + 1
	head, tail = rest[:i], rest[i:]
	if t := strings.TrimRight(head, `\/`); t != "" {
		head = t
	}
	return drive + head, tail
}
