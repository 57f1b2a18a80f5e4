package hostagent

import (
	"bytes"
	"context"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"volant/hostagent/become"
	"volant/wire"
	"volant/wire/frame"
)

// TestHand: a worker gets the sub-task as it came, but never a password, nor
// anything else of how it was become where there is one.
func TestHand(t *testing.T) {
	for _, password := range []string{"", "hush"} {
		task := &wire.Task{ID: wire.TaskID{Host: "h", Step: 3}, Module: "ping", Become: &wire.Become{User: "root", Password: password}}
		raw, err := frame.Marshal(task)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		r := &relay{w: &worker{w: frame.NewWriter(&b)}, t: &talk{task: raw}}
		if err := r.hand(task); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b.Bytes(), []byte("hush")) {
			t.Error("the password was handed on")
		}
		if password == "" != bytes.HasSuffix(b.Bytes(), raw) {
			t.Errorf("password %q: handed %x of %x", password, b.Bytes(), raw)
		}
		m, err := frame.NewReader(&b).Read()
		if got, ok := m.(*wire.Task); err != nil || !ok || got.ID != task.ID {
			t.Errorf("handed %#v, %v", m, err)
		}
	}
}

// hostile is a worker whose user does with it what he likes: what it says is
// written to says, and what it is told comes out of hears.
type hostile struct {
	io.Reader
	io.Writer
	says  *io.PipeWriter
	hears *io.PipeReader
	once  sync.Once
	done  chan struct{}
}

func newHostile() *hostile {
	h := &hostile{done: make(chan struct{})}
	h.Reader, h.says = io.Pipe()
	h.hears, h.Writer = io.Pipe()
	return h
}

func (h *hostile) Stderr() string        { return "" }
func (h *hostile) Command() string       { return "sudo" }
func (h *hostile) PID() int              { return 0 }
func (h *hostile) Done() <-chan struct{} { return h.done }

func (h *hostile) Close() error {
	h.once.Do(func() {
		h.says.Close()
		h.hears.Close()
		close(h.done)
	})
	return nil
}

func (h *hostile) relay(forked func(int)) *relay {
	w := &worker{proc: h, r: frame.NewReader(h), w: frame.NewWriter(h)}
	return &relay{w: w, t: &talk{w: frame.NewWriter(io.Discard)}, h: hooks{forked: forked}, end: 50 * time.Millisecond}
}

// TestDeafWorker: a worker that takes nothing, at whatever moment it stops, is
// ended after a cancel like any that does not answer it.
func TestDeafWorker(t *testing.T) {
	task := &wire.Task{ID: wire.TaskID{Host: "h"}, Module: "ping", Become: &wire.Become{User: "other"}}
	for name, hears := range map[string]func(r *frame.Reader, w *frame.Writer){
		"the sub-task": func(*frame.Reader, *frame.Writer) {},
		"blobs": func(r *frame.Reader, w *frame.Writer) {
			_, _ = r.Read()
			_ = w.Send(&wire.Want{Hashes: make([]wire.Hash, 2)})
		},
		"the cancel": func(r *frame.Reader, _ *frame.Writer) { _, _ = r.Read() },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHostile()
			go hears(frame.NewReader(h.hears), frame.NewWriter(h.says)) // ends with Close at the latest
			r := h.relay(nil)
			r.t.next = func() (wire.Message, error) { return &wire.NoBlob{}, nil }
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(20*time.Millisecond, cancel)
			over := make(chan bool)
			go func() {
				_, _, healthy := r.run(ctx, task)
				over <- healthy
			}()
			select {
			case healthy := <-over:
				if healthy {
					t.Error("it is to have another sub-task")
				}
			case <-time.After(time.Minute):
				t.Error("it is waited for without end")
				h.Close()
			}
		})
	}
}

