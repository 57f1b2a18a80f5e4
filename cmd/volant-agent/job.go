package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"volant/hostagent/modules"
)

type jobCmd struct{}

// Run implements the command: a background job, started by an agent or worker
// that it outlives.
func (jobCmd) Run() error {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT)
	return modules.RunJob(context.Background(), os.Stdin, os.Stdout, slog.New(slog.DiscardHandler))
}
