package modules

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"volant/wire/pyre"
	"volant/wire/rx"
	"volant/wire/value"
)

type findArgs struct {
	Paths     []string `arg:"paths,required,elements=path,alias=name|path"`
	Patterns  []string `arg:"patterns,default=,alias=pattern"`
	Excludes  []string `arg:"excludes,alias=exclude"`
	Contains  *string  `arg:"contains"`
	WholeFile bool     `arg:"read_whole_file,default=no"`
	FileType  string   `arg:"file_type,default=file,choices=any|directory|file|link"`
	Age       *string  `arg:"age"`
	AgeStamp  string   `arg:"age_stamp,default=mtime,choices=atime|ctime|mtime"`
	Size      *string  `arg:"size"`
	Recurse   bool     `arg:"recurse,default=no"`
	Hidden    bool     `arg:"hidden,default=no"`
	Follow    bool     `arg:"follow,default=no"`
	Checksum  bool     `arg:"get_checksum,default=no"`
	Algorithm string   `arg:"checksum_algorithm,default=sha1,choices=md5|sha1|sha224|sha256|sha384|sha512,alias=checksum|checksum_algo"`
	UseRegex  bool     `arg:"use_regex,default=no"`
	Depth     *int64   `arg:"depth"`
	Mode      any      `arg:"mode,type=raw"`
	ExactMode bool     `arg:"exact_mode,default=yes"`
	Encoding  *string  `arg:"encoding"`
	Limit     *int64   `arg:"limit"`
}

// finding is one run of find.
type finding struct {
	*call
	ctx                context.Context
	a                  *findArgs
	patterns, excludes []func(string) (bool, error)
	contains           *pyre.Regexp
	age, size          *int64
	now                float64
	files              *value.List
	looked             int64
	skipped            *value.Dict
}

// maxFound bounds a result; more is left to the Python module and its bounds.
const maxFound = 200_000

func find(ctx context.Context, c *call, a *findArgs) (Result, error) {
	f := &finding{call: c, ctx: ctx, a: a, files: value.ListOf(), skipped: value.NewDict(0)}
	if err := f.prepare(); err != nil {
		return nil, err
	}
	now := c.now()
	f.now = float64(now.UnixNano()) / 1e9
	msg, warned := "All paths examined", false
	for _, p := range a.Paths {
		if !isDir(p) {
			why := "'" + p + "' is not a directory"
			f.skipped.Set(p, why)
			c.Warn("Skipped '%s' path due to this access issue: %s\n", p, why)
			warned = true
			continue
		}
		if err := f.walk(p, p, 0); err != nil && err != filepath.SkipAll {
			return nil, err
		}
		if f.full() {
			msg = "Limit of matches reached"
		}
	}
	if warned {
		msg = "Not all paths examined, check warnings for details"
	}
	return value.DictOf("files", f.files, "changed", false, "msg", msg, "matched", int64(len(f.files.Items)),
		"examined", f.looked, "skipped_paths", f.skipped), nil
}

