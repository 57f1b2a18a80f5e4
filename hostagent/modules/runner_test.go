package modules

import (
	"context"
	"os"
	"strings"
	"testing"

	"volant/hostagent"
	"volant/hostagent/python/coretest"
	"volant/stage"
	"volant/wire"
	"volant/wire/value"
)

// runnerRig runs tasks whose manifests are directories the test made.
type runnerRig struct {
	core coretest.Core
	r    hostagent.Runner
	env  *hostagent.Env
	dirs map[stage.Hash]string
}

func newRunnerRig(t *testing.T, opt RunnerOptions) *runnerRig {
	rig := &runnerRig{core: coretest.Find(t), r: NewRunner(opt), dirs: map[stage.Hash]string{}}
	t.Cleanup(func() {
		if err := rig.r.Close(); err != nil {
			t.Error(err)
		}
	})
	base := t.TempDir()
	rig.core.Base(t, base)
	rig.dirs[stage.Hash{1}] = base
	rig.env = &hostagent.Env{
		Staging: given(t.TempDir()), Cache: t.TempDir(), Cwd: t.TempDir(), Environ: os.Environ(), Umask: 0o22,
		Layout: func(_ context.Context, h stage.Hash) (string, error) { return rig.dirs[h], nil },
	}
	return rig
}

func (rig *runnerRig) task(t *testing.T, module, src string, args *value.Dict) *wire.Task {
	extra := t.TempDir()
	var file, fqn string
	if src == "" {
		file, fqn = rig.core.Module(t, extra, module)
	} else {
		file, fqn = coretest.Source(t, extra, module, src)
	}
	h := stage.HashBytes([]byte(extra))
	rig.dirs[h] = extra
	return &wire.Task{
		Module: "ansible.builtin." + module, Args: wire.Dict{Dict: args}, Native: src == "",
		Python: &wire.Python{Base: stage.Hash{1}, Extra: h, FQN: fqn, File: file, Style: 1, Shebang: "/usr/bin/python", Core: "2.19.12", Interpreter: rig.core.Python},
	}
}

func (rig *runnerRig) run(t *testing.T, task *wire.Task) *wire.Outcome {
	t.Helper()
	out, err := rig.r.Run(t.Context(), rig.env, task)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRunnerPaths(t *testing.T) {
	rig := newRunnerRig(t, RunnerOptions{})
	out := rig.run(t, rig.task(t, "ping", "", value.DictOf()))
	if out.Path != "native" || out.Result.Lookup("ping") != "pong" {
		t.Errorf("%s: %s", out.Path, value.Repr(out.Result.Dict))
	}
	task := rig.task(t, "ping", "", value.DictOf())
	task.Native = false
	if out := rig.run(t, task); out.Path != "python" || out.Result.Lookup("ping") != "pong" || out.Timings.Work == 0 {
		t.Errorf("%s: %s", out.Path, value.Repr(out.Result.Dict))
	}
	if out := rig.run(t, rig.task(t, "command", "", value.DictOf("_raw_params", "a\x00b"))); !strings.HasPrefix(out.Path, "python (handed back: ") {
		t.Errorf("%s: %s", out.Path, value.Repr(out.Result.Dict))
	}
	task = rig.task(t, "mine", "from ansible.module_utils.basic import AnsibleModule\nimport os\nAnsibleModule({}).exit_json(c=os.environ['C'], h=os.environ.get('HOME'))\n", value.DictOf())
	task.Environment = []wire.EnvVar{{Name: "C", Value: "1"}}
	if out := rig.run(t, task); out.Result.Lookup("c") != "1" || out.Result.Lookup("h") != os.Getenv("HOME") {
		t.Error(value.Repr(out.Result.Dict))
	}
	raw := &wire.Task{Module: "ansible.builtin.raw", Native: true, Args: wire.Dict{Dict: value.DictOf("_raw_params", "echo $0 out; echo err >&2; exit 7")}}
	if out := rig.run(t, raw); value.Repr(out.Result.Dict) != `{'rc': 7, 'stdout': '/bin/sh out\n', 'stderr': 'err\n'}` {
		t.Error(value.Repr(out.Result.Dict))
	}
	if out := rig.run(t, &wire.Task{Module: "ansible.builtin.nosuch", Native: true}); out.Fault == nil || out.Fault.Code != wire.FaultModule {
		t.Errorf("%+v", out)
	}
}

func TestRunnerDiscovers(t *testing.T) {
	rig := newRunnerRig(t, RunnerOptions{})
	task := rig.task(t, "ping", "", value.DictOf())
	task.Python.Interpreter, task.Python.Fallback = "auto", []string{"nosuchpython", "/bin/sh"}
	out := rig.run(t, task)
	if out.Found == nil || out.Found.Path != "/bin/sh" || out.Found.Absent || len(out.Found.Warnings) != 1 {
		t.Errorf("%+v", out.Found)
	}
	task.Python.Fallback = []string{"nosuchpython"}
	out = rig.run(t, task)
	if f := out.Found; f == nil || !f.Absent || f.Warnings[0] != `No python interpreters found for host %s (tried ['nosuchpython']).` {
		t.Errorf("%+v", f)
	}
	task.Python.Interpreter, task.Native = "/nonexistent/python", false
	out = rig.run(t, task)
	if msg, _ := out.Result.Str("msg"); msg != "The module interpreter '/nonexistent/python' was not found." {
		t.Error(value.Repr(out.Result.Dict))
	}
}

// given is a staging directory that is a known one.
func given(dir string) func() string { return func() string { return dir } }
