package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"volant/cmd/internal/stdio"
	"volant/cores"
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
	defer cores.Few()()
	in, out, err := stdio.Take()
	if err != nil {
		return err
	}
	return hostagent.RunWorker(ctx, cfg, in, out)
}

// jobMain is a background job of the local session.
func jobMain(_ context.Context, p *process, _ []string) error {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT)
	return modules.RunJob(context.Background(), p.stdin, os.Stdout, slog.New(slog.DiscardHandler))
}