var (
	agePattern  = rx.Lazy(`^(-?[0-9]+)(s|m|h|d|w)?\n?$`)
	sizePattern = rx.Lazy(`^(-?[0-9]+)(b|k|m|g|t)?\n?$`)
	ageUnits    = map[string]int64{"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
	sizeUnits   = map[string]int64{"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
)

// amount reads a number with a unit.
func amount(s *string, pattern *rx.Pattern, units map[string]int64, name string) (*int64, error) {
	if s == nil {
		return nil, nil
	}
	m := pattern.FindStringSubmatch(strings.ToLower(*s))
	if m == nil {
		return nil, fail("failed to process "+name, name, *s)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	unit := units[m[2]]
	if err != nil || n > math.MaxInt64/unit || n < -math.MaxInt64/unit {
		return nil, handBack("a large number")
	}
	n *= unit
	return &n, nil
}

func (f *finding) prepare() error {
	a := f.a
	if a.Follow {
		return handBack("links are followed")
	}
	for _, p := range a.Paths {
		if !strings.HasPrefix(p, "/") || strings.HasPrefix(p, "//") || strings.IndexByte(p, 0) >= 0 || !utf8.ValidString(p) {
			return handBack("an unusual path")
		}
	}
	switch m := a.Mode.(type) {
	case string, nil:
	default:
		if value.Truth(m) {
			return fail(fmt.Sprintf("argument 'mode' is not a string and conversion is not allowed, value is of type %s", value.TypeName(m)))
		}
	}
	if len(a.Patterns) == 0 {
		a.Patterns = []string{"*"}
		if a.UseRegex {
			a.Patterns = []string{".*"}
		}
		f.params.Set("patterns", stringList(a.Patterns))
	}
	var err error
	if f.age, err = amount(a.Age, agePattern, ageUnits, "age"); err != nil {
		return err
	}
	if f.size, err = amount(a.Size, sizePattern, sizeUnits, "size"); err != nil {
		return err
	}
	if a.Limit != nil && *a.Limit <= 0 {
		return fail(fmt.Sprintf("limit cannot be %d (use None for unlimited)", *a.Limit))
	}
	if f.patterns, err = f.matchers(a.Patterns); err != nil {
		return err
	}
	if f.excludes, err = f.matchers(a.Excludes); err != nil {
		return err
	}
	if a.Contains != nil {
		if a.Encoding != nil && *a.Encoding != "utf-8" && *a.Encoding != "utf8" {
			return handBack("an encoding of its own")
		}
		if f.contains, err = pyre.Compile(*a.Contains, 0); err != nil {
			return handBack("regular expression: %v", err)
		}
	}
	if s, ok := a.Mode.(string); ok && s != "" {
		if _, ok := octal(s); !ok {
			if _, err := symbolicMode(0, f.umask(), s); err != nil {
				return handBack("mode: %v", err)
			}
		}
	}
	if a.Checksum && a.Algorithm == "md5" && fipsOn() {
		return handBack("md5 with FIPS mode on")
	}
	return nil
}

func (f *finding) matchers(patterns []string) ([]func(string) (bool, error), error) {
	var out []func(string) (bool, error)
	for _, p := range patterns {
		if !f.a.UseRegex {
			out = append(out, func(s string) (bool, error) { return fnmatch(p, s), nil })
			continue
		}
		re, err := pyre.Compile(p, 0)
		if err != nil {
			return nil, handBack("regular expression: %v", err)
		}
		out = append(out, func(s string) (bool, error) {
			m, err := re.Match(s)
			if err != nil {
				return false, handBack("regular expression: %v", err)
			}
			return m != nil, nil
		})
	}
	return out, nil
}

func (f *finding) full() bool { return f.a.Limit != nil && int64(len(f.files.Items)) == *f.a.Limit }

// walk visits a directory as os.walk does, from the top; SkipAll ends it.
func (f *finding) walk(top, dir string, depth int) error {
	if err := f.ctx.Err(); err != nil {
		return err
	}
	if depth > maxWalk {
		return handBack("directories are nested more than %d deep", maxWalk)
	}
	names, dirs, err := f.list(dir)
	if err != nil {
		return err
	}
	f.looked += int64(len(names))
	into := dirs
	for _, name := range names {
		path := cleanJoin(dir, name)
		if d := f.a.Depth; d != nil && *d != 0 {
			if int64(strings.Count(path, "/")-strings.Count(strings.TrimRight(top, "/")+"/", "/")+1) > *d {
				into = nil
				continue
			}
		}
		if strings.HasPrefix(name, ".") && !f.a.Hidden {
			continue
		}
		if err := f.look(path, name); err != nil {
			return err
		}
		if f.full() {
			break
		}
	}
	if !f.a.Recurse || f.full() {
		return filepath.SkipAll
	}
	for _, d := range into {
		path := pyJoin(dir, d)
		if isLink(path) {
			continue
		}
		if err := f.walk(top, path, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// maxWalk bounds how deep directories are gone into.
const maxWalk = 1000

// list gives the names in a directory, files first, as the directory has them,
// and of these the directories.
func (f *finding) list(dir string) (names, dirs []string, err error) {
	h, err := os.Open(dir)
	if err != nil {
		return nil, nil, f.unreadable(err, dir)
	}
	entries, err := h.ReadDir(-1)
	h.Close()
	if err != nil {
		return nil, nil, f.unreadable(err, dir)
	}
	for _, e := range entries {
		if !utf8.ValidString(e.Name()) {
			return nil, nil, handBack("a name that is not UTF-8")
		}
		if e.IsDir() || e.Type()&os.ModeSymlink != 0 && isDir(dir+"/"+e.Name()) {
			dirs = append(dirs, e.Name())
		} else {
			names = append(names, e.Name())
		}
	}
	return append(names, dirs...), dirs, nil
}

func (f *finding) unreadable(err error, dir string) error {
	e := asOSError(err, dir, false)
	switch e.errno {
	case syscall.EPERM, syscall.EACCES, syscall.ENOENT:
		f.skipped.Set(dir, e.Error())
		return nil
	}
	return handBack("reading %s: %v", dir, err)
}

// cleanJoin is normpath of join.
func cleanJoin(dir, name string) string { return filepath.Clean(dir + "/" + name) }

// look judges one entry.
func (f *finding) look(path, name string) error {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return handBack("reading %s: %v", path, err)
	}
	kind := st.Mode & syscall.S_IFMT
	switch f.a.FileType {
	case "directory":
		if kind != syscall.S_IFDIR {
			return nil
		}
	case "file":
		if kind != syscall.S_IFREG {
			return nil
		}
	case "link":
		if kind != syscall.S_IFLNK {
			return nil
		}
	}
	wanted, err := f.named(name)
	if err != nil || !wanted || !f.aged(&st) || !f.moded(&st) {
		return err
	}
	if kind == syscall.S_IFREG && (f.a.FileType == "any" || f.a.FileType == "file") {
		if n := f.size; n != nil && (*n >= 0 && st.Size < *n || *n < 0 && st.Size > -*n) {
			return nil
		}
	}
	if f.a.FileType == "file" {
		if ok, err := f.contentOK(path); err != nil || !ok {
			return err
		}
	}
	if len(f.files.Items) >= maxFound {
		return handBack("more than %d files", maxFound)
	}
	d := f.info(path, &st)
	if f.a.Checksum && kind == syscall.S_IFREG && (f.a.FileType == "any" || f.a.FileType == "file") {
		sum, err := digest(f.ctx, path, f.a.Algorithm)
		if err != nil {
			return handBack("reading %s: %v", path, err)
		}
		d.Set("checksum", sum)
	}
	f.files.Items = append(f.files.Items, d)
	return nil
}

func (f *finding) named(name string) (bool, error) {
	for _, p := range f.patterns {
		ok, err := p(name)
		if err != nil {
			return false, err
		}
		if !ok {
			continue
		}
		for _, x := range f.excludes {
			if out, err := x(name); err != nil || out {
				return false, err
			}
		}
		return true, nil
	}
	return false, nil
}

func (f *finding) aged(st *syscall.Stat_t) bool {
	if f.age == nil {
		return true
	}
	stamp := st.Mtim
	switch f.a.AgeStamp {
	case "atime":
		stamp = st.Atim
	case "ctime":
		stamp = st.Ctim
	}
	age := f.now - seconds(stamp)
	if *f.age >= 0 {
		return age >= float64(*f.age)
	}
	return age <= float64(-*f.age)
}

func (f *finding) moded(st *syscall.Stat_t) bool {
	s, _ := f.a.Mode.(string)
	if s == "" {
		return true
	}
	var want uint32
	if n, ok := octal(s); ok {
		want = uint32(n) & 0o7777
	} else {
		m, _ := symbolicMode(0, f.umask(), s) // read before
		want = m & 0o7777
	}
	if f.a.ExactMode {
		return st.Mode&0o7777 == want
	}
	return st.Mode&want != 0
}

// contentOK looks for the pattern in a file: at the start of its lines, or
// with read_whole_file anywhere.
func (f *finding) contentOK(path string) (bool, error) {
	if f.contains == nil {
		return true, nil
	}
	b, err := f.readEdited(path)
	if h, ok := err.(*HandBack); ok { //nolint:errorlint // made right there
		return false, h
	}
	if err != nil {
		return false, nil
	}
	if !utf8.Valid(b) {
		return false, handBack("a file that is not UTF-8")
	}
	text := strings.ReplaceAll(strings.ReplaceAll(string(b), "\r\n", "\n"), "\r", "\n")
	if f.a.WholeFile {
		m, err := f.contains.Search(text)
		if err != nil {
			return false, handBack("regular expression: %v", err)
		}
		return m != nil, nil
	}
	for line := range strings.Lines(text) {
		m, err := f.contains.Match(line)
		if err != nil {
			return false, handBack("regular expression: %v", err)
		}
		if m != nil {
			return true, nil
		}
	}
	return false, nil
}

// info is what the result says of an entry.
func (f *finding) info(path string, st *syscall.Stat_t) *value.Dict {
	group, _ := groups.name(st.Gid)
	owner, _ := users.name(st.Uid)
	all := statDict(path, st)
	d := value.NewDict(all.Len())
	for k, v := range all.All() { // in the module's order: a loop's labels show it
		switch name, _ := value.Text(k); name {
		case "exists", "block_size", "blocks", "device_type":
			continue
		}
		d.Set(k, v)
		if k == any("ctime") {
			d.Set("gr_name", group)
			d.Set("pw_name", owner)
		}
	}
	return d
}
