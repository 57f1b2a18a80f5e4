package main

import (
	"cmp"
	"fmt"
	"time"

	"volant/controller/events"
	"volant/metrics"
	"volant/wire"
)

// meter feeds metrics from the events of a run.
type meter struct {
	file, playbook string
	byHost         bool // hosts are named
	c              *metrics.Controller
	begin          time.Time
}

// newMeter returns a meter that writes to the first of the files named; without
// any it measures nothing.
func newMeter(option, setting, playbook string, byHost bool) *meter {
	m := &meter{file: cmp.Or(option, setting), byHost: byHost, playbook: playbook, begin: time.Now()}
	if m.file != "" {
		m.c = metrics.NewController(release(), wire.Version)
		m.c.RunStarted(playbook, m.begin)
	}
	return m
}

func (m *meter) controller() *metrics.Controller { return m.c }

// try warns before the run of a file that cannot be written after it.
func (m *meter) try(warn func(text string)) {
	if m.c == nil {
		return
	}
	if err := metrics.Writable(m.file); err != nil {
		warn(fmt.Sprintf("The metrics of this run cannot be written: %s", err))
	}
}

// Event implements events.Callback.
func (m *meter) Event(e events.Event) {
	if m.c == nil {
		return
	}
	switch e := e.(type) {
	case events.PlayStart:
		m.c.PlayStarted()
	case events.Result:
		if e.Task.Implicit {
			return
		}
		status := e.Status.String()
		if e.Status == events.OK && e.Value.Bool("changed") {
			status = "changed"
		}
		m.c.TaskDone(e.Task.Action, status, e.Timing.Total)
		m.c.TaskPhase("queue", e.Timing.Queue)
		m.c.TaskPhase("render", e.Timing.Render)
		m.c.TaskPhase("wire", e.Timing.Wire)
		m.c.TaskPhase("host", e.Timing.Host)
		m.c.TaskPhase("barrier", e.Timing.Barrier)
	case events.SubTask:
		outcome := "ok"
		if e.Err != nil {
			outcome = "error"
		}
		m.c.SubTask(e.Module, path(e.Path), outcome, e.Wire, e.Work)
		m.c.ActionDid(e.Action, e.RoundTrips, e.Sent, e.Received)
	}
}

// path is the kind of a sub-task's path, without the reason of a hand-back.
func path(p string) string {
	for i, c := range p {
		if c == ' ' {
			return p[:i]
		}
	}
	return p
}

// end writes the metrics of a run that ended with code; warn tells of what went
// wrong with that.
func (m *meter) end(code int, s *events.Stats, warn func(text string)) {
	if m.c == nil {
		return
	}
	hosts := map[string]int{}
	for _, h := range s.Hosts() {
		if m.byHost {
			n := s.Host(h)
			m.c.HostEnded(m.playbook, h, map[string]int{"ok": n.OK, "changed": n.Changed, "unreachable": n.Unreachable, "failed": n.Failed,
				"skipped": n.Skipped, "rescued": n.Rescued, "ignored": n.Ignored})
		}
		switch n := s.Host(h); {
		case n.Unreachable > 0:
			hosts["unreachable"]++
		case n.Failed > 0:
			hosts["failed"]++
		case n.Changed > 0:
			hosts["changed"]++
		default:
			hosts["ok"]++
		}
	}
	m.c.RunEnded(m.playbook, time.Since(m.begin), code, hosts)
	if err := m.c.WriteFile(m.file); err != nil {
		warn(fmt.Sprintf("The metrics of this run could not be written: %s", err))
	}
}
