package hostagent

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"
	"time"

	"volant/stage"
	"volant/wire"
	"volant/wire/frame"
	"volant/wire/session"
	"volant/wire/value"
)

// quickRunner answers at once; it asks for what a task names.
type quickRunner struct{}

func (quickRunner) Run(ctx context.Context, env *Env, t *wire.Task) (*wire.Outcome, error) {
	if t.Python != nil {
		if _, err := env.Layout(ctx, t.Python.Extra); err != nil {
			return nil, err
		}
	}
	return &wire.Outcome{Result: wire.Dict{Dict: value.DictOf("args", t.Args.Dict)}, Path: "native"}, nil
}

func (quickRunner) Close() error { return nil }

// encoded are messages as they travel.
func encoded(f *testing.F, messages ...wire.Message) []byte {
	var b bytes.Buffer
	w := frame.NewWriter(&b)
	for _, m := range messages {
		if err := w.Send(m); err != nil {
			f.Fatal(err)
		}
	}
	return b.Bytes()
}

// FuzzLink: whatever a controller with a key says behind its Welcome, on the
// control stream and on a slot, the link ends, and the agent serves the next.
func FuzzLink(f *testing.F) {
	content := []byte("content")
	h := stage.HashBytes(content)
	id := wire.TaskID{Host: "h", Step: 1, N: 1}
	task := &wire.Task{ID: id, Module: "m", Native: true, Args: wire.Dict{Dict: value.DictOf("a", int64(1))}}
	staged := *task
	staged.Files = []wire.TaskFile{{Arg: "src", Suffix: ".txt", Hash: h, Size: int64(len(content))}}
	tree := (&stage.Manifest{Files: []stage.ManifestFile{{Path: "a/b.py", Hash: h, Size: int64(len(content))}}}).Encode()
	laid := *task
	laid.Python = &wire.Python{Extra: stage.HashBytes(tree), File: "a/b.py"}
	f.Add(encoded(f, &wire.Ping{N: 1}, &wire.Cancel{ID: id}, &wire.Reset{}), encoded(f, task))
	f.Add(encoded(f, &wire.Goodbye{}), encoded(f, &staged, &wire.Blob{Hash: h, Size: 7}, &wire.Data{Data: content, Last: true}, &wire.Ack{ID: id}))
	f.Add(encoded(f, &wire.Drain{}), encoded(f, &laid, &wire.Blob{Hash: stage.HashBytes(tree), Size: int64(len(tree))}, &wire.Data{Data: tree, Last: true}, &wire.Blob{Hash: h, Size: -1}, &wire.Data{Data: content, Last: true}))
	f.Add([]byte{}, encoded(f, &wire.Collect{ID: id}, &wire.Blob{Hash: h, Encoding: wire.EncodingZstd, Size: 1 << 40}, &wire.NoBlob{Hash: h}))
	dir := f.TempDir()
	a, err := New(Config{Runner: quickRunner{}, CacheDir: filepath.Join(dir, "cache"), StagingDir: filepath.Join(dir, "staging"), Login: func() Login { return Login{} }})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = a.Close() })
	f.Fuzz(func(t *testing.T, control, slot []byte) {
		ours, theirs := session.Pipe()
		ended := make(chan struct{})
		go func() { // ends with the connection, which is closed below
			defer close(ended)
			_ = a.ServeConn(context.Background(), theirs)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		ctl, err := ours.AcceptStream(ctx)
		if err != nil {
			t.Fatal(err)
		}
		drain := func(s session.Stream) {
			go func() { // ends with the stream
				b := make([]byte, 4096)
				for {
					if _, err := s.Read(b); err != nil {
						return
					}
				}
			}()
		}
		drain(ctl)
		if err := frame.NewWriter(ctl).Send(&wire.Welcome{Version: wire.Version, Run: wire.NewRunID(), SessionKey: make([]byte, wire.SessionKeyLen)}); err != nil {
			t.Fatal(err)
		}
		s, err := ours.AcceptStream(ctx)
		if err != nil {
			t.Fatal(err)
		}
		drain(s)
		_, _ = s.Write(slot)
		_ = s.Close()
		_, _ = ctl.Write(control)
		_ = ctl.Close()
		select {
		case <-ended:
		case <-ctx.Done():
			t.Fatal("the link does not end")
		}
		_ = ours.Close(session.CodeDone, "")
		a.mu.Lock()
		var over []*agentSession
		for _, s := range a.sessions {
			over = append(over, s)
		}
		a.mu.Unlock()
		for _, s := range over { // else there are soon too many
			a.end(s, true)
		}
	})
}
