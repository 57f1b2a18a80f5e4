package python

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"volant/hostagent/python/coretest"
	"volant/wire"
	"volant/wire/value"
)

// rig runs modules of one core in one pool.
type rig struct {
	core coretest.Core
	base string
	pool *Pool
}

func newRig(t testing.TB) *rig {
	core := coretest.Find(t)
	base := t.TempDir()
	core.Base(t, base)
	p := NewPool(Options{Dir: t.TempDir()})
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return &rig{core, base, p}
}

func (r *rig) request(t testing.TB, file, fqn, extra string, args *value.Dict) *Request {
	t.Helper()
	if err := Join(r.base, extra); err != nil {
		t.Fatal(err)
	}
	return &Request{
		Name: "test", FQN: fqn, File: file, Style: StylePython, Args: args, Interpreter: r.core.Python,
		BaseDir: r.base, BaseHash: "x", ExtraDir: extra, Environ: os.Environ(), Umask: -1, TempDir: t.TempDir(),
	}
}

func (r *rig) source(t testing.TB, name, src string, args *value.Dict) *Request {
	t.Helper()
	extra := t.TempDir()
	file, fqn := coretest.Source(t, extra, name, src)
	return r.request(t, file, fqn, extra, args)
}

func (r *rig) run(t testing.TB, req *Request) *value.Dict {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	out, err := r.pool.Run(ctx, req, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Parse(out, req.Interpreter)
}

const head = "from ansible.module_utils.basic import AnsibleModule\nimport os, sys\n"

func TestWarmPing(t *testing.T) {
	r := newRig(t)
	extra := t.TempDir()
	file, fqn := r.core.Module(t, extra, "ping")
	res := r.run(t, r.request(t, file, fqn, extra, value.DictOf("data", "héllo")))
	if res.Lookup("ping") != "héllo" || !res.Bool("_ansible_parsed") {
		t.Fatal(value.Repr(res))
	}
}

func TestSurroundings(t *testing.T) {
	r := newRig(t)
	req := r.source(t, "look", head+`
m = AnsibleModule(dict(a=dict(type='raw')))
u = os.umask(0)
m.exit_json(env=os.environ.get('COLOUR'), keep=os.environ.get('HOME'), cwd=os.getcwd(), umask=u, argv=sys.argv,
  pgid=os.getpgid(0) == os.getpid(), a=m.params['a'], main=sys.modules['__main__']._module_fqn, name=__name__)
`, value.DictOf("a", value.DictOf("x", value.ListOf(int64(1), nil, true))))
	dir := t.TempDir()
	req.Environ, req.Cwd, req.Umask = []string{"COLOUR=blue", "PATH=/usr/bin:/bin"}, dir, 0o27
	res := r.run(t, req)
	want := value.DictOf("env", "blue", "keep", nil, "cwd", dir, "umask", int64(0o27), "pgid", true, "name", "__main__",
		"main", "ansible.modules.look", "a", value.DictOf("x", value.ListOf(int64(1), nil, true)))
	for k, v := range want.All() {
		if got := res.Lookup(k); !value.Equal(got, v) {
			t.Errorf("%s: got %s, want %s", k, value.Repr(got), value.Repr(v))
		}
	}
}

func TestOutcomes(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct{ name, src, msg string }{
		{"garbage", head + "print('x')\nsys.exit(3)\n", "Module result deserialization failed: No start of json char found"},
		{"raises", head + "raise ValueError('inner')\n", ""},
		{"no_exit", head + "AnsibleModule({})\n", ""},
		{"syntax", "from ansible.module_utils.basic import AnsibleModule\ndef (:\n", ""},
		{"fails", head + "AnsibleModule({}).fail_json(msg='no')\n", "no"},
		{"killed", head + "os.kill(os.getpid(), 9)\n", "Module result deserialization failed: No start of json char found"},
		{"half", head + "print('{\"a\": ', flush=True)\nos._exit(0)\n", "Module result deserialization failed: No end of json char found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := r.run(t, r.source(t, c.name, c.src, value.NewDict(0)))
			if !res.Bool("failed") {
				t.Errorf("not failed: %s", value.Repr(res))
			}
			if msg, _ := res.Str("msg"); msg != c.msg {
				t.Errorf("msg %q, want %q", msg, c.msg)
			}
			if c.msg == "" && res.Lookup("exception") == nil {
				t.Errorf("no exception: %s", value.Repr(res))
			}
		})
	}
	// The server is still there for the next one.
	if res := r.run(t, r.source(t, "fine", head+"print('junk')\nAnsibleModule({}).exit_json(ok=1)\n", value.NewDict(0))); res.Lookup("ok") != int64(1) {
		t.Error(value.Repr(res))
	}
}

