package modules

import (
	cmp2 "cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"volant/hostagent/python"
	"volant/hostagent/python/coretest"
	"volant/wire/value"
)

// diffCase is one argument set that native and Python module must agree on.
type diffCase struct {
	name  string
	args  *value.Dict // texts may hold D, the case's directory
	setup func(t *testing.T, dir string)
	// handBack says that the native leaves the case to Python: one that does
	// not, or does unasked, fails.
	handBack bool
	// handBackCheck says so of check mode only.
	handBackCheck bool
	// either leaves it open which path is taken.
	either bool
	once   bool // no second run: it would not be comparable
	// checkChanges says that the Python module changes something in check mode:
	// what it then says is not what ours does.
	checkChanges bool
}

// differ runs cases through both paths.
type differ struct {
	core   coretest.Core
	base   string
	python string
	pool   *python.Pool
	dir    string
	env    []string
	box    *sandbox // cases change the machine; nil: only their directory
	// volatile replaces what of a result no two runs have in common.
	volatile func(string) string
	// noDiff runs the modules without --diff.
	noDiff bool
	// gitState leaves git's own files out of the state but HEAD and refs.
	gitState bool
	// unordered is for what a program of the host lists in another order each time.
	unordered bool
	// sampled has a third of the cases run where not all are asked for.
	sampled bool
	source  func(t testing.TB, dir, module string) (file, fqn string) // of the Python module; nil: the core's
}

func newDiffer(t *testing.T) *differ {
	core := coretest.Find(t)
	d := &differ{core: core, base: t.TempDir(), pool: python.NewPool(python.Options{Dir: t.TempDir()}), dir: filepath.Join(t.TempDir(), "work")}
	core.Base(t, d.base)
	d.env = append(os.Environ(), "LANG=C.UTF-8")
	t.Cleanup(func() { _ = d.pool.Close() })
	return d
}

// place puts the case's directory in for D/ in arguments.
func place(v any, dir string) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "@D", dir)
	case *value.Dict:
		out := value.NewDict(v.Len())
		for k, e := range v.All() {
			out.Set(k, place(e, dir))
		}
		return out
	case *value.List:
		out := value.ListOf()
		for _, e := range v.Items {
			out.Items = append(out.Items, place(e, dir))
		}
		return out
	}
	return v
}

// run runs one module once and returns its result.
func (d *differ) run(t *testing.T, native bool, module string, args *value.Dict, check bool) *value.Dict {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	tmp := t.TempDir()
	if native {
		env := &Env{Name: module, Check: check, Diff: !d.noDiff, Version: "2.19.12", Environ: d.env, Cwd: d.dir, Umask: 0o22, Tmpdir: given(tmp), Python: cmp2.Or(d.python, d.core.Python)}
		res, err := Table[module](ctx, env, args)
		if err != nil {
			return value.DictOf("error", err)
		}
		return res
	}
	extra := t.TempDir()
	find := d.core.Module
	if d.source != nil {
		find = d.source
	}
	file, fqn := find(t, extra, module)
	if err := python.Join(d.base, extra); err != nil {
		t.Fatal(err)
	}
	full := args.Clone()
	for k, v := range value.DictOf("_ansible_check_mode", check, "_ansible_diff", !d.noDiff, "_ansible_module_name", module,
		"_ansible_version", "2.19.12", "_ansible_shell_executable", "/bin/sh", "_ansible_tmpdir", tmp, "_ansible_no_log", true,
		"_ansible_remote_tmp", tmp, "_ansible_verbosity", int64(0)).All() {
		full.Set(k, v)
	}
	out, err := d.pool.Run(ctx, &python.Request{
		Name: module, FQN: fqn, File: file, Style: python.StylePython, Args: full, Interpreter: cmp2.Or(d.python, d.core.Python),
		BaseDir: d.base, BaseHash: "x", ExtraDir: extra, Environ: d.env, Cwd: d.dir, Umask: 0o22, TempDir: tmp,
	}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	res := python.Parse(out, d.core.Python)
	if !res.Bool("_ansible_parsed") {
		t.Logf("python said: %s", out.Stderr)
	}
	res.Delete("_ansible_parsed")
	return res
}

var volatileText = regexp.MustCompile(`\.\d+\.\d{4}-\d\d-\d\d@\d\d:\d\d:\d\d~`)

// settle replaces what no two runs have in common.
func settle(v any) any {
	switch v := v.(type) {
	case *value.Dict:
		out := value.NewDict(v.Len())
		for k, e := range v.All() {
			switch k {
			case "start", "end", "delta", "inode", "atime", "mtime", "ctime", "version", "elapsed":
				if e != nil {
					e = fmt.Sprintf("some %T", e)
				}
			}
			out.Set(k, settle(e))
		}
		return out
	case *value.List:
		out := value.ListOf()
		for _, e := range v.Items {
			out.Items = append(out.Items, settle(e))
		}
		return out
	case string:
		return volatileText.ReplaceAllString(v, ".PID.TIME~")
	}
	return v
}

// flat gives a result as sorted lines, for a readable difference.
func flat(v any) []string {
	var out []string
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case *value.Dict:
			if v.Len() == 0 {
				out = append(out, path+" = {}")
			}
			for k, e := range v.All() {
				walk(path+"."+value.Str(k), e)
			}
		case *value.List:
			if len(v.Items) == 0 {
				out = append(out, path+" = []")
			}
			for i, e := range v.Items {
				walk(fmt.Sprintf("%s[%d]", path, i), e)
			}
		default:
			out = append(out, path+" = "+value.Repr(v))
		}
	}
	walk("", settle(v))
	sort.Strings(out)
	return out
}

