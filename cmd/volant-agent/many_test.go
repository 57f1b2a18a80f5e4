package main

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"volant/bootstrap"
	"volant/controller/fleet"
	"volant/hostagent/sim"
)

// agentsForMany is how many agents TestMany simulates; VOLANT_SIM_AGENTS
// overrides it for measurements.
func agentsForMany(t *testing.T) int {
	if s := os.Getenv("VOLANT_SIM_AGENTS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return 100
}

// TestMany runs 20 trivial sub-tasks on many agents of one process over UDP,
// in step as the linear strategy does.
func TestMany(t *testing.T) {
	if _, err := sim.RaiseLimit(); err != nil {
		t.Fatal(err)
	}
	n := agentsForMany(t)
	s := startSim(t, sim.Options{Agents: n})
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fleet.New(fleet.Config{Key: key, StateDir: t.TempDir(), Dial: func(_ context.Context, o bootstrap.Options) (bootstrap.Session, error) {
		i, err := strconv.Atoi(o.Host)
		if err != nil {
			return nil, err
		}
		return atAgent(s.Agents[i]), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	links := make([]fleet.Link, n)
	all := func(do func(i int) error) time.Duration {
		begin := time.Now()
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				if err := do(i); err != nil {
					t.Errorf("agent %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		return time.Since(begin)
	}
	up := all(func(i int) (err error) {
		links[i], err = f.Link(t.Context(), fleet.Target{Name: fmt.Sprint(i), SSH: bootstrap.Options{Host: strconv.Itoa(i), Port: 22, User: "u"}})
		return err
	})
	if t.Failed() {
		return
	}
	var tasks time.Duration
	for step := range uint32(20) {
		tasks += all(func(i int) error {
			r := pingTask(step)
			_, err := links[i].Run(t.Context(), r)
			return err
		})
	}
	fds, _ := os.ReadDir("/proc/self/fd")
	t.Logf("%d agents: connected in %v, 20 sub-tasks each in %v (%.0f a second), %d descriptors on both sides", n, up.Round(time.Millisecond),
		tasks.Round(time.Millisecond), float64(20*n)/tasks.Seconds(), len(fds))
}
