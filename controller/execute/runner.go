package execute

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"volant/controller/events"
	"volant/controller/fault"
	"volant/controller/inventory"
	"volant/controller/playbook"
	"volant/wire/value"
)

// Codes of a run. They are the exit codes of the command line; failedBreak
// never leaves the executor.
const (
	CodeOK          = 0
	CodeFailed      = 2
	CodeUnreachable = 4
	failedBreak     = 8
)

// Runner runs the plays of one command.
type Runner struct {
	opt           Options
	stats         *events.Stats
	failed        map[string]bool // of the play before, carried over
	unreachable   map[string]bool
	startDone     bool
	options       pluginOptions
	moduleOptions madeOptions
	hashes        hashes            // of controller files
	seqs          map[string]uint32 // tasks of the run on each host so far
	plays         uint32
	muted         bool     // what happens was shown before
	met           sync.Map // hosts something was sent for
	caught        sync.Map // hosts of which agents know nothing that the journal does not
}

// New returns a Runner.
func New(opt Options) *Runner {
	r := &Runner{opt: opt, stats: events.NewStats(), failed: map[string]bool{}, unreachable: map[string]bool{}, seqs: map[string]uint32{}}
	return r
}

// Stats are the numbers so far.
func (r *Runner) Stats() *events.Stats { return r.stats }

// hostNamed is the inventory's name for a delegate: the host of that name, or
// one whose address it is.
func (r *Runner) hostNamed(name string) string {
	out := name
	r.opt.Store.Inventory(func(inv *inventory.Inventory) {
		if h := inv.Host(name); h != nil {
			out = h.Name
			return
		}
		for _, h := range inv.Hosts() {
			if a, ok := h.Vars.Str("ansible_host"); ok && a == name {
				out = h.Name
				return
			}
		}
	})
	return out
}

// Run runs playbooks one after the other until one does not end well. The code
// is the command's exit code unless err is set.
func (r *Runner) Run(ctx context.Context, load func(i int) (*playbook.Playbook, error), n int) (code int, err error) {
	if r.opt.Past != nil {
		r.mute()
		defer r.unmute()
	}
	for i := range n {
		book, err := load(i)
		if err != nil {
			return 0, err
		}
		if code, err = r.playbook(ctx, book); err != nil {
			return code, err
		}
		if code != CodeOK {
			break
		}
	}
	if r.opt.StartAt != "" && !r.startDone {
		r.opt.Display.Error(fmt.Errorf("No matching task \"%s\" found. Note: --start-at-task can only follow static includes.", r.opt.StartAt), true) //nolint:staticcheck // shown to users
	}
	return code, nil
}

func (r *Runner) playbook(ctx context.Context, book *playbook.Playbook) (code int, err error) {
	r.opt.Bus.Event(events.PlaybookStart{Path: book.Path})
	if r.opt.Excerpt == "" { // not of an ad hoc task
		r.opt.Display.Verbose(2, fmt.Sprintf("%d plays in %s", len(book.Plays), book.Path))
	}
	for _, p := range book.Plays {
		stop, c, err := r.play(ctx, p)
		code = c
		if err != nil {
			return code, err
		}
		if stop {
			break
		}
	}
	if _, more := r.opt.Past.Next(); !more {
		r.unmute()
	}
	r.retryFile(book)
	r.opt.Bus.Event(events.StatsReady{Stats: r.stats})
	return code, nil
}

