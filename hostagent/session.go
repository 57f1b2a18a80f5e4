package hostagent

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"volant/cores"
	"volant/wire"
	"volant/wire/frame"
)

// sessionIdle is how long a session without link and sub-task keeps its workers.
const sessionIdle = 15 * time.Minute

// journalSuffix ends the names of journal files, which begin with the session's.
const journalSuffix = ".journal"

// sessionKey names a session: controller key and run.
type sessionKey struct {
	controller string // raw bytes of the key; empty for a local session
	run        wire.RunID
}

func (k sessionKey) String() string {
	return hex.EncodeToString([]byte(k.controller)) + "-" + k.run.String()
}

// agentSession is one run of one controller. It outlives its link: sub-tasks go on
// and their results wait in the journal.
type agentSession struct {
	key    sessionKey
	agent  *Agent
	exec   *executor
	log    *slog.Logger
	seal   *sealer
	ctx    context.Context // ends with the session; sub-tasks run under it
	cancel context.CancelCauseFunc

	journal *journal

	mu     sync.Mutex // guards what follows
	link   *link
	jobs   map[wire.TaskID]*job
	dead   map[wire.TaskID]bool // cancelled before they came
	idle   *time.Timer
	closed bool
}

// job is a sub-task that runs in this process.
type job struct {
	done   chan struct{} // closed when its outcome is journalled
	cancel context.CancelCauseFunc
	spread func() // ends the use of every processor; nil for one that began alone
}

func (a *Agent) newSession(key sessionKey, sessKey []byte) (*agentSession, error) {
	s := &agentSession{key: key, agent: a, log: a.log.With("run", key.run.String()), jobs: map[wire.TaskID]*job{}, dead: map[wire.TaskID]bool{}}
	path := ""
	if a.cfg.JournalDir != "" {
		var err error
		if s.seal, err = newSealer(sessKey); err != nil {
			return nil, err
		}
		path = filepath.Join(a.cfg.JournalDir, key.String()+journalSuffix)
	}
	j, err := openJournal(path)
	if err != nil {
		return nil, err
	}
	if s.seal != nil {
		j.seal, j.open = s.seal.seal, s.seal.open
	}
	s.journal = j
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	x := *a.exec
	x.session, x.log = key.String(), s.log
	s.exec = &x
	return s, nil
}

// attach makes l the session's link; a former one is closed.
func (s *agentSession) attach(l *link) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.New("the session just ended")
	}
	if s.link != nil {
		s.link.replaced()
	}
	s.link = l
	if s.idle != nil {
		s.idle.Stop()
		s.idle = nil
	}
	return nil
}

// detach is called when l's connection has ended.
func (s *agentSession) detach(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == l {
		s.link = nil
	}
	s.armIdle()
}

// armIdle starts the end of a session that nobody uses. mu is held.
func (s *agentSession) armIdle() {
	if s.link != nil || len(s.jobs) > 0 || s.closed || s.idle != nil {
		return
	}
	s.idle = time.AfterFunc(sessionIdle, func() {
		s.mu.Lock()
		use := s.link != nil || len(s.jobs) > 0
		s.mu.Unlock()
		if !use {
			s.agent.end(s, false)
		}
	})
}

// close ends workers and, after the run said goodbye, the journal. Running
// sub-tasks end: after a goodbye they are cancelled, as nobody will ask for them
// any more, else they are lost.
func (s *agentSession) close(goodbye bool) {
	s.mu.Lock()
	s.closed = true
	if s.idle != nil {
		s.idle.Stop()
	}
	jobs := make([]*job, 0, len(s.jobs))
	for _, j := range s.jobs {
		jobs = append(jobs, j)
	}
	s.mu.Unlock()
	why := errLost
	if goodbye {
		why = errCancelled
	}
	s.cancel(why)
	for _, j := range jobs {
		<-j.done
	}
	s.agent.workers.closeSession(s)
	s.journal.close(goodbye)
}

// errKnown says that an id was seen before: it must not run again.
var errKnown = errors.New("a sub-task of that id was here before")

// start makes the job of a sub-task unless its id is known.
func (s *agentSession) start(id wire.TaskID) (*job, context.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, errors.New("the session just ended")
	}
	if s.jobs[id] != nil {
		return nil, nil, errKnown
	}
	if s.dead[id] {
		return nil, nil, errCancelled
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	j := &job{done: make(chan struct{}), cancel: cancel}
	s.jobs[id] = j
	if s.agent.running.Add(1) > 1 {
		j.spread = cores.All()
	}
	return j, ctx, nil
}

