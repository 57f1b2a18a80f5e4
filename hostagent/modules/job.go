package modules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"volant/hostagent"
	"volant/stage"
	"volant/wire"
	"volant/wire/frame"
	"volant/wire/pyjson"
	"volant/wire/value"
)

// jobSpec is what a background job's process is told on its standard input.
type jobSpec struct {
	Task    []byte            // the sub-task, as on the wire
	Status  string            // status file
	Dir     string            // directory of its own, with the staged files; removed at the end
	Cache   string            // for its Python server's file
	Home    string            // of the user
	Cwd     string            // working directory
	Environ []string          // of a login
	Umask   int               // 022, as the reference's background jobs have it
	Layouts map[string]string // manifest -> directory laid out
	Seconds int64             // it may take
}

// jobDirPrefix begins the name of a job's own directory.
const jobDirPrefix = ".volant-"

// maxSpec bounds what a job's process reads.
const maxSpec = 256 << 20

// startJob starts the module as a process of its own that outlives us and
// answers once its status file says so.
func (r *runner) startJob(ctx context.Context, henv *hostagent.Env, t *wire.Task) (*wire.Outcome, error) {
	dir, err := asyncDir(henv, t)
	if err != nil {
		return fault(wire.FaultInternal, err.Error()), nil
	}
	id := filepath.Base(t.JobID)
	spec := jobSpec{
		Status: filepath.Join(dir, id), Dir: filepath.Join(dir, jobDirPrefix+id), Cache: henv.Cache, Home: henv.Home,
		Cwd: henv.Cwd, Environ: henv.Environ, Umask: 0o022, Layouts: map[string]string{},
		Seconds: t.Async,
	}
	if p := t.Python; p != nil {
		for _, h := range []wire.Hash{p.Base, p.Extra} {
			if h.IsZero() {
				continue
			}
			at, err := henv.Layout(ctx, stage.Hash(h))
			if err != nil {
				return nil, err
			}
			spec.Layouts[h.String()] = at
		}
	}
	sweepJobs(dir)
	if err := spec.start(henv, t); err != nil {
		_ = os.RemoveAll(spec.Dir)
		_ = os.Remove(spec.Status)
		return fault(wire.FaultInternal, "starting the background job: "+err.Error()), nil
	}
	res := value.DictOf("started", true, "finished", false, "ansible_job_id", id, "results_file", spec.Status,
		"changed", true, "_ansible_parsed", true)
	return &wire.Outcome{Result: wire.Dict{Dict: res}, Path: "job"}, nil
}

// asyncDir is where jobs keep their status, made when it is missing.
func asyncDir(henv *hostagent.Env, t *wire.Task) (string, error) {
	dir, _ := value.Text(taskOption(t, "async_dir"))
	if dir == "" {
		dir = "~/.ansible_async"
	}
	switch {
	case dir == "~" || strings.HasPrefix(dir, "~/"):
		dir = filepath.Join(henv.Home, dir[1:])
	case !filepath.IsAbs(dir):
		dir = filepath.Join(henv.Cwd, dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("could not create directory: %s: %w", dir, err)
	}
	return dir, nil
}

// start moves the staged files to the job, writes its status and starts it.
func (s *jobSpec) start(henv *hostagent.Env, t *wire.Task) error {
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		return err
	}
	files, err := os.ReadDir(henv.Staging())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, f := range files {
		if err := moveFile(filepath.Join(henv.Staging(), f.Name()), filepath.Join(s.Dir, f.Name())); err != nil {
			return err
		}
	}
	job := *t
	job.Async = 0
	if t.Args.Dict != nil {
		job.Args.Dict, _ = moved(t.Args.Dict, henv.Staging(), s.Dir).(*value.Dict)
	}
	if s.Task, err = frame.Marshal(&job); err != nil {
		return err
	}
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	first := value.DictOf("started", true, "finished", false, "ansible_job_id", filepath.Base(s.Status))
	if err := writeStatus(s.Status, first); err != nil {
		return err
	}
	if scoped := s.scope(); scoped != nil {
		if err := s.launch(b, scoped); err == nil {
			return nil
		}
	}
	self, err := hostagent.Executable()
	if err != nil {
		return err
	}
	return s.launch(b, []string{self, "job"})
}

// scope is the command that runs a job in a unit of its own, where the
// process would else belong to ours; nil where there is none.
func (s *jobSpec) scope() []string {
	if os.Geteuid() != 0 || inChroot() {
		return nil
	}
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return nil
	}
	run, err := exec.LookPath("systemd-run")
	if err != nil {
		return nil
	}
	self, err := hostagent.Executable()
	if err != nil {
		return nil
	}
	return []string{run, "--scope", "--quiet", "--collect", "--property=TasksMax=infinity", self, "job"}
}

// jobBegins is how long a job's process may take until it has read what to do.
const jobBegins = 15 * time.Second

// launch starts the job's process and waits until it has read all it needs:
// then it depends on nobody. The spec, which may hold secrets, is in memory only.
func (s *jobSpec) launch(spec []byte, argv []string) error {
	fd, err := unix.MemfdCreate("job", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("keeping the job in memory: %w", err)
	}
	in := os.NewFile(uintptr(fd), "job")
	defer in.Close()
	if _, err := in.Write(spec); err != nil {
		return fmt.Errorf("keeping the job in memory: %w", err)
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("keeping the job in memory: %w", err)
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ours.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Env, cmd.Dir = in, theirs, s.Environ, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // ends with the job, or with us; init reaps it then
	if err := ours.SetReadDeadline(time.Now().Add(jobBegins)); err != nil {
		return err
	}
	if _, err := ours.Read(make([]byte, 1)); err != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		return fmt.Errorf("its process did not begin: %w", err)
	}
	return nil
}

func moveFile(from, to string) error {
	if err := os.Rename(from, to); err == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, st.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return err
}

// moved is v with paths below from put below to.
func moved(v any, from, to string) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, from+"/", to+"/")
	case *value.List:
		out := &value.List{Items: make([]any, len(v.Items))}
		for i, e := range v.Items {
			out.Items[i] = moved(e, from, to)
		}
		return out
	case *value.Dict:
		out := value.NewDict(v.Len())
		for k, e := range v.All() {
			out.Set(k, moved(e, from, to))
		}
		return out
	}
	return v
}

// writeStatus replaces a job's status file at once.
func writeStatus(path string, d *value.Dict) error {
	b, err := pyjson.Append(nil, d)
	if err != nil {
		return err
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
