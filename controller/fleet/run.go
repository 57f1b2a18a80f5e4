package fleet

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"lukechampine.com/blake3"

	"volant/cores"
	"volant/stage"
	"volant/wire"
	"volant/wire/frame"
)

// endedTimeout bounds the wait for the end of a cancelled sub-task.
const endedTimeout = 15 * time.Second

// exchange is one sub-task on its way through however many connections.
type exchange struct {
	l    *hostLink
	r    *Request
	sent *wire.Hello // the agent it was last sent to; nil: not yet
	ans  Answer
	due  *wait // for an answer
	// broken counts slots lost while the link stayed up.
	broken int
	heard  int                // messages of the agent about this sub-task
	served map[wire.Hash]bool // files that were asked for
	got    struct {           // of the file being received
		spread func() // ends the use of every processor for it; nil before
		size   int64
		sum    *blake3.Hasher
		done   *wire.FileDone
		err    error
	}
}

// Run implements Link.
func (l *hostLink) Run(ctx context.Context, r *Request) (*Answer, error) {
	begin := time.Now()
	x := &exchange{l: l, r: r, sent: r.Before}
	x.ans.Collected = r.Before != nil
	r.Task.Live = r.Output != nil
	if usesAgent(&r.Task) {
		if socket := l.build.lent(ctx); socket != "" {
			r.Task.Environment = withAgent(r.Task.Environment, socket)
		}
	}
	r.Task.Files = make([]wire.TaskFile, len(r.Files))
	for i := range r.Files {
		r.Task.Files[i] = taskFile(&r.Files[i])
	}
	if r.Task.Then != nil && r.Later != nil {
		f := taskFile(r.Later)
		r.Task.Then.File = &f
	}
	out, err := x.deliver(ctx)
	if x.got.spread != nil {
		x.got.spread()
	}
	if r.Sink != nil {
		err = x.closeSink(err)
	}
	if err != nil {
		if x.ans.Acknowledge != nil { // but for its file, which nobody can collect
			x.ans.Acknowledge()
		}
		return nil, err
	}
	x.ans.Outcome = out
	if f := out.Fault; f != nil {
		err = f
		if f.Code == wire.FaultLost {
			err = ErrLost
		}
		if !r.Hold {
			return nil, err
		}
		x.ans.Total = time.Since(begin)
		return &x.ans, err
	}
	if strings.HasPrefix(out.Path, "python") {
		l.unionUsed(r)
	}
	x.ans.Total, x.ans.Received = time.Since(begin), x.got.size
	for f := range r.files() {
		if !x.served[f.Hash] {
			x.ans.Spared += f.Size
		}
	}
	l.f.cfg.Metrics.Staged("spared", x.ans.Spared)
	return &x.ans, nil
}

// files are all that the agent may ask for by name of the sub-task.
func (r *Request) files() iter.Seq[*stage.File] {
	return func(yield func(*stage.File) bool) {
		for i := range r.Files {
			if !yield(&r.Files[i]) {
				return
			}
		}
		if r.Later != nil {
			yield(r.Later)
		}
	}
}

func taskFile(f *stage.File) wire.TaskFile {
	return wire.TaskFile{Arg: f.Arg, Suffix: f.Suffix, Hash: f.Hash, Size: f.Size}
}

// deliver sends the sub-task and returns its outcome, across lost
// connections: after one the agent is asked what became of it.
func (x *exchange) deliver(ctx context.Context) (*wire.Outcome, error) {
	lost := time.Now()
	var flaps flapping
	for {
		lv, err := x.l.get(ctx, lost)
		if err != nil {
			if ctx.Err() != nil && x.sent != nil {
				x.l.cancelLater(x.r.Task.ID)
			}
			return nil, err
		}
		up, heard := time.Now(), x.heard
		lv.active.Add(1)
		out, err := x.once(ctx, lv)
		lv.active.Add(-1)
		switch {
		case err == nil:
			return out, nil
		case ctx.Err() != nil && x.sent != nil:
			x.cancel(lv)
			return nil, context.Cause(ctx)
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case x.got.err != nil: // the rest of the file is of no use
			x.cancel(lv)
			lv.ack(x.r.Task.ID)
			return nil, err
		case !errors.Is(err, errLink):
			return nil, err
		}
		lost = time.Now()
		x.ans.Reconnects++
		if flaps.lost(up, lost, x.heard != heard, x.l.window) {
			return nil, &Unreachable{Host: x.l.name, Err: &callError{lv.lost()}}
		}
		if err := flaps.pause(ctx); err != nil {
			return nil, err
		}
	}
}

