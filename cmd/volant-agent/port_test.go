package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"volant/controller/fleet"
	"volant/hostagent/sim"
)

// garbage fills b as somebody would who knows QUIC's headers and no key, and
// returns how much of it to send.
func garbage(b []byte, n int) int {
	_, _ = rand.Read(b[:40])
	switch n % 4 { // short and long headers, of our version and of others, cut short and too long
	case 1:
		b[0] = 0xc0
		copy(b[1:], []byte{0, 0, 0, 1, 8})
	case 2:
		b[0] = 0xf0
	case 3:
		b[0] = 0x40
	}
	return 1 + n*37%1400
}

// TestFloodedController: datagrams that anybody may send to the port a controller
// dials from, also with the agent's own address on them, neither cut its links
// nor hold up its sub-tasks, and cost no memory.
func TestFloodedController(t *testing.T) {
	s := startSim(t, sim.Options{Agents: 1, Runner: new(scripted)})
	rel := newRelay(t, s.Agents[0].Addr)
	ssh := sshTo{agent: func() (ed25519.PublicKey, string) { return s.Agents[0].Key, rel.addr() }}
	// Silent for long: on a busy machine it is also silent without a flood.
	l := link(t, newFleet(t, ssh, quick, func(c *fleet.Config) { c.Silence = 5 * time.Second }))
	run(t, l, task("echo"))
	rel.mu.Lock()
	port := rel.peer
	rel.mu.Unlock()
	stranger, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 9)})
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	for name, from := range map[string]*net.UDPConn{"from anywhere": stranger, "as if from the agent": rel.front} {
		t.Run(name, func(t *testing.T) {
			heap := func() uint64 {
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return m.HeapInuse
			}
			before, routines := heap(), runtime.NumGoroutine()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			sent := 0
			var wg sync.WaitGroup
			wg.Go(func() { // ends with ctx
				for b := make([]byte, 1500); ctx.Err() == nil; sent++ {
					_, _ = from.WriteToUDP(b[:garbage(b, sent)], port)
					if sent%20 == 0 {
						time.Sleep(time.Millisecond) // the attacker is on our processors, too
					}
				}
			})
			tasks, slowest := 0, time.Duration(0)
			for first := time.Now(); ctx.Err() == nil && (tasks < 100 || time.Since(first) < 3*time.Second); tasks++ {
				begin := time.Now()
				a := run(t, l, task("echo"))
				if a.Reconnects != 0 {
					t.Fatalf("the link was lost %d times", a.Reconnects)
				}
				slowest = max(slowest, time.Since(begin))
			}
			cancel()
			wg.Wait()
			t.Logf("%d datagrams, %d sub-tasks beside them, the slowest in %v", sent, tasks, slowest)
			if tasks < 100 || slowest > 4*time.Second {
				t.Errorf("%d sub-tasks, the slowest took %v", tasks, slowest)
			}
			if after := heap(); after > before+16<<20 {
				t.Errorf("memory went from %d to %d", before, after)
			}
			for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > routines+20; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), routines)
				}
			}
		})
	}
}
