package hostagent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"volant/hostagent/become"
	"volant/wire"
	"volant/wire/frame"
	"volant/wire/value"
)

const (
	workerIdle   = 15 * time.Minute // a warm worker without work
	workerHello  = 15 * time.Second // from MARK to its first frame
	workerEnd    = 25 * time.Second // from Cancel to the worker's Result
	maxWorkers   = 64               // workers of one agent
	maxForked    = 1000             // process groups of one sub-task that are journalled
	tellBecame   = 4                // verbosity from which a sub-task is told how its worker was started
	stderrInText = 1000             // bytes of a dead worker's standard error shown
)

// workerKey says who may use a worker: sub-tasks of the same controller that
// become the same user the same way. One opened with a password serves only
// the session that gave it.
type workerKey struct {
	controller string
	session    string // empty when no password was needed
	become     string
}

func keyOf(s *agentSession, b *wire.Become) workerKey {
	flags := "-"
	if b.Flags != nil {
		flags = "+" + *b.Flags
	}
	k := workerKey{controller: s.key.controller, become: strings.Join(
		append([]string{b.Method, b.User, b.Exe, flags, b.Chdir, fmt.Sprint(b.Wrap)}, b.Prompts...), "\x00")}
	if b.Password != "" {
		k.session = s.key.String()
		k.become += "\x00" + b.Password // in memory only; another password is another worker
	}
	return k
}

// worker is a process under another user, one sub-task at a time.
type worker struct {
	key  workerKey
	proc become.Worker
	r    *frame.Reader
	w    *frame.Writer
	wmu  sync.Mutex // guards w: Cancel comes from the side
	idle *time.Timer
	// made is the stamp of what its session was made from: a worker from before a
	// change has not the groups, umask, limits and environment of now.
	made string
}

func (w *worker) send(ms ...wire.Message) error {
	w.wmu.Lock()
	defer w.wmu.Unlock()
	return w.w.Send(ms...)
}

// workerPool keeps the agent's workers.
type workerPool struct {
	agent  *Agent
	rules  []string   // what sessions are made from
	noting sync.Mutex // guards the list of whom workers became

	mu    sync.Mutex // guards what follows
	warm  map[workerKey][]*worker
	count int
}

func newWorkerPool(a *Agent) *workerPool {
	return &workerPool{agent: a, rules: sessionRules, warm: map[workerKey][]*worker{}}
}

// get returns a warm worker or starts one.
func (p *workerPool) get(ctx context.Context, s *agentSession, b *wire.Become) (*worker, error) {
	key := keyOf(s, b)
	made := rulesStamp(p.rules)
	p.mu.Lock()
	for n := len(p.warm[key]); n > 0; n = len(p.warm[key]) {
		w := p.warm[key][n-1]
		p.warm[key] = p.warm[key][:n-1]
		if w.idle.Stop() {
			if w.made != made {
				p.count--
				go w.proc.Close() // ends with the process, which is bounded
				continue
			}
			select {
			case <-w.proc.Done(): // died meanwhile
				p.count--
				continue
			default:
				p.mu.Unlock()
				return w, nil
			}
		}
	}
	if p.agent.cfg.Start == nil {
		p.mu.Unlock()
		return nil, errors.New("this agent cannot become another user")
	}
	if p.count >= maxWorkers {
		p.mu.Unlock()
		return nil, fmt.Errorf("more than %d workers at once", maxWorkers)
	}
	p.count++
	p.mu.Unlock()
	w, err := p.start(ctx, key, b, made)
	if err != nil {
		p.mu.Lock()
		p.count--
		p.mu.Unlock()
	}
	return w, err
}

func (p *workerPool) start(ctx context.Context, key workerKey, b *wire.Become, made string) (*worker, error) {
	cfg := p.agent.cfg.Become
	cfg.Log = p.agent.log
	if login := p.agent.exec.login(); cfg.Env == nil {
		cfg.Env = login.Environ
	}
	proc, err := p.agent.cfg.Start(ctx, cfg, become.Params{
		Method: b.Method, User: b.User, Exe: b.Exe, Flags: b.Flags, Password: b.Password, Chdir: b.Chdir, Prompts: b.Prompts,
		Wrap: b.Wrap, Timeout: time.Duration(b.Timeout) * time.Second,
	})
	if err != nil {
		return nil, err
	}
	p.note(b)
	w := &worker{key: key, made: made, proc: proc, r: frame.NewReader(proc), w: frame.NewWriter(proc)}
	hello := time.AfterFunc(workerHello, func() { _ = proc.Close() })
	m, err := w.r.Read()
	if !hello.Stop() || err != nil {
		_ = proc.Close()
		return nil, fmt.Errorf("the worker did not start: %s", lastWords(proc, err))
	}
	if h, ok := m.(*wire.Worker); !ok || h.Version != wire.Version {
		_ = proc.Close()
		return nil, fmt.Errorf("the worker is not of this agent's version")
	}
	return w, nil
}

