package chaos

import (
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"volant/bootstrap"
	"volant/controller/fleet"
	"volant/stage"
	"volant/wire"
	"volant/wire/value"
)

const (
	reconnect = 12 * time.Second
	patience  = 90 * time.Second // for one sub-task, whatever happens
	silence   = 60 * time.Second // more than a link lasts that nothing comes on
)

// chaosRun is one agent, a controller or two, some hosts' worth of sub-tasks and
// some faults.
type chaosRun struct {
	seed uint64
	rng  *rand.Rand
	bin  string
	dir  string

	agent   *agent
	relay   *relay
	key     ed25519.PrivateKey
	session wire.RunID
	seal    []byte
	faults  int
	lossy   bool          // one of them may cost a result
	outage  time.Duration // how long the others lasted
	step    int           // not 0: the fault named comes after so many datagrams
	named   string

	mu         sync.Mutex // guards what follows
	fleet      *fleet.Fleet
	life       context.Context // ends when the controller is killed
	kill       context.CancelFunc
	runs       int // controllers that are no continuation of another
	tasks      []*task
	story      []string
	violations []string
}

// task is a sub-task and what was said of it.
type task struct {
	name  string
	err   error
	ended bool
	// abandoned: its controller died first, so nobody was to hear of it.
	abandoned bool
}

func (r *chaosRun) violate(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.violations = append(r.violations, fmt.Sprintf(format, args...))
}

func (r *chaosRun) tell(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.story = append(r.story, fmt.Sprintf(format, args...))
}

func (r *chaosRun) run() {
	if err := os.MkdirAll(filepath.Join(r.dir, "ran"), 0o755); err != nil {
		r.violate("%v", err)
		return
	}
	r.agent = &agent{bin: r.bin, dir: r.dir, mark: fmt.Sprintf("VOLANT_CHAOS=%d-%d", os.Getpid(), r.seed)}
	defer r.agent.uninstall(r)
	if ownBoot() {
		if err := r.agent.newBoot(r.rng); err != nil {
			r.violate("%v", err)
			return
		}
	}
	if r.rng.IntN(4) == 0 {
		r.agent.setClock(time.Duration(r.rng.IntN(80*365)-40*365) * 24 * time.Hour)
	}
	if err := r.meet(); err != nil {
		r.violate("the first link: %v", err)
		return
	}
	defer func() { _ = r.relay.Close() }() // the last one
	var work sync.WaitGroup
	if r.step > 0 {
		happens := make(chan struct{})
		r.relay.at(r.step, func() { close(happens) })
		rng := rand.New(rand.NewPCG(r.seed, 1))
		work.Go(func() { r.host("h0", rng, 3) })
		select {
		case <-happens:
			r.faultNamed(r.named)
		case <-time.After(4 * time.Second): // there were not so many
		}
		r.finish(&work)
		return
	}
	for h := range 1 + r.rng.IntN(3) {
		rng := rand.New(rand.NewPCG(r.seed, uint64(h+1)))
		work.Go(func() { r.host(fmt.Sprintf("h%d", h), rng, 4+rng.IntN(6)) })
	}
	for range 1 + r.rng.IntN(3) {
		time.Sleep(time.Duration(r.rng.IntN(400)) * time.Millisecond)
		r.fault()
	}
	r.finish(&work)
}

// finish waits for what is under way and compares.
func (r *chaosRun) finish(work *sync.WaitGroup) {
	work.Wait()
	r.relay.heal()
	r.agent.signal(syscall.SIGCONT)
	// Whatever was killed last is started again, as the next run would.
	r.task("after", "last", 0, 0, 0)
	if err := r.fleet.Close(); err != nil {
		r.violate("closing: %v", err)
	}
	r.judge()
}

