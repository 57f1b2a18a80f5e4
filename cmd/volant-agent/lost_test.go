package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"volant/bootstrap"
	"volant/bootstrap/enrol"
	"volant/controller/fleet"
	"volant/hostagent"
	"volant/hostagent/sim"
	"volant/wire/leaktest"
)

// asAgent, when set, makes the test binary the agent binary, with scripted
// modules.
const asAgent = "VOLANT_TEST_AS_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(asAgent) != "" {
		makeRunner = func() hostagent.Runner { return new(scripted) }
		main()
		os.Exit(0)
	}
	leaktest.Main(m)
}

// quick are settings under which a lost link is noticed within a test's patience.
func quick(c *fleet.Config) { c.Silence, c.Reconnect = 500*time.Millisecond, 40*time.Second }

func TestLinkCut(t *testing.T) {
	r := new(scripted)
	s := startSim(t, sim.Options{Agents: 1, Runner: r})
	rel := newRelay(t, s.Agents[0].Addr)
	ssh := sshTo{agent: func() (ed25519.PublicKey, string) { return s.Agents[0].Key, rel.addr() }}
	l := link(t, newFleet(t, ssh, quick))
	for name, ms := range map[string]int64{"ends while cut": 200, "runs on": 3000} {
		t.Run(name, func(t *testing.T) {
			before := r.runs.Load()
			cut := rel.cutUntilDialled
			r.slept.Store(&cut)
			a := run(t, l, task("sleep", "ms", ms))
			if a.Result.Lookup("slept") != ms || a.Reconnects == 0 {
				t.Errorf("%v after %d reconnects", a.Result.Dict, a.Reconnects)
			}
			if n := r.runs.Load() - before; n != 1 {
				t.Errorf("ran %d times", n)
			}
		})
	}
	t.Run("before it came", func(t *testing.T) {
		before := r.runs.Load()
		rel.cutUntilDialled()
		a := run(t, l, task("echo"))
		if n := r.runs.Load() - before; n != 1 || a.Reconnects == 0 {
			t.Errorf("ran %d times after %d reconnects", n, a.Reconnects)
		}
	})
	t.Run("for good", func(t *testing.T) {
		l := link(t, newFleet(t, ssh, quick, func(c *fleet.Config) { c.Reconnect = 5 * time.Second }))
		rel.cut.Store(true)
		defer rel.cut.Store(false)
		var u *fleet.Unreachable
		if _, err := l.Run(t.Context(), task("echo")); !errors.As(err, &u) {
			t.Errorf("got %v", err)
		}
	})
}

// TestStray: what was on its way when the link was cut is not taken for an
// answer: the cut is noticed as soon as without it.
func TestStray(t *testing.T) {
	s := startSim(t, sim.Options{Agents: 1, Runner: new(scripted)})
	rel := newRelay(t, s.Agents[0].Addr)
	ssh := sshTo{agent: func() (ed25519.PublicKey, string) { return s.Agents[0].Key, rel.addr() }}
	l := link(t, newFleet(t, ssh, func(c *fleet.Config) { c.Silence = 2 * time.Minute }))
	run(t, l, task("echo"))
	rel.cutUntilDialled()
	time.AfterFunc(100*time.Millisecond, rel.stray)
	begin := time.Now()
	run(t, l, task("echo"))
	if took := time.Since(begin); took > 40*time.Second { // long before the silence is looked for
		t.Errorf("the cut was noticed after %v", took)
	}
}

func TestLinkCutWhileStaging(t *testing.T) {
	r := new(scripted)
	s := startSim(t, sim.Options{Agents: 1, Runner: r})
	rel := newRelay(t, s.Agents[0].Addr)
	ssh := sshTo{agent: func() (ed25519.PublicKey, string) { return s.Agents[0].Key, rel.addr() }}
	l := link(t, newFleet(t, ssh, quick))
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	q := task("cat")
	q.Files = append(q.Files, memFile("src", "", content))
	inner, opened := q.Files[0].Open, 0
	q.Files[0].Open = func() (io.ReadCloser, error) {
		if opened++; opened == 1 {
			rel.cutUntilDialled()
		}
		return inner()
	}
	if a := run(t, l, q); a.Result.Lookup("size") != int64(len(content)) {
		t.Errorf("got %v", a.Result.Dict)
	}
	if n := r.runs.Load(); n != 1 || opened < 2 {
		t.Errorf("ran %d times, opened %d times", n, opened)
	}
}

