package hostagent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"sync"

	"volant/wire"
	"volant/wire/frame"
)

// RunWorker speaks the worker's side on r and w until r ends: a Worker frame,
// then one sub-task at a time, run as this process's user. A sub-task that
// runs when r ends is still finished.
func RunWorker(ctx context.Context, cfg Config, r io.Reader, w io.Writer) error {
	a, err := New(Config{Runner: cfg.Runner, Version: cfg.Version, CacheDir: cfg.CacheDir, StagingDir: cfg.StagingDir, Login: cfg.Login, Log: cfg.Log})
	if err != nil {
		return err
	}
	defer a.Close()
	in := &workerInput{r: frame.NewReader(bufio.NewReaderSize(r, 64<<10)), ch: make(chan wire.Message)}
	t := &talk{next: in.next, w: frame.NewWriter(w)}
	hello := &wire.Worker{Version: wire.Version, UID: int64(os.Getuid()), PID: int64(os.Getpid())}
	if u, err := user.Current(); err == nil {
		hello.User = u.Username
	}
	if err := t.send(hello); err != nil {
		return fmt.Errorf("saying hello: %w", err)
	}
	go in.read() // ends with r; the process ends then too
	for {
		m, err := in.next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		task, ok := m.(*wire.Task)
		if !ok {
			continue // left over from a sub-task that ended early
		}
		if err := workOn(ctx, a, in, t, task); err != nil {
			return err
		}
	}
}

func workOn(ctx context.Context, a *Agent, in *workerInput, t *talk, task *wire.Task) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	in.current(task.ID, cancel)
	defer in.current(wire.TaskID{}, nil)
	defer t.settle()
	out := a.exec.execute(ctx, t, task, hooks{
		started: func() error { return nil },
		forked:  func(group int) { _ = t.send(&wire.Started{Group: int64(group)}) },
	})
	body, err := frame.Marshal(out)
	if err == nil && len(body) > wire.MaxResult {
		err = errors.New("the result is too large")
	}
	if err != nil {
		if body, err = frame.Marshal(fault(wire.FaultTooLarge, true, err)); err != nil {
			return err
		}
	}
	if err := t.putResult(body); err != nil {
		return err
	}
	t.flush()
	return t.err
}

// workerInput hands frames to the sub-task in progress and takes Cancel out.
type workerInput struct {
	r  *frame.Reader
	ch chan wire.Message

	mu     sync.Mutex // guards what follows
	id     wire.TaskID
	cancel context.CancelCauseFunc
	err    error
}

func (in *workerInput) current(id wire.TaskID, cancel context.CancelCauseFunc) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.id, in.cancel = id, cancel
}

func (in *workerInput) read() {
	defer close(in.ch)
	for {
		m, err := in.r.Read()
		var unknown *frame.UnknownError
		switch {
		case errors.As(err, &unknown):
			continue
		case err != nil:
			in.mu.Lock()
			in.err = err
			in.mu.Unlock()
			return
		}
		if c, ok := m.(*wire.Cancel); ok {
			in.mu.Lock()
			if in.cancel != nil && in.id == c.ID {
				in.cancel(errCancelled)
			}
			in.mu.Unlock()
			continue
		}
		in.ch <- m
	}
}

func (in *workerInput) next() (wire.Message, error) {
	if m, ok := <-in.ch; ok {
		return m, nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	return nil, in.err
}
