package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"net"
	"strconv"
	"testing"
	"time"

	"volant/bootstrap"
	"volant/bootstrap/enrol"
	"volant/controller/fleet"
	"volant/hostagent/sim"
	"volant/wire"
	"volant/wire/value"
)

// sshTo stands for SSH to an agent that runs: it vouches for its key.
type sshTo struct {
	agent func() (ed25519.PublicKey, string) // key and UDP address
	calls *int
}

func (s sshTo) EnsureAgent(context.Context, bootstrap.Binaries, bootstrap.Enrolment) (bootstrap.AgentInfo, error) {
	if s.calls != nil {
		*s.calls++
	}
	key, addr := s.agent()
	if key == nil {
		return bootstrap.AgentInfo{}, &bootstrap.Error{Kind: bootstrap.KindConnect, Msg: "Failed to connect to the host via ssh: refused"}
	}
	host, p, err := net.SplitHostPort(addr)
	if err != nil {
		return bootstrap.AgentInfo{}, err
	}
	port, err := strconv.Atoi(p)
	return bootstrap.AgentInfo{
		Reply:       enrol.Reply{Agent: key, Port: port, Address: host, Protocol: wire.Version},
		DialAddress: addr, HostKeyOK: true,
	}, err
}

func (sshTo) Run(context.Context, string, io.Reader) (bootstrap.Output, error) {
	return bootstrap.Output{}, nil
}
func (sshTo) Bridge(context.Context, string) (io.ReadWriteCloser, error) {
	return nil, errors.New("there is no bridge")
}

func (sshTo) Transient(context.Context, bootstrap.Binaries, bootstrap.Enrolment) (bootstrap.AgentInfo, io.ReadWriteCloser, error) {
	return bootstrap.AgentInfo{}, nil, errors.New("there is no transient agent")
}

func (sshTo) Close() error { return nil }

// newFleet makes a fleet whose SSH reaches what agent says.
func newFleet(t testing.TB, ssh sshTo, change ...func(*fleet.Config)) *fleet.Fleet {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := fleet.Config{
		Key: key, Name: "test", StateDir: t.TempDir(),
		Dial: func(context.Context, bootstrap.Options) (bootstrap.Session, error) { return ssh, nil },
	}
	for _, c := range change {
		c(&cfg)
	}
	f, err := fleet.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func startSim(t testing.TB, opt sim.Options) *sim.Sim {
	t.Helper()
	opt.Dir = t.TempDir()
	s, err := sim.Start(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func atAgent(a *sim.Agent) sshTo {
	return sshTo{agent: func() (ed25519.PublicKey, string) { return a.Key, a.Addr.String() }}
}

func target(name string) fleet.Target {
	return fleet.Target{Name: name, SSH: bootstrap.Options{Host: "127.0.0.1", Port: 22, User: name}}
}

func pingTask(n uint32) *fleet.Request {
	return &fleet.Request{Task: wire.Task{
		ID: wire.TaskID{Host: "h", Step: 1, N: n}, Module: "ansible.builtin.ping", Native: true,
		Args: wire.Dict{Dict: value.DictOf("data", "pong")},
	}}
}

func link(t testing.TB, f *fleet.Fleet) fleet.Link {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	l, err := f.Link(ctx, target("h"))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestPing(t *testing.T) {
	s := startSim(t, sim.Options{Agents: 1})
	calls := 0
	ssh := atAgent(s.Agents[0])
	ssh.calls = &calls
	l := link(t, newFleet(t, ssh))
	for i := range 100 {
		a, err := l.Run(t.Context(), pingTask(uint32(i)))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := a.Result.Str("ping"); got != "pong" || a.Path != "native" {
			t.Fatalf("got %v by %s", a.Result.Dict, a.Path)
		}
	}
	if calls != 1 {
		t.Errorf("SSH was asked %d times", calls)
	}
	if l.Info().BootID == "" {
		t.Error("no boot id")
	}
}

func BenchmarkPing(b *testing.B) {
	s := startSim(b, sim.Options{Agents: 1})
	l := link(b, newFleet(b, atAgent(s.Agents[0])))
	var n uint32
	for b.Loop() {
		n++
		if _, err := l.Run(b.Context(), pingTask(n)); err != nil {
			b.Fatal(err)
		}
	}
}