// TestCancelFollowsTask: a worker hears of the sub-task before of its cancel.
func TestCancelFollowsTask(t *testing.T) {
	h := newHostile()
	r := h.relay(nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	go func() {
		defer h.Close()
		in := frame.NewReader(h.hears)
		for _, kind := range []wire.Kind{wire.KindTask, wire.KindCancel} {
			if m, err := in.Read(); err != nil || m.Kind() != kind {
				t.Errorf("heard %v, %v, not %s", m, err, kind)
				return
			}
		}
	}()
	r.run(ctx, &wire.Task{ID: wire.TaskID{Host: "h"}, Become: &wire.Become{}})
}

// TestWorkerStartsWithoutEnd: that it started is kept for a while, to travel with
// the result, and what a worker says of its process groups is written to the
// journal: it must fill neither.
func TestWorkerStartsWithoutEnd(t *testing.T) {
	h := newHostile()
	n := 0
	r := h.relay(func(int) { n++ })
	go func() {
		in, out := frame.NewReader(h.hears), frame.NewWriter(h.says)
		_, _ = in.Read()
		for range 20 * maxForked {
			if out.Send(&wire.Started{Group: 4711}, &wire.Started{}) != nil {
				return
			}
		}
		body, _ := frame.Marshal(&wire.Outcome{})
		_ = out.Send(&wire.Result{Data: body})
	}()
	_, body, healthy := r.run(t.Context(), &wire.Task{Become: &wire.Become{}})
	if body == nil || !healthy || n > maxForked {
		t.Errorf("journalled %d times; result %x, healthy %v", n, body, healthy)
	}
	if n := r.t.w.Buffered(); n > 100 {
		t.Errorf("%d bytes wait", n)
	}
}

// TestWorkerSaysUnasked: what a worker says reaches the controller only where the
// sub-task asked for it, and no more of it than was asked for.
func TestWorkerSaysUnasked(t *testing.T) {
	live := &wire.Task{Module: "command", Live: true, Become: &wire.Become{}}
	plain := &wire.Task{Module: "command", Become: &wire.Become{}}
	file := &wire.Task{Module: wire.GetModule, Become: &wire.Become{}}
	piece := make([]byte, wire.MaxChunk)
	for name, test := range map[string]struct {
		task    *wire.Task
		says    []wire.Message
		times   int
		healthy bool
		most    int // bytes that are passed on
	}{
		"output that is asked for":       {live, []wire.Message{&wire.Output{Data: piece}}, 10, true, 11 << 20},
		"output without end":             {live, []wire.Message{&wire.Output{Data: piece}}, 100, true, wire.MaxResult + 2*wire.MaxChunk},
		"empty output without end":       {live, []wire.Message{&wire.Output{}}, 400 << 10, true, 3 << 20},
		"output that nobody asked for":   {plain, []wire.Message{&wire.Output{Data: piece}}, 100, false, 100},
		"a file":                         {file, []wire.Message{&wire.Data{Data: piece}}, 100, true, 101 << 20},
		"a file that nobody asked for":   {plain, []wire.Message{&wire.Data{Data: piece}}, 100, false, 100},
		"an end that nobody asked for":   {plain, []wire.Message{&wire.FileDone{}}, 100, false, 100},
		"a file in pieces of nothing":    {file, []wire.Message{&wire.Data{}}, 100, false, 100},
		"a file that goes on at its end": {file, []wire.Message{&wire.Data{Data: piece[:1]}, &wire.FileDone{Size: 1}}, 100, false, 200},
		"wants without end":              {plain, []wire.Message{&wire.Want{Hashes: make([]wire.Hash, 1000)}}, 1000, false, 4 << 20},
		"wants of nothing without end":   {plain, []wire.Message{&wire.Want{}}, 1000, false, 100},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHostile()
			r := h.relay(nil)
			var passed counter
			r.t.w = frame.NewWriter(&passed)
			r.t.next = func() (wire.Message, error) { return &wire.NoBlob{}, nil }
			go func() { // ends with Close
				in, out := frame.NewReader(h.hears), frame.NewWriter(h.says)
				_, _ = in.Read()
				go func() { // what it is told does not matter
					_, _ = io.Copy(io.Discard, h.hears)
				}()
				for range test.times {
					for _, m := range test.says {
						if out.Send(m) != nil {
							return
						}
					}
				}
				if test.task == file {
					_ = out.Send(&wire.FileDone{})
				}
				body, _ := frame.Marshal(&wire.Outcome{})
				_ = out.Send(&wire.Result{Data: body})
			}()
			out, body, healthy := r.run(t.Context(), test.task)
			h.Close()
			if healthy != test.healthy || test.healthy != (body != nil) {
				t.Errorf("healthy %v; outcome %+v, result %x", healthy, out.Fault, body)
			}
			if int(passed) > test.most {
				t.Errorf("%d bytes were passed on", passed)
			}
		})
	}
}

