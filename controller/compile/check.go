package compile

import (
	"fmt"
	"strings"

	"volant/controller/fault"
	"volant/controller/playbook"
)

// Check is Preflight over the plays of a run before it starts. hosts reports
// whether a play (finished) has hosts; those without are not judged, nor is a
// play that cannot be finished or compiled yet: the run says why.
func Check(l *playbook.Loader, plays []*playbook.Play, opt Options, s Support, hosts func(p *playbook.Play) bool) []Refusal {
	quiet := l.Quiet()
	var plans []*Plan
	for _, play := range plays {
		p := play.Clone()
		if _, err := quiet.Finish(p); err != nil || !hosts(p) {
			continue
		}
		if plan, err := Compile(quiet, p, opt); err == nil {
			plans = append(plans, plan)
		}
	}
	return Preflight(plans, s)
}

// Report tells of refusals: what nobody has installed is a warning, and so is
// everything when warn is set (--unsupported=warn); the rest is one error that
// ends the run with exit code 4, or nil.
func Report(list []Refusal, warn bool, sink fault.Sink) error {
	var lines []string
	for _, r := range list {
		if r.Unknown || warn {
			if sink != nil {
				sink.Warning(&fault.Error{Msg: r.Text(), Pos: r.Pos})
			}
			continue
		}
		lines = append(lines, fmt.Sprintf("  %s\n    %s", r.Pos, r.Text()))
	}
	if len(lines) == 0 {
		return nil
	}
	return &fault.Error{
		Kind: fault.Parser,
		Msg:  "Nothing was started, since this project uses what Volant does not have:\n" + strings.Join(lines, "\n"),
		Help: "With --unsupported=warn it runs, and such a statement fails when it is reached.",
	}
}
