package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"volant/controller/events"
	"volant/wire/value"
)

// began is when the process did.
var began = time.Now()

// profileForm is the option --profile: "" (not given), "text" or "json".
type profileForm string

var _ kong.BoolMapperValue = (*profileForm)(nil)

// IsBool implements kong.BoolMapperValue: the option may stand alone.
func (*profileForm) IsBool() bool { return true }

// Decode implements kong.MapperValue.
func (f *profileForm) Decode(ctx *kong.DecodeContext) error {
	*f = "text"
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		return nil
	}
	switch v := fmt.Sprint(ctx.Scan.Pop().Value); v {
	case "text", "json":
		*f = profileForm(v)
	default:
		return fmt.Errorf("must be text or json but got %q", v)
	}
	return nil
}

// phases are where the time of a host went, in the order shown.
var phases = []string{"queue", "render", "union", "connect", "wire", "host", "barrier"}

// phaseNotes say what the phases are.
const phaseNotes = "queue: until the host's turn; render: templates and conditions; union: finding modules; connect: until the link was up;\n" +
	"wire: to the host and back; host: the module's work; barrier: waiting for other hosts"

type spent map[string]time.Duration

func (s spent) dict() *value.Dict {
	d := value.NewDict(len(phases))
	for _, p := range phases {
		d.Set(p, s[p].Seconds())
	}
	return d
}

// taskProfile is what a task took, over all hosts.
type taskProfile struct {
	name, action, path string
	wall               time.Duration
	hosts              int
	spent              spent
	did
}

// did is what was asked of hosts.
type did struct {
	ways           map[string]int // how sub-tasks ran -> how many
	subTasks       int
	trips          int
	sent, received int64
}

func (d *did) add(o *did) {
	for w, n := range o.ways {
		d.ways[w] += n
	}
	d.subTasks += o.subTasks
	d.trips += o.trips
	d.sent += o.sent
	d.received += o.received
}

// moved says how many bytes of files travelled; empty when none did.
func (d *did) moved() string {
	out := ""
	for _, m := range []struct {
		n    int64
		text string
	}{{d.sent, "sent"}, {d.received, "received"}} {
		if m.n > 0 {
			out += fmt.Sprintf(", %s %s", size(m.n), m.text)
		}
	}
	return out
}

// size is a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 10_000_000:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.0f MB", float64(n)/1e6)
}

// profile collects where the time of a run went.
type profile struct {
	form    profileForm
	load    time.Duration // until the first playbook began
	compile time.Duration
	names   []string // of hosts, in the order met
	hosts   map[string]spent
	counts  map[string]int
	tasks   []*taskProfile
	byID    map[uint64]*taskProfile
	doing   map[string]*did // each host's task in progress
	step    []ended
}

// ended is a host done with the step in progress.
type ended struct {
	host string
	took time.Duration
}

var _ events.Callback = (*profile)(nil)

// profile makes the callback of --profile, nil without it.
func newProfile(form profileForm) *profile {
	if form == "" {
		return nil
	}
	return &profile{form: form, hosts: map[string]spent{}, counts: map[string]int{}, byID: map[uint64]*taskProfile{}, doing: map[string]*did{}}
}

// Event implements events.Callback.
func (p *profile) Event(e events.Event) {
	switch e := e.(type) {
	case events.PlaybookStart:
		if p.load == 0 {
			p.load = time.Since(began)
		}
	case events.Phase:
		if e.Name == "compile" {
			p.compile += e.Took
		}
	case events.SubTask:
		d := p.doing[e.Host]
		if d == nil {
			d = &did{ways: map[string]int{}}
			p.doing[e.Host] = d
		}
		way := e.Path
		if way == "" {
			way = "no answer"
		}
		d.add(&did{ways: map[string]int{way: 1}, subTasks: 1, trips: e.RoundTrips, sent: e.Sent, received: e.Received})
	case events.Result:
		p.result(e)
	case events.StepDone:
		t := p.task(e.Task)
		t.wall += e.Wall
		for _, d := range p.step {
			wait := max(0, e.Wall-d.took)
			p.hosts[d.host]["barrier"] += wait
			t.spent["barrier"] += wait
		}
		p.step = p.step[:0]
	}
}

func (p *profile) task(t *events.Task) *taskProfile {
	out := p.byID[t.ID]
	if out == nil {
		out = &taskProfile{name: t.Name, action: t.Action, path: t.Path, spent: spent{}, did: did{ways: map[string]int{}}}
		p.byID[t.ID] = out
		p.tasks = append(p.tasks, out)
	}
	return out
}

