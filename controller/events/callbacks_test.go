package events

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"volant/wire/value"
)

// clockOf is a clock that moves on by step at every reading.
func clockOf(step time.Duration) func() time.Time {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return func() time.Time {
		at = at.Add(step)
		return at
	}
}

// aRun are the events of a run with a task that works and one that fails.
func aRun() []Event {
	good := &Task{ID: 2, Name: "web : Install", Action: "apt", Path: "site.yml:3"}
	bad := &Task{ID: 3, Name: "Stop", Action: "fail", Path: "site.yml:7"}
	st := NewStats()
	*st.Host("h1") = Counts{OK: 1, Changed: 1, Failed: 1}
	st.SetCustom("", "n", int64(1))
	st.SetCustom("h1", "m", int64(2))
	return []Event{
		PlaybookStart{Path: "site.yml"},
		PlayStart{Play: &Play{Name: "web", Hosts: []string{"h1"}}},
		TaskStart{Task: good},
		SubTask{Host: "h1", Action: "apt", RoundTrips: 2, Sent: 3, Received: 4, Module: "ansible.builtin.apt", Path: "native", Wire: time.Millisecond, Work: 2 * time.Millisecond},
		Result{Host: "h1", Task: good, Outcome: &Outcome{Value: value.DictOf("changed", true, "_ansible_parsed", true), Timing: Timing{Total: time.Second}}},
		TaskStart{Task: bad},
		Result{Host: "h1", Task: bad, Outcome: &Outcome{
			Status: Failed, Value: value.DictOf("failed", true, "msg", "no", "exception", "x"), Err: errors.New("Task failed: no"),
			Warnings: []Warning{{Msg: "careful"}},
		}},
		StatsReady{Stats: st},
	}
}

func play(c Callback) {
	for _, e := range aRun() {
		c.Event(e)
	}
}

