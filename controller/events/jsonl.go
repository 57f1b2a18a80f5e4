package events

import (
	"io"
	"strings"
	"time"

	"volant/controller/fault"
	"volant/wire/value"
)

// JSONLVersion is the form of the lines that JSONL writes. Keys may be added
// without a new version.
const JSONLVersion = 1

// JSONL writes every event as one line of JSON, for programs. A line has
// "event" and "time" (RFC 3339, UTC), and
//
//	playbook_start  playbook; the first line of a file also has "version"
//	play_start      play, hosts, check
//	no_hosts        (the play's pattern matched none, or none is left)
//	task_start      task, task_id, action, path, handler
//	item            host and what result has, of one item of a loop, and its label
//	retry           as item: an attempt failed and another follows
//	result          host, task, task_id, status (ok, changed, failed, skipped,
//	                unreachable), ignored, delegate_to, result, error, warnings,
//	                seconds: total, queue, render, union, connect, wire, host
//	sub_task        host, action, module, path ("native", "python", "raw", with
//	                the reason of a hand-back), round_trips, bytes: sent, received;
//	                seconds
//	include         file, hosts
//	notify          host, handler
//	stats           hosts: name -> ok, changed, unreachable, failed, skipped,
//	                rescued, ignored; custom
//
// Results are as other callbacks see them: what no_log hides is hidden.
type JSONL struct {
	w   io.Writer
	now func() time.Time
	any bool // a line was written
}

// NewJSONL returns the callback. Nothing is said of lines that cannot be
// written: a reader that went away must not stop a run.
func NewJSONL(w io.Writer) *JSONL { return &JSONL{w: w, now: time.Now} }

// Event implements Callback.
func (c *JSONL) Event(e Event) {
	switch e := e.(type) {
	case PlaybookStart:
		c.line("playbook_start", "playbook", e.Path)
	case PlayStart:
		c.line("play_start", "play", e.Play.Name, "hosts", value.Strings(e.Play.Hosts...), "check", e.Play.Check)
	case NoHostsMatched, NoHostsRemaining:
		c.line("no_hosts")
	case TaskStart:
		c.line("task_start", "task", e.Task.Name, "task_id", int64(e.Task.ID), "action", e.Task.Action, "path", e.Task.Path, "handler", e.Task.Handler)
	case Item:
		c.outcome("item", e.Host, e.Task, e.Outcome, "label", itemLabel(Shown(e.Task, e.Outcome)))
	case Retry:
		c.outcome("retry", e.Host, e.Task, e.Outcome)
	case Result:
		c.outcome("result", e.Host, e.Task, e.Outcome, "ignored", e.IgnoreErrors)
	case SubTask:
		c.line("sub_task", "host", e.Host, "action", e.Action, "module", e.Module, "path", e.Path,
			"round_trips", int64(e.RoundTrips), "bytes", value.DictOf("sent", e.Sent, "received", e.Received),
			"seconds", value.DictOf("union", e.Union.Seconds(), "connect", e.Connect.Seconds(), "wire", e.Wire.Seconds(), "host", e.Work.Seconds()))
	case Include:
		c.line("include", "file", e.File, "hosts", value.Strings(e.Hosts...))
	case Notify:
		c.line("notify", "host", e.Host, "handler", e.Handler)
	case StatsReady:
		c.line("stats", "hosts", recap(e.Stats), "custom", e.Stats.Custom())
	}
}

func (c *JSONL) outcome(event, host string, t *Task, o *Outcome, more ...any) {
	shown := Shown(t, o)
	status := o.Status.String()
	if o.Status == OK && value.Truth(shown.Lookup("changed")) {
		status = "changed"
	}
	pairs := []any{"host", host, "task", t.Name, "task_id", int64(t.ID), "action", t.Action, "status", status}
	pairs = append(pairs, more...)
	if t.DelegateTo != "" {
		pairs = append(pairs, "delegate_to", t.DelegateTo)
	}
	for _, k := range []string{"exception", "warnings", "deprecations"} {
		shown.Delete(k)
	}
	pairs = append(pairs, "result", StripInternal(shown))
	if o.Err != nil {
		pairs = append(pairs, "error", fault.Brief(o.Err))
	}
	if len(o.Warnings) > 0 {
		l := &value.List{}
		for _, w := range o.Warnings {
			l.Items = append(l.Items, w.Msg)
		}
		pairs = append(pairs, "warnings", l)
	}
	if event == "result" {
		tm := o.Timing
		pairs = append(pairs, "seconds", value.DictOf("total", tm.Total.Seconds(), "queue", tm.Queue.Seconds(), "render", tm.Render.Seconds(),
			"union", tm.Union.Seconds(), "connect", tm.Connect.Seconds(), "wire", tm.Wire.Seconds(), "host", tm.Host.Seconds()))
	}
	c.line(event, pairs...)
}

func (c *JSONL) line(event string, pairs ...any) {
	d := value.DictOf("event", event, "time", c.now().UTC().Format(time.RFC3339Nano))
	if !c.any {
		c.any = true
		d.Set("version", int64(JSONLVersion))
	}
	d.Update(value.DictOf(pairs...))
	_, _ = io.WriteString(c.w, strings.ToValidUTF8(Dump(d, -1, false), "?")+"\n")
}

func recap(s *Stats) *value.Dict {
	out := value.NewDict(0)
	for _, h := range s.Hosts() {
		n := s.Host(h)
		out.Set(h, value.DictOf("ok", int64(n.OK), "changed", int64(n.Changed), "unreachable", int64(n.Unreachable), "failed", int64(n.Failed),
			"skipped", int64(n.Skipped), "rescued", int64(n.Rescued), "ignored", int64(n.Ignored)))
	}
	return out
}
