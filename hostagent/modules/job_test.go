package modules

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"volant/wire"
	"volant/wire/pyjson"
	"volant/wire/value"
)

// TestMain lets the test's binary be the process of a background job.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "job" {
		if err := RunJob(context.Background(), os.Stdin, os.Stdout, slog.New(slog.DiscardHandler)); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// startTestJob starts task as a job and returns its status file.
func startTestJob(t *testing.T, rig *runnerRig, task *wire.Task, dir string, seconds int64) string {
	t.Helper()
	task.Async, task.JobID = seconds, "j123.45"
	task.Options.Dict = value.DictOf("async_dir", dir)
	out := rig.run(t, task)
	if out.Fault != nil {
		t.Fatal(out.Fault.Text)
	}
	file, _ := out.Result.Str("results_file")
	if file != filepath.Join(dir, "j123.45") || !out.Result.Bool("started") {
		t.Fatalf("answer: %s", value.Repr(out.Result.Dict))
	}
	b, err := os.ReadFile(file)
	if err != nil || len(b) == 0 {
		t.Fatalf("no status when the answer came: %v", err)
	}
	return file
}

// jobEnd waits for a job's final status and its directory's removal.
func jobEnd(t *testing.T, file string) *value.Dict {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		b, err := os.ReadFile(file)
		must(t, err)
		v, err := pyjson.Decode(b)
		must(t, err)
		d := v.(*value.Dict)
		_, err = os.Stat(filepath.Join(filepath.Dir(file), jobDirPrefix+filepath.Base(file)))
		if !d.Has("started") && os.IsNotExist(err) {
			return d
		}
	}
	t.Fatal("the job did not end")
	return nil
}

func TestJob(t *testing.T) {
	rig := newRunnerRig(t, RunnerOptions{})
	src := "#!/usr/bin/python\nfrom ansible.module_utils.basic import AnsibleModule\n" +
		"m = AnsibleModule({'src': {}})\nm.exit_json(changed=True, content=open(m.params['src']).read())\n"
	t.Run("native, with staged file", func(t *testing.T) {
		staged := filepath.Join(rig.env.Staging(), "source")
		must(t, os.WriteFile(staged, []byte("text"), 0o600))
		dest := filepath.Join(t.TempDir(), "f")
		d := jobEnd(t, startTestJob(t, rig, rig.task(t, "copy", "", value.DictOf("src", staged, "dest", dest)), t.TempDir(), 300))
		if b, _ := os.ReadFile(dest); string(b) != "text" || !d.Bool("changed") {
			t.Errorf("%q: %s", b, value.Repr(d))
		}
		if _, err := os.Stat(staged); err == nil {
			t.Error("the staged file is still there")
		}
	})
	t.Run("python, with staged file", func(t *testing.T) {
		staged := filepath.Join(rig.env.Staging(), "source")
		must(t, os.WriteFile(staged, []byte("text"), 0o600))
		d := jobEnd(t, startTestJob(t, rig, rig.task(t, "mine", src, value.DictOf("src", staged)), t.TempDir(), 300))
		if s, _ := d.Str("content"); s != "text" {
			t.Errorf("%s", value.Repr(d))
		}
	})
	t.Run("python, with something on standard error", func(t *testing.T) {
		noisy := "#!/usr/bin/python\nimport sys\nfrom ansible.module_utils.basic import AnsibleModule\n" +
			"m = AnsibleModule({})\nprint('leading')\nprint('said', file=sys.stderr)\nm.exit_json(changed=True)\n"
		d := jobEnd(t, startTestJob(t, rig, rig.task(t, "noisy", noisy, value.NewDict(0)), t.TempDir(), 300))
		if s, _ := d.Str("stderr"); s != "said\n" || !d.Bool("changed") {
			t.Errorf("%s", value.Repr(d))
		}
	})
	t.Run("over time", func(t *testing.T) {
		task := rig.task(t, "command", "", value.DictOf("argv", value.ListOf("sh", "-c", "trap '' TERM; sleep 300")))
		begin := time.Now()
		d := jobEnd(t, startTestJob(t, rig, task, t.TempDir(), 1))
		if msg, _ := d.Str("msg"); msg != "Timeout exceeded" || !d.Bool("failed") || !d.Has("child_pid") {
			t.Errorf("%s", value.Repr(d))
		}
		// A poll at the limit still finds the job unfinished, as with the reference.
		if took := time.Since(begin); took > time.Minute || took < 1900*time.Millisecond {
			t.Errorf("took %s", took)
		}
	})
	t.Run("fails", func(t *testing.T) {
		d := jobEnd(t, startTestJob(t, rig, rig.task(t, "command", "", value.DictOf("argv", value.ListOf("false"))), t.TempDir(), 300))
		if rc, _ := d.Lookup("rc").(int64); rc != 1 || !d.Bool("failed") {
			t.Errorf("%s", value.Repr(d))
		}
	})
}

func TestSweepJobs(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{"dead", "alive", "young"} {
		must(t, os.Mkdir(filepath.Join(dir, jobDirPrefix+name), 0o700))
	}
	lock, err := lockJob(filepath.Join(dir, jobDirPrefix+"alive"))
	must(t, err)
	defer lock.Close()
	for _, name := range []string{"dead", "alive"} {
		must(t, os.Chtimes(filepath.Join(dir, jobDirPrefix+name), old, old))
	}
	sweepJobs(dir)
	left, _ := filepath.Glob(filepath.Join(dir, jobDirPrefix+"*"))
	if s := strings.Join(left, " "); len(left) != 2 || strings.Contains(s, "dead") {
		t.Errorf("left: %s", s)
	}
}
