package actions

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"volant/wire/argspec"
	"volant/wire/value"
)

var pauseSpec = argspec.Spec{
	Options: []argspec.Option{
		{Name: "echo", Type: "bool", Default: true, HasDef: true},
		{Name: "minutes", Type: "raw"}, {Name: "seconds", Type: "raw"}, // Python's int(): floats are cut
		{Name: "prompt"},
	},
	MutuallyExclusive: [][]string{{"minutes", "seconds"}},
}

// pause waits for a time or for the operator.
func pause(ctx context.Context, r *Run) (Result, error) {
	args, err := validate(r, "pause", r.Args, &pauseSpec)
	if err != nil {
		return nil, err
	}
	unit, wait := "minutes", -1
	for _, name := range []string{"minutes", "seconds"} {
		v := args.Lookup(name)
		if v == nil {
			continue
		}
		n, err := integer(v)
		if err != nil {
			return nil, Fail("argument '%s' is of type %s and we were unable to convert to int: %v", name, typeName(v), err)
		}
		if name == "minutes" {
			n *= 60
		} else {
			unit = "seconds"
		}
		wait = max(n, 1)
	}
	echo, hidden := args.Bool("echo"), ""
	if !echo {
		hidden = " (output is hidden)"
	}
	text, _ := args.Str("prompt")
	prompt := fmt.Sprintf("[%s]\nPress enter to continue, Ctrl+C to interrupt%s:", r.Name, hidden)
	if text != "" {
		prompt = fmt.Sprintf("[%s]\n%s%s:", r.Name, text, hidden)
	}
	start := time.Now()
	if wait > 0 {
		r.Controller.Display(fmt.Sprintf("Pausing for %d seconds%s", wait, hidden))
		const hint = "(ctrl+C then 'C' = continue early, ctrl+C then 'A' = abort)\r"
		if text == "" {
			prompt = hint
		} else {
			r.Controller.Display(hint)
		}
	}
	keys := Keys{Echo: echo && wait < 0, Seconds: max(wait, 0)}
	if wait < 0 { // Enter does not end a wait
		keys.End = "\r\n"
	}
	input, interactive, err := r.Controller.Prompt(ctx, prompt, keys)
	interrupted := errors.Is(err, ErrInterrupted)
	if interrupted {
		input, _, err = r.Controller.Prompt(ctx, "Press 'C' to continue the play or 'A' to abort \r", Keys{Echo: keys.Echo, End: "c", Interrupt: "a"})
		if errors.Is(err, ErrInterrupted) {
			return nil, errors.New("user requested abort!")
		}
	}
	if err != nil {
		return nil, late(err)
	}
	switch {
	case interrupted:
	case !interactive && wait > 0:
		if err := sleep(ctx, seconds(wait)); err != nil {
			return nil, late(err)
		}
	case !interactive:
		r.Controller.Warn("Not waiting for response to prompt as stdin is not interactive")
	}
	if wait > 0 && !interrupted {
		input = ""
	}
	took := time.Since(start)
	length := took.Seconds()
	if unit == "minutes" {
		length /= 60
	}
	return value.DictOf("changed", false, "rc", int64(0), "stderr", "",
		"stdout", "Paused for "+value.FloatText(math.Round(length*100)/100)+" "+unit,
		"start", stamp(start), "stop", stamp(start.Add(took)), "delta", int64(took.Seconds()), "echo", echo, "user_input", input), nil
}

// stamp is str() of a Python datetime.
func stamp(t time.Time) string { return t.Format("2006-01-02 15:04:05.000000") }

// late is a pause's err; at the task's time limit that comes up while the
// reference restores the terminal.
func late(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &Failure{Msg: err.Error(), Cause: err, During: true}
	}
	return err
}
