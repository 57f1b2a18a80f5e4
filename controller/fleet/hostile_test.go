package fleet

import (
	"context"
	"crypto/ed25519"
	"io"
	"strings"
	"testing"
	"time"

	"volant/stage"
	"volant/wire"
	"volant/wire/frame"
	"volant/wire/session"
	"volant/wire/value"
)

// liar is an agent that keeps to the handshake; what it says of a sub-task is the
// test's. What it is told to forget comes out of acks.
type liar struct {
	say  func(w *frame.Writer, task *wire.Task) error
	acks chan wire.TaskID
}

// dial makes the controller's end of a connection to it.
func (a *liar) dial(ctx context.Context) (session.Conn, error) {
	ours, theirs := session.Pipe()
	control, err := theirs.OpenStream(ctx)
	if err != nil {
		return nil, err
	}
	go func() { // ends with the connection
		if frame.NewWriter(control).Send(&wire.Hello{Version: wire.Version, MinVersion: wire.MinVersion, BootID: "b", JournalID: "j"}) != nil {
			return
		}
		w := frame.NewWriter(control)
		for r := frame.NewReader(control); ; {
			m, err := r.Read()
			if err != nil {
				return
			}
			switch m := m.(type) {
			case *wire.Ack:
				a.acks <- m.ID
			case *wire.Cancel:
				_ = w.Send(&wire.Ended{ID: m.ID})
			case *wire.Goodbye:
				_ = theirs.Close(session.CodeDone, "")
			}
		}
	}()
	go func() { // ends with the connection
		for {
			s, err := theirs.OpenStream(context.Background())
			if err != nil {
				return
			}
			a.slot(frame.NewReader(s), frame.NewWriter(s))
			s.Reset()
		}
	}()
	return ours, nil
}

func (a *liar) slot(r *frame.Reader, w *frame.Writer) {
	in := make(chan wire.Message, 10)
	go func() { // ends with the stream
		defer close(in)
		for {
			m, err := r.Read()
			if err != nil {
				return
			}
			switch m := m.(type) {
			case *wire.Ack:
				a.acks <- m.ID
			case *wire.Task, *wire.Collect:
				in <- m
			}
		}
	}()
	for w.Send(&wire.Pull{}) == nil {
		switch m := (<-in).(type) {
		case nil:
			return
		case *wire.Task:
			if a.say(w, m) != nil {
				return
			}
		case *wire.Collect:
			_ = w.Send(&wire.State{ID: m.ID, State: wire.StateLost})
		}
	}
}

