package main

import (
	"log/slog"

	"volant/hostagent"
	"volant/hostagent/become"
	"volant/hostagent/runner"
)

// startWorker starts workers under other users.
var startWorker become.Starter

// newRunner makes what runs modules in this process.
func newRunner(log *slog.Logger) (hostagent.Runner, error) { return runner.New(log), nil }
