package events

import (
	"fmt"
	"slices"
	"strings"

	"volant/wire/value"
)

// DefaultOptions are the options of the default callback.
type DefaultOptions struct {
	Format
	ShowSkipped, ShowOK   bool // display_skipped_hosts, display_ok_hosts
	FailedStderr          bool
	ShowCustomStats       bool
	ShowPerHostStart      bool
	CheckMarkers          bool
	ShowTaskPathOnFailure bool
	ArgsToStdout          bool // display_args_to_stdout
	Check                 bool // the run is in check mode
	CLIArgs               []CLIArg
	Positional            []string
}

// CLIArg is one option of the command line, for -vvvv.
type CLIArg struct{ Name, Value string }

// Default is the reference's default callback, byte for byte.
type Default struct {
	d   *Display
	opt DefaultOptions

	play       *Play
	lastBanner uint64
	lastName   *string
	handlers   map[uint64]bool
}

var _ Callback = (*Default)(nil)

// NewDefault returns the callback; it writes to d.
func NewDefault(d *Display, opt DefaultOptions) *Default {
	return &Default{d: d, opt: opt, play: &Play{}, handlers: map[uint64]bool{}}
}

// Event implements Callback.
func (c *Default) Event(e Event) {
	switch e := e.(type) {
	case PlaybookStart:
		c.playbookStart(e.Path)
	case PlayStart:
		c.playStart(e.Play)
	case NoHostsMatched:
		c.d.Print("skipping: no hosts matched", "skip")
	case NoHostsRemaining:
		c.d.Banner("NO MORE HOSTS LEFT", "")
	case TaskStart:
		c.taskStart(e.Task)
	case HostStart:
		if c.opt.ShowPerHostStart {
			kind := "TASK"
			if e.Task.Handler {
				kind = "HANDLER"
			}
			c.d.Print(fmt.Sprintf(" [started %s: %s on %s]", kind, e.Task.Name, e.Host), "ok")
		}
	case Item:
		c.item(e)
	case FileDiff:
		c.fileDiff(e)
	case Result:
		c.result(e)
	case Retry:
		c.retry(e)
	case Include:
		c.include(e)
	case AsyncPoll:
		c.d.Print(fmt.Sprintf("ASYNC POLL on %s: jid=%s started=%s finished=%s", e.Host,
			pyText(e.Value.Lookup("ansible_job_id")), pyText(e.Value.Lookup("started")), pyText(e.Value.Lookup("finished"))), "debug")
	case AsyncOK:
		c.d.Print(fmt.Sprintf("ASYNC OK on %s: jid=%s", e.Host, pyText(e.Value.Lookup("ansible_job_id"))), "debug")
	case AsyncFailed:
		jid := e.Value.Lookup("ansible_job_id")
		if in, ok := e.Value.Lookup("async_result").(*value.Dict); ok && !value.Truth(jid) {
			jid = in.Lookup("ansible_job_id")
		}
		c.d.Print(fmt.Sprintf("ASYNC FAILED on %s: jid=%s", e.Host, pyText(jid)), "debug")
	case Notify:
		if c.d.Verbosity > 1 {
			c.d.Print(fmt.Sprintf("NOTIFIED HANDLER %s for %s", e.Handler, e.Host), "verbose")
		}
	case StatsReady:
		c.stats(e.Stats)
	}
}

func (c *Default) playbookStart(path string) {
	if c.d.Verbosity > 1 {
		c.d.Banner("PLAYBOOK: "+path[strings.LastIndexByte(path, '/')+1:], "")
	}
	if c.d.Verbosity > 3 {
		if len(c.opt.Positional) > 0 {
			c.d.Print("Positional arguments: "+strings.Join(c.opt.Positional, " "), "verbose")
		}
		for _, a := range c.opt.CLIArgs {
			c.d.Print(a.Name+": "+a.Value, "verbose")
		}
	}
	if c.opt.Check && c.opt.CheckMarkers {
		c.d.Banner("DRY RUN", "")
	}
}

func (c *Default) playStart(p *Play) {
	c.play = p
	mark := ""
	if p.Check && c.opt.CheckMarkers {
		mark = " [CHECK MODE]"
	}
	if name := strings.TrimSpace(p.Name); name != "" {
		c.d.Banner(fmt.Sprintf("PLAY [%s]%s", name, mark), "")
		return
	}
	c.d.Banner("PLAY"+mark, "")
}

func (c *Default) free() bool {
	s := c.play.Strategy
	s = strings.TrimPrefix(strings.TrimPrefix(s, "ansible.builtin."), "ansible.legacy.")
	return s == "free" || s == "host_pinned"
}

func (c *Default) taskStart(t *Task) {
	c.handlers[t.ID] = t.Handler
	if c.free() {
		c.lastName = nil
		return
	}
	name := strings.TrimSpace(t.Name)
	c.lastName = &name
	if c.opt.ShowSkipped && c.opt.ShowOK {
		c.banner(t)
	}
}

func (c *Default) needBanner(t *Task) {
	if c.lastBanner != t.ID {
		c.banner(t)
	}
}