// process is an agent in a process of its own.
type process struct {
	t    *testing.T
	home string
	mu   sync.Mutex // guards rep
	rep  enrol.Reply
}

// last is what the last enrolment answered.
func (p *process) last() enrol.Reply {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rep
}

func (p *process) command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], append(args, "--home", p.home)...)
	cmd.Env = append(os.Environ(), asAgent+"=1", "SSH_CONNECTION=127.0.0.1 1 127.0.0.1 22")
	return cmd
}

// enrol does what the bootstrap does over SSH.
func (p *process) enrol(key ed25519.PublicKey) enrol.Reply {
	p.t.Helper()
	req, err := json.Marshal(enrol.Request{Controller: key, Name: "test"})
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := p.command("enrol")
	cmd.Stdin = bytes.NewReader(append(req, '\n'))
	out, err := cmd.Output()
	if err != nil {
		p.t.Error(err)
	}
	rep, err := enrol.ParseReply(string(out))
	if err != nil || rep.Error != "" {
		p.t.Error(err, rep.Error, string(p.log()))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rep = rep
	return rep
}

func (p *process) log() []byte {
	b, _ := os.ReadFile(filepath.Join(p.home, "log"))
	return b
}

func startProcess(t *testing.T) *process {
	p := &process{t: t, home: filepath.Join(t.TempDir(), "home")}
	t.Cleanup(func() {
		if out, err := p.command("uninstall").CombinedOutput(); err != nil {
			t.Errorf("uninstall: %v %s", err, out)
		}
		if _, err := os.Stat(p.home); !errors.Is(err, os.ErrNotExist) {
			t.Error("uninstall left the home behind")
		}
	})
	return p
}

// linkTo makes a fleet whose SSH enrols with p.
func (p *process) linkTo(change ...func(*fleet.Config)) (fleet.Link, *int) {
	calls := 0
	var pub ed25519.PublicKey
	ssh := sshTo{calls: &calls, agent: func() (ed25519.PublicKey, string) {
		r := p.enrol(pub)
		return r.Agent, net.JoinHostPort(r.Address, strconv.Itoa(r.Port))
	}}
	f := newFleet(p.t, ssh, append([]func(*fleet.Config){quick, func(c *fleet.Config) { pub = c.Key.Public().(ed25519.PublicKey) }}, change...)...)
	return link(p.t, f), &calls
}

func TestAgentKilled(t *testing.T) {
	p := startProcess(t)
	l, calls := p.linkTo()
	first := p.last()
	run(t, l, task("echo"))
	if *calls != 1 || !first.Started {
		t.Errorf("SSH asked %d times, %+v", *calls, first)
	}
	kill := func() {
		if err := syscall.Kill(p.last().PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("between tasks", func(t *testing.T) {
		kill()
		run(t, l, task("echo"))
		if p.last().PID == first.PID || p.last().Port != first.Port || !p.last().Agent.Equal(first.Agent) {
			t.Errorf("%+v after %+v", p.last(), first)
		}
	})
	t.Run("within a task", func(t *testing.T) {
		_, err := l.Run(t.Context(), onceAsleep(task("sleep", "ms", int64(120000)), kill))
		if !errors.Is(err, fleet.ErrLost) {
			t.Errorf("got %v\n%s", err, p.log())
		}
		run(t, l, task("echo"))
	})
	t.Run("ended within a task", func(t *testing.T) { // it finishes what it runs
		a := run(t, l, onceAsleep(task("sleep", "ms", int64(2500)), func() { _ = syscall.Kill(p.last().PID, syscall.SIGTERM) }))
		if a.Result.Lookup("slept") != int64(2500) {
			t.Errorf("got %v", a.Result.Dict)
		}
	})
}

// release is a set of agents of which only the release matters.
type release string

func (r release) Version() string { return string(r) }
func (release) Open(string) (bootstrap.Binary, error) {
	return bootstrap.Binary{}, errors.New("not needed")
}

func TestAgentStaysAlive(t *testing.T) {
	p := startProcess(t)
	state := t.TempDir()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	same := func(c *fleet.Config) { c.StateDir, c.Key = state, key }
	// The order matters: linkTo reads the key that same sets.
	var pub = key.Public().(ed25519.PublicKey)
	calls := 0
	ssh := sshTo{calls: &calls, agent: func() (ed25519.PublicKey, string) {
		r := p.enrol(pub)
		return r.Agent, net.JoinHostPort(r.Address, strconv.Itoa(r.Port))
	}}
	// meets links with a new fleet and runs a sub-task. SSH is asked want times by
	// then; more are its due only where the agent was slow to answer.
	meets := func(t *testing.T, want int, change ...func(*fleet.Config)) *fleet.Fleet {
		t.Helper()
		f := newFleet(t, ssh, append([]func(*fleet.Config){quick, same}, change...)...)
		begin := time.Now()
		run(t, link(t, f), task("echo"))
		if took := time.Since(begin); calls < want || calls > want && took < 400*time.Millisecond {
			t.Errorf("SSH asked %d times, want %d, within %v", calls, want, took)
		}
		calls = want
		return f
	}
	for range 3 {
		if err := meets(t, 1).Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("of another release", func(t *testing.T) {
		for _, want := range []int{2, 3} { // asked once a run; here SSH has nothing newer
			meets(t, want, func(c *fleet.Config) { c.Binaries = release("9.9.9") })
		}
		f := newFleet(t, ssh, quick, same, func(c *fleet.Config) { c.Binaries = release("0.0.0") })
		run(t, link(t, f), task("echo"))
		calls = 1
	})
	t.Run("revoked", func(t *testing.T) {
		if out, err := p.command("keys", "--revoke", "test").CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		meets(t, 2)
	})
	t.Run("status", func(t *testing.T) {
		out, err := p.command("status").CombinedOutput()
		if err != nil || !strings.Contains(string(out), strconv.Itoa(p.last().Port)) || !strings.Contains(string(out), "serves") {
			t.Errorf("%v %s", err, out)
		}
	})
	t.Run("garbage on the port", func(t *testing.T) {
		c, err := net.Dial("udp4", net.JoinHostPort(p.last().Address, strconv.Itoa(p.last().Port)))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for i := range 2000 {
			_, _ = c.Write(bytes.Repeat([]byte{byte(i), 0xc0, 0xff}, 1+i%400))
		}
		meets(t, 2)
	})
}

func TestEnrolAtOnce(t *testing.T) {
	p := startProcess(t)
	var wg sync.WaitGroup
	replies := make([]enrol.Reply, 4)
	for i := range replies {
		pub, _, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() { replies[i] = p.enrol(pub) })
	}
	wg.Wait()
	started := 0
	for _, r := range replies {
		if r.PID != replies[0].PID || r.Port != replies[0].Port {
			t.Errorf("%+v beside %+v", r, replies[0])
		}
		if r.Started {
			started++
		}
	}
	if started != 1 {
		t.Errorf("%d agents started", started)
	}
}

func TestDamagedJournal(t *testing.T) {
	p := startProcess(t)
	l, _ := p.linkTo()
	q := onceAsleep(task("sleep", "ms", int64(120000)), func() {
		_ = syscall.Kill(p.last().PID, syscall.SIGKILL)
		files, _ := filepath.Glob(filepath.Join(p.home, "journal", "*.journal"))
		for _, f := range files {
			_ = os.WriteFile(f, []byte("this is no journal"), 0o600)
		}
	})
	if _, err := l.Run(t.Context(), q); !errors.Is(err, fleet.ErrLost) {
		t.Errorf("got %v\n%s", err, p.log())
	}
	run(t, l, task("echo"))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if id, err := l.Reconnect(ctx); err != nil || id != hostagent.BootID() {
		t.Errorf("reconnecting: %q, %v", id, err)
	}
}
