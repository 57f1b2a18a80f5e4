package events

import (
	"strconv"
	"time"

	"volant/wire/value"
)

// Report prints the whole run as one JSON document at its end, in the shape of
// ansible.posix.json.
type Report struct {
	d     *Display
	now   func() time.Time
	plays *value.List
	tasks map[uint64]*value.Dict // of the play
	play  int
}

// NewReport returns the callback; it writes to d.
func NewReport(d *Display) *Report {
	return &Report{d: d, now: time.Now, plays: value.ListOf()}
}

func (c *Report) stamp() string { return c.now().UTC().Format("2006-01-02T15:04:05.000000Z") }

// Event implements Callback.
func (c *Report) Event(e Event) {
	switch e := e.(type) {
	case PlayStart:
		c.play++
		c.tasks = map[uint64]*value.Dict{}
		c.plays.Items = append(c.plays.Items, value.DictOf(
			"play", value.DictOf("duration", value.DictOf("start", c.stamp()), "id", strconv.Itoa(c.play), "name", e.Play.Name, "path", ""),
			"tasks", value.ListOf()))
	case TaskStart:
		c.task(e.Task)
	case Result:
		c.result(e)
	case StatsReady:
		c.print(e.Stats)
	}
}

// task is the entry of t in the current play.
func (c *Report) task(t *Task) *value.Dict {
	if d := c.tasks[t.ID]; d != nil || c.plays.Len() == 0 {
		return d
	}
	d := value.DictOf("hosts", value.NewDict(0), "task", value.DictOf("duration", value.DictOf("start", c.stamp()),
		"id", strconv.FormatUint(t.ID, 10), "name", t.Name, "path", t.Path))
	c.tasks[t.ID] = d
	play, _ := c.plays.Items[c.plays.Len()-1].(*value.Dict)
	list, _ := play.Lookup("tasks").(*value.List)
	list.Items = append(list.Items, d)
	return d
}

func (c *Report) result(e Result) {
	entry := c.task(e.Task)
	if entry == nil {
		return
	}
	shown := Shown(e.Task, e.Outcome)
	for _, k := range []string{"exception", "warnings", "deprecations"} {
		shown.Delete(k)
	}
	out, _ := StripInternal(shown).(*value.Dict)
	out = out.Clone()
	switch e.Status {
	case Failed:
		out.Set("failed", true)
	case Unreachable:
		out.Set("unreachable", true)
	case Skipped:
		out.Set("skipped", true)
	}
	out.Set("action", e.Task.Action)
	if !out.Has("changed") {
		out.Set("changed", false)
	}
	out.Set("_ansible_no_log", e.Task.NoLog)
	hosts, _ := entry.Lookup("hosts").(*value.Dict)
	hosts.Set(e.Host, out)
	end := c.stamp()
	task, _ := entry.Lookup("task").(*value.Dict)
	task.Lookup("duration").(*value.Dict).Set("end", end) //nolint:forcetypeassert // made above
	play, _ := c.plays.Items[c.plays.Len()-1].(*value.Dict)
	head, _ := play.Lookup("play").(*value.Dict)
	head.Lookup("duration").(*value.Dict).Set("end", end) //nolint:forcetypeassert // made above
}

func (c *Report) print(s *Stats) {
	hosts, run := value.NewDict(0), value.NewDict(0)
	for k, v := range s.Custom().All() {
		if name, _ := value.Text(k); name == "_run" {
			run, _ = v.(*value.Dict)
			continue
		}
		hosts.Set(k, v)
	}
	stats := recap(s)
	for _, v := range stats.All() {
		d, _ := v.(*value.Dict)
		d.Set("failures", d.Lookup("failed"))
		d.Delete("failed")
	}
	c.d.Print(Dump(value.DictOf("plays", c.plays, "stats", stats, "custom_stats", hosts, "global_custom_stats", run), 4, true), "")
}