// again makes a controller that goes on where the one before was killed.
func (r *chaosRun) again() (old *fleet.Fleet, err error) {
	r.mu.Lock()
	r.kill()
	r.mu.Unlock()
	life, kill := context.WithCancel(context.Background())
	f, err := r.newFleet(life)
	if err != nil {
		kill()
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	old, r.fleet, r.life, r.kill = r.fleet, f, life, kill
	return old, nil
}

// visit is SSH to the agent as one controller has it.
type visit struct {
	*agent
	life    context.Context
	address string
}

// EnsureAgent implements bootstrap.Session.
func (v *visit) EnsureAgent(ctx context.Context, b bootstrap.Binaries, e bootstrap.Enrolment) (bootstrap.AgentInfo, error) {
	info, err := v.agent.EnsureAgent(ctx, b, e)
	if v.life.Err() != nil {
		return info, &bootstrap.Error{Kind: bootstrap.KindConnect, Msg: "this controller is dead"}
	}
	info.DialAddress = v.address
	return info, err
}

// newFleet is a controller that lives until life ends, and reaches the agent by
// the relay there is now.
func (r *chaosRun) newFleet(life context.Context) (*fleet.Fleet, error) {
	ssh := &visit{r.agent, life, r.relay.addr()}
	return fleet.New(fleet.Config{
		Key: r.key, Name: "chaos", StateDir: filepath.Join(r.dir, "state", fmt.Sprint(r.faults)), Reconnect: reconnect, Silence: 2 * time.Second,
		Dial: func(context.Context, bootstrap.Options) (bootstrap.Session, error) {
			if life.Err() != nil {
				return nil, &bootstrap.Error{Kind: bootstrap.KindConnect, Msg: "this controller is dead"}
			}
			return ssh, nil
		},
		Run: r.session, SessionKey: r.seal,
	})
}

// meet makes the controller, and the first time the agent and the way to it.
func (r *chaosRun) meet() error {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	r.key, r.session, r.seal = key, wire.NewRunID(), make([]byte, wire.SessionKeyLen)
	binary.LittleEndian.PutUint64(r.seal, r.seed)
	r.agent.setController(key.Public().(ed25519.PublicKey))
	if err := r.agent.enrol(false); err != nil {
		return err
	}
	if r.relay == nil {
		if r.relay, err = newRelay(r.agent.port(), r.luck()); err != nil {
			return err
		}
	}
	life, kill := context.WithCancel(context.Background())
	f, err := r.newFleet(life)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kill != nil {
		r.kill()
	}
	r.fleet, r.life, r.kill = f, life, kill
	r.runs++
	return err
}

// host runs n sub-tasks, one after the other.
func (r *chaosRun) host(name string, rng *rand.Rand, n int) {
	for i := range n {
		sleep := 0
		if rng.IntN(3) == 0 {
			sleep = rng.IntN(900)
		}
		size := 0
		if rng.IntN(4) == 0 {
			size = 1 + rng.IntN(400<<10)
		}
		loud := 0
		if rng.IntN(5) == 0 {
			loud = rng.IntN(500 << 10)
		}
		r.task(name, fmt.Sprintf("%s-%d", name, i), time.Duration(sleep)*time.Millisecond, size, loud)
	}
}

// task runs one sub-task, which says in a file of its own that it ran. It is sent
// size bytes of a file and answers with loud bytes besides its name.
func (r *chaosRun) task(host, name string, sleep time.Duration, size, loud int) {
	t := &task{name: name}
	r.mu.Lock()
	r.tasks = append(r.tasks, t)
	n := uint32(len(r.tasks))
	run := r.runs
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	script := fmt.Sprintf(`echo ran >> %s; sleep %.3f; echo %s`, filepath.Join(r.dir, "ran", name), sleep.Seconds(), name)
	if loud > 0 {
		script += fmt.Sprintf(`; head -c %d /dev/zero | tr '\0' x`, loud)
	}
	// What a journal would hold: the agent it was last sent to.
	var written struct {
		sync.Mutex
		sent *wire.Hello
	}
	var answer *fleet.Answer
	var err error
	for {
		r.mu.Lock()
		f, life, over := r.fleet, r.life, r.runs != run
		t.abandoned = over
		r.mu.Unlock()
		if over {
			return
		}
		written.Lock()
		q := &fleet.Request{Before: written.sent, Hold: true, Task: wire.Task{
			ID: wire.TaskID{Host: host, Step: 1, N: n}, Module: "ansible.builtin.command", Native: true,
			Args: wire.Dict{Dict: value.DictOf("argv", value.ListOf("/bin/sh", "-c", script))},
		}}
		written.Unlock()
		q.Sending = func(h *wire.Hello, _ bool) {
			if life.Err() == nil { // a dead process writes nothing down, and sends nothing
				written.Lock()
				written.sent = h
				written.Unlock()
			}
		}
		if n%2 == 0 { // somebody watches what it prints
			q.Output = func(uint8, []byte) {}
		}
		if size > 0 {
			q.Files = []stage.File{stage.BytesFile("stdin", "", make([]byte, size))}
		}
		type end struct {
			a   *fleet.Answer
			err error
		}
		done := make(chan end, 1)
		go func() { // ends with the sub-task, which patience bounds
			l, err := f.Link(ctx, fleet.Target{Name: host, SSH: bootstrap.Options{Host: "127.0.0.1", Port: 22, User: "chaos"}})
			if err != nil {
				done <- end{nil, err}
				return
			}
			a, err := l.Run(ctx, q)
			done <- end{a, err}
		}()
		select {
		case e := <-done:
			answer, err = e.a, e.err
		case <-life.Done():
			continue // killed with whatever it had
		}
		if life.Err() != nil {
			continue
		}
		break
	}
	if answer != nil && answer.Acknowledge != nil {
		answer.Acknowledge()
	}
	r.mu.Lock()
	t.err, t.ended = err, true
	t.abandoned = r.runs != run
	r.mu.Unlock()
	if t.abandoned {
		return
	}
	if ctx.Err() != nil {
		r.violate("%s got no answer: %v", name, err)
	}
	if err == nil {
		want := name
		if loud > 0 {
			want += "\n" + strings.Repeat("x", loud)
		}
		if out, _ := answer.Result.Str("stdout"); out != want {
			r.violate("%s got another's result, %d bytes: %.200q", name, len(out), out)
		}
	}
}

// judge compares what was said with what happened.
func (r *chaosRun) judge() {
	r.mu.Lock()
	tasks := r.tasks
	r.mu.Unlock()
	for _, t := range tasks {
		b, err := os.ReadFile(filepath.Join(r.dir, "ran", t.name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.violate("%v", err)
		}
		ran := strings.Count(string(b), "ran")
		var f *wire.Fault
		var u *fleet.Unreachable
		switch {
		case ran > 1:
			r.violate("%s ran %d times", t.name, ran)
		case t.abandoned:
		case t.err == nil && ran != 1:
			r.violate("%s has a result and ran %d times", t.name, ran)
		case t.err == nil:
		case errors.Is(t.err, fleet.ErrLost), errors.As(t.err, &u):
			if !r.lossy && r.outage < reconnect {
				r.violate("%s ended with %v, and nothing but the network failed, for %v in all", t.name, t.err, r.outage)
			}
		case errors.As(t.err, &f) && !f.Started && ran == 0: // refused before it began
		default:
			r.violate("%s ended with %v, ran %d times", t.name, t.err, ran)
		}
	}
	grace := 30 * time.Second
	if slices.ContainsFunc(tasks, func(t *task) bool { return t.abandoned }) {
		grace = silence // the agent waits for a file that its controller no longer sends
	}
	for end := time.Now().Add(grace); ; time.Sleep(50 * time.Millisecond) {
		left := append(r.agent.stagedFiles(), r.agent.processes()...)
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			r.violate("left behind: %v", left)
			return
		}
	}
}

// stagedFiles are the files in staging directories.
func (a *agent) stagedFiles() (left []string) {
	_ = filepath.WalkDir(filepath.Join(a.home(), "staging"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != "lock" {
			left = append(left, path)
		}
		return nil
	})
	return left
}

// pids are all processes of the run.
func (a *agent) pids() (pids []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if env, err := os.ReadFile(filepath.Join(dir, "environ")); err == nil && strings.Contains("\x00"+string(env), "\x00"+a.mark+"\x00") && pid > 1 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// serving is the process that says it serves the home, 0 for none: one whose
// enrolment did not live to answer may have been met by a call.
func (a *agent) serving() int {
	var s struct {
		PID int `json:"pid"`
	}
	if b, err := os.ReadFile(filepath.Join(a.home(), "agent.json")); err != nil || json.Unmarshal(b, &s) != nil {
		return 0
	}
	return s.PID
}

// processes are those of the run that are not the agent that serves.
func (a *agent) processes() (left []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	serving := a.serving()
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !strings.Contains("\x00"+string(env), "\x00"+a.mark+"\x00") || pid == a.pid() || pid == serving {
			continue
		}
		if cmd, err := os.ReadFile(filepath.Join(dir, "cmdline")); err == nil && len(cmd) > 0 {
			left = append(left, fmt.Sprintf("%d %s", pid, strings.ReplaceAll(string(cmd), "\x00", " ")))
		}
	}
	return left
}
