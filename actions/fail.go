package actions

import (
	"context"

	"volant/wire/value"
)

// fail fails the task with the message it was given.
func fail(_ context.Context, r *Run) (Result, error) {
	msg, ok := r.Args.Get("msg")
	if !ok {
		msg = "Failed as requested from task"
	}
	return value.DictOf("failed", true, "msg", msg), nil
}
