package events

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Timer shows at the end how long the playbooks took, as ansible.posix.timer.
type Timer struct {
	d     *Display
	now   func() time.Time
	begin time.Time
}

// NewTimer returns the callback; time runs from here.
func NewTimer(d *Display) *Timer { return &Timer{d: d, now: time.Now, begin: time.Now()} }

// Event implements Callback.
func (c *Timer) Event(e Event) {
	if _, ok := e.(StatsReady); !ok {
		return
	}
	s := int(c.now().Sub(c.begin) / time.Second)
	c.d.Print(fmt.Sprintf("Playbook run took %d days, %d hours, %d minutes, %d seconds", s/86400, s/3600%24, s/60%60, s%60), "")
}

// ProfileTasksOptions are the options of ProfileTasks.
type ProfileTasksOptions struct {
	Limit int    // how many tasks are shown at the end, 0 for all
	Sort  string // "descending", "ascending" or "none"
}

// ProfileTasks shows when each task began and, at the end, which took longest,
// as ansible.posix.profile_tasks.
type ProfileTasks struct {
	d           *Display
	opt         ProfileTasksOptions
	now         func() time.Time
	begin, last time.Time
	tasks       []*timedTask
	byID        map[uint64]*timedTask
	current     *timedTask
	since       time.Time // of current
}

type timedTask struct {
	name, path string
	took       time.Duration
}

// NewProfileTasks returns the callback; time runs from here.
func NewProfileTasks(d *Display, opt ProfileTasksOptions) *ProfileTasks {
	return &ProfileTasks{d: d, opt: opt, now: time.Now, byID: map[uint64]*timedTask{}}
}

// Event implements Callback.
func (c *ProfileTasks) Event(e Event) {
	switch e := e.(type) {
	case TaskStart:
		c.clock()
		c.end()
		t := c.byID[e.Task.ID]
		if t == nil {
			t = &timedTask{name: e.Task.Name, path: e.Task.Path}
			c.byID[e.Task.ID] = t
			c.tasks = append(c.tasks, t)
		}
		c.current, c.since = t, c.now()
	case StatsReady:
		c.clock()
		c.end()
		c.d.Print(filled("", "="), "")
		c.report()
	}
}

func (c *ProfileTasks) end() {
	if c.current != nil {
		c.current.took += c.now().Sub(c.since)
		c.current = nil
	}
}

// clock shows the time, how much of it passed since the last task and since
// the first.
func (c *ProfileTasks) clock() {
	now := c.now()
	if c.begin.IsZero() {
		c.begin, c.last = now, now
	}
	text := fmt.Sprintf("%s (%s)       %s", now.Format("Monday 02 January 2006  15:04:05 -0700"), clockText(now.Sub(c.last)), clockText(now.Sub(c.begin)))
	c.d.Print(filled(text, "*"), "")
	c.last = now
}

func (c *ProfileTasks) report() {
	list := slices.Clone(c.tasks)
	switch c.opt.Sort {
	case "none":
	case "ascending":
		slices.SortStableFunc(list, func(a, b *timedTask) int { return int(a.took - b.took) })
	default:
		slices.SortStableFunc(list, func(a, b *timedTask) int { return int(b.took - a.took) })
	}
	if c.opt.Limit > 0 {
		list = list[:min(len(list), c.opt.Limit)]
	}
	dashes := func(s string, n int) string { return s + strings.Repeat("-", max(0, n-textWidth(s))) }
	for _, t := range list {
		took := fmt.Sprintf(" %.2fs", t.took.Seconds())
		line := dashes(t.name+" ", c.d.Columns-9) + strings.Repeat("-", max(0, 9-len(took))) + took
		if c.d.Verbosity >= 2 {
			line += "\n" + dashes(t.path+" ", c.d.Columns)
		}
		c.d.Print(line, "")
	}
}

// ProfileRoles shows when each task began and, at the end, how long the tasks of
// each role took, those of no role by their action, as
// ansible.posix.profile_roles.
type ProfileRoles struct {
	d           *Display
	summary     bool // only at the end
	now         func() time.Time
	begin, last time.Time
	roles       []*timedTask // in order of appearance
	byName      map[string]*timedTask
	current     *timedTask
	since       time.Time // of current
}

// NewProfileRoles returns the callback; time runs from here. summary leaves out
// what is shown at each task.
func NewProfileRoles(d *Display, summary bool) *ProfileRoles {
	now := time.Now()
	return &ProfileRoles{d: d, summary: summary, now: time.Now, begin: now, last: now, byName: map[string]*timedTask{}}
}

// Event implements Callback.
func (c *ProfileRoles) Event(e Event) {
	switch e := e.(type) {
	case TaskStart:
		if !c.summary {
			c.clock()
		}
		c.end()
		name := cmp.Or(e.Task.Role, e.Task.Action)
		if c.byName[name] == nil {
			c.byName[name] = &timedTask{name: name}
			c.roles = append(c.roles, c.byName[name])
		}
		c.current, c.since = c.byName[name], c.now()
	case StatsReady:
		c.d.Banner("ROLES RECAP", "")
		c.clock()
		c.d.Print(filled("", "="), "")
		c.end()
		slices.SortStableFunc(c.roles, func(a, b *timedTask) int { return cmp.Compare(b.took, a.took) })
		var total time.Duration
		for _, r := range c.roles {
			total += r.took
			c.line(r.name, r.took)
		}
		c.d.Print(filled("", "~"), "")
		c.line("total", total)
	}
}

func (c *ProfileRoles) end() {
	if c.current != nil {
		c.current.took += c.now().Sub(c.since)
		c.current = nil
	}
}

func (c *ProfileRoles) clock() {
	now := c.now()
	text := fmt.Sprintf("%s (%s)       %s", now.Format("Monday 02 January 2006  15:04:05 -0700"), clockText(now.Sub(c.last)), clockText(now.Sub(c.begin)))
	c.d.Print(filled(text, "*"), "")
	c.last = now
}

func (c *ProfileRoles) line(name string, took time.Duration) {
	const nameWidth, timeWidth = 70, 9
	text := fmt.Sprintf(" %.2fs", took.Seconds())
	c.d.Print(name+" "+strings.Repeat("-", max(0, nameWidth-1-textWidth(name)))+strings.Repeat("-", max(0, timeWidth-len(text)))+text, "")
}

// filled is text and fillers up to the 79th column.
func filled(text, fill string) string {
	width := 79
	if text != "" {
		text += " "
		width = max(3, 79-textWidth(text))
	}
	return text + strings.Repeat(fill, width) + " "
}

// clockText is a duration as H:MM:SS.mmm.
func clockText(d time.Duration) string {
	ms := d.Milliseconds()
	return fmt.Sprintf("%d:%02d:%02d.%03d", ms/3600000, ms/60000%60, ms/1000%60, ms%1000)
}
