package chaos

import (
	"context"
	"crypto/ed25519"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"volant/bootstrap"
	"volant/controller/fleet"
	"volant/hostagent/sim"
	"volant/stage"
	"volant/wire"
	"volant/wire/value"
)

var soak = flag.Duration("soak", 0, "how long to run the same again and again, measuring both ends; 0: not at all")

const (
	soakReal = 4   // agents that are processes of their own
	soakSim  = 100 // agents simulated in this process
)

// usage is what one end holds.
type usage struct {
	memory     int64 // bytes: of an agent resident, of the controller live on the heap
	files      int   // descriptors
	goroutines int   // of the controller; threads of an agent
}

// ofProcess measures a process from outside.
func ofProcess(pid int) (u usage) {
	dir := fmt.Sprintf("/proc/%d", pid)
	b, _ := os.ReadFile(dir + "/status")
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		switch {
		case len(f) > 1 && f[0] == "VmRSS:":
			n, _ := strconv.ParseInt(f[1], 10, 64)
			u.memory = n << 10
		case len(f) > 1 && f[0] == "Threads:":
			u.goroutines, _ = strconv.Atoi(f[1])
		}
	}
	entries, _ := os.ReadDir(dir + "/fd")
	u.files = len(entries)
	return u
}

// ofController measures this process.
func ofController() usage {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	entries, _ := os.ReadDir("/proc/self/fd")
	return usage{int64(m.HeapAlloc), len(entries), runtime.NumGoroutine()}
}

// middle is the median of each.
func middle(list []usage) (u usage) {
	pick := func(of func(usage) int64) int64 {
		var n []int64
		for _, x := range list {
			n = append(n, of(x))
		}
		slices.Sort(n)
		return n[len(n)/2]
	}
	u.memory = pick(func(x usage) int64 { return x.memory })
	u.files = int(pick(func(x usage) int64 { return int64(x.files) }))
	u.goroutines = int(pick(func(x usage) int64 { return int64(x.goroutines) }))
	return u
}

// TestSoak runs the same short runs again and again beside one that never ends,
// and fails when either end holds more at the end than after it got warm.
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("only with -soak; make soak T=10m")
	}
	bin, err := agentBinary()
	if err != nil {
		t.Fatal(err)
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := &soaking{t: t, key: key, state: filepath.Join(dir, "state")}
	for i := range soakReal {
		home := filepath.Join(dir, fmt.Sprint("host", i))
		if err := os.MkdirAll(home, 0o755); err != nil {
			t.Fatal(err)
		}
		a := &agent{bin: bin, dir: home, mark: fmt.Sprintf("VOLANT_CHAOS=soak-%d-%d", os.Getpid(), i), controller: key.Public().(ed25519.PublicKey)}
		if err := a.enrol(false); err != nil {
			t.Fatal(err)
		}
		r := &chaosRun{agent: a}
		defer func() {
			a.uninstall(r)
			for _, v := range r.violations {
				t.Error(v)
			}
		}()
		s.agents = append(s.agents, a)
		rep := a.rep
		if err := fleet.SavePin(s.state, "127.0.0.1", 10000+i, "soak", rep.Agent, loopback(rep.Port).String()); err != nil {
			t.Fatal(err)
		}
	}
	sims, err := sim.Start(sim.Options{Agents: soakSim, Dir: filepath.Join(dir, "sim"), Memory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer sims.Close()
	for i, a := range sims.Agents {
		if err := fleet.SavePin(s.state, "127.0.0.1", 20000+i, "soak", a.Key, a.Addr.String()); err != nil {
			t.Fatal(err)
		}
	}
	s.whole()
}

// soaking is a soak test under way.
type soaking struct {
	t      *testing.T
	key    ed25519.PrivateKey
	state  string
	agents []*agent
	runs   int
	tasks  int
	long   *fleet.Fleet
	steps  uint32
}

func (s *soaking) fleet() *fleet.Fleet {
	s.t.Helper()
	f, err := fleet.New(fleet.Config{Key: s.key, Name: "soak", StateDir: s.state})
	if err != nil {
		s.t.Fatal(err)
	}
	return f
}

func (s *soaking) whole() {
	s.long = s.fleet()
	defer s.long.Close()
	begin := time.Now()
	var controller []usage
	agents := make([][]usage, len(s.agents))
	next := begin
	for time.Since(begin) < *soak {
		s.run()
		if time.Now().Before(next) {
			continue
		}
		next = next.Add(*soak / 40)
		controller = append(controller, ofController())
		for i, a := range s.agents {
			agents[i] = append(agents[i], ofProcess(a.pid()))
		}
	}
	fmt.Printf("%d runs, %d sub-tasks in %v\n", s.runs, s.tasks, time.Since(begin).Round(time.Second))
	s.judge("controller", controller)
	for i, list := range agents {
		s.judge(fmt.Sprint("agent ", i), list)
	}
}

// judge compares the second quarter with the last.
func (s *soaking) judge(what string, list []usage) {
	n := len(list)
	if n < 8 {
		s.t.Fatalf("%s: only %d samples", what, n)
	}
	was, is := middle(list[n/4:n/2]), middle(list[3*n/4:])
	fmt.Printf("%s: memory %.1f -> %.1f MB, files %d -> %d, goroutines or threads %d -> %d\n", what,
		float64(was.memory)/1e6, float64(is.memory)/1e6, was.files, is.files, was.goroutines, is.goroutines)
	if is.memory > was.memory+was.memory/5+4<<20 {
		s.t.Errorf("%s: memory grows", what)
	}
	if is.files > was.files+8 {
		s.t.Errorf("%s: descriptors grow", what)
	}
	if is.goroutines > was.goroutines+12 {
		s.t.Errorf("%s: goroutines grow", what)
	}
}

// run is one run on every host, and a step of the one that never ends.
func (s *soaking) run() {
	f := s.fleet()
	s.step(f, 1, 3)
	if err := f.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.steps++
	s.step(s.long, 100+s.steps, 1)
	s.runs++
}

// step runs n sub-tasks on every host.
func (s *soaking) step(f *fleet.Fleet, first uint32, n int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var g sync.WaitGroup
	failed := make(chan error, soakReal+soakSim)
	for h := range soakReal + soakSim {
		port, real := 10000+h, true
		if h >= soakReal {
			port, real = 20000+h-soakReal, false
		}
		do := func() error {
			l, err := f.Link(ctx, fleet.Target{Name: fmt.Sprint("h", h), SSH: bootstrap.Options{Host: "127.0.0.1", Port: port, User: "soak"}})
			if err != nil {
				return err
			}
			for i := range n {
				q := &fleet.Request{Task: wire.Task{
					ID: wire.TaskID{Host: fmt.Sprint("h", h), Step: first, N: uint32(i + 1)}, Module: "ansible.builtin.command", Native: true,
					Args: wire.Dict{Dict: value.DictOf("argv", value.ListOf("/bin/echo", fmt.Sprint(first, i)))},
				}}
				if real && i == 1 {
					q.Files = []stage.File{stage.BytesFile("stdin", "", make([]byte, rand.IntN(64<<10)))}
				}
				if _, err := l.Run(ctx, q); err != nil {
					return fmt.Errorf("h%d: %w", h, err)
				}
			}
			return nil
		}
		g.Go(func() { failed <- do() })
		s.tasks += n
	}
	g.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			s.t.Fatal(err)
		}
	}
}