func (c *Default) banner(t *Task) {
	args := ""
	if c.opt.ArgsToStdout && !t.NoLogSet && t.Args != nil {
		args = " " + t.Args()
	}
	prefix := "TASK"
	if c.handlers[t.ID] {
		prefix = "RUNNING HANDLER"
	}
	name := strings.TrimSpace(t.Name)
	if c.lastName != nil {
		name = *c.lastName
	}
	mark := ""
	if t.Check && c.opt.CheckMarkers {
		mark = " [CHECK MODE]"
	}
	c.d.Banner(fmt.Sprintf("%s [%s%s]%s", prefix, name, args, mark), "")
	if c.d.Verbosity >= 2 {
		c.taskPath(t)
	}
	c.lastBanner = t.ID
}

func (c *Default) taskPath(t *Task) {
	if t.Path != "" {
		c.d.Print("task path: "+t.Path, "debug")
	}
}

// problems shows what a result says besides its values.
func problems(d *Display, o *Outcome, shown *value.Dict, stderr bool) {
	for _, w := range o.Warnings {
		d.Warn(w)
	}
	for _, p := range o.Deprecations {
		d.Deprecate(p)
	}
	if o.Err != nil {
		d.Error(o.Err, stderr)
	}
	shown.Delete("warnings")
	shown.Delete("deprecations")
	shown.Delete("exception")
}

func (c *Default) verbose(shown *value.Dict, over int) bool {
	return (c.d.Verbosity > over || shown.Lookup("_ansible_verbose_always") == true) &&
		(!shown.Has("_ansible_verbose_override") || shown.Lookup("_ansible_verbose_override") == false)
}

func (c *Default) dump(shown *value.Dict) string { return c.opt.result(c.d, shown, unset) }

func (c *Default) item(e Item) {
	shown := Shown(e.Task, e.Outcome)
	label := pyText(itemLabel(shown))
	host := hostLabel(e.Host, e.Task, shown)
	switch e.Status {
	case Failed, Unreachable:
		c.needBanner(e.Task)
		problems(c.d, e.Outcome, shown, c.opt.FailedStderr)
		cleanResult(e.Task, shown)
		label = pyText(itemLabel(shown))
		c.d.print(fmt.Sprintf("failed: [%s] (item=%s) => %s", host, label, c.dump(shown)), "error", c.opt.FailedStderr, levelInfo)
	case Skipped:
		if !c.opt.ShowSkipped {
			return
		}
		c.needBanner(e.Task)
		problems(c.d, e.Outcome, shown, c.opt.FailedStderr)
		cleanResult(e.Task, shown)
		label = pyText(itemLabel(shown))
		msg := fmt.Sprintf("skipping: [%s] => (item=%s) ", e.Host, label)
		if c.verbose(shown, 0) {
			msg += " => " + c.dump(shown)
		}
		c.d.Print(msg, "skip")
	default:
		if e.Task.Include {
			return
		}
		word, color := "ok", "ok"
		if value.Truth(shown.Lookup("changed")) {
			word, color = "changed", "changed"
		} else if !c.opt.ShowOK {
			return
		}
		c.needBanner(e.Task)
		problems(c.d, e.Outcome, shown, c.opt.FailedStderr)
		cleanResult(e.Task, shown)
		msg := fmt.Sprintf("%s: [%s] => (item=%s)", word, host, label)
		if c.verbose(shown, 0) {
			msg += " => " + c.dump(shown)
		}
		c.d.Print(msg, color)
	}
}

func (c *Default) fileDiff(e FileDiff) {
	show := func(d *value.Dict) {
		diff, ok := d.Get("diff")
		if !ok || !value.Truth(diff) || !value.Truth(d.Lookup("changed")) {
			return
		}
		if text := c.opt.diff(c.d, diff); text != "" {
			c.needBanner(e.Task)
			c.d.Print(text, "")
		}
	}
	shown := Shown(e.Task, e.Outcome)
	items, ok := shown.Lookup("results").(*value.List)
	if !e.Task.Loop || !ok {
		show(shown)
		return
	}
	for _, it := range items.Items {
		if d, ok := it.(*value.Dict); ok {
			show(d)
		}
	}
}

func (c *Default) result(e Result) {
	shown := Shown(e.Task, e.Outcome)
	switch e.Status {
	case Failed:
		c.failed(e, shown)
	case Skipped:
		c.skipped(e, shown)
	case Unreachable:
		c.needBanner(e.Task)
		problems(c.d, e.Outcome, shown, c.opt.FailedStderr)
		msg := fmt.Sprintf("fatal: [%s]: UNREACHABLE! => %s", hostLabel(e.Host, e.Task, shown), c.dump(shown))
		c.d.print(msg, "unreachable", c.opt.FailedStderr, levelInfo)
		if e.Task.IgnoreUnreachable {
			c.d.Print("...ignoring", "skip")
		}
	default:
		c.ok(e, shown)
	}
}

