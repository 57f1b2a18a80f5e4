package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"volant/controller/fleet"
	"volant/hostagent"
	"volant/hostagent/sim"
	"volant/stage"
	"volant/wire"
	"volant/wire/session"
	"volant/wire/value"
)

// links are the ways a controller meets an agent; every contract test runs
// over each.
var links = map[string]func(t *testing.T, r hostagent.Runner, change ...func(*fleet.Config)) fleet.Link{
	"quic": func(t *testing.T, r hostagent.Runner, change ...func(*fleet.Config)) fleet.Link {
		s := startSim(t, sim.Options{Agents: 1, Runner: r})
		return link(t, newFleet(t, atAgent(s.Agents[0]), change...))
	},
	"pipe": func(t *testing.T, r hostagent.Runner, change ...func(*fleet.Config)) fleet.Link {
		dir := t.TempDir()
		var wg sync.WaitGroup
		t.Cleanup(wg.Wait)
		local := func(context.Context) (session.Conn, error) {
			a, err := hostagent.New(hostagent.Config{Runner: r, CacheDir: filepath.Join(dir, "cache"), StagingDir: filepath.Join(dir, "staging")})
			if err != nil {
				return nil, err
			}
			mine, theirs := session.Pipe()
			wg.Go(func() { // ends with the fleet's Goodbye
				_ = a.ServeConn(context.Background(), theirs)
				_ = a.Close()
			})
			return mine, nil
		}
		f := newFleet(t, sshTo{}, append(change, func(c *fleet.Config) { c.Local = local })...)
		l, err := f.Local(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return l
	},
}

var taskN atomic.Uint32

func task(module string, kv ...any) *fleet.Request {
	return &fleet.Request{Task: wire.Task{
		ID: wire.TaskID{Host: "h", Step: 7, N: taskN.Add(1)}, Module: module, Args: wire.Dict{Dict: value.DictOf(kv...)},
	}}
}

func run(t *testing.T, l fleet.Link, r *fleet.Request) *fleet.Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	a, err := l.Run(ctx, r)
	if err != nil {
		t.Fatalf("%s: %v", r.Task.Module, err)
	}
	return a
}

// onceAsleep has do called when the sub-task, one that sleeps, runs on its agent.
func onceAsleep(r *fleet.Request, do func()) *fleet.Request {
	var once sync.Once
	r.Output = func(uint8, []byte) { once.Do(func() { go do() }) } // do ends by itself
	return r
}

func each(t *testing.T, test func(t *testing.T, l fleet.Link, r *scripted)) {
	for name, mk := range links {
		t.Run(name, func(t *testing.T) {
			r := new(scripted)
			test(t, mk(t, r), r)
		})
	}
}

func memFile(arg, suffix string, content []byte) stage.File {
	return stage.File{Arg: arg, Suffix: suffix, Hash: stage.HashBytes(content), Size: int64(len(content)),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }}
}

func TestStaging(t *testing.T) {
	random := make([]byte, 3<<20)
	rand.New(rand.NewSource(1)).Read(random)
	files := map[string][]byte{
		"empty": nil, "small": []byte("x"), "text": bytes.Repeat([]byte("all work and no play\n"), 200000), "random": random,
	}
	each(t, func(t *testing.T, l fleet.Link, _ *scripted) {
		for name, content := range files {
			r := task("cat")
			r.Files = []stage.File{memFile("src", ".conf", content)}
			a := run(t, l, r)
			path, _ := a.Result.Str("path")
			if a.Result.Lookup("size") != int64(len(content)) || !strings.HasSuffix(path, ".conf") {
				t.Errorf("%s: %v", name, a.Result.Dict)
			}
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %s was left behind", name, path)
			}
		}
		r := task("cat")
		r.Files = []stage.File{memFile("src", "", []byte("one"))}
		r.Files[0].Open = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("two")), nil }
		var f *wire.Fault
		if _, err := l.Run(t.Context(), r); !errors.As(err, &f) || f.Code != wire.FaultStage || f.Started {
			t.Errorf("a file that changed: %v", err)
		}
		r = task("cat")
		r.Files = []stage.File{memFile("src", "", []byte("one"))}
		r.Files[0].Open = func() (io.ReadCloser, error) { return nil, fs.ErrNotExist }
		if _, err := l.Run(t.Context(), r); !errors.As(err, &f) || f.Code != wire.FaultStage {
			t.Errorf("a file that is gone: %v", err)
		}
		run(t, l, task("echo")) // the slot is still in step
	})
}

// memUnion is an Opener over blobs in memory.
type memUnion map[stage.Hash][]byte