// note remembers, where the agent has a home, whom its workers became.
func (p *workerPool) note(b *wire.Become) {
	dir := p.agent.cfg.Become.Dir
	if dir == "" {
		return
	}
	p.noting.Lock()
	defer p.noting.Unlock()
	user := b.User
	if user == "" {
		user = "root"
	}
	Home(dir).noteBecame(became{Method: b.Method, User: user, Exe: b.Exe, Flags: b.Flags, Password: b.Password != ""})
}

// lastWords is what a worker that died had to say.
func lastWords(proc become.Worker, err error) string {
	text := strings.TrimSpace(proc.Stderr())
	if len(text) > stderrInText {
		text = text[len(text)-stderrInText:]
	}
	if text == "" && err != nil {
		text = err.Error()
	}
	return text
}

// put keeps a healthy worker for the next sub-task.
func (p *workerPool) put(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.idle = time.AfterFunc(workerIdle, func() { p.retire(w) })
	p.warm[w.key] = append(p.warm[w.key], w)
}

// retire ends an idle worker.
func (p *workerPool) retire(w *worker) {
	p.mu.Lock()
	list := p.warm[w.key]
	for i, o := range list {
		if o == w {
			p.warm[w.key] = append(list[:i:i], list[i+1:]...)
		}
	}
	if len(p.warm[w.key]) == 0 {
		delete(p.warm, w.key)
	}
	p.count--
	p.mu.Unlock()
	_ = w.proc.Close()
}

func (p *workerPool) drop(w *worker) {
	p.mu.Lock()
	p.count--
	p.mu.Unlock()
	_ = w.proc.Close()
}

// closeSession ends the workers that serve only s.
func (p *workerPool) closeSession(s *agentSession) {
	p.closeIf(func(k workerKey) bool { return k.session == s.key.String() })
}

func (p *workerPool) closeAll() { p.closeIf(func(workerKey) bool { return true }) }

func (p *workerPool) closeIf(match func(workerKey) bool) {
	p.mu.Lock()
	var ending []*worker
	for k, list := range p.warm {
		if match(k) {
			ending = append(ending, list...)
		}
	}
	p.mu.Unlock()
	for _, w := range ending {
		if w.idle.Stop() {
			p.retire(w)
		}
	}
}

// execute runs a sub-task in a worker, passing on what both sides say. The
// outcome's encoding is the worker's own, and the outcome without its result,
// where nothing is to be added; else it is nil.
func (p *workerPool) execute(ctx context.Context, s *agentSession, t *talk, task *wire.Task, h hooks) (*wire.Outcome, []byte) {
	begin := time.Now()
	w, err := p.get(ctx, s, task.Become)
	if err != nil {
		return becomeFault(ctx, err), nil
	}
	queue := time.Since(begin)
	if err := h.started(); err != nil { // before the worker could begin; withdrawn when it does not
		p.put(w)
		return fault(wire.FaultInternal, false, err), nil
	}
	r := &relay{w: w, t: t, h: h, end: workerEnd}
	out, body, healthy := r.run(ctx, task)
	if healthy {
		p.put(w)
	} else {
		p.drop(w)
	}
	told := task.Options.Dict != nil && verbosity(task) >= tellBecame
	if body == nil || !told && queue < worthTelling && out.Found == nil {
		return out, body
	}
	out = new(wire.Outcome) // whole this time
	if err := frame.Unmarshal(body, out); err != nil {
		return fault(wire.FaultInternal, true, fmt.Errorf("decoding the worker's result: %w", err)), nil
	}
	out.Timings.Queue += int64(queue)
	if told {
		out.Became = w.proc.Command()
	}
	if out.Found != nil {
		out.Found = p.find(ctx, task)
	}
	return out, nil
}

// find is the Python of the host as its login has it: every later sub-task runs
// it, as whatever user, so no worker of another user is asked.
func (p *workerPool) find(ctx context.Context, task *wire.Task) *wire.Interpreter {
	if f, ok := p.agent.cfg.Runner.(Finder); ok {
		return f.Find(ctx, p.agent.exec.login().Environ, task)
	}
	return nil
}

// worthTelling is how long a sub-task must have waited for its worker for that to
// be put into its outcome, which is passed on untouched otherwise.
const worthTelling = time.Millisecond

func verbosity(task *wire.Task) int64 {
	n, _ := task.Options.Lookup("verbosity").(int64)
	return n
}

func becomeFault(ctx context.Context, err error) *wire.Outcome {
	var be *become.Error
	switch {
	case ctx.Err() != nil:
		return fault(wire.FaultCancelled, false, errCancelled)
	case errors.As(err, &be) && be.Exited:
		// To the reference that is a module whose output is no result.
		return &wire.Outcome{Path: "become", Result: wire.Dict{Dict: value.DictOf(
			"failed", true, "changed", false, "_ansible_parsed", false, "exception", value.DictOf("event", value.DictOf(
				"msg", "Module result deserialization failed: No start of json char found", "help_text", "See stdout/stderr for the returned output.")),
			"msg", "Module result deserialization failed: No start of json char found",
			"module_stdout", be.Stdout, "module_stderr", be.Stderr, "rc", int64(be.Code))}}
	case errors.As(err, &be) && be.Timeout:
		return fault(wire.FaultSilent, false, err)
	case errors.As(err, &be) && strings.Contains(be.Msg, "password"):
		return fault(wire.FaultPassword, false, err)
	}
	return fault(wire.FaultBecome, false, err)
}