func (p *profile) result(e events.Result) {
	h := p.hosts[e.Host]
	if h == nil {
		h = spent{}
		p.hosts[e.Host] = h
		p.names = append(p.names, e.Host)
	}
	p.counts[e.Host]++
	t := p.task(e.Task)
	t.hosts++
	tm := e.Timing
	for _, s := range []spent{h, t.spent} {
		s["queue"] += tm.Queue
		s["render"] += tm.Render
		s["union"] += tm.Union
		s["connect"] += tm.Connect
		s["wire"] += tm.Wire
		s["host"] += tm.Host
	}
	d := p.doing[e.Host]
	delete(p.doing, e.Host)
	switch {
	case d != nil:
	case e.Status == events.Skipped:
		d = &did{ways: map[string]int{"skipped": 1}}
	default:
		d = &did{ways: map[string]int{"controller": 1}}
	}
	t.add(d)
	p.step = append(p.step, ended{e.Host, tm.Queue + tm.Total})
}

// report writes what was collected.
func (p *profile) report(w io.Writer) {
	if p.form == "json" {
		p.json(w)
		return
	}
	fmt.Fprintf(w, "\nPROFILE: %s, of which load %s, compile %s\n%s\n\n", secs(time.Since(began)), secs(p.load), secs(p.compile), phaseNotes)
	wide := len("host")
	for _, n := range p.names {
		wide = max(wide, len(n))
	}
	wide = min(wide, 40)
	fmt.Fprintf(w, "%-*s %6s", wide, "host", "tasks")
	for _, ph := range phases {
		fmt.Fprintf(w, " %9s", ph)
	}
	fmt.Fprintln(w)
	for _, n := range p.names {
		fmt.Fprintf(w, "%-*s %6d", wide, n, p.counts[n])
		for _, ph := range phases {
			fmt.Fprintf(w, " %9s", secs(p.hosts[n][ph]))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\n%9s %9s %9s %9s %6s  %s\n", "time", "render", "wire", "host", "hosts", "task, and how it ran")
	for _, t := range p.tasks {
		fmt.Fprintf(w, "%9s %9s %9s %9s %6d  %s\n", secs(t.took()), secs(t.spent["render"]), secs(t.spent["wire"]), secs(t.spent["host"]), t.hosts, t.name)
		for _, way := range t.sorted() {
			fmt.Fprintf(w, "%48s%s\n", "", way)
		}
		if t.trips > 0 {
			fmt.Fprintf(w, "%48s%d sub-tasks, %d round trips%s\n", "", t.subTasks, t.trips, t.moved())
		}
	}
}

// took is the task's time: from its start until every host was done, or, where
// hosts go on their own, the sum over hosts.
func (t *taskProfile) took() time.Duration {
	if t.wall > 0 {
		return t.wall
	}
	var sum time.Duration
	for _, ph := range phases {
		if ph != "queue" && ph != "barrier" {
			sum += t.spent[ph]
		}
	}
	return sum
}

// sorted are the ways the task's sub-tasks ran, the most frequent first.
func (t *taskProfile) sorted() []string {
	names := make([]string, 0, len(t.ways))
	for n := range t.ways {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(t.ways[b]-t.ways[a], strings.Compare(a, b)) })
	for i, n := range names {
		if t.ways[n] > 1 {
			names[i] = fmt.Sprintf("%s, %d times", n, t.ways[n])
		}
	}
	return names
}

func (p *profile) json(w io.Writer) {
	hosts, tasks := value.NewDict(len(p.names)), &value.List{}
	for _, n := range p.names {
		d := p.hosts[n].dict()
		d.Set("tasks", int64(p.counts[n]))
		hosts.Set(n, d)
	}
	for _, t := range p.tasks {
		ways := value.NewDict(len(t.ways))
		for way, n := range t.ways {
			ways.Set(way, int64(n))
		}
		tasks.Items = append(tasks.Items, value.DictOf("name", t.name, "path", t.path, "hosts", int64(t.hosts), "wall", t.took().Seconds(),
			"seconds", t.spent.dict(), "ways", ways, "action", t.action, "sub_tasks", int64(t.subTasks), "round_trips", int64(t.trips),
			"bytes", value.DictOf("sent", t.sent, "received", t.received)))
	}
	doc := value.DictOf("total", time.Since(began).Seconds(), "load", p.load.Seconds(), "compile", p.compile.Seconds(), "hosts", hosts, "tasks", tasks)
	fmt.Fprintln(w, strings.ToValidUTF8(events.Dump(doc, -1, false), "?"))
}

// secs is a duration for people.
func secs(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%.1fms", float64(d)/1e6)
	case d < 100*time.Second:
		return fmt.Sprintf("%.2fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}
