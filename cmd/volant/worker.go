package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"volant/hostagent"
	"volant/hostagent/modules"
)

// workerMain is the helper of the local session under another user: it speaks
// frames on standard input and output.
func workerMain(_ context.Context, _ *process, _ []string) error {
	// The session ends us by closing our input; a terminal's signals are not ours.
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	cfg, cleanup, err := hostagent.WorkerConfig(hostagent.Config{
		Runner: modules.NewRunner(modules.RunnerOptions{Log: log}), Version: release(), Log: log,
	})
	if err != nil {
		return err
	}
	defer cleanup()
	in, out, err := takeStdio()
	if err != nil {
		return err
	}
	return hostagent.RunWorker(ctx, cfg, in, out)
}

// takeStdio moves standard input and output to descriptors that no child
// inherits and puts /dev/null in their place, so that nothing else written
// there garbles the frames.
func takeStdio() (in, out *os.File, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	defer null.Close()
	move := func(fd int, name string) (*os.File, error) {
		n, err := syscall.Dup(fd)
		if err != nil {
			return nil, fmt.Errorf("taking %s: %w", name, err)
		}
		syscall.CloseOnExec(n)
		if err := syscall.Dup3(int(null.Fd()), fd, 0); err != nil {
			return nil, fmt.Errorf("closing %s: %w", name, err)
		}
		return os.NewFile(uintptr(n), name), nil
	}
	if in, err = move(0, "stdin"); err != nil {
		return nil, nil, err
	}
	out, err = move(1, "stdout")
	return in, out, err
}

// jobMain is a background job of the local session.
func jobMain(_ context.Context, p *process, _ []string) error {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT)
	return modules.RunJob(context.Background(), p.stdin, os.Stdout, slog.New(slog.DiscardHandler))
}
