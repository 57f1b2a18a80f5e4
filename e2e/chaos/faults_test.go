package chaos

import (
	"bytes"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// fault is one of them.
type fault struct {
	name string
	// lossless: it is over long before a controller gives up, and no process
	// ends: nothing may be lost, and no host unreachable.
	lossless bool
	do       func(r *chaosRun)
}

// kinds are what may go wrong, by name. Each returns once it is done with, or
// has been set right again.
var kinds = []fault{
	{"agent killed", false, func(r *chaosRun) { r.agent.signal(syscall.SIGKILL) }},
	{"agent ended", false, func(r *chaosRun) { r.agent.signal(syscall.SIGTERM) }},
	{"agent replaced", false, func(r *chaosRun) {
		if err := r.agent.enrol(true); err != nil {
			r.tell("not replaced: %v", err)
		}
	}},
	{"agent frozen", true, func(r *chaosRun) {
		pid := r.agent.pid() // another may serve by the time this one goes on
		if pid <= 1 {
			return
		}
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		r.outage += r.pause(200, 4000)
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}},
	{"link cut", true, func(r *chaosRun) { r.storm(weather{down: true}, 100, 4000) }},
	{"agent deaf", true, func(r *chaosRun) { r.storm(weather{deaf: true}, 100, 3000) }},
	{"agent mute", true, func(r *chaosRun) { r.storm(weather{mute: true}, 100, 3000) }},
	{"packets lost", true, func(r *chaosRun) { r.storm(weather{loss: 0.05 + 0.4*r.rng.Float64()}, 500, 3000) }},
	{"packets doubled, late and out of order", true, func(r *chaosRun) {
		r.storm(weather{double: 0.3, reorder: 0.3, delay: time.Duration(r.rng.IntN(80)) * time.Millisecond}, 500, 3000)
	}},
	{"packets garbled", true, func(r *chaosRun) { r.storm(weather{garble: 0.3}, 500, 3000) }},
	{"journal damaged", false, func(r *chaosRun) {
		r.agent.signal(syscall.SIGKILL)
		r.eachJournal(func(path string, size int64) error {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteAt([]byte{0xff, 0x00, 0xff, 0x00}, r.rng.Int64N(max(1, size)))
			return err
		})
	}},
	{"journal lost", false, func(r *chaosRun) {
		r.agent.signal(syscall.SIGKILL)
		_ = os.RemoveAll(filepath.Join(r.agent.home(), "journal"))
	}},
	{"disk full", false, func(r *chaosRun) { r.fill() }},
	{"controller killed", false, func(r *chaosRun) { r.killController() }},
	{"controller killed and resumed", false, func(r *chaosRun) { r.resumeController() }},
	{"host rebooted", false, func(r *chaosRun) { r.reboot(false) }},
	{"power cut of the host", false, func(r *chaosRun) { r.reboot(true) }},
	{"clock of the host years off", false, func(r *chaosRun) {
		r.agent.setClock(time.Duration(r.rng.IntN(80*365)-40*365) * 24 * time.Hour)
		r.agent.signal(syscall.SIGKILL)
	}},
	{"address changed", true, func(r *chaosRun) { r.relay.rebind(net.IPv4(127, 0, byte(1+r.rng.IntN(200)), byte(1+r.rng.IntN(200)))) }},
	{"address changed again and again", true, func(r *chaosRun) {
		for range 2 + r.rng.IntN(6) {
			r.relay.rebind(nil)
			r.pause(20, 800)
		}
	}},
	// Narrower than what links found out by now, and it stays so.
	{"path became narrow", true, func(r *chaosRun) { r.relay.narrow(1280 - 28) }},
	{"slow reader", true, func(r *chaosRun) { r.storm(weather{rate: 20_000 + r.rng.IntN(200_000)}, 500, 3000) }},
}

// stepFaults are what happens at every step of the protocol, by turns.
var stepFaults = []string{"link cut", "agent killed", "agent replaced", "controller killed and resumed", "host rebooted"}

func (r *chaosRun) faultNamed(name string) {
	for _, f := range kinds {
		if f.name == name {
			r.happens(f, "%s after %d datagrams", name, r.step)
		}
	}
}

// fault does one, chosen by the seed.
func (r *chaosRun) fault() {
	f := kinds[r.rng.IntN(len(kinds))]
	for *only != "" && f.name != *only {
		f = kinds[r.rng.IntN(len(kinds))]
	}
	r.happens(f, "%s", f.name)
}

func (r *chaosRun) happens(f fault, format string, args ...any) {
	r.faults++
	r.lossy = r.lossy || !f.lossless
	r.tell(format, args...)
	f.do(r)
}

// pause waits for as many milliseconds, and returns how long it was.
func (r *chaosRun) pause(from, to int) time.Duration {
	begin := time.Now()
	time.Sleep(time.Duration(from+r.rng.IntN(to-from)) * time.Millisecond)
	return time.Since(begin) // longer on a busy machine
}

// luck is chance for another relay: the one before still uses its own.
func (r *chaosRun) luck() *rand.Rand { return rand.New(rand.NewPCG(r.seed, uint64(100+r.faults))) }

func (r *chaosRun) storm(w weather, from, to int) {
	r.relay.set(w)
	r.outage += r.pause(from, to)
	r.relay.heal()
}

func (r *chaosRun) eachJournal(do func(path string, size int64) error) {
	files, _ := filepath.Glob(filepath.Join(r.agent.home(), "journal", "*.journal"))
	for _, path := range files {
		if st, err := os.Stat(path); err == nil {
			if err := do(path, st.Size()); err != nil {
				r.tell("%v", err)
			}
		}
	}
}

// fill mounts a small disk over an agent's journal, before it is started, fills
// it up and makes room again. Without root there is no such fault.
func (r *chaosRun) fill() {
	dir := filepath.Join(r.agent.home(), "journal")
	if os.Getuid() != 0 || syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k,mode=0700") != nil {
		r.tell("no disk of our own to fill")
		return
	}
	// The agent still writes where it did; the next one finds the small disk.
	if err := r.agent.enrol(true); err != nil {
		r.tell("not restarted: %v", err)
	}
	full := filepath.Join(dir, "filler")
	for n := 64 << 10; n > 0; n -= 4 << 10 {
		if os.WriteFile(full, bytes.Repeat([]byte{1}, n), 0o600) == nil {
			break
		}
	}
	r.pause(300, 2000)
	_ = os.Remove(full)
}

