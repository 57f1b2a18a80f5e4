package main

import (
	"log/slog"

	"volant/hostagent"
	"volant/hostagent/become"
	"volant/hostagent/modules"
)

var startWorker become.Starter

// newRunner makes what runs modules in this process.
func newRunner(log *slog.Logger) (hostagent.Runner, error) {
	return modules.NewRunner(modules.RunnerOptions{Log: log}), nil
}
