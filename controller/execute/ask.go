package execute

import (
	"context"
	"errors"
	"io"
	"strings"

	"volant/controller/compile"
)

// Unexpected is what the reference does not expect to be wrong: it shows that as a
// bug of its own, and its exit code is another.
type Unexpected struct{ Err error }

// Error is what is shown.
func (u *Unexpected) Error() string {
	return "Unexpected Exception, this is probably a bug: " + u.Err.Error()
}

// Unwrap returns what is wrong.
func (u *Unexpected) Unwrap() error { return u.Err }

// ErrNoLine is a question that nobody can answer any more: standard input ended.
var ErrNoLine = errors.New("EOF when reading a line")

// ask confirms a step with the operator (--step); host names the one it is for
// where hosts go on their own.
func (b *batch) ask(ctx context.Context, step *compile.Step, host string) (bool, error) {
	if b.r.opt.Line == nil {
		return false, ErrNoLine
	}
	msg := "Perform task: TASK: " + step.Task.Title(step.Task.RawName(), true) + " "
	if host != "" {
		msg += "on " + host + " "
	}
	msg += "(N)o/(y)es/(c)ontinue: "
	answer, err := b.r.opt.Line(ctx, msg)
	if errors.Is(err, io.EOF) && answer == "" {
		err = ErrNoLine
	}
	if err != nil && answer == "" {
		return false, err
	}
	yes := false
	switch strings.ToLower(answer) {
	case "y", "yes":
		yes = true
	case "c", "continue":
		b.confirms, yes = false, true // for what is left of these hosts in this play
	}
	b.r.opt.Display.Banner(msg, "")
	return yes, nil
}