// play runs the batches of one play; stop says that no further play runs.
func (r *Runner) play(ctx context.Context, p *playbook.Play) (stop bool, code int, err error) {
	before := r.begun()
	prompted, err := r.answers(ctx, p, before)
	if err != nil {
		return true, 0, err
	}
	p.Vars.Update(prompted)
	if _, err := r.opt.Store.Play(p, "", nil).For(ctx, "", nil, nil); err != nil {
		return true, 0, err
	}
	v, err := r.opt.Loader.Finish(p)
	if err != nil {
		return true, 0, err
	}
	hosts, err := r.selectHosts(v)
	if err != nil {
		return true, 0, err
	}
	if hosts, err = r.begin(before, hosts, prompted); err != nil {
		return true, 0, err
	}
	batches, err := batchesOf(hosts, v.Serial)
	if err != nil {
		return true, 0, err
	}
	if len(batches) == 0 {
		r.opt.Bus.Event(events.PlayStart{Play: &events.Play{Name: v.Name, Strategy: r.strategy(v), Check: r.playCheck(p)}})
		r.opt.Bus.Event(events.NoHostsMatched{})
	}
	wasFailed, wasUnreachable := len(r.failed), len(r.unreachable)
	for _, hosts := range batches {
		var ended bool
		code, ended, err = r.batch(ctx, p, v, hosts)
		if err != nil {
			return true, code, err
		}
		if ended {
			break
		}
		if code&failedBreak != 0 {
			code, stop = CodeFailed, true
		}
		if len(r.failed)+len(r.unreachable)-wasFailed-wasUnreachable == len(hosts) {
			stop = true
			break
		}
		wasFailed, wasUnreachable = len(r.failed), len(r.unreachable)
	}
	return stop, code, nil
}

// playCheck is the play's check mode as far as it is known unrendered.
func (r *Runner) playCheck(p *playbook.Play) bool {
	if v, ok := p.Keywords.Get(playbook.CheckMode); ok && v != nil {
		return value.Truth(v)
	}
	return r.opt.Check
}

func (r *Runner) strategy(v *playbook.Values) string {
	if v.Strategy != "" {
		return v.Strategy
	}
	if s := r.opt.Config.String("DEFAULT_STRATEGY"); s != "" {
		return s
	}
	return "linear"
}

// selectHosts are the names of the play's hosts in the play's order.
func (r *Runner) selectHosts(v *playbook.Values) (out []string, err error) {
	r.opt.Store.Inventory(func(inv *inventory.Inventory) {
		var found []*inventory.Host
		found, err = inv.Select(v.Hosts...)
		for _, h := range found {
			out = append(out, h.Name)
		}
	})
	if err != nil {
		return nil, err
	}
	switch v.Order {
	case "", "inventory":
	case "sorted":
		slices.Sort(out)
	case "reverse_sorted":
		slices.Sort(out)
		slices.Reverse(out)
	case "reverse_inventory":
		slices.Reverse(out)
	case "shuffle":
		shuffle(out)
	default:
		return nil, fault.New(fault.Generic, value.Pos{}, "Invalid 'order' specified for inventory hosts: %s", v.Order)
	}
	return out, nil
}

// batchesOf cuts hosts by the play's serial: numbers and percentages, the last
// of which goes on until every host is in a batch.
func batchesOf(hosts []string, serial []any) ([][]string, error) {
	if len(serial) == 0 {
		serial = []any{int64(-1)}
	}
	var out [][]string
	for i, rest := 0, hosts; len(rest) > 0; {
		n, err := batchSize(serial[i], len(hosts))
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			return append(out, rest), nil
		}
		n = min(n, len(rest))
		out = append(out, rest[:n])
		rest = rest[n:]
		if i < len(serial)-1 {
			i++
		}
	}
	return out, nil
}

func batchSize(v any, total int) (int, error) {
	switch v := v.(type) {
	case int64:
		return int(v), nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	}
	s := strings.TrimSpace(text(v))
	if p, ok := strings.CutSuffix(s, "%"); ok {
		n, err := strconv.Atoi(strings.TrimSpace(p))
		if err != nil {
			return 0, &Unexpected{fmt.Errorf("invalid literal for int() with base 10: %s", value.Repr(p))}
		}
		return max(1, n*total/100), nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, &Unexpected{fmt.Errorf("invalid literal for int() with base 10: %s", value.Repr(s))}
	}
	return n, nil
}

