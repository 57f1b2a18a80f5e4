package python

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"volant/wire/value"
)

// ahead waits for the child that the rig's only server has forked ahead.
func (r *rig) ahead(t *testing.T) int {
	t.Helper()
	last, same := 0, 0
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		for _, e := range r.pool.servers {
			child := onlyChild(t, e.s.cmd.Process.Pid)
			if child == 0 || child != last {
				last, same = child, 0
				continue
			}
			// A module's own child may still be ending (running, or not waited for);
			// the one ahead sleeps until it is given something.
			if same++; same >= 10 && asleep(child) {
				return child
			}
		}
	}
	t.Fatal("no child is forked ahead")
	return 0
}

// onlyChild is the one child of a process, 0 where there is none or more.
func onlyChild(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Skip("the kernel does not list children")
	}
	f := strings.Fields(string(b))
	if len(f) != 1 {
		return 0
	}
	child, _ := strconv.Atoi(f[0])
	return child
}

// asleep tells whether a process waits for something.
func asleep(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, ok := strings.Cut(string(b), ") ")
	return ok && strings.HasPrefix(rest, "S")
}

// TestAhead: a module that runs in a child forked ahead gives what it gave in one
// that was forked for it.
func TestAhead(t *testing.T) {
	r := newRig(t)
	for name, src := range map[string]string{
		"look": head + `
m = AnsibleModule(dict(a=dict(type='raw')))
u = os.umask(0)
m.exit_json(env=os.environ.get('COLOUR'), cwd=os.getcwd(), umask=u, argv=sys.argv, pgid=os.getpgid(0) == os.getpid(), a=m.params['a'],
  stdin=sys.stdin.read(), fds=len(os.listdir('/proc/self/fd')) < 9, signals=[l for l in open('/proc/self/status') if l.startswith('Sig')][2:],
  main=sys.modules['__main__']._module_fqn, name=__name__, pid=os.getpid())
`,
		"garbage": head + "sys.stderr.write('oh')\nprint('pid')\nsys.exit(3)\n",
		"raises":  head + "AnsibleModule({})\nraise ValueError('inner')\n",
		"killed":  head + "os.kill(os.getpid(), 9)\n",
		"exits":   head + "print('{\"changed\": false, \"pid\": %d}' % os.getpid(), flush=True)\nos._exit(4)\n",
		"closes":  head + "print('{\"changed\": true}', flush=True)\nos.closerange(0, 100)\nsys.exit(5)\n",
		"daemon": head + "import subprocess\nsubprocess.Popen(['/bin/sleep', '2'], close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n" +
			"AnsibleModule({}).exit_json(changed=True)\n",
		// What a module forks may leave by the way the module itself does.
		"forks": head + "if not os.fork():\n    sys.exit(3)\nos.wait()\nimport time\ntime.sleep(0.3)\n" +
			"AnsibleModule({}).exit_json(changed=True, pid=os.getpid())\n",
		"daemonized": head + "if os.fork():\n    os.wait()\n    AnsibleModule({}).exit_json(changed=True, pid=os.getpid())\n" +
			"os.setsid()\nif os.fork():\n    os._exit(0)\nnull = os.open(os.devnull, os.O_RDWR)\nfor fd in (0, 1, 2):\n    os.dup2(null, fd)\nsys.exit(7)\n",
	} {
		t.Run(name, func(t *testing.T) {
			args := value.NewDict(0)
			if name == "look" {
				args = value.DictOf("a", value.DictOf("x", value.ListOf(int64(1), nil, true, "é")))
			}
			req := r.source(t, name, src, args)
			first := r.run(t, req)
			told, used := false, false
			for try := 0; try < 3 || told && !used && try < 30; try++ {
				child := r.ahead(t) // or, on a busy machine, one that is about to end
				next := r.run(t, req)
				if pid, ok := next.Lookup("pid").(int64); ok {
					told, used = true, used || int(pid) == child
				}
				first.Delete("pid")
				next.Delete("pid")
				if !value.Equal(first, next) {
					t.Errorf("first %s\nthen %s", value.Repr(first), value.Repr(next))
				}
			}
			if told && !used {
				t.Error("it never ran in the child that was there")
			}
		})
	}
}

// TestAheadIsPassedBy: one that was killed, or is of another environment, is not used.
func TestAheadIsPassedBy(t *testing.T) {
	r := newRig(t)
	req := r.source(t, "look", head+"AnsibleModule({}).exit_json(pid=os.getpid(), colour=os.environ.get('COLOUR'))\n", value.NewDict(0))
	r.run(t, req)
	child := r.ahead(t)
	if err := syscall.Kill(child, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for { // until it is dead
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		if err != nil || strings.Contains(string(b), ") Z ") {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if res := r.run(t, req); res.Lookup("pid") == int64(child) || res.Bool("failed") {
		t.Errorf("after %d was killed: %s", child, value.Repr(res))
	}
	child = r.ahead(t)
	req.Environ = append(os.Environ(), "COLOUR=red")
	if res := r.run(t, req); res.Lookup("pid") == int64(child) || res.Lookup("colour") != "red" {
		t.Errorf("in another environment than that of %d: %s", child, value.Repr(res))
	}
	for try := 0; ; try++ {
		child = r.ahead(t)
		res := r.run(t, req)
		if res.Lookup("colour") != "red" || try == 30 {
			t.Fatalf("not in %d: %s", child, value.Repr(res))
		}
		if res.Lookup("pid") == int64(child) {
			break
		}
	}
}
