// Package sim runs many agents in one process over real UDP, for tests and for
// measuring the controller: each has its own key and socket, all share a
// trivial runner.
package sim

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"

	"volant/hostagent"
	"volant/wire"
	"volant/wire/session"
	"volant/wire/value"
)

// Options say what to run.
type Options struct {
	Agents int
	Dir    string                        // for caches, staging and journals
	Runner hostagent.Runner              // nil: Ping
	Allow  func(ed25519.PublicKey) error // nil: everybody
	Ports  int                           // first port; 0: any free ones
	Memory bool                          // no journal on disk
	Log    *slog.Logger
}

// Sim is the running agents.
type Sim struct {
	Agents []*Agent
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// Agent is one of them.
type Agent struct {
	Key   ed25519.PublicKey
	Addr  *net.UDPAddr
	Agent *hostagent.Agent
	ep    *session.Endpoint
}

// Start starts the agents on loopback. Close ends them.
func Start(opt Options) (*Sim, error) {
	if opt.Runner == nil {
		opt.Runner = Ping{}
	}
	if opt.Allow == nil {
		opt.Allow = func(ed25519.PublicKey) error { return nil }
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Sim{cancel: cancel}
	for i := range opt.Agents {
		if err := s.start(ctx, i, opt); err != nil {
			return nil, errors.Join(fmt.Errorf("starting agent %d: %w", i, err), s.Close())
		}
	}
	return s, nil
}

func (s *Sim) start(ctx context.Context, i int, opt Options) error {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	id, err := session.NewIdentity(key)
	if err != nil {
		return err
	}
	dir := filepath.Join(opt.Dir, fmt.Sprintf("agent%d", i))
	cfg := hostagent.Config{
		Runner: opt.Runner, Version: wire.Release(), CacheDir: filepath.Join(dir, "cache"), StagingDir: filepath.Join(dir, "staging"),
		Log: opt.Log,
	}
	if !opt.Memory {
		cfg.JournalDir = filepath.Join(dir, "journal")
	}
	a, err := hostagent.New(cfg)
	if err != nil {
		return err
	}
	addr := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}
	if opt.Ports != 0 {
		addr.Port = opt.Ports + i
	}
	udp, err := net.ListenUDP("udp4", addr)
	if err != nil {
		return errors.Join(err, a.Close())
	}
	ep := session.NewEndpoint(udp, id)
	l, err := ep.Listen(opt.Allow)
	if err != nil {
		return errors.Join(err, ep.Close(), a.Close())
	}
	s.Agents = append(s.Agents, &Agent{Key: id.Public(), Addr: ep.Addr(), Agent: a, ep: ep})
	s.wg.Go(func() { // ends with ctx
		for {
			conn, err := l.Accept(ctx)
			if err != nil {
				return
			}
			s.wg.Go(func() { _ = a.ServeConn(ctx, conn) }) // ends with the connection
		}
	})
	return nil
}

// Close ends every agent and removes nothing but their staging areas.
func (s *Sim) Close() error {
	s.cancel()
	var errs []error
	for _, a := range s.Agents {
		errs = append(errs, a.ep.Close())
	}
	s.wg.Wait()
	for _, a := range s.Agents {
		errs = append(errs, a.Agent.Close())
	}
	return errors.Join(errs...)
}

// Cut closes the agent's socket: its links die, its sub-tasks go on.
func (a *Agent) Cut() error { return a.ep.Close() }

// Ping is a Runner that answers every module as ping does.
type Ping struct{}

// Run implements hostagent.Runner.
func (Ping) Run(_ context.Context, _ *hostagent.Env, _ *wire.Task) (*wire.Outcome, error) {
	return &wire.Outcome{Result: wire.Dict{Dict: value.DictOf("ping", "pong", "changed", false)}, Path: "native"}, nil
}

// Close implements hostagent.Runner.
func (Ping) Close() error { return nil }

// RaiseLimit allows the process as many descriptors as it may have, and says how
// many these are: every agent needs a socket and a lock.
func RaiseLimit() (int, error) { return raiseLimit(os.Getpid()) }