// link makes a link to it.
func (a *liar) link(t *testing.T) Link {
	t.Helper()
	a.acks = make(chan wire.TaskID, 100)
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := New(Config{Key: key, StateDir: t.TempDir(), Reconnect: time.Second, Local: a.dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	l, err := f.Local(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// limited takes so many bytes.
type limited struct{ left int }

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func (*limited) Close(err error) error { return err }

// TestAgentSaysUnasked: whatever an agent goes on saying of a sub-task ends; what
// the sub-task did not ask for at once.
func TestAgentSaysUnasked(t *testing.T) {
	content := make([]byte, 1<<20)
	file, piece := stage.BytesFile("src", "", content), make([]byte, wire.MaxChunk)
	twice := stage.BytesFile("again", "", content)
	const buffered = 20000 // small ones that wait to be read
	for name, test := range map[string]struct {
		m    wire.Message
		sink bool
		most int // of these go before it ends
	}{
		"that it started":                {&wire.Started{}, false, buffered},
		"output":                         {&wire.Output{Data: piece}, false, 300},
		"output of nothing":              {&wire.Output{}, false, 2 << 20},
		"a file that is not asked for":   {&wire.Data{Data: piece}, false, 20},
		"its end":                        {&wire.FileDone{}, false, buffered},
		"a file in pieces of nothing":    {&wire.Data{}, true, buffered},
		"a file that the sink refuses":   {&wire.Data{Data: piece}, true, 50},
		"the end of a file":              {&wire.FileDone{}, true, buffered},
		"that it wants a file":           {&wire.Want{Hashes: []wire.Hash{file.Hash}}, false, buffered},
		"that it wants what there isn't": {&wire.Want{Hashes: make([]wire.Hash, 100)}, false, 1000},
		"that it wants nothing":          {&wire.Want{}, false, buffered},
	} {
		t.Run(name, func(t *testing.T) {
			said := 0
			a := &liar{say: func(w *frame.Writer, _ *wire.Task) error {
				for {
					if err := w.Send(test.m); err != nil {
						return err
					}
					said++
				}
			}}
			l := a.link(t)
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			req := &Request{Task: wire.Task{ID: wire.TaskID{Host: "h"}, Module: "m", Native: true}, Files: []stage.File{file, twice}, Output: func(uint8, []byte) {}}
			if test.sink {
				req.Sink = &limited{20 << 20}
			}
			ans, err := l.Run(ctx, req)
			if err == nil || ctx.Err() != nil {
				t.Errorf("answer %+v, error %v", ans, err)
			}
			if said > test.most {
				t.Errorf("it said so %d times", said)
			}
		})
	}
}

// TestUnreadable: a result that cannot be read is told of, and the agent need not
// keep it any longer than another; nor one that is a fault.
func TestUnreadable(t *testing.T) {
	lost, err := frame.Marshal(&wire.Outcome{Fault: &wire.Fault{Code: wire.FaultLost, Text: "gone"}})
	if err != nil {
		t.Fatal(err)
	}
	become, err := frame.Marshal(&wire.Outcome{Fault: &wire.Fault{Code: wire.FaultBecome, Text: "no such user"}})
	if err != nil {
		t.Fatal(err)
	}
	nothing, err := frame.Marshal(&wire.Outcome{})
	if err != nil {
		t.Fatal(err)
	}
	deep := append([]byte{0xa1, 0x01}, []byte(strings.Repeat("\x81", 200))...)
	good, err := frame.Marshal(&wire.Outcome{Result: wire.Dict{Dict: value.DictOf("rc", 0)}})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		body []byte
		want string // in the error
	}{
		"garbage":   {[]byte("garbage"), "the host's result cannot be read"},
		"cut":       {good[:len(good)-1], "the host's result cannot be read"},
		"too deep":  {deep, "the host's result cannot be read"},
		"empty":     {nil, "the host's result cannot be read"},
		"nothing":   {nothing, "neither a result nor a fault"},
		"a fault":   {become, "no such user"},
		"it's lost": {lost, ErrLost.Error()},
		"a result":  {good, ""},
	} {
		for _, hold := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel() // acknowledgements wait a second for a sub-task to go along with
				a := &liar{say: func(w *frame.Writer, _ *wire.Task) error {
					return w.Send(&wire.Started{}, &wire.Result{Data: test.body})
				}}
				l := a.link(t)
				id := wire.TaskID{Host: "h", Step: 7}
				ans, err := l.Run(t.Context(), &Request{Task: wire.Task{ID: id, Module: "m", Native: true}, Hold: hold})
				if test.want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v", err)
				}
				if hold {
					if ans == nil || ans.Acknowledge == nil {
						t.Fatal("nobody can say that it may be forgotten")
					}
					if out := new(wire.Outcome); frame.Unmarshal(ans.Body, out) != nil || out.Fault == nil != (err == nil) {
						t.Errorf("to be kept: %x", ans.Body)
					}
					select {
					case <-a.acks:
						t.Error("it was to be held")
					case <-time.After(20 * time.Millisecond):
					}
					ans.Acknowledge()
				}
				select {
				case got := <-a.acks:
					if got != id {
						t.Errorf("%v is acknowledged", got)
					}
				case <-time.After(10 * time.Second):
					t.Error("it is never acknowledged")
				}
			})
		}
	}
}