// reboot ends everything on the host at once; with the power cut, the end of
// what was written is missing, too.
func (r *chaosRun) reboot(cut bool) {
	r.relay.set(weather{down: true})
	if ownBoot() {
		if err := r.agent.newBoot(r.rng); err != nil {
			r.violate("%v", err)
		}
	}
	r.agent.killAll()
	if cut && ownBoot() { // without another boot id it would be no power cut
		r.eachJournal(func(path string, size int64) error { return os.Truncate(path, size-r.rng.Int64N(size+1)) })
	}
	r.pause(100, 800)
	r.relay.heal()
}

// resumeController makes a process go on that knows what the first wrote down
// before it was killed.
func (r *chaosRun) resumeController() {
	was := r.relay
	was.set(weather{down: true}) // whatever the first says from here on is not heard
	fresh, err := newRelay(r.agent.port(), r.luck())
	if err != nil {
		r.violate("%v", err)
		return
	}
	r.relay = fresh
	if r.rng.IntN(2) == 0 {
		r.pause(50, 2000) // what runs may end meanwhile
	}
	old, err := r.again()
	if err != nil {
		r.violate("resuming: %v", err)
		return
	}
	go func() { // ends by itself; its Goodbye goes nowhere
		_ = old.Close()
		_ = was.Close()
	}()
}

// killController makes another controller go on, as if the first had been
// killed: it says nothing more to anybody.
func (r *chaosRun) killController() {
	r.mu.Lock()
	old := r.fleet
	r.mu.Unlock()
	was := r.relay
	was.set(weather{down: true}) // whatever it says from here on is not heard
	fresh, err := newRelay(r.agent.port(), r.luck())
	if err != nil {
		r.violate("%v", err)
		return
	}
	r.relay = fresh // only this goroutine uses it
	if err = r.meet(); err != nil {
		r.violate("another controller: %v", err)
	}
	go func() { // ends by itself; its Goodbye goes nowhere
		_ = old.Close()
		_ = was.Close()
	}()
}