// batch runs a play on some hosts; ended says that the play was ended by meta.
func (r *Runner) batch(ctx context.Context, p *playbook.Play, v *playbook.Values, hosts []string) (code int, ended bool, err error) {
	strategy := r.strategy(v)
	r.opt.Bus.Event(events.PlayStart{Play: &events.Play{Name: v.Name, Strategy: strategy, Check: r.playCheck(p), Hosts: hosts}})
	b, err := r.newBatch(p, v, hosts)
	if err != nil {
		return 0, false, err
	}
	var run func(context.Context) (int, error)
	switch strings.TrimPrefix(strings.TrimPrefix(strategy, "ansible.builtin."), "ansible.legacy.") {
	case "linear", "debug":
		run = b.linear
	case "free":
		run = b.free
	case "host_pinned":
		b.pinned = true
		run = b.free
	default:
		return 0, false, fault.New(fault.Generic, p.Pos, "Invalid play strategy specified: %s", strategy)
	}
	for name := range r.failed {
		if h := b.byName[name]; h != nil {
			b.markFailed(h)
		} else {
			b.removed[name]++
			b.carried = append(b.carried, name)
		}
	}
	for name := range r.unreachable {
		b.removed[name]++
	}
	clear(r.failed)
	if code, err = b.run(ctx, run); err != nil {
		return code, false, err
	}
	for _, h := range b.hosts {
		if h.cur.Failed() {
			r.failed[h.name] = true
		}
	}
	for _, name := range b.carried {
		r.failed[name] = true
	}
	return code, b.endPlay, nil
}

func writeRetry(path string, names []string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.Join(names, "\n") + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path) // half a list would leave hosts out
	}
	return err
}

// retryFile writes the hosts to run again where the configuration asks for it.
func (r *Runner) retryFile(book *playbook.Playbook) {
	if !r.opt.Config.Bool("RETRY_FILES_ENABLED") {
		return
	}
	seen := map[string]bool{}
	for h := range r.failed {
		seen[h] = true
	}
	for h := range r.unreachable {
		seen[h] = true
	}
	if len(seen) == 0 {
		return
	}
	var names []string
	for h := range seen {
		names = append(names, h)
	}
	slices.Sort(names)
	dir := r.opt.Config.String("RETRY_FILES_SAVE_PATH")
	if dir == "" {
		dir = book.Dir
	}
	base := filepath.Base(book.Path)
	base = strings.TrimSuffix(base, filepath.Ext(base))
	path := filepath.Join(dir, base+".retry")
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = writeRetry(path, names)
	}
	if err != nil {
		r.opt.Display.Note("Could not create retry file '%s'.\n\t%s", path, err)
		return
	}
	r.opt.Display.Print(fmt.Sprintf("\tto retry, use: --limit @%s\n", path), "")
}

func (r *Runner) newBatch(p *playbook.Play, v *playbook.Values, hosts []string) (*batch, error) {
	begin := time.Now()
	plan, err := r.compile(p)
	if err != nil {
		return nil, err
	}
	r.opt.Bus.Event(events.Phase{Name: "compile", Took: time.Since(begin)})
	b := &batch{
		r: r, play: plan.Play, values: v, plan: plan, byName: map[string]*host{}, removed: map[string]int{},
		notified: map[*playbook.Task]map[string]bool{}, titles: map[*playbook.Task]*title{},
		ran: map[*playbook.Role]map[string]bool{}, complete: map[*playbook.Role]map[string]bool{},
		msgs: make(chan message, 256), confirms: r.opt.Step,
	}
	b.vars = r.opt.Store.Play(plan.Play, v.Name, nil)
	if b.all, err = r.selectHosts(v); err != nil {
		return nil, err
	}
	for i, name := range hosts {
		h := &host{name: name, index: i, cur: plan.NewCursor(name), jobs: make(chan func(), 1)}
		b.hosts = append(b.hosts, h)
		b.byName[name] = h
	}
	if r.opt.StartAt != "" && !r.startDone {
		for _, h := range b.hosts {
			if h.cur.StartAt(r.opt.StartAt) {
				r.startDone = true
			}
		}
	}
	return b, nil
}
