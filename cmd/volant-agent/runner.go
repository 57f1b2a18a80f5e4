package main

import (
	"log/slog"
	"os"
	"strconv"

	"volant/hostagent"
	"volant/hostagent/become"
	"volant/hostagent/modules"
)

// startWorker starts workers under other users.
var startWorker become.Starter = become.Start

// makeRunner, when set, replaces what runs modules; tests set it.
var makeRunner func() hostagent.Runner

// newRunner makes what runs modules in this process. Two settings come from the
// environment of the agent's unit: how many Python modules run at once, and
// the bytes of address space of each.
func newRunner(log *slog.Logger) hostagent.Runner {
	if makeRunner != nil {
		return makeRunner()
	}
	children, _ := strconv.Atoi(os.Getenv("VOLANT_AGENT_PYTHON_CHILDREN"))
	memory, _ := strconv.ParseInt(os.Getenv("VOLANT_AGENT_PYTHON_MEMORY"), 10, 64)
	return modules.NewRunner(modules.RunnerOptions{Log: log, Children: max(children, 0), Memory: max(memory, 0)})
}