func TestWarningsAndDeprecations(t *testing.T) {
	r := newRig(t)
	res := r.run(t, r.source(t, "warns", head+`
m = AnsibleModule({})
m.warn('one')
m.deprecate('old', version='3.0', collection_name='ns.col')
m.deprecate('older')
m.exit_json(warnings=[])
`, value.NewDict(0)))
	if !value.Equal(res.Lookup("warnings"), value.ListOf("one")) {
		t.Error(value.Repr(res.Lookup("warnings")))
	}
	want := value.ListOf(value.DictOf("msg", "old", "deprecator", value.DictOf("resolved_name", "ns.col", "type", nil), "collection_name", "ns.col", "version", "3.0"),
		value.DictOf("msg", "older", "deprecator", value.DictOf("resolved_name", "ansible.builtin.warns", "type", "module"), "collection_name", "ansible.builtin"),
		value.DictOf("msg", "Passing `warnings` to `exit_json` or `fail_json` is deprecated.", "help_text", "Use `AnsibleModule.warn` instead.",
			"deprecator", value.DictOf("resolved_name", "ansible.builtin", "type", nil), "collection_name", "ansible.builtin", "version", "2.23"))
	if got := res.Lookup("deprecations"); !value.Equal(got, want) {
		t.Error(value.Repr(got))
	}
}

func TestDaemonIsNotWaitedFor(t *testing.T) {
	r := newRig(t)
	req := r.source(t, "daemon", head+`
child = os.fork()
if child == 0:
    os.setsid()
    import time
    time.sleep(120)
    os._exit(0)
AnsibleModule({}).exit_json(ok=1, pid=child)
`, value.NewDict(0))
	start := time.Now()
	res := r.run(t, req)
	if pid, ok := res.Lookup("pid").(int64); ok {
		_ = syscall.Kill(int(pid), syscall.SIGKILL)
	}
	if res.Lookup("ok") != int64(1) {
		t.Error(value.Repr(res))
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("took %v", d)
	}
}