// once tries over one connection. errLink: it was lost on the way.
func (x *exchange) once(ctx context.Context, lv *live) (*wire.Outcome, error) {
	for {
		begin := time.Now()
		s, err := lv.take(ctx)
		if err != nil {
			return nil, err
		}
		x.ans.Wait += time.Since(begin)
		body, again, err := x.over(ctx, lv, s)
		switch {
		case err == nil && !again:
			lv.put(s)
			out, body := readable(body)
			if f := out.Fault; f == nil || f.Code != wire.FaultWithdrawn {
				if id := x.r.Task.ID; x.r.Hold {
					x.ans.Body = body
					x.ans.Acknowledge = func() { lv.ack(id) }
				} else {
					lv.ack(id)
				}
				return out, nil
			}
			x.sent = nil // nothing was done, as if it never came
			if x.broken++; x.broken > maxBroken {
				return nil, out.Fault
			}
			if err := x.restart(); err != nil {
				return nil, err
			}
			continue
		case err == nil:
			lv.put(s)
			continue // unknown there: send it
		}
		s.s.Reset()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		var gone *lostSlot
		if !errors.As(err, &gone) {
			return nil, err
		}
		if !lv.alive() {
			return nil, errLink
		}
		// The agent gave up this slot alone, or broke the protocol: ask it what
		// became of the sub-task, but not for ever.
		x.l.f.log.Debug("Slot lost", "task", x.r.Task.ID.String(), "err", err)
		if x.broken++; x.broken > maxBroken {
			return nil, fmt.Errorf("the agent breaks the protocol: %w", err)
		}
	}
}

// readable is an outcome and its encoding; where that cannot be read, or says
// nothing, of the fault that it does not. That is an answer as any other: sent
// again, it would be no better.
func readable(body []byte) (*wire.Outcome, []byte) {
	out := new(wire.Outcome)
	err := frame.Unmarshal(body, out)
	switch {
	case err != nil:
		err = fmt.Errorf("the host's result cannot be read: %w", err)
	case out.Fault == nil && out.Result.Dict == nil:
		err = errors.New("the agent sent neither a result nor a fault")
	default:
		return out, body
	}
	out = &wire.Outcome{Fault: &wire.Fault{Code: wire.FaultInternal, Text: err.Error(), Started: true}}
	body, _ = frame.Marshal(out) // a text and two numbers
	return out, body
}

// maxBroken is how many slots one sub-task may lose while its link is up.
const maxBroken = 3

// lostSlot says that the stream or what came over it is of no more use.
type lostSlot struct{ err error }

func (e *lostSlot) Error() string { return e.err.Error() }
func (e *lostSlot) Unwrap() error { return e.err }

// over sends or asks for the sub-task on a slot. again: it is unknown there
// and is to be sent.
func (x *exchange) over(ctx context.Context, lv *live, s *slot) (body []byte, again bool, err error) {
	for _, id := range lv.takeAcks() {
		if err := s.w.Put(&wire.Ack{ID: id}); err != nil {
			return nil, false, err
		}
	}
	asking := x.sent != nil
	if asking {
		err = s.w.Put(&wire.Collect{ID: x.r.Task.ID})
	} else {
		err = s.w.Put(&x.r.Task)
	}
	if err != nil {
		s.w.Discard()
		return nil, false, err // too long or not encodable: nothing was sent
	}
	stop := context.AfterFunc(ctx, s.s.Reset)
	defer func() {
		if !stop() && err == nil {
			err = context.Cause(ctx)
		}
	}()
	if !asking {
		x.sent = lv.hello
		x.ans.Collected = false
		if x.r.Sending != nil {
			x.r.Sending(lv.hello, lv.conn.Peer() == nil || lv.hello.Transient)
		}
	}
	x.ans.RoundTrips++
	x.due = lv.expect()
	defer x.met()
	if err := s.w.Flush(); err != nil {
		return nil, false, &lostSlot{err}
	}
	if asking {
		again, err = x.state(lv, s)
		if err != nil || again {
			return nil, again, err
		}
	}
	body, err = x.listen(ctx, lv, s)
	return body, false, err
}

// met says that the agent answered.
func (x *exchange) met() {
	if x.due != nil {
		x.due.met.Store(true)
	}
}

