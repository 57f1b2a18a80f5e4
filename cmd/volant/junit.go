package main

import (
	"strings"

	"volant/controller/events"
)

// junit makes the junit callback of its environment variables.
func (j *project) junit() *events.JUnit {
	env := func(name, def string) string {
		if v, ok := j.getenv(name); ok {
			return v
		}
		return def
	}
	yes := func(name, def string) bool { return strings.EqualFold(env(name, def), "true") }
	no := func(name, def string) bool { return strings.EqualFold(env(name, def), "false") }
	opt := events.JUnitOptions{
		Dir: j.absolute(env("JUNIT_OUTPUT_DIR", "~/.ansible.log")), ClassPerFile: yes("JUNIT_TASK_CLASS", "false"),
		RelativeTo: env("JUNIT_TASK_RELATIVE_PATH", ""), FailOnChange: yes("JUNIT_FAIL_ON_CHANGE", "false"),
		FailIgnore: yes("JUNIT_FAIL_ON_IGNORE", "false"), HideSetup: no("JUNIT_INCLUDE_SETUP_TASKS_IN_REPORT", "true"),
		HideArgs: !no("JUNIT_HIDE_TASK_ARGUMENTS", "false"), Prefix: env("JUNIT_TEST_CASE_PREFIX", ""),
	}
	if v, ok := j.getenv("JUNIT_REPLACE_OUT_OF_TREE_PATH"); ok {
		opt.OutOfTree = &v
	}
	return events.NewJUnit(j.display, opt)
}
