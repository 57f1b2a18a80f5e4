package execute

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	"volant/controller/compile"
	"volant/controller/events"
	"volant/controller/playbook"
	"volant/controller/vars"
	"volant/cores"
	"volant/wire/value"
)

// batch is a play on some of its hosts. All of it belongs to the coordinator
// but for what exec reads.
type batch struct {
	r      *Runner
	play   *playbook.Play
	values *playbook.Values
	plan   *compile.Plan
	vars   *vars.Play
	hosts  []*host
	byName map[string]*host
	all    []string // names of every host of the play's pattern
	// removed counts how often a host was taken out; a rescue takes one back.
	removed map[string]int
	carried []string // failed in other batches or plays
	endPlay bool
	pinned  bool
	// confirms asks the operator before each task (--step).
	confirms bool
	dirty    bool // removed changed since variables were told

	notified map[*playbook.Task]map[string]bool
	titles   map[*playbook.Task]*title
	ran      map[*playbook.Role]map[string]bool // hosts on which a task of the role ran
	complete map[*playbook.Role]map[string]bool

	msgs chan message
	wg   sync.WaitGroup
}

// host is one host of a batch.
type host struct {
	name  string
	index int
	cur   *compile.Cursor
	jobs  chan func() // what its driver does next
	busy  bool
	// pending are notifications by name, in order, until the next flush.
	pending []string
}

// message is what a driver tells the coordinator: an event, or that its job is
// done.
type message struct {
	h    *host
	ev   events.Event
	done *outcome
	job  *running
}

// running is a task on a host in progress.
type running struct {
	h    *host
	step *compile.Step
	task *events.Task
	seq  uint32 // of the tasks of the run on the host
	held []events.Event
	done *outcome

	edits *edits // what the operator changed in the debugger
}

// fewHosts are kept busy by one processor: measured with up to 50 of them, whose
// tasks take 25 % less processor time so, and no longer.
const fewHosts = 32

// run starts the drivers, walks the plan and ends the drivers.
func (b *batch) run(ctx context.Context, walk func(context.Context) (int, error)) (int, error) {
	if len(b.hosts) <= fewHosts {
		defer cores.Few()()
	}
	ctx, cancel := context.WithCancel(ctx)
	for _, h := range b.hosts {
		b.wg.Add(1)
		go func() { // ends when the host's job channel is closed below
			defer b.wg.Done()
			for job := range h.jobs {
				job()
			}
		}()
	}
	b.tell()
	code, err := walk(ctx)
	cancel()
	for _, h := range b.hosts {
		close(h.jobs)
	}
	done := make(chan struct{})
	go func() { // ends when every driver has
		b.wg.Wait()
		close(done)
	}()
	for ended := false; !ended; {
		select {
		case <-b.msgs: // what cancelled drivers still say is of no use
		case <-done:
			ended = true
		}
	}
	if err != nil {
		return code, err
	}
	return b.code(code), nil
}

// code is how the batch ended.
func (b *batch) code(code int) int {
	for _, h := range b.left() {
		if b.peek(h) == nil {
			b.take(h, nil) // past the end: what failed on the way counts now
		}
	}
	if code != CodeOK {
		return code
	}
	if len(b.r.unreachable) > 0 {
		return CodeUnreachable
	}
	if len(b.carried) > 0 {
		return CodeFailed
	}
	for _, h := range b.hosts {
		if h.cur.Failed() {
			return CodeFailed
		}
	}
	return CodeOK
}

// tell updates the magic variables about who takes part.
func (b *batch) tell() {
	v := &vars.Batch{All: b.all, Removed: make(map[string]bool, len(b.removed))}
	for h, n := range b.removed {
		if n > 0 {
			v.Removed[h] = true
		}
	}
	for _, h := range b.hosts {
		v.Hosts = append(v.Hosts, h.name)
		if b.r.failed[h.name] {
			v.Failed = append(v.Failed, h.name)
		}
	}
	b.vars.SetBatch(v)
	b.dirty = false
}

// left are the hosts that can be reached.
func (b *batch) left() []*host {
	if len(b.r.unreachable) == 0 {
		return b.hosts
	}
	out := make([]*host, 0, len(b.hosts))
	for _, h := range b.hosts {
		if !b.r.unreachable[h.name] {
			out = append(out, h)
		}
	}
	return out
}

// markFailed fails the host where it stands.
func (b *batch) markFailed(h *host) {
	h.cur.Fail()
	b.remove(h.name)
}

func (b *batch) remove(name string) {
	b.removed[name]++
	b.dirty = true
}