// TestFaultsOfTheAgent: that a sub-task is to be sent again, or its host counts as
// unreachable, is for the agent to say: a worker says the one only after it was
// told that the link is lost, the other never.
func TestFaultsOfTheAgent(t *testing.T) {
	for name, test := range map[string]struct {
		code wire.FaultCode
		lost bool // the link, while a file was asked for
		want wire.FaultCode
	}{
		"withdrawn":                    {wire.FaultWithdrawn, false, wire.FaultInternal},
		"withdrawn, as the link is":    {wire.FaultWithdrawn, true, wire.FaultWithdrawn},
		"silent":                       {wire.FaultSilent, false, wire.FaultInternal},
		"silent, and the link is lost": {wire.FaultSilent, true, wire.FaultInternal},
		"what it may say":              {wire.FaultModule, false, wire.FaultModule},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHostile()
			r := h.relay(nil)
			r.t.next = func() (wire.Message, error) { return nil, io.ErrUnexpectedEOF }
			go func() { // ends with Close
				in, out := frame.NewReader(h.hears), frame.NewWriter(h.says)
				_, _ = in.Read()
				if test.lost {
					_ = out.Send(&wire.Want{Hashes: make([]wire.Hash, 1)})
					_, _ = in.Read()
				}
				body, _ := frame.Marshal(&wire.Outcome{Fault: &wire.Fault{Code: test.code, Text: "as it likes"}})
				_ = out.Send(&wire.Result{Data: body})
			}()
			out, body, healthy := r.run(t.Context(), &wire.Task{Become: &wire.Become{}})
			h.Close()
			if out.Fault == nil || out.Fault.Code != test.want {
				t.Errorf("%+v", out.Fault)
			}
			if own := test.want != test.code; own != (body == nil) || own == healthy {
				t.Errorf("its encoding %x, healthy %v", body, healthy)
			}
		})
	}
}

// counter counts what is written.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// finding is a runner that knows where Python is.
type finding struct{ Runner }

func (finding) Close() error { return nil }

func (finding) Find(_ context.Context, environ []string, t *wire.Task) *wire.Interpreter {
	return &wire.Interpreter{Path: "/usr/bin/python3", Warnings: append(environ, t.Module)}
}

// TestFoundIsTheAgents: which Python a host has, and every later sub-task runs as
// whatever user, is not for another user's process to say.
func TestFoundIsTheAgents(t *testing.T) {
	h := newHostile()
	a, err := New(Config{
		Runner: finding{}, CacheDir: t.TempDir(), StagingDir: t.TempDir(), Login: func() Login { return Login{Environ: []string{"A=b"}} },
		Start: func(context.Context, become.Config, become.Params) (become.Worker, error) { return h, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	s, err := a.newSession(sessionKey{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() { // ends with Close
		in, out := frame.NewReader(h.hears), frame.NewWriter(h.says)
		_ = out.Send(&wire.Worker{Version: wire.Version})
		for _, found := range []*wire.Interpreter{nil, {Path: "/home/other/python3"}} {
			_, _ = in.Read()
			body, _ := frame.Marshal(&wire.Outcome{Found: found})
			_ = out.Send(&wire.Result{Data: body})
		}
	}()
	for _, want := range []string{"", "/usr/bin/python3"} {
		task := &wire.Task{Module: "ping", Become: &wire.Become{User: "other"}}
		out, body := a.workers.execute(t.Context(), s, &talk{w: frame.NewWriter(io.Discard)}, task, hooks{started: func() error { return nil }})
		if body != nil {
			out = new(wire.Outcome)
			if err := frame.Unmarshal(body, out); err != nil {
				t.Fatal(err)
			}
		}
		switch {
		case out.Fault != nil:
			t.Fatal(out.Fault)
		case (out.Found == nil) != (want == ""):
			t.Errorf("found %v, not %q", out.Found, want)
		case want != "" && (out.Found.Path != want || !slices.Equal(out.Found.Warnings, []string{"A=b", "ping"})):
			t.Errorf("found %v, not %q", out.Found, want)
		}
	}
}

// TestWorkersOfOthers: a worker is for the controller it was started for; one that
// took a password for the session that gave it, and for that password.
func TestWorkersOfOthers(t *testing.T) {
	session := func(controller string, run byte) *agentSession {
		return &agentSession{key: sessionKey{controller: controller, run: wire.RunID{run}}}
	}
	mine := keyOf(session("a", 1), &wire.Become{User: "u"})
	hush := keyOf(session("a", 1), &wire.Become{User: "u", Password: "hush"})
	for name, test := range map[string]struct {
		a, b workerKey
		same bool
	}{
		"a later run's":                {mine, keyOf(session("a", 2), &wire.Become{User: "u"}), true},
		"another controller's":         {mine, keyOf(session("b", 1), &wire.Become{User: "u"}), false},
		"another user's":               {mine, keyOf(session("a", 1), &wire.Become{User: "v"}), false},
		"with a password":              {mine, hush, false},
		"with the password once more":  {hush, keyOf(session("a", 1), &wire.Become{User: "u", Password: "hush"}), true},
		"with another password":        {hush, keyOf(session("a", 1), &wire.Become{User: "u", Password: "loud"}), false},
		"with a password, a later run": {hush, keyOf(session("a", 2), &wire.Become{User: "u", Password: "hush"}), false},
	} {
		if test.a == test.b != test.same {
			t.Errorf("%s: %v", name, test.a == test.b)
		}
	}
}