func TestCancelEndsTheGroup(t *testing.T) {
	r := newRig(t)
	file := filepath.Join(t.TempDir(), "pids")
	req := r.source(t, "sleeper", head+`
import subprocess, time
p = subprocess.Popen(['sleep', '300'])
open(`+"'"+file+"'"+`, 'w').write('%d %d' % (os.getpid(), p.pid))
time.sleep(300)
`, value.NewDict(0))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for end := time.Now().Add(time.Minute); time.Now().Before(end); {
			if b, err := os.ReadFile(file); err == nil && len(b) > 0 {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		cancel()
	}()
	if _, err := r.pool.Run(ctx, req, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range strings.Fields(string(b)) {
		// A killed process is there until the kernel has taken it down.
		for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			stat, err := os.ReadFile("/proc/" + pid + "/stat")
			if err != nil || strings.Contains(string(stat), ") Z ") {
				break
			}
			if time.Now().After(end) {
				t.Errorf("process %s is still there", pid)
				break
			}
		}
	}
}

// TestEnvironmentThatCannotBe: a variable that the system takes no such value for fails its own sub-task and leaves those
// beside it, and the environment of those after it, alone.
func TestEnvironmentThatCannotBe(t *testing.T) {
	r := newRig(t)
	look := r.source(t, "look", head+"AnsibleModule({}).exit_json(colour=os.environ.get('COLOUR'), other=os.environ.get('OTHER'), server=os.getppid())\n", value.NewDict(0))
	look.Environ = []string{"PATH=/usr/bin:/bin", "COLOUR=blue"}
	before := r.run(t, look)
	started := make(chan int, 1)
	var slow Output
	var slowErr error
	var wg sync.WaitGroup
	req := r.source(t, "slow", head+"import time\ntime.sleep(1)\nAnsibleModule({}).exit_json(slow=True)\n", value.NewDict(0))
	req.Environ = look.Environ
	wg.Go(func() { slow, slowErr = r.pool.Run(t.Context(), req, func(pgid int) { started <- pgid }, nil) })
	<-started
	for _, bad := range []string{"COLOUR=a\x00b", "A\x00=b"} {
		mine := *look
		mine.Environ = []string{"OTHER=1", bad}
		if _, err := r.pool.Run(t.Context(), &mine, nil, nil); err == nil {
			t.Errorf("%q: no error", bad)
		}
		after := r.run(t, look)
		if !value.Equal(before, after) {
			t.Errorf("after %q: %s, before it %s", bad, value.Repr(after), value.Repr(before))
		}
	}
	wg.Wait()
	if res := Parse(slow, ""); slowErr != nil || !res.Bool("slow") {
		t.Errorf("the one beside it: %v, %s", slowErr, value.Repr(res))
	}
}

func TestManyAtOnce(t *testing.T) {
	r := newRig(t)
	req := r.source(t, "echo", head+"m = AnsibleModule(dict(n=dict(type='int')))\nm.exit_json(n=m.params['n'], pad='x' * 100000)\n", nil)
	var wg sync.WaitGroup
	for n := range 40 {
		wg.Go(func() {
			mine := *req
			mine.Args = value.DictOf("n", int64(n))
			out, err := r.pool.Run(t.Context(), &mine, nil, nil)
			if err != nil {
				t.Error(err)
				return
			}
			if res := Parse(out, ""); res.Lookup("n") != int64(n) {
				t.Errorf("asked for %d, got %s", n, value.Repr(res.Lookup("n")))
			}
		})
	}
	wg.Wait()
}

func TestMemoryAndOutputLimits(t *testing.T) {
	r := newRig(t)
	req := r.source(t, "hog", head+"b = bytearray(1 << 33)\nAnsibleModule({}).exit_json()\n", value.NewDict(0))
	req.MaxMemory = 1 << 30
	if res := r.run(t, req); !res.Bool("failed") {
		t.Error(value.Repr(res))
	}
	req = r.source(t, "talker", head+"sys.stdout.write('x' * 5000000)\n", value.NewDict(0))
	req.MaxOutput = 1000
	out, err := r.pool.Run(t.Context(), req, nil, nil)
	var f *wire.Fault
	if !errors.As(err, &f) || !out.Truncated || len(out.Stdout) != 1000 {
		t.Errorf("%v, truncated %v, %d bytes", err, out.Truncated, len(out.Stdout))
	}
}

func TestRespawn(t *testing.T) {
	r := newRig(t)
	res := r.run(t, r.source(t, "again", head+`
from ansible.module_utils.common.respawn import has_respawned, respawn_module
if not has_respawned():
    respawn_module(sys.executable)
AnsibleModule(dict(a=dict())).exit_json(again=True)
`, value.DictOf("a", "1")))
	if !res.Bool("again") {
		t.Error(value.Repr(res))
	}
}

// TestPackagesChange installs a package between two runs: the second must not
// live with what the server imported before.
func TestPackagesChange(t *testing.T) {
	r := newRig(t)
	const python = "/usr/bin/python3"
	version, err := exec.Command(python, "-c", "import sys; print('%d.%d' % sys.version_info[:2]); sys.exit(sys.version_info < (3, 8))").Output()
	if err != nil {
		t.Skip("no system Python that is new enough")
	}
	user := t.TempDir()
	site := filepath.Join(user, "lib", "python"+strings.TrimSpace(string(version)), "site-packages")
	if err := os.MkdirAll(site, 0o755); err != nil {
		t.Fatal(err)
	}
	req := r.source(t, "who", head+`
try:
    import fresh_package
    has = True
except ImportError:
    has = False
AnsibleModule({}).exit_json(server=os.getppid(), has=has)
`, value.NewDict(0))
	req.Interpreter = python
	req.Environ = append(os.Environ(), "PYTHONUSERBASE="+user)
	first, second := r.run(t, req), r.run(t, req)
	if first.Lookup("server") != second.Lookup("server") || first.Bool("has") {
		t.Errorf("%s, then %s", value.Repr(first), value.Repr(second))
	}
	if err := os.WriteFile(filepath.Join(site, "fresh_package.py"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	third := r.run(t, req)
	if third.Lookup("server") == first.Lookup("server") || !third.Bool("has") {
		t.Errorf("after the change: %s", value.Repr(third))
	}
}

// TestInterpreterIsAScript starts Python through a shell script, as version
// managers do, and one that ends at once.
func TestInterpreterIsAScript(t *testing.T) {
	r := newRig(t)
	dir := t.TempDir()
	write := func(name, body string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(body), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	req := r.source(t, "fine", head+"AnsibleModule({}).exit_json(ok=1)\n", value.NewDict(0))
	req.Interpreter = write("good", "#!/bin/sh\nexec "+r.core.Python+" \"$@\"\n")
	if res := r.run(t, req); res.Lookup("ok") != int64(1) {
		t.Error(value.Repr(res))
	}
	req.Interpreter = write("closes", "#!/bin/sh\nexec 3>&-\nexec "+r.core.Python+" \"$@\"\n")
	if res := r.run(t, req); !res.Bool("failed") {
		t.Error(value.Repr(res))
	}
	req.Interpreter = write("bad", "#!/bin/sh\necho no such thing >&2\nexit 9\n")
	if res := r.run(t, req); res.Lookup("rc") != int64(9) || res.Lookup("module_stderr") != "no such thing\n" {
		t.Error(value.Repr(res))
	}
}

func TestMissingInterpreter(t *testing.T) {
	r := newRig(t)
	req := r.source(t, "any", head, value.NewDict(0))
	req.Interpreter = "/nonexistent/python9"
	res := r.run(t, req)
	if msg, _ := res.Str("msg"); msg != "The module interpreter '/nonexistent/python9' was not found." || res.Lookup("rc") != int64(127) {
		t.Error(value.Repr(res))
	}
}

func TestOtherStyles(t *testing.T) {
	p := NewPool(Options{Dir: t.TempDir()})
	for _, c := range []struct {
		name, src string
		style     int
		want      string
	}{
		{"json.sh", "#!/bin/sh\n# WANT_JSON\nprintf '{\"got\": %s}' \"$(cat $1)\"\n", StyleWantJSON, `{'got': {'a': "x 'y'"}}`},
		{"old.sh", "#!/bin/sh\n. $1\nprintf '{\"got\": \"%s\"}' \"$a\"\n", StyleOld, `{'got': "x 'y'"}`},
		{"args.sh", "#!/bin/sh\ncat <<'END'\n{\"got\": <<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>}\nEND\n", StyleJSONArgs, `{'got': {'a': "x 'y'"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, c.name), []byte(c.src), 0o600); err != nil {
				t.Fatal(err)
			}
			req := &Request{File: c.name, Style: c.style, ExtraDir: dir, TempDir: t.TempDir(), Environ: os.Environ(), Umask: -1, Args: value.DictOf("a", "x 'y'")}
			out, err := p.Run(t.Context(), req, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			res := Parse(out, "")
			res.Delete("_ansible_parsed")
			if got := value.Repr(res); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// cpuOf is the processor time of a process and of the children it waited for,
// in seconds.
func cpuOf(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	f := strings.Fields(rest)
	ticks := 0.0
	for _, i := range []int{11, 12, 13, 14} { // utime, stime, cutime, cstime
		n, _ := strconv.ParseFloat(f[i], 64)
		ticks += n
	}
	return ticks / 100
}

// BenchmarkWarmPing is a module that does nothing in a fork of a warm server.
// cpu-ms/op is what it costs where the machine has other things to do.
func BenchmarkWarmPing(b *testing.B) {
	r := newRig(b)
	extra := b.TempDir()
	file, fqn := r.core.Module(b, extra, "ping")
	req := r.request(b, file, fqn, extra, value.NewDict(0))
	r.run(b, req)
	var server int
	for _, e := range r.pool.servers {
		server = e.s.cmd.Process.Pid
	}
	before := cpuOf(server) + cpuOf(os.Getpid())
	for b.Loop() {
		if _, err := r.pool.Run(context.Background(), req, nil, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((cpuOf(server)+cpuOf(os.Getpid())-before)*1000/float64(b.N), "cpu-ms/op")
}

// TestProgramsAreNotBusy: a module that is a program of its own runs, whatever
// else is started while it is written.
func TestProgramsAreNotBusy(t *testing.T) {
	p := NewPool(Options{Dir: t.TempDir()})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "program"), []byte("#!/bin/sh\necho '{}'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 40 {
				req := &Request{File: "program", Style: StyleBinary, ExtraDir: dir, TempDir: t.TempDir(), Environ: os.Environ(), Umask: -1, Args: value.NewDict(0)}
				if out, err := p.Run(t.Context(), req, nil, nil); err != nil || out.RC != 0 {
					t.Errorf("%d, %s, %v", out.RC, out.Stderr, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