// peek is the host's next step, after those that are nothing to it. The cursor
// stays where the last step left it, so that a failure from outside meets the
// block of that step.
func (b *batch) peek(h *host) *compile.Step {
	c := h.cur.Clone()
	for {
		s := c.Take()
		if s == nil || !b.nothing(h, s) {
			return s
		}
	}
}

// take moves the host to the step that peek returned.
func (b *batch) take(h *host, s *compile.Step) {
	for next := h.cur.Take(); next != nil && next != s; next = h.cur.Take() {
	}
}

// nothing reports whether the host passes the step without running it.
func (b *batch) nothing(h *host, s *compile.Step) bool {
	t := s.Task
	switch {
	case s == b.plan.Setup:
		return !b.gathers(h)
	case s.Splice != nil && s.Splice.Flush:
		return !b.notified[t][h.name]
	case t.Implicit && t.Meta() == "flush_handlers":
		if len(h.pending) > 0 {
			return false
		}
		for _, hosts := range b.notified {
			if len(hosts) > 0 {
				return false
			}
		}
		return true
	}
	if r := t.Role; r != nil && r.AllowDuplicates == false && b.complete[b.play.CachedRole(r)][h.name] {
		return true
	}
	return false
}

// gathers reports whether facts are gathered on the host before the play.
func (b *batch) gathers(h *host) bool {
	if h.cur.ForcedSetup() {
		return true
	}
	if known, next := b.knows(h, b.plan.Setup); known {
		return next
	}
	want := b.values.GatherFacts
	implied := want == nil || *want
	switch b.r.opt.Config.String("DEFAULT_GATHERING") {
	case "explicit":
		return want != nil && *want
	case "smart":
		return implied && !b.r.opt.Store.Gathered(h.name)
	}
	return implied
}

// newExec prepares a task on a host.
func (b *batch) newExec(s *compile.Step, h *host, ev *events.Task, emit func(events.Event)) *exec {
	return &exec{
		r: b.r, b: b, h: h, step: s, task: s.Task, ev: ev, emit: emit,
		search: searchPath(s.Task, b.play.Dir),
	}
}

// eventTask is what callbacks are told of a task, named in the scope of x.
func (b *batch) eventTask(ctx context.Context, x *exec) *events.Task {
	t := x.task
	ev := &events.Task{
		ID: t.ID, Action: t.ActionName(), Handler: t.Handler, Implicit: t.Implicit,
		Loop:    value.Truth(t.Keywords.Value(playbook.Loop)),
		NoItems: emptyLoop(t),
		Include: t.Include != playbook.NotInclude,
	}
	name := t.RawName()
	if raw := t.Keywords.Value(playbook.Name); raw != nil && x.vars != nil {
		v, _, err := x.scope(ctx, x.vars).RenderReplacing(raw)
		switch {
		case err == nil && v != nil && v != value.Omit:
			name = text(v)
		case err == nil:
			name = ""
		}
	}
	for _, w := range x.warnings {
		b.r.opt.Display.Warn(w)
	}
	x.warnings = nil
	ev.Name, ev.Bare = t.Title(name, true), name
	if ev.Bare == "" {
		ev.Bare = ev.Name
	} else if t.Role != nil {
		ev.Bare = name
	}
	if t.Pos.File != "" {
		ev.Path = fmt.Sprintf("%s:%d", t.Pos.File, t.Pos.Line)
	}
	kw := x.step.Keywords
	if k := setting(kw, playbook.CheckMode); k != nil && k.Value != nil {
		ev.Check = value.Truth(k.Value)
	} else {
		ev.Check = b.r.opt.Check
	}
	if k := setting(kw, playbook.NoLog); k != nil && k.Value != nil {
		ev.NoLogSet = value.Truth(k.Value)
		ev.NoLog = k.Value == true
	}
	ev.Register = text0(t.Keywords.Value(playbook.Register))
	if t.Role != nil {
		ev.Role = t.Role.FullName(true)
	}
	args := t.Args
	ev.Args = func() string {
		var parts []string
		for k, v := range args.All() {
			parts = append(parts, text(k)+"="+text(v))
		}
		return strings.Join(parts, ", ")
	}
	return ev
}

func shuffle(s []string) {
	rand.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
}

func (r *Runner) compile(p *playbook.Play) (*compile.Plan, error) {
	return compile.Compile(r.opt.Loader, p, r.opt.Compile)
}

func emptyLoop(t *playbook.Task) bool {
	v := t.Keywords.Value(playbook.Loop)
	return v != nil && !value.Truth(v)
}
