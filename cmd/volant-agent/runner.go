package main

import (
	"log/slog"

	"volant/hostagent"
	"volant/hostagent/become"
	"volant/hostagent/modules"
)

// startWorker starts workers under other users.
var startWorker become.Starter = become.Start

// makeRunner, when set, replaces what runs modules; tests set it.
var makeRunner func() hostagent.Runner

// newRunner makes what runs modules in this process.
func newRunner(log *slog.Logger) hostagent.Runner {
	if makeRunner != nil {
		return makeRunner()
	}
	return modules.NewRunner(modules.RunnerOptions{Log: log})
}
