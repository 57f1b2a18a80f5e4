package chaos

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"volant/bootstrap"
	"volant/bootstrap/enrol"
	"volant/wire"
)

// agent is a real agent process in a home of its own; it is also SSH to it.
type agent struct {
	bin, dir, mark string

	one        sync.Mutex // one enrolment at a time, as a host's lock sees to
	mu         sync.Mutex // guards what follows
	rep        enrol.Reply
	controller ed25519.PublicKey
	clock      time.Duration // how far its clock is off, where the binary can
	boot       string        // its host's boot id, where it can have one of its own
}

func (a *agent) setController(k ed25519.PublicKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.controller = k
}

func (a *agent) home() string { return filepath.Join(a.dir, "home") }

// ownBoot reports whether an agent can have a boot id of its own: in a mount
// namespace, which needs root.
var ownBoot = sync.OnceValue(func() bool {
	return exec.Command("unshare", "--mount", "mount", "--bind", "/proc/sys/kernel/random/uuid", "/proc/sys/kernel/random/boot_id").Run() == nil
})

func (a *agent) command(args ...string) *exec.Cmd {
	args = append(append([]string{a.bin}, args...), "--home", a.home())
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.boot != "" {
		args = append([]string{"unshare", "--mount", "sh", "-c",
			`mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"`, filepath.Join(a.dir, "boot_id")}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), a.mark, "SSH_CONNECTION=127.0.0.1 1 127.0.0.1 22", fmt.Sprintf("CHAOS_CLOCK=%d", int64(a.clock.Seconds())))
	return cmd
}

// newBoot gives the agent's host a boot id that it has from its next start on.
func (a *agent) newBoot(rng *rand.Rand) error {
	id := fmt.Sprintf("%08x-0000-4000-8000-%012x\n", rng.Uint32(), rng.Uint64()>>16)
	if err := os.WriteFile(filepath.Join(a.dir, "boot_id"), []byte(id), 0o644); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.boot = id
	return nil
}

func (a *agent) setClock(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clock = d
}

// killAll kills everything the agent started, and the agent, as the end of its
// host does: nobody logs in meanwhile.
func (a *agent) killAll() {
	kill := func() {
		for _, pid := range a.pids() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	kill()
	// An enrolment under way is over once no child of its is about to become
	// another program: such a child cannot be told from any other process.
	a.one.Lock()
	defer a.one.Unlock()
	for range 3 { // what one started meanwhile is met the next time
		kill()
		time.Sleep(5 * time.Millisecond)
	}
}

func (a *agent) pid() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.rep.PID
}

func (a *agent) port() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.rep.Port
}

func (a *agent) signal(s syscall.Signal) {
	if pid := a.pid(); pid > 1 {
		_ = syscall.Kill(pid, s)
	}
}

// enrol does what the bootstrap does over SSH.
func (a *agent) enrol(restart bool) error {
	a.one.Lock()
	defer a.one.Unlock()
	a.mu.Lock()
	req := enrol.Request{Controller: a.controller, Name: "chaos", Restart: restart, NoUnit: true, Port: a.rep.Port}
	a.mu.Unlock()
	b, err := json.Marshal(req)
	if err != nil {
		return err
	}
	cmd := a.command("enrol")
	cmd.Stdin = bytes.NewReader(append(b, '\n'))
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	rep, err := enrol.ParseReply(string(out))
	if err != nil {
		return err
	}
	if rep.Error != "" {
		return &bootstrap.Error{Kind: bootstrap.KindStart, Msg: rep.Error}
	}
	a.mu.Lock()
	a.rep = rep
	a.mu.Unlock()
	return nil
}

// EnsureAgent implements bootstrap.Session.
func (a *agent) EnsureAgent(ctx context.Context, _ bootstrap.Binaries, e bootstrap.Enrolment) (bootstrap.AgentInfo, error) {
	if err := a.enrol(e.Restart); err != nil {
		return bootstrap.AgentInfo{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	rep := a.rep
	if rep.Protocol == 0 {
		rep.Protocol = wire.Version
	}
	return bootstrap.AgentInfo{Reply: rep, HostKeyOK: true}, ctx.Err()
}

// Bridge implements bootstrap.Session: there is none, so that UDP has to do.
func (a *agent) Bridge(ctx context.Context, _ string) (io.ReadWriteCloser, error) {
	select { // as a host that does not answer
	case <-ctx.Done():
	case <-time.After(2 * time.Second):
	}
	return nil, &bootstrap.Error{Kind: bootstrap.KindConnect, Msg: "there is no bridge"}
}

// Transient implements bootstrap.Session.
func (a *agent) Transient(context.Context, bootstrap.Binaries, bootstrap.Enrolment) (bootstrap.AgentInfo, io.ReadWriteCloser, error) {
	return bootstrap.AgentInfo{}, nil, errors.New("not here")
}

// Run implements bootstrap.Session.
func (a *agent) Run(context.Context, string, io.Reader) (bootstrap.Output, error) {
	return bootstrap.Output{}, nil
}

// Close implements bootstrap.Session.
func (a *agent) Close() error { return nil }

// uninstall removes the agent, and sees that nothing is left.
func (a *agent) uninstall(r *chaosRun) {
	a.signal(syscall.SIGCONT)
	for syscall.Unmount(filepath.Join(a.home(), "journal"), 0) == nil { // what faults mounted, one over the other
	}
	if out, err := a.command("uninstall").CombinedOutput(); err != nil {
		r.violate("uninstall: %v %s", err, out)
	}
	if _, err := os.Stat(a.home()); !errors.Is(err, os.ErrNotExist) {
		r.violate("uninstall left %s", a.home())
	}
	a.mu.Lock()
	a.rep.PID = 0
	a.mu.Unlock()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left := a.processes()
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			r.violate("processes after the end: %v", left)
			return
		}
	}
}

func loopback(port int) *net.UDPAddr {
	return &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}
}