// order is the order of the keys in the dicts of a result, which shows where a
// loop's item is one. Those of the result itself are sorted wherever shown.
func order(result *value.Dict) []string {
	var out []string
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case *value.Dict:
			if path != "" {
				out = append(out, path+": "+value.Str(value.ListOf(v.Keys()...)))
			}
			for k, e := range v.All() {
				walk(path+"."+value.Str(k), e)
			}
		case *value.List:
			for i, e := range v.Items {
				walk(fmt.Sprintf("%s[%d]", path, i), e)
			}
		}
	}
	for k, v := range result.All() {
		if k != any("invocation") {
			walk(value.Str(k), v)
		}
	}
	sort.Strings(out)
	return out
}

// snapshot is the state of the tree: one line a file.
func snapshot(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	inodes := map[uint64]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st syscall.Stat_t
		if err := syscall.Lstat(path, &st); err != nil {
			return err
		}
		rel := strings.TrimPrefix(path, dir)
		line := fmt.Sprintf("%s %o %d:%d", volatileText.ReplaceAllString(rel, ".PID.TIME~"), st.Mode, st.Uid, st.Gid)
		switch st.Mode & syscall.S_IFMT {
		case syscall.S_IFREG:
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += " " + value.Repr(string(b))
			if st.Nlink > 1 {
				if first, ok := inodes[st.Ino]; ok {
					line += " same as " + first
				} else {
					inodes[st.Ino] = rel
				}
			}
			if age := time.Since(time.Unix(st.Mtim.Sec, 0)); age > time.Hour {
				line += " of " + time.Unix(st.Mtim.Sec, st.Mtim.Nsec).UTC().Format(time.RFC3339)
			}
		case syscall.S_IFLNK:
			to, _ := os.Readlink(path)
			line += " -> " + to
		}
		out = append(out, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// prepare makes the case's directory anew.
func (d *differ) prepare(t *testing.T, c *diffCase) {
	t.Helper()
	if d.box != nil {
		d.box.fresh(t)
	}
	if err := os.RemoveAll(d.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if c.setup != nil {
		c.setup(t, d.dir)
	}
}

// state is what the cases of d may change.
func (d *differ) state(t *testing.T) []string {
	t.Helper()
	out := snapshot(t, d.dir)
	if d.gitState {
		out = slices.DeleteFunc(out, func(l string) bool { return gitOwn.MatchString(l) })
	}
	if d.box != nil {
		out = append(out, d.box.state(t)...)
	}
	if d.volatile != nil {
		for i := range out {
			out[i] = d.volatile(out[i])
		}
	}
	return out
}

var gitOwn = regexp.MustCompile(`^/[a-z0-9]+/\.git/(.*/)?(index|FETCH_HEAD|ORIG_HEAD|logs|objects|packed-refs)`)

func (d *differ) lines(v any) []string {
	out := flat(v)
	if d.volatile != nil {
		for i := range out {
			out[i] = d.volatile(out[i])
		}
		sort.Strings(out)
	}
	return out
}

// outcome is what a case left of one path: its results and the states after
// check mode, the first and the second run.
type outcome struct {
	results [3]*value.Dict
	states  [3][]string
}

// everyCase asks for all cases; else a third of those that change the machine,
// or start many programs, is run, which takes the time a test may take.
var everyCase = os.Getenv("VOLANT_TEST_MODULES") == "all"

var phases = [3]string{"check mode", "first run", "second run"}

func (d *differ) test(t *testing.T, module string, cases []diffCase) {
	for i, c := range cases {
		if (d.box != nil || d.sampled) && !everyCase && i%3 != 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			args := place(c.args, d.dir).(*value.Dict)
			var sides [2]outcome
			for i, native := range []bool{true, false} {
				d.side(t, &sides[i], &c, module, args, native)
			}
			for i, what := range phases {
				n, p := sides[0].results[i], sides[1].results[i]
				if n == nil || i == 0 && c.checkChanges {
					continue
				}
				if err, _ := n.Lookup("error").(error); err != nil {
					t.Errorf("%s: %v", what, err)
					continue
				}
				if diff := cmp.Diff(d.lines(p), d.lines(n)); diff != "" {
					t.Errorf("%s: result (-python +native): %s", what, diff)
				}
				if diff := cmp.Diff(order(p), order(n)); diff != "" && !d.unordered {
					t.Errorf("%s: order of keys (-python +native): %s", what, diff)
				}
				if diff := cmp.Diff(sides[1].states[i], sides[0].states[i]); i > 0 && diff != "" {
					t.Errorf("%s: state (-python +native): %s", what, diff)
				}
			}
		})
	}
}

// side runs a case through one path. Where the native hands back, the Python
// module goes on, as it does on a host.
func (d *differ) side(t *testing.T, s *outcome, c *diffCase, module string, args *value.Dict, native bool) {
	t.Helper()
	for i, what := range phases {
		if i < 2 {
			d.prepare(t, c)
		} else if c.once {
			return
		}
		before := d.state(t)
		res := d.run(t, native, module, args, i == 0)
		s.states[i] = d.state(t)
		var h *HandBack
		if err, _ := res.Lookup("error").(error); errors.As(err, &h) {
			if !c.handBack && !c.either && !(c.handBackCheck && i == 0) {
				t.Errorf("%s: %v", what, err)
			}
			if diff := cmp.Diff(before, s.states[i]); diff != "" {
				t.Errorf("%s: handed back after a change: %s", what, diff)
			}
			_ = d.run(t, false, module, args, i == 0)
			s.states[i] = d.state(t)
			continue
		} else if native && c.handBack && i == 1 {
			t.Errorf("%s: not handed back: %s", what, value.Repr(res))
		}
		if diff := cmp.Diff(before, s.states[i]); native && i == 0 && diff != "" {
			t.Errorf("check mode changed something: %s", diff)
		}
		s.results[i] = res
	}
}

// Setups for cases.

func all(steps ...func(*testing.T, string)) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		for _, s := range steps {
			s(t, dir)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mkfile(name, content string, mode os.FileMode) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), mode))
		must(t, os.Chmod(filepath.Join(dir, name), mode))
	}
}

func mkdir(name string, mode os.FileMode) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		must(t, os.MkdirAll(filepath.Join(dir, name), mode))
		must(t, os.Chmod(filepath.Join(dir, name), mode))
	}
}

func symlink(name, to string) func(*testing.T, string) {
	return func(t *testing.T, dir string) { must(t, os.Symlink(to, filepath.Join(dir, name))) }
}

func hardlink(name, to string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		must(t, os.Link(filepath.Join(dir, to), filepath.Join(dir, name)))
	}
}

func chown(name string, uid, gid int) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		if os.Getuid() != 0 {
			t.Skip("not root")
		}
		must(t, os.Lchown(filepath.Join(dir, name), uid, gid))
	}
}

func chtimes(name string, sec int64) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		must(t, os.Chtimes(filepath.Join(dir, name), time.Unix(sec, 0), time.Unix(sec, 0)))
	}
}