func (s *agentSession) finished(id wire.TaskID, j *job) {
	j.cancel(nil)
	close(j.done)
	s.agent.running.Add(-1)
	if j.spread != nil {
		j.spread()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.jobs, id)
	s.armIdle()
}

// run does one sub-task and returns its encoded outcome, journalled; nil when
// it was withdrawn. watch is the slot's life: a reset of it cancels.
func (s *agentSession) run(t *talk, task *wire.Task, watch context.Context) ([]byte, error) {
	j, ctx, err := s.start(task.ID)
	if err != nil {
		return nil, err
	}
	defer s.finished(task.ID, j)
	defer t.settle()
	stop := context.AfterFunc(watch, func() {
		if isReset(context.Cause(watch)) {
			j.cancel(errCancelled)
		}
	})
	defer stop()

	known := false
	h := hooks{
		started: func() error {
			var err error
			if known, err = s.journal.begin(task.ID); known {
				return errKnown
			}
			return err
		},
		forked: func(group int) { s.journal.forked(task.ID, group) },
	}
	var out *wire.Outcome
	var body []byte // its encoding, where a worker made it
	if task.Become != nil {
		out, body = s.agent.workers.execute(ctx, s, t, task, h)
	} else {
		out = s.exec.execute(ctx, t, task, h)
	}
	if known {
		return nil, errKnown
	}
	if out.Fault != nil && out.Fault.Code == wire.FaultWithdrawn {
		s.journal.withdraw(task.ID)
		return nil, errWithdrawn
	}
	if body, err = s.encode(out, body); err != nil {
		out = fault(wire.FaultInternal, true, fmt.Errorf("encoding the result: %w", err))
		if body, err = frame.Marshal(out); err != nil {
			return nil, err
		}
	}
	s.journal.finish(task.ID, body)
	return body, nil
}

// encode returns the encoding of out, which is body unless that is nil; or of the
// fault that there is too much of it.
func (s *agentSession) encode(out *wire.Outcome, body []byte) (_ []byte, err error) {
	if body == nil {
		if body, err = frame.Marshal(out); err != nil {
			return nil, err
		}
	}
	limit := s.agent.maxResult(s)
	if uint64(len(body)) > limit {
		out = fault(wire.FaultTooLarge, true, fmt.Errorf("the result has %d bytes, more than max_result (%d) allows", len(body), limit))
		return frame.Marshal(out)
	}
	return body, nil
}

// await returns the encoded outcome of a sub-task that was here before, once
// there is one.
func (s *agentSession) await(ctx context.Context, id wire.TaskID) ([]byte, error) {
	for {
		s.mu.Lock()
		j := s.jobs[id]
		s.mu.Unlock()
		if j != nil {
			select {
			case <-j.done:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		switch s.journal.state(id) {
		case wire.StateDone:
			return s.journal.result(id)
		case wire.StateRunning: // in an agent that was replaced, or its processes live on
			select {
			case <-time.After(orphanPoll):
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		case wire.StateUnknown:
			return nil, errWithdrawn
		default:
			return nil, errLost
		}
	}
}

// orphanPoll is how often a sub-task of a dead agent is looked at while
// somebody waits for it.
const orphanPoll = 250 * time.Millisecond

var errLost = errors.New("the agent stopped while the sub-task ran; it may or may not have completed")

// Bounds of the ids remembered as cancelled before they came: how many, and the
// bytes of a host's name in one; longer ones never come.
const (
	maxDead     = 4096
	maxDeadName = 1024
)

// cancelTask cancels a sub-task, returning once it is over; one that has not
// come yet will not start.
func (s *agentSession) cancelTask(id wire.TaskID) {
	s.mu.Lock()
	j := s.jobs[id]
	if j == nil && len(id.Host) <= maxDeadName {
		if len(s.dead) >= maxDead {
			clear(s.dead)
		}
		s.dead[id] = true
	}
	s.mu.Unlock()
	if j != nil {
		j.cancel(errCancelled)
		<-j.done
	}
}

// state answers Collect.
func (s *agentSession) state(id wire.TaskID) wire.TaskState {
	s.mu.Lock()
	running := s.jobs[id] != nil
	s.mu.Unlock()
	if running {
		return wire.StateRunning
	}
	st := s.journal.state(id)
	if st == wire.StateDone {
		if _, err := s.journal.result(id); err != nil {
			s.log.Warn("Journalled result cannot be read", "task", id.String(), "err", err)
			return wire.StateLost
		}
	}
	return st
}
