package actions

import (
	"context"
	"errors"
	"strings"
	"testing"

	"volant/wire/value"
)

// operator answers prompts in turn.
type operator struct {
	testController
	answers []answer
	asked   []string
	keys    []Keys
	shown   []string
}

type answer struct {
	typed string
	err   error
}

func (o *operator) Display(text string) { o.shown = append(o.shown, text) }

func (o *operator) Prompt(_ context.Context, text string, k Keys) (string, bool, error) {
	o.asked, o.keys = append(o.asked, text), append(o.keys, k)
	if len(o.answers) == 0 {
		return "", false, nil
	}
	a := o.answers[0]
	o.answers = o.answers[1:]
	return a.typed, true, a.err
}

// TestPause: what is asked, how it is read, and what comes of it.
func TestPause(t *testing.T) {
	const goOn = "Press 'C' to continue the play or 'A' to abort \r"
	for name, tc := range map[string]struct {
		args    *value.Dict
		answers []answer
		asked   string
		keys    []Keys
		shown   string
		input   string
		err     string
	}{
		"a line": {value.NewDict(0), []answer{{"yes", nil}}, "[t]\nPress enter to continue, Ctrl+C to interrupt:", []Keys{{Echo: true, End: "\r\n"}}, "", "yes", ""},
		"a prompt, hidden": {value.DictOf("prompt", "Password", "echo", false), []answer{{"s", nil}},
			"[t]\nPassword (output is hidden):", []Keys{{End: "\r\n"}}, "", "s", ""},
		"a wait": {value.DictOf("seconds", int64(2)), []answer{{"typed meanwhile", nil}},
			"(ctrl+C then 'C' = continue early, ctrl+C then 'A' = abort)\r", []Keys{{Seconds: 2}}, "Pausing for 2 seconds", "", ""},
		"minutes with a prompt": {value.DictOf("minutes", int64(1), "prompt", "wait"), []answer{{"", nil}},
			"[t]\nwait:", []Keys{{Seconds: 60}}, "Pausing for 60 seconds|(ctrl+C then 'C' = continue early, ctrl+C then 'A' = abort)\r", "", ""},
		"continued": {value.DictOf("seconds", int64(60)), []answer{{"", ErrInterrupted}, {"x", nil}},
			"(ctrl+C then 'C' = continue early, ctrl+C then 'A' = abort)\r|" + goOn, []Keys{{Seconds: 60}, {End: "c", Interrupt: "a"}}, "Pausing for 60 seconds", "x", ""},
		"aborted": {value.NewDict(0), []answer{{"", ErrInterrupted}, {"", ErrInterrupted}},
			"[t]\nPress enter to continue, Ctrl+C to interrupt:|" + goOn, []Keys{{Echo: true, End: "\r\n"}, {Echo: true, End: "c", Interrupt: "a"}}, "", "", "user requested abort!"},
		"nobody there": {value.NewDict(0), nil, "[t]\nPress enter to continue, Ctrl+C to interrupt:", []Keys{{Echo: true, End: "\r\n"}}, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := &operator{answers: tc.answers}
			res, err := pause(t.Context(), &Run{Task: &Task{Args: tc.args, Name: "t"}, Controller: o})
			if text := ""; err != nil || tc.err != "" {
				if err != nil {
					text = err.Error()
				}
				var fail *Failure
				if text != tc.err || errors.As(err, &fail) {
					t.Fatalf("%v", err)
				}
			} else if got, _ := res.Str("user_input"); got != tc.input || res.Bool("changed") || !strings.HasPrefix(value.Str(res.Lookup("stdout")), "Paused for 0.0 ") {
				t.Errorf("%v", res)
			}
			if got := strings.Join(o.asked, "|"); got != tc.asked {
				t.Errorf("asked %q", got)
			}
			if got := strings.Join(o.shown, "|"); got != tc.shown {
				t.Errorf("shown %q", got)
			}
			if len(o.keys) != len(tc.keys) {
				t.Fatalf("%+v", o.keys)
			}
			for i := range o.keys {
				if o.keys[i] != tc.keys[i] {
					t.Errorf("%+v", o.keys[i])
				}
			}
		})
	}
}