func TestTimerAndProfileTasks(t *testing.T) {
	var out strings.Builder
	d := NewDisplay(&out, &out, nil)
	timer := NewTimer(d)
	timer.begin, timer.now = time.Unix(0, 0), func() time.Time { return time.Unix(2*86400+3*3600+4*60+5, 0) }
	prof := NewProfileTasks(d, ProfileTasksOptions{Limit: 20})
	prof.now = clockOf(1500 * time.Millisecond)
	play(NewBus(timer, prof))
	// The form of ansible.posix 2.1.0.
	want := `Sunday 01 March 2026  12:00:01 +0000 (0:00:00.000)       0:00:00.000 ********** 
Sunday 01 March 2026  12:00:04 +0000 (0:00:03.000)       0:00:03.000 ********** 
Playbook run took 2 days, 3 hours, 4 minutes, 5 seconds
Sunday 01 March 2026  12:00:09 +0000 (0:00:04.500)       0:00:07.500 ********** 
=============================================================================== 
web : Install ----------------------------------------------------------- 3.00s
Stop -------------------------------------------------------------------- 3.00s
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestJSONL(t *testing.T) {
	var out strings.Builder
	c := NewJSONL(&out)
	c.now = func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	play(c)
	head := `{"event": "EVENT", "time": "2026-03-01T12:00:00Z"`
	line := func(event, rest string) string { return strings.Replace(head, "EVENT", event, 1) + rest + "}\n" }
	zero := `"queue": 0.0, "render": 0.0, "union": 0.0, "connect": 0.0, "wire": 0.0, "host": 0.0}`
	want := line("playbook_start", `, "version": 1, "playbook": "site.yml"`) +
		line("play_start", `, "play": "web", "hosts": ["h1"], "check": false`) +
		line("task_start", `, "task": "web : Install", "task_id": 2, "action": "apt", "path": "site.yml:3", "handler": false`) +
		line("sub_task", `, "host": "h1", "action": "apt", "module": "ansible.builtin.apt", "path": "native", "round_trips": 2, "bytes": {"sent": 3, "received": 4}, "seconds": {"union": 0.0, "connect": 0.0, "wire": 0.001, "host": 0.002}`) +
		line("result", `, "host": "h1", "task": "web : Install", "task_id": 2, "action": "apt", "status": "changed", "ignored": false, "result": {"changed": true}, "seconds": {"total": 1.0, `+zero) +
		line("task_start", `, "task": "Stop", "task_id": 3, "action": "fail", "path": "site.yml:7", "handler": false`) +
		line("result", `, "host": "h1", "task": "Stop", "task_id": 3, "action": "fail", "status": "failed", "ignored": false, "result": {"msg": "no"}, "error": "Task failed: no", "warnings": ["careful"], "seconds": {"total": 0.0, `+zero) +
		line("stats", `, "hosts": {"h1": {"ok": 1, "changed": 1, "unreachable": 0, "failed": 1, "skipped": 0, "rescued": 0, "ignored": 0}}, "custom": {"_run": {"n": 1}, "h1": {"m": 2}}`)
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestJSONLHidesWhatNoLogHides(t *testing.T) {
	var out strings.Builder
	NewJSONL(&out).Event(Result{Host: "h", Task: &Task{Name: "t", NoLog: true}, Outcome: &Outcome{Value: value.DictOf("msg", "s3cret", "_ansible_no_log", true)}})
	if s := out.String(); strings.Contains(s, "s3cret") || !strings.Contains(s, hiddenText) {
		t.Errorf("the line is %s", s)
	}
}

func TestReport(t *testing.T) {
	var out strings.Builder
	c := NewReport(NewDisplay(&out, &out, nil))
	c.now = func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	play(c)
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		`"custom_stats": { "h1": { "m": 2 } }, "global_custom_stats": { "n": 1 }`,
		`"hosts": { "h1": { "_ansible_no_log": false, "action": "apt", "changed": true } }`,
		`"hosts": { "h1": { "_ansible_no_log": false, "action": "fail", "changed": false, "failed": true, "msg": "no" } }`,
		`"stats": { "h1": { "changed": 1, "failures": 1, "ignored": 0, "ok": 1, "rescued": 0, "skipped": 0, "unreachable": 0 } }`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
}

// logged collects the lines of a log.
type logged []string

func (l *logged) Line(level, msg string) { *l = append(*l, level+"| "+msg) }

func TestLog(t *testing.T) {
	var (
		out strings.Builder
		log logged
	)
	d := NewDisplay(&out, &out, &log)
	d.Color = true
	d.LogVerbosity = 2
	d.Banner("PLAY [web]", "")
	d.Print("", "")
	d.Note("careful")
	d.Error(errors.New("no"), true)
	d.Verbose(2, "for the log")
	d.Verbose(3, "for nobody")
	d.Print(d.Paint("h1", "ok")+" : ok=1", "")
	// Recorded from ansible-core 2.19.12: warnings and errors end in a line of
	// their own, an empty message is not logged.
	want := []string{
		"INFO| PLAY [web] " + strings.Repeat("*", 69), "WARNING| [WARNING]: careful\n", "ERROR| [ERROR]: no\n", "INFO| for the log", "INFO| h1 : ok=1",
	}
	if diff := cmp.Diff(want, []string(log)); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(out.String(), "for the log") {
		t.Error("a line for the log alone was shown")
	}
}

func TestColorCode(t *testing.T) {
	// Recorded from ansible.utils.color.parsecolor.
	for name, want := range map[string]string{
		"green": "0;32", "bright purple": "1;35", "color208": "38;5;208", "rgb123": "38;5;67", "gray7": "38;5;239", "rgb678": "", "nosuch": "",
	} {
		if got := colorCode(name); got != want {
			t.Errorf("colorCode(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestProgress(t *testing.T) {
	var out strings.Builder
	d := NewDisplay(&out, &out, nil)
	d.Progress("waiting")
	d.Print("line", "")
	d.Progress("")
	d.Print("end", "")
	if diff := cmp.Diff("waiting\r\x1b[Kline\nwaiting\r\x1b[Kend\n", out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestProfileRoles(t *testing.T) {
	var out strings.Builder
	d := NewDisplay(&out, &out, nil)
	c := NewProfileRoles(d, false)
	c.begin, c.last = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c.now = clockOf(1500 * time.Millisecond)
	for _, e := range aRun() {
		if s, ok := e.(TaskStart); ok && s.Task.Action == "apt" {
			s.Task.Role = "web"
		}
		c.Event(e)
	}
	// The form of ansible.posix 2.1.0.
	want := `Sunday 01 March 2026  12:00:01 +0000 (0:00:01.500)       0:00:01.500 ********** 
Sunday 01 March 2026  12:00:04 +0000 (0:00:03.000)       0:00:04.500 ********** 

ROLES RECAP ********************************************************************
Sunday 01 March 2026  12:00:09 +0000 (0:00:04.500)       0:00:09.000 ********** 
=============================================================================== 
web --------------------------------------------------------------------- 3.00s
fail -------------------------------------------------------------------- 3.00s
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ 
total ------------------------------------------------------------------- 6.00s
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// TestSections: what a task wrote stands below its result, as ansible.posix.debug
// has it, and the result itself is left as it was.
func TestSections(t *testing.T) {
	f := Format{Sections: true}
	res := value.DictOf("changed", true, "stdout", "a\nb", "stdout_lines", &value.List{Items: []any{"a", "b"}}, "stderr", "", "msg", "no", "rc", int64(3))
	want := "{\n    \"changed\": true,\n    \"rc\": 3\n}\n\nSTDOUT:\n\na\nb\n\n\nMSG:\n\nno\n"
	if got := f.result(NewDisplay(io.Discard, io.Discard, nil), res, unset); got != want || !res.Has("stdout") || res.Has("_ansible_verbose_always") {
		t.Errorf("%q", got)
	}
}