func (m memUnion) Open(h stage.Hash) (io.ReadCloser, error) {
	b, ok := m[h]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

func (m memUnion) manifest(files map[string]string) stage.Hash {
	man := new(stage.Manifest)
	for path, text := range files {
		h := stage.HashBytes([]byte(text))
		m[h] = []byte(text)
		man.Files = append(man.Files, stage.ManifestFile{Path: path, Hash: h, Size: int64(len(text))})
	}
	man.Sort()
	m[man.Hash()] = man.Encode()
	return man.Hash()
}

func TestUnion(t *testing.T) {
	each(t, func(t *testing.T, l fleet.Link, _ *scripted) {
		u := memUnion{}
		base := u.manifest(map[string]string{"ansible/module_utils/basic.py": strings.Repeat("import os\n", 500)})
		for i, text := range []string{"print(1)", "print(2)", "print(1)"} {
			r := task("layout")
			r.Union = u
			r.Task.Python = &wire.Python{Base: base, File: "a/b.py", Extra: u.manifest(map[string]string{"a/b.py": text, "shared.py": "x"})}
			if got, _ := run(t, l, r).Result.Str("text"); got != text {
				t.Errorf("%d: %q", i, got)
			}
		}
		r := task("layout")
		r.Union = u
		r.Task.Python = &wire.Python{Base: base, File: "a", Extra: stage.HashBytes([]byte("no such manifest"))}
		var f *wire.Fault
		if _, err := l.Run(t.Context(), r); !errors.As(err, &f) || f.Code != wire.FaultStage {
			t.Errorf("unknown manifest: %v", err)
		}
	})
}

func TestOutcomes(t *testing.T) {
	each(t, func(t *testing.T, l fleet.Link, _ *scripted) {
		var out [3]string
		r := task("output")
		r.Output = func(s uint8, p []byte) { out[s] += string(p) }
		run(t, l, r)
		if out[1] != "hello " || out[2] != "world" {
			t.Errorf("output %q", out)
		}
		out = [3]string{}
		run(t, l, task("output"))
		if out[1] != "" {
			t.Errorf("output %q that nobody asked for", out)
		}
		a := run(t, l, task("big", "n", int64(5<<20)))
		if s, _ := a.Result.Str("big"); len(s) != 5<<20 {
			t.Errorf("a result of %d bytes", len(s))
		}
		for module, code := range map[string]wire.FaultCode{"fail": wire.FaultInternal, "panic": wire.FaultInternal} {
			var f *wire.Fault
			if _, err := l.Run(t.Context(), task(module)); !errors.As(err, &f) || f.Code != code || !f.Started {
				t.Errorf("%s: %v", module, err)
			}
		}
		r = task("sleep", "ms", int64(60000))
		r.Task.Timeout = int64(50 * time.Millisecond)
		var f *wire.Fault
		if _, err := l.Run(t.Context(), r); !errors.As(err, &f) || f.Code != wire.FaultTimeout {
			t.Errorf("timeout: %v", err)
		}
		r = task("echo", "x", strings.Repeat("x", wire.MaxFrame))
		if _, err := l.Run(t.Context(), r); err == nil || !strings.Contains(err.Error(), "too long") {
			t.Errorf("oversize task: %v", err)
		}
		run(t, l, task("echo"))
	})
}

func TestResultTooLarge(t *testing.T) {
	for name, mk := range links {
		t.Run(name, func(t *testing.T) {
			l := mk(t, new(scripted), func(c *fleet.Config) { c.MaxResult = 1 << 20 })
			var f *wire.Fault
			_, err := l.Run(t.Context(), task("big", "n", int64(2<<20)))
			if !errors.As(err, &f) || f.Code != wire.FaultTooLarge || !strings.Contains(f.Text, "max_result") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	each(t, func(t *testing.T, l fleet.Link, r *scripted) {
		ctx, cancel := context.WithCancel(t.Context())
		begin := time.Now()
		if _, err := l.Run(ctx, onceAsleep(task("sleep", "ms", int64(120000)), cancel)); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("Ended took %v", took)
		}
		ctx, cancel = context.WithCancel(t.Context())
		cancel()
		before := r.runs.Load()
		if _, err := l.Run(ctx, task("echo")); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		run(t, l, task("echo"))
		if n := r.runs.Load() - before; n > 2 {
			t.Errorf("%d runs", n)
		}
	})
}

// fileSink keeps what it receives.
type fileSink struct {
	bytes.Buffer
	closed int
	err    error
}

func (s *fileSink) Close(err error) error { s.closed++; s.err = err; return nil }
func (s *fileSink) Restart() error        { s.Reset(); return nil }

func TestGet(t *testing.T) {
	content := make([]byte, 5<<20)
	rand.New(rand.NewSource(2)).Read(content)
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, content, 0o640); err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, l fleet.Link, _ *scripted) {
		r, s := task(wire.GetModule, "path", path), new(fileSink)
		r.Sink = s
		a := run(t, l, r)
		if !bytes.Equal(s.Bytes(), content) || s.closed != 1 || s.err != nil || a.Result.Lookup("size") != int64(len(content)) {
			t.Errorf("%d bytes, closed %d with %v, %v", s.Len(), s.closed, s.err, a.Result.Dict)
		}
		r, s = task(wire.GetModule, "path", path+".absent"), new(fileSink)
		r.Sink = s
		if a := run(t, l, r); !a.Result.Bool("failed") || s.err == nil {
			t.Errorf("absent file: %v, sink closed with %v", a.Result.Dict, s.err)
		}
	})
}

func TestManyAtOnce(t *testing.T) {
	each(t, func(t *testing.T, l fleet.Link, r *scripted) {
		var wg sync.WaitGroup
		for range 300 { // more than there can be slots
			q := task("sleep", "ms", int64(5))
			wg.Go(func() {
				if _, err := l.Run(t.Context(), q); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := r.runs.Load(); n != 300 {
			t.Errorf("%d runs", n)
		}
	})
}

func TestWrongPin(t *testing.T) {
	s := startSim(t, sim.Options{Agents: 2})
	calls := 0
	ssh := sshTo{calls: &calls, agent: func() (ed25519.PublicKey, string) { return s.Agents[0].Key, s.Agents[1].Addr.String() }}
	f := newFleet(t, ssh)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var u *fleet.Unreachable
	if _, err := f.Link(ctx, target("h")); !errors.As(err, &u) || !errors.Is(err, session.ErrPin) {
		t.Errorf("got %v", err)
	}
}

func TestKeyNotServed(t *testing.T) {
	s := startSim(t, sim.Options{Agents: 1, Allow: func(ed25519.PublicKey) error { return errors.New("no") }})
	f := newFleet(t, atAgent(s.Agents[0]))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var u *fleet.Unreachable
	if _, err := f.Link(ctx, target("h")); !errors.As(err, &u) {
		t.Errorf("got %v", err)
	}
}