// relay passes one sub-task's conversation between the controller and a worker.
type relay struct {
	w       *worker
	t       *talk
	h       hooks
	started bool          // something was done
	said    bool          // and that was passed on
	forks   int           // process groups it told of
	lost    bool          // it was told that the link is lost
	end     time.Duration // from Cancel to the worker's Result
}

// run returns the outcome without its result, its encoding unless the fault is
// the agent's own, and whether the worker can take another sub-task.
func (r *relay) run(ctx context.Context, task *wire.Task) (out *wire.Outcome, body []byte, healthy bool) {
	var kill *time.Timer
	cancelled := make(chan struct{})
	r.w.wmu.Lock() // whenever the cancel comes, the sub-task goes first
	stop := context.AfterFunc(ctx, func() {
		defer close(cancelled)
		kill = time.AfterFunc(r.end, func() { _ = r.w.proc.Close() }) // it may take nothing any more
		_ = r.w.send(&wire.Cancel{ID: task.ID})
	})
	defer func() {
		if !stop() {
			<-cancelled
			if !kill.Stop() {
				healthy = false
			}
		}
	}()
	err := r.hand(task)
	r.w.wmu.Unlock()
	if err != nil {
		return fault(wire.FaultBecome, false, fmt.Errorf("the worker ended: %s", lastWords(r.w.proc, err))), nil, false
	}
	body, err = r.pass(task)
	if err != nil {
		code := wire.FaultBecome
		if r.started {
			code = wire.FaultLost
		}
		return fault(code, r.started, fmt.Errorf("the worker ended: %s", lastWords(r.w.proc, err))), nil, false
	}
	out = new(wire.Outcome)
	if err := out.ParseHead(body); err != nil {
		return fault(wire.FaultInternal, true, fmt.Errorf("decoding the worker's result: %w", err)), nil, false
	}
	if err := agentsOwn(out.Fault, r.lost); err != nil {
		return fault(wire.FaultInternal, true, err), nil, false
	}
	return out, body, true
}

// hand gives the worker the sub-task: as it came, but that no password goes to
// another user's process. A worker does not look at how it was become. The
// worker's wmu is held.
func (r *relay) hand(task *wire.Task) error {
	raw := r.t.task
	if raw == nil || task.Become.Password != "" {
		plain := *task
		plain.Become = nil
		return r.w.w.Send(&plain)
	}
	if err := r.w.w.PutRaw(wire.KindTask, raw); err != nil {
		return err
	}
	return r.w.w.Flush()
}

// pass relays until the worker's result is complete.
func (r *relay) pass(task *wire.Task) (body []byte, err error) {
	asked := newSay(task)
	for {
		m, err := r.w.r.Read()
		if err != nil {
			return nil, err
		}
		switch m := m.(type) {
		case *wire.Started:
			r.started = true
			// It says so once, and a process group where it forks; a worker that goes
			// on saying it fills neither what waits to be sent nor the journal.
			if m.Group == 0 && !r.said {
				r.said = true
				r.t.started(0)
			} else if m.Group != 0 && r.forks < maxForked {
				r.forks++
				r.h.forked(int(m.Group))
			}
		case *wire.Want:
			if _, err := asked.may(task, m); err != nil {
				return nil, err
			}
			if err := r.blobs(m); err != nil {
				return nil, err
			}
		case *wire.Output, *wire.Data, *wire.FileDone:
			pass, err := asked.may(task, m)
			if err != nil {
				return nil, err
			}
			if pass {
				if d, ok := m.(*wire.Data); ok {
					r.t.moved(len(d.Data))
				}
				_ = r.t.send(m) // the sub-task goes on without a link
			}
		case *wire.Result:
			if len(body)+len(m.Data) > wire.MaxResult+4096 {
				return nil, errors.New("a result without end")
			}
			if body = append(body, m.Data...); !m.More {
				return body, nil
			}
		default:
			return nil, fmt.Errorf("unexpected %s", m.Kind())
		}
	}
}

// blobs passes wanted blobs on. When the link is lost the worker is told.
func (r *relay) blobs(want *wire.Want) error {
	err := r.t.send(want)
	for _, h := range want.Hashes {
		for last := false; !last; {
			var m wire.Message
			if err == nil {
				m, err = r.t.next()
			}
			if err != nil {
				m, r.lost = &wire.NoBlob{Hash: h, Lost: true}, true
			}
			switch m := m.(type) {
			case *wire.Blob:
			case *wire.Data:
				last = m.Last
				r.t.moved(len(m.Data))
			case *wire.NoBlob:
				last = true
			default:
				err = fmt.Errorf("%s where a blob was due", m.Kind())
				continue
			}
			if werr := r.w.send(m); werr != nil {
				return werr
			}
		}
	}
	return nil
}
