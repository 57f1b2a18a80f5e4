package execute

import (
	"context"
	"errors"
	"strings"

	"volant/controller/compile"
)

// ask confirms a step with the operator (--step); host names the one it is for
// where hosts go on their own.
func (b *batch) ask(ctx context.Context, step *compile.Step, host string) (bool, error) {
	if b.r.opt.Prompt == nil {
		return false, errors.New("--step needs a terminal to ask on")
	}
	msg := "Perform task: TASK: " + step.Task.Title(step.Task.RawName(), true) + " "
	if host != "" {
		msg += "on " + host + " "
	}
	msg += "(N)o/(y)es/(c)ontinue: "
	answer, err := b.r.opt.Prompt(ctx, msg, true, 0)
	if err != nil {
		return false, err
	}
	yes := false
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		yes = true
	case "c", "continue":
		b.r.opt.Step, yes = false, true
	}
	b.r.opt.Display.Banner(msg, "")
	return yes, nil
}
