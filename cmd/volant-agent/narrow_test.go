package main

import (
	"context"
	"crypto/ed25519"
	"testing"
	"time"

	"volant/hostagent/sim"
)

// TestPathBecomesNarrow: a result that needs whole datagrams arrives also when
// the path no longer carries what it carried, while everything small passes.
func TestPathBecomesNarrow(t *testing.T) {
	r := new(scripted)
	s := startSim(t, sim.Options{Agents: 1, Runner: r})
	rel := newRelay(t, s.Agents[0].Addr)
	ssh := sshTo{agent: func() (ed25519.PublicKey, string) { return s.Agents[0].Key, rel.addr() }}
	for _, size := range []int64{3000, 3000, 20_000, 400_000} { // a few datagrams, and more than may be on their way
		rel.width.Store(0)
		l := link(t, newFleet(t, ssh, quick))
		for range 30 { // the path is found to be wide
			run(t, l, task("big", "n", int64(50_000)))
			time.Sleep(5 * time.Millisecond)
		}
		rel.width.Store(1280 - 28)
		late, cancel := context.WithTimeout(t.Context(), time.Minute)
		begin := time.Now()
		a, err := l.Run(late, task("big", "n", size))
		cancel()
		if err != nil {
			t.Fatalf("%d bytes: %v after %v", size, err, time.Since(begin))
		}
		if took := time.Since(begin); took > 30*time.Second { // many times the silence and a dial; small answers may put it off for ever
			t.Errorf("%d bytes took %v", size, took)
		}
		t.Logf("%d bytes: %d reconnects, %v", size, a.Reconnects, time.Since(begin))
	}
}
