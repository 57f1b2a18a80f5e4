package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"volant/controller/fleet"
	"volant/hostagent"
	"volant/hostagent/become"
	"volant/stage"
	"volant/wire"
	"volant/wire/session"
)

// noSudo starts workers as become does, only as the same user: what is tested
// is everything but the become command.
type noSudo struct {
	t       *testing.T
	mu      sync.Mutex // guards started
	started []*plainWorker
}

type plainWorker struct {
	cmd  *exec.Cmd
	in   *os.File
	out  *os.File
	done chan struct{}
}

func (w *plainWorker) Read(p []byte) (int, error)  { return w.out.Read(p) }
func (w *plainWorker) Write(p []byte) (int, error) { return w.in.Write(p) }
func (w *plainWorker) Stderr() string              { return "" }
func (w *plainWorker) Command() string             { return "worker" }
func (w *plainWorker) PID() int                    { return w.cmd.Process.Pid }
func (w *plainWorker) Done() <-chan struct{}       { return w.done }
func (w *plainWorker) Close() error {
	w.in.Close()
	select {
	case <-w.done:
	case <-time.After(30 * time.Second):
		_ = w.cmd.Process.Kill()
		<-w.done
	}
	w.out.Close()
	return nil
}

func (s *noSudo) start(_ context.Context, _ become.Config, p become.Params) (become.Worker, error) {
	if p.Password == "wrong" {
		return nil, &become.Error{Msg: "Incorrect sudo password"}
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	w := &plainWorker{cmd: exec.Command(os.Args[0], "worker"), in: inW, out: outR, done: make(chan struct{})}
	w.cmd.Env = append(os.Environ(), asAgent+"=1", "TMPDIR="+s.t.TempDir(), "HOME=/")
	w.cmd.Stdin, w.cmd.Stdout, w.cmd.Stderr = inR, outW, os.Stderr
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	inR.Close()
	outW.Close()
	go func() { // ends with the worker, which Close ends
		_ = w.cmd.Wait()
		close(w.done)
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = append(s.started, w)
	return w, nil
}

func (s *noSudo) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.started)
}

// becomeAgent is an agent over UDP whose workers s starts.
func becomeAgent(t *testing.T, s *noSudo) (ed25519.PublicKey, *net.UDPAddr) {
	t.Helper()
	dir := t.TempDir()
	a, err := hostagent.New(hostagent.Config{
		Runner: new(scripted), CacheDir: filepath.Join(dir, "cache"), StagingDir: filepath.Join(dir, "staging"),
		JournalDir: filepath.Join(dir, "journal"), Start: s.start,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	id, err := session.NewIdentity(key)
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	ep := session.NewEndpoint(udp, id)
	l, err := ep.Listen(func(ed25519.PublicKey) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { // ends with ctx
		for {
			c, err := l.Accept(ctx)
			if err != nil {
				return
			}
			wg.Go(func() { _ = a.ServeConn(ctx, c) }) // ends with the connection
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = ep.Close()
		wg.Wait()
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return id.Public(), ep.Addr()
}

func becomeTask(module, password string, kv ...any) *fleet.Request {
	r := task(module, kv...)
	r.Task.Become = &wire.Become{Method: "sudo", User: "root", Password: password}
	return r
}

func TestBecome(t *testing.T) {
	s := &noSudo{t: t}
	key, addr := becomeAgent(t, s)
	rel := newRelay(t, addr)
	ssh := sshTo{agent: func() (ed25519.PublicKey, string) { return key, rel.addr() }}
	f := newFleet(t, ssh, quick)
	l := link(t, f)

	for range 3 {
		run(t, l, becomeTask("echo", ""))
	}
	if s.count() != 1 {
		t.Errorf("%d workers for three sub-tasks", s.count())
	}
	t.Run("staging and union", func(t *testing.T) {
		r := becomeTask("cat", "")
		r.Files = []stage.File{memFile("src", ".x", make([]byte, 3<<20))}
		if a := run(t, l, r); a.Result.Lookup("size") != int64(3<<20) {
			t.Errorf("got %v", a.Result.Dict)
		}
		u := memUnion{}
		r = becomeTask("layout", "")
		r.Union = u
		r.Task.Python = &wire.Python{Base: u.manifest(nil), File: "m.py", Extra: u.manifest(map[string]string{"m.py": "text"})}
		if got, _ := run(t, l, r).Result.Str("text"); got != "text" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("cancel", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		begin := time.Now()
		if _, err := l.Run(ctx, onceAsleep(becomeTask("sleep", "", "ms", int64(120000)), cancel)); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("took %v", took)
		}
		run(t, l, becomeTask("echo", ""))
		if s.count() != 1 {
			t.Errorf("%d workers", s.count())
		}
	})
	t.Run("link cut", func(t *testing.T) {
		if a := run(t, l, onceAsleep(becomeTask("sleep", "", "ms", int64(3000)), rel.cutUntilDialled)); a.Reconnects == 0 {
			t.Error("the link was not cut")
		}
		if s.count() != 1 {
			t.Errorf("%d workers", s.count())
		}
	})
	t.Run("wrong password", func(t *testing.T) {
		var f *wire.Fault
		if _, err := l.Run(t.Context(), becomeTask("echo", "wrong")); !errors.As(err, &f) || f.Code != wire.FaultPassword || f.Started {
			t.Errorf("got %v", err)
		}
	})
	t.Run("worker killed", func(t *testing.T) {
		kill := func() { _ = s.started[0].cmd.Process.Kill() }
		if _, err := l.Run(t.Context(), onceAsleep(becomeTask("sleep", "", "ms", int64(120000)), kill)); !errors.Is(err, fleet.ErrLost) {
			t.Errorf("got %v", err)
		}
		run(t, l, becomeTask("echo", ""))
		if s.count() != 2 {
			t.Errorf("%d workers", s.count())
		}
	})
	t.Run("warm without a password only", func(t *testing.T) {
		run(t, l, becomeTask("echo", "right"))
		if s.count() != 3 {
			t.Errorf("%d workers", s.count())
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-s.started[2].done:
		case <-time.After(time.Minute):
			t.Error("the worker with a password outlived its session")
		}
		select {
		case <-s.started[1].done:
			t.Error("the worker without a password ended with its session")
		default:
		}
	})
}
