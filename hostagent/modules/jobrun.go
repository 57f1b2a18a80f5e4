package modules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"volant/hostagent"
	"volant/stage"
	"volant/wire"
	"volant/wire/frame"
	"volant/wire/value"
)

// jobLock is the file in a job's directory that its process keeps locked.
const jobLock = ".lock"

// RunJob is a background job: it reads what to do from in, says on out that it
// has, runs it for at most its time and leaves the result in its status file.
// Both binaries have it as their command `job`.
func RunJob(ctx context.Context, in io.Reader, out io.WriteCloser, log *slog.Logger) error {
	b, err := io.ReadAll(io.LimitReader(in, maxSpec))
	if err != nil {
		return err
	}
	var s jobSpec
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("reading the job: %w", err)
	}
	defer os.RemoveAll(s.Dir)
	lock, err := lockJob(s.Dir)
	if err != nil {
		return fmt.Errorf("locking the job's directory: %w", err)
	}
	defer lock.Close()
	t := new(wire.Task)
	if err := frame.Unmarshal(s.Task, t); err != nil {
		return fmt.Errorf("reading the job's task: %w", err)
	}
	_, err = out.Write([]byte("."))
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("saying that the job began: %w", err)
	}
	return s.run(ctx, t, log)
}

// lockJob marks a job's directory as in use by this process.
func lockJob(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, jobLock), os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// jobOrphan is the age from which an unlocked directory is nobody's.
const jobOrphan = 2 * jobBegins

// sweepJobs removes directories of jobs that were killed.
func sweepJobs(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), jobDirPrefix) || !e.IsDir() {
			continue
		}
		d := filepath.Join(dir, e.Name())
		st, err := os.Lstat(d)
		if err != nil || time.Since(st.ModTime()) < jobOrphan {
			continue
		}
		lock, err := lockJob(d)
		if err != nil {
			continue // at work, or another user's
		}
		_ = os.RemoveAll(d)
		lock.Close()
	}
}

// jobGrace is how long ending a job's processes may take before its status
// says that its time is over regardless.
const jobGrace = 5 * time.Second

// jobOver is how long after its limit a job's status first says that its time
// is over: the reference's async_wrapper sleeps that long between killing the
// module and writing, and a poll at the limit must not depend on who is first.
const jobOver = time.Second

// run is the job itself.
func (s *jobSpec) run(ctx context.Context, t *wire.Task, log *slog.Logger) error {
	r := NewRunner(RunnerOptions{Log: log, PythonDir: filepath.Join(s.Dir, "python"), KeepStderr: true})
	defer r.Close()
	var group atomic.Int64
	henv := &hostagent.Env{
		Session: "job", Staging: func() string { return s.Dir }, Cache: s.Cache, Home: s.Home, Cwd: s.Cwd, Environ: s.Environ, Umask: s.Umask, Log: log,
		Layout: func(_ context.Context, m stage.Hash) (string, error) {
			if dir, ok := s.Layouts[wire.Hash(m).String()]; ok {
				return dir, nil
			}
			return "", fmt.Errorf("manifest %s is not laid out for this job", wire.Hash(m))
		},
		Forked: func(g int) { group.Store(int64(g)) },
		Send:   func(context.Context, string) (int64, error) { return 0, errors.New("a background job sends no files") },
	}
	type end struct {
		out *wire.Outcome
		err error
	}
	late := time.Now().Add(time.Duration(s.Seconds) * time.Second)
	limit, cancel := context.WithDeadline(ctx, late)
	defer cancel()
	ended := make(chan end, 1)
	go func() { // ends with the module; one that hangs ends with this process
		out, err := r.Run(limit, henv, t)
		ended <- end{out, err}
	}()
	select {
	case e := <-ended:
		if limit.Err() == nil || e.err == nil {
			return writeStatus(s.Status, jobResult(e.out, e.err, filepath.Base(s.Status)))
		}
	case <-limit.Done():
		if g := group.Load(); g > 1 {
			_ = syscall.Kill(-int(g), syscall.SIGKILL)
		}
		select {
		case <-ended:
		case <-time.After(jobGrace):
		}
	}
	over := time.NewTimer(jobOver - min(jobOver, time.Since(late)))
	defer over.Stop()
	select {
	case <-over.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	pid := group.Load()
	if pid == 0 {
		pid = int64(os.Getpid())
	}
	return writeStatus(s.Status, value.DictOf("msg", "Timeout exceeded", "failed", true, "child_pid", pid))
}

// jobResult is what a finished job's status file holds.
func jobResult(out *wire.Outcome, err error, id string) *value.Dict {
	text := ""
	switch {
	case err != nil:
		text = err.Error()
	case out.Fault != nil:
		text = out.Fault.Text
	default:
		d := out.Result.Dict
		d.Delete("_ansible_parsed")
		return d
	}
	return value.DictOf("failed", true, "msg", text, "ansible_job_id", id)
}
