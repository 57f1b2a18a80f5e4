package fleet

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"io"
	"testing"
	"time"

	"volant/stage"
	"volant/wire"
	"volant/wire/frame"
	"volant/wire/session"
	"volant/wire/value"
)

func spoken(f *testing.F, messages ...wire.Message) []byte {
	var b bytes.Buffer
	w := frame.NewWriter(&b)
	for _, m := range messages {
		if err := w.Send(m); err != nil {
			f.Fatal(err)
		}
	}
	return b.Bytes()
}

// nowhere is a file that is thrown away.
type nowhere struct{ io.Writer }

func (nowhere) Close(error) error { return nil }

// FuzzLink: whatever an agent says, on the control stream and on a slot, a
// sub-task ends with a result or an error, at the latest when nobody waits for it
// any more (an agent may say for ever that it runs), and so does the link.
func FuzzLink(f *testing.F) {
	content := []byte("content")
	file := stage.BytesFile("src", "", content)
	id := wire.TaskID{Host: "h", Step: 1, N: 1}
	outcome, err := frame.Marshal(&wire.Outcome{Result: wire.Dict{Dict: value.DictOf("changed", true)}, Path: "native"})
	if err != nil {
		f.Fatal(err)
	}
	hello := &wire.Hello{Version: wire.Version, MinVersion: wire.MinVersion, Agent: "1.0.0", BootID: "b", JournalID: "j"}
	f.Add(spoken(f, hello), spoken(f, &wire.Pull{}, &wire.Started{}, &wire.Output{Stream: 1, Data: content}, &wire.Result{Data: outcome}))
	f.Add(spoken(f, hello, &wire.Drain{}, &wire.Ended{ID: id}, &wire.Pong{N: 1}), spoken(f, &wire.Pull{}, &wire.Want{Hashes: []wire.Hash{file.Hash}}, &wire.Result{Data: outcome[:5], More: true}, &wire.Result{Data: outcome[5:]}, &wire.Pull{}))
	f.Add(spoken(f, hello, &wire.Refused{Code: wire.RefusedBusy}), spoken(f, &wire.Pull{}, &wire.Data{Data: content}, &wire.FileDone{Size: 7, Hash: file.Hash}, &wire.Result{Data: outcome}))
	f.Add(spoken(f, hello), spoken(f, &wire.Pull{}, &wire.State{ID: id, State: wire.StateRunning}, &wire.Started{}))
	f.Add(spoken(f, &wire.Hello{Version: 99, MinVersion: 99}), spoken(f, &wire.State{ID: id, State: wire.StateDone}))
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		f.Fatal(err)
	}
	state := f.TempDir()
	f.Fuzz(func(t *testing.T, control, slot []byte) {
		fl, err := New(Config{Key: key, StateDir: state, Reconnect: time.Millisecond, Local: func(ctx context.Context) (session.Conn, error) {
			ours, theirs := session.Pipe()
			say := func(b []byte) {
				s, err := theirs.OpenStream(ctx)
				if err != nil {
					return
				}
				go func() { // ends with the connection
					_, _ = io.Copy(io.Discard, s)
				}()
				_, _ = s.Write(b)
				_ = s.Close()
			}
			go func() { // ends with the connection
				say(control)
				say(slot)
				time.Sleep(5 * time.Millisecond)
				_ = theirs.Close(session.CodeDone, "")
			}()
			return ours, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if l, err := fl.Local(ctx); err == nil {
			a, err := l.Run(ctx, &Request{
				Task: wire.Task{ID: id, Module: "m", Native: true}, Files: []stage.File{file}, Sink: nowhere{io.Discard}, Output: func(uint8, []byte) {},
			})
			if err == nil && a.Result.Dict == nil {
				t.Error("neither a result nor an error")
			}
		}
		if err := fl.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("it ended after %v", took)
		}
	})
}