func (c *Default) failed(e Result, shown *value.Dict) {
	c.needBanner(e.Task)
	problems(c.d, e.Outcome, shown, c.opt.FailedStderr)
	cleanResult(e.Task, shown)
	if !e.Task.Loop || !shown.Has("results") {
		if c.d.Verbosity < 2 && c.opt.ShowTaskPathOnFailure {
			c.taskPath(e.Task)
		}
		msg := fmt.Sprintf("fatal: [%s]: FAILED! => %s", hostLabel(e.Host, e.Task, shown), c.dump(shown))
		c.d.print(msg, "error", c.opt.FailedStderr, levelInfo)
	}
	if e.IgnoreErrors {
		c.d.Print("...ignoring", "skip")
	}
}

func (c *Default) skipped(e Result, shown *value.Dict) {
	if !c.opt.ShowSkipped {
		return
	}
	cleanResult(e.Task, shown)
	c.needBanner(e.Task)
	problems(c.d, e.Outcome, shown, c.opt.FailedStderr)
	if e.Task.Loop || e.Task.NoItems {
		shown.Delete("results")
	}
	msg := fmt.Sprintf("skipping: [%s]", e.Host)
	if c.verbose(shown, 0) {
		msg += " => " + c.dump(shown)
	}
	c.d.Print(msg, "skip")
}

func (c *Default) ok(e Result, shown *value.Dict) {
	if e.Task.Include {
		c.needBanner(e.Task)
		return
	}
	word, color := "ok", "ok"
	if value.Truth(shown.Lookup("changed")) {
		word, color = "changed", "changed"
	} else if !c.opt.ShowOK {
		return
	}
	c.needBanner(e.Task)
	problems(c.d, e.Outcome, shown, c.opt.FailedStderr)
	if e.Task.Loop && shown.Has("results") {
		return
	}
	cleanResult(e.Task, shown)
	msg := fmt.Sprintf("%s: [%s]", word, hostLabel(e.Host, e.Task, shown))
	if c.verbose(shown, 0) {
		msg += " => " + c.dump(shown)
	}
	c.d.Print(msg, color)
}

func (c *Default) retry(e Retry) {
	shown := Shown(e.Task, e.Outcome)
	retries, _ := shown.Lookup("retries").(int64)
	attempts, _ := shown.Lookup("attempts").(int64)
	name := e.Task.Bare
	if name == "" {
		name = e.Task.Name
	}
	msg := fmt.Sprintf("FAILED - RETRYING: [%s]: %s (%d retries left).", hostLabel(e.Host, e.Task, shown), name, retries-attempts)
	if c.verbose(shown, 2) {
		msg += "Result was: " + c.dump(shown)
	}
	c.d.Print(msg, "debug")
}

func (c *Default) include(e Include) {
	msg := fmt.Sprintf("included: %s for %s", e.File, strings.Join(e.Hosts, ", "))
	if value.Truth(e.Label) {
		msg += fmt.Sprintf(" => (item=%s)", pyText(e.Label))
	}
	c.d.Print(msg, "included")
}

func (c *Default) stats(s *Stats) {
	c.d.Banner("PLAY RECAP", "")
	for _, h := range s.Hosts() {
		c.d.Print(c.recapLine(h, *s.Host(h)), "")
	}
	c.d.Print("", "")
	if custom := s.Custom(); custom.Len() > 0 && c.opt.ShowCustomStats {
		c.d.Banner("CUSTOM STATS: ", "")
		dump := func(v any) string {
			d, _ := v.(*value.Dict)
			return strings.ReplaceAll(c.opt.result(c.d, d, 1), "\n", "")
		}
		var hosts []string
		for k := range custom.All() {
			if h, _ := value.Text(k); h != "_run" {
				hosts = append(hosts, h)
			}
		}
		slices.Sort(hosts)
		for _, h := range hosts {
			c.d.Print(fmt.Sprintf("\t%s: %s", h, dump(custom.Lookup(h))), "")
		}
		if run, ok := custom.Get("_run"); ok {
			c.d.Print("", "")
			c.d.Print("\tRUN: "+dump(run), "")
		}
		c.d.Print("", "")
	}
	if c.opt.Check && c.opt.CheckMarkers {
		c.d.Banner("DRY RUN", "")
	}
}

func (c *Default) recapLine(host string, n Counts) string {
	name := fmt.Sprintf("%-26s", host)
	if c.d.Color {
		color := "ok"
		switch {
		case n.Failed != 0 || n.Unreachable != 0:
			color = "error"
		case n.Changed != 0:
			color = "changed"
		}
		name = fmt.Sprintf("%-37s", c.d.Paint(host, color))
	}
	field := func(lead string, n int, color string) string {
		s := fmt.Sprintf("%s=%-4d", lead, n)
		if n != 0 {
			s = c.d.Paint(s, color)
		}
		return s
	}
	return fmt.Sprintf("%s : %s %s %s %s %s %s %s", name,
		field("ok", n.OK, "ok"), field("changed", n.Changed, "changed"),
		field("unreachable", n.Unreachable, "unreachable"), field("failed", n.Failed, "error"),
		field("skipped", n.Skipped, "skip"), field("rescued", n.Rescued, "ok"), field("ignored", n.Ignored, "warn"))
}