// state reads what the agent knows of a sub-task that was sent before.
func (x *exchange) state(lv *live, s *slot) (again bool, err error) {
	m, err := s.r.Read()
	if err != nil {
		return false, &lostSlot{err}
	}
	x.met()
	st, ok := m.(*wire.State)
	if !ok || st.ID != x.r.Task.ID {
		return false, &lostSlot{fmt.Errorf("%s where State was due", m.Kind())}
	}
	x.heard++
	switch st.State {
	case wire.StateRunning, wire.StateDone:
		return false, nil
	case wire.StateUnknown:
		// Only the very journal it was sent to can vouch that it never came.
		if x.sent.BootID == lv.hello.BootID && x.sent.JournalID == lv.hello.JournalID {
			x.sent = nil
			return true, x.restart()
		}
	}
	return false, ErrLost
}

// restart makes ready to send the sub-task again.
func (x *exchange) restart() error {
	if x.r.Sink == nil || x.got.size == 0 {
		x.got.done = nil // of an empty file
		return nil
	}
	if r, ok := x.r.Sink.(stage.Restarter); ok && r.Restart() == nil {
		x.got.size, x.got.sum, x.got.done, x.got.err = 0, nil, nil, nil
		return nil
	}
	return errors.New("the link was lost while a file was received")
}

// listen follows the sub-task until its outcome is complete.
func (x *exchange) listen(ctx context.Context, lv *live, s *slot) ([]byte, error) {
	var body []byte
	var b budget
	for {
		m, err := s.r.Read()
		if err != nil {
			return nil, &lostSlot{err}
		}
		x.heard++
		x.met()
		if err := x.said(&b, m); err != nil {
			return nil, err
		}
		switch m := m.(type) {
		case *wire.Want:
			x.ans.RoundTrips++
			if err := x.serve(ctx, s, &b, m); err != nil {
				return nil, err
			}
		case *wire.Started:
		case *wire.Output:
			if x.r.Output != nil {
				x.r.Output(m.Stream, m.Data)
			}
		case *wire.Data:
			if x.receive(m.Data); x.got.err != nil {
				return nil, x.got.err
			}
		case *wire.FileDone:
			x.got.done = m
		case *wire.Result:
			limit := uint64(wire.MaxResult)
			if n := x.l.f.cfg.MaxResult; n > 0 {
				limit = n
			}
			if uint64(len(body)+len(m.Data)) > limit+4096 { // the agent says FaultTooLarge before
				return nil, &lostSlot{errors.New("a result larger than max_result")}
			}
			if body = append(body, m.Data...); !m.More {
				return body, nil
			}
		default:
			return nil, &lostSlot{fmt.Errorf("unexpected %s on a slot", m.Kind())}
		}
	}
}

func (x *exchange) receive(p []byte) {
	if x.got.sum == nil {
		x.got.sum = blake3.New(32, nil)
	}
	if x.got.size += int64(len(p)); x.got.size >= bulk && x.got.spread == nil {
		x.got.spread = cores.All()
	}
	x.got.sum.Write(p)
	x.l.f.cfg.Metrics.Staged("received", int64(len(p)))
	_, x.got.err = x.r.Sink.Write(p)
}

// closeSink tells the sink whether the file came whole, and returns the error
// of the sub-task or else of the file.
func (x *exchange) closeSink(err error) error {
	ferr := x.got.err
	var sum wire.Hash
	if x.got.sum == nil {
		x.got.sum = blake3.New(32, nil)
	}
	x.got.sum.Sum(sum[:0])
	switch {
	case err != nil:
		ferr = err
	case ferr != nil:
	case x.got.done == nil && x.got.size == 0: // the module said in its result why there is none
		_ = x.r.Sink.Close(errors.New("no file was sent"))
		return nil
	case x.got.done == nil || x.got.done.Size != x.got.size || x.got.done.Hash != sum:
		ferr = stage.ErrHash
	case x.got.done.Text != "":
		ferr = errors.New(x.got.done.Text)
	}
	if cerr := x.r.Sink.Close(ferr); ferr == nil {
		ferr = cerr
	}
	return ferr
}

// cancel tells the agent and waits until the sub-task's processes are gone.
func (x *exchange) cancel(lv *live) {
	id := x.r.Task.ID
	ended := lv.expectEnded(id)
	lv.say(&wire.Cancel{ID: id})
	select {
	case <-ended:
	case <-time.After(endedTimeout):
	}
	if !lv.alive() {
		x.l.cancelLater(id)
	}
}

// cancelLater says Cancel when the agent is met again.
func (l *hostLink) cancelLater(id wire.TaskID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancels == nil {
		l.cancels = map[wire.TaskID]struct{}{}
	}
	if len(l.cancels) < wire.MaxWant {
		l.cancels[id] = struct{}{}
	}
}
