package chaos

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// weather is what happens to datagrams on their way.
type weather struct {
	down                          bool // nothing passes
	deaf, mute                    bool // nothing passes to, from the agent
	loss, double, garble, reorder float64
	delay                         time.Duration
	rate                          int // bytes a second to the controller, 0: all
	mtu                           int // bytes of the largest datagram that passes, 0: any
}

// relay passes datagrams between controllers and an agent through the weather.
type relay struct {
	front *net.UDPConn
	agent *net.UDPAddr
	wg    sync.WaitGroup

	mu    sync.Mutex // guards what follows
	now   weather
	rng   *rand.Rand
	backs map[string]*net.UDPConn // by controller's address
	over  bool
	free  time.Time // when the slow way is free again
	left  int       // datagrams until hit is called, 0: not at all
	hit   func()
	from  net.IP // the address the agent sees, nil: this machine's choice
}

// at calls f once n datagrams have passed, in either direction.
func (r *relay) at(n int, f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left, r.hit = n, f
}

func newRelay(port int, rng *rand.Rand) (*relay, error) {
	front, err := net.ListenUDP("udp4", loopback(0))
	if err != nil {
		return nil, err
	}
	r := &relay{front: front, agent: loopback(port), rng: rng, backs: map[string]*net.UDPConn{}}
	r.wg.Go(r.forth) // ends with front
	return r, nil
}

func (r *relay) addr() string { return r.front.LocalAddr().String() }

func (r *relay) set(w weather) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w.mtu = r.now.mtu // healing does not widen a path
	r.now = w
}

// narrow lets only datagrams of so many bytes pass from now on.
func (r *relay) narrow(mtu int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now.mtu = mtu
}

func (r *relay) heal() { r.set(weather{}) }

// rebind forgets which port stands for whom, as a NAT does that started anew, or
// that is another: the agent sees controllers at an address they never had.
func (r *relay) rebind(from net.IP) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.backs {
		b.Close()
	}
	r.from = from
	clear(r.backs)
}

// Close ends the relay.
func (r *relay) Close() error {
	r.mu.Lock()
	r.over = true
	for _, b := range r.backs {
		b.Close()
	}
	r.mu.Unlock()
	err := r.front.Close()
	r.wg.Wait()
	return err
}

func (r *relay) forth() {
	buf := make([]byte, 65536)
	for {
		n, from, err := r.front.ReadFromUDP(buf)
		if err != nil {
			return
		}
		back := r.back(from)
		if back == nil {
			continue
		}
		r.pass(buf[:n], true, func(p []byte) { _, _ = back.Write(p) })
	}
}

// back is the socket that stands for a controller before the agent.
func (r *relay) back(from *net.UDPAddr) *net.UDPConn {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.backs[from.String()]
	if b != nil || r.over {
		return b
	}
	b, err := net.DialUDP("udp4", &net.UDPAddr{IP: r.from}, r.agent)
	if err != nil {
		return nil
	}
	r.backs[from.String()] = b
	r.wg.Go(func() { // ends with b
		buf := make([]byte, 65536)
		for {
			n, err := b.Read(buf)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				time.Sleep(time.Millisecond) // refused: the agent is down
				continue
			}
			r.pass(buf[:n], false, func(p []byte) { _, _ = r.front.WriteToUDP(p, from) })
		}
	})
	return b
}

// pass sends a datagram as the weather allows.
func (r *relay) pass(p []byte, forth bool, send func([]byte)) {
	r.mu.Lock()
	w := r.now
	luck := func(chance float64) bool { return chance > 0 && r.rng.Float64() < chance }
	lost, twice, garbled, late := luck(w.loss), luck(w.double), luck(w.garble), luck(w.reorder)
	at := r.rng.IntN(len(p) + 1)
	var hit func()
	if r.left > 0 {
		if r.left--; r.left == 0 {
			hit = r.hit
		}
	}
	wait := time.Duration(0)
	if w.rate > 0 && !forth {
		now := time.Now()
		if wait = r.free.Sub(now); wait < 0 {
			wait, r.free = 0, now
		}
		if lost = lost || wait > 300*time.Millisecond; !lost { // a queue is only so long
			r.free = r.free.Add(time.Duration(len(p)) * time.Second / time.Duration(w.rate))
		}
	}
	r.mu.Unlock()
	if hit != nil {
		hit()
	}
	if w.down || forth && w.deaf || !forth && w.mute || lost || w.mtu > 0 && len(p) > w.mtu {
		return
	}
	p = bytes.Clone(p)
	if garbled && at < len(p) {
		p[at] ^= 0x55
	}
	delay := w.delay + wait
	if late {
		delay += 20 * time.Millisecond
	}
	if delay > 0 {
		time.AfterFunc(delay, func() { send(p) })
	} else {
		send(p)
	}
	if twice {
		send(p)
	}
}
