package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

type systemdCmd struct {
	Up systemdUpCmd `cmd:"" help:"Start hosts h1..hN; those already up are left alone."`
}

type systemdUpCmd struct {
	dirFlag
	Hosts  int    `help:"How many hosts." default:"2"`
	Mirror string `help:"Debian mirror; else the one this machine's apt uses." env:"DEBIAN_MIRROR" placeholder:"URL"`
}

// Help explains the parts a user meets.
func (systemdUpCmd) Help() string {
	return `Users on every host, all with the key DIR/keys/id:
  deploy   passwordless sudo (inventory.ini)
  ops      sudo with the password in DIR/ops.password (inventory-ops.ini)
  root     (inventory-root.ini)

Hosts have no way out of the machine. Packages come through a caching proxy on
the bridge's own address that fetches from the Debian mirror and nothing else.
The Debian image and the packages are kept under ~/.cache/volant-lab.`
}

// Run starts what is not up yet and waits until every host answers.
func (c *systemdUpCmd) Run(ctx context.Context) error {
	if c.Hosts < 1 || c.Hosts > 200 {
		return fmt.Errorf("--hosts must be 1 to 200, not %d", c.Hosts)
	}
	if err := needTools(ctx); err != nil {
		return err
	}
	unlock, err := lock(filepath.Join(c.Dir, ".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	begin := time.Now()
	l, err := openLab(c.Dir, "systemd")
	if err != nil {
		return err
	}
	if l.Mirror == "" {
		l.Mirror = c.Mirror
		if l.Mirror == "" {
			l.Mirror = findMirror("/etc/apt")
		}
	}
	if l.Image == "" {
		if l.Image, err = image(ctx, l.Mirror); err != nil {
			return err
		}
	}
	if err := l.network(ctx); err != nil {
		return err
	}
	if err := l.save(); err != nil {
		return err
	}
	if err := l.startProxy(); err != nil {
		return err
	}
	for i := len(l.Hosts) + 1; i <= c.Hosts; i++ {
		name := fmt.Sprintf("h%d", i)
		machine := "vl" + l.ID + name
		l.Hosts = append(l.Hosts, host{Name: name, Address: fmt.Sprintf("%s.%d", l.Subnet, 10+i), Port: 22, Machine: machine, Link: "vb-" + machine})
	}
	if _, err := makeKey(l.path("keys", "id"), "volant-lab"); err != nil {
		return err
	}
	if !exists(l.path("ops.password")) {
		if err := writeFile(l.path("ops.password"), rand.Text()[:16]+"\n", 0o600); err != nil {
			return err
		}
	}
	hostKeys := make([][]string, len(l.Hosts))
	for i := range l.Hosts {
		h := &l.Hosts[i]
		if hostKeys[i], err = l.prepareHost(ctx, h); err != nil {
			return fmt.Errorf("preparing %s: %w", h.Name, err)
		}
		if !h.Keeper.alive() {
			if h.Keeper, err = l.startDaemon(h.Name+".log", "supervise-one", "--dir", l.Dir, "--host", h.Name); err != nil {
				return err
			}
			if err := l.save(); err != nil {
				return err
			}
		}
	}
	var wait sync.WaitGroup
	errs := make([]error, len(l.Hosts))
	for i := range l.Hosts {
		wait.Go(func() { errs[i] = l.waitHost(ctx, &l.Hosts[i]) }) // ends with the host's answer or after a minute
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := l.writeClientFiles("deploy", hostKeys); err != nil {
		return err
	}
	say("%d hosts up in %s; try: volant playbook -i %s SITE.yml", len(l.Hosts), time.Since(begin).Round(100*time.Millisecond), l.path("inventory.ini"))
	return nil
}

// network chooses and makes the bridge, one lab at a time on this machine.
func (l *lab) network(ctx context.Context) error {
	cache, err := cacheDir()
	if err != nil {
		return err
	}
	unlock, err := lock(filepath.Join(cache, "network.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if l.Subnet == "" {
		if err := l.chooseNetwork(); err != nil {
			return err
		}
	}
	return l.startBridge(ctx)
}

// waitHost returns when sshd answers and systemd says the boot is over.
func (l *lab) waitHost(ctx context.Context, h *host) error {
	state := "no answer"
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if !h.Keeper.alive() {
			return fmt.Errorf("%s ended while it started; see %s", h.Name, l.path("run", h.Name+".log"))
		}
		if sshAnswers(h) {
			out, _ := l.inside(ctx, h, "systemctl", "is-system-running").Output()
			state = strings.TrimSpace(string(out))
			if state == "running" {
				return nil
			}
			if state == "degraded" {
				failed, _ := l.inside(ctx, h, "systemctl", "--failed", "--plain", "--no-legend").Output()
				say("%s is up but degraded: %s", h.Name, lastLines(failed, 3))
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return fmt.Errorf("%s is not ready after a minute (%s); see %s", h.Name, state, l.path("run", h.Name+".log"))
}

func sshAnswers(h *host) bool {
	c, err := net.DialTimeout("tcp", net.JoinHostPort(h.Address, strconv.Itoa(h.Port)), time.Second)
	if err != nil {
		return false
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	line, _ := bufio.NewReader(c).ReadString('\n')
	return strings.HasPrefix(line, "SSH-")
}

// inside is a command in all of the host's namespaces, as its root.
func (l *lab) inside(ctx context.Context, h *host, args ...string) *exec.Cmd {
	pid, err := l.hostInit(h)
	if err != nil {
		cmd := command(ctx, "false")
		cmd.Err = err
		return cmd
	}
	return command(ctx, "nsenter", append([]string{"-t", strconv.Itoa(pid), "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w", "--",
		"env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8"}, args...)...)
}

// hostInit returns the pid, seen from here, of the host's own pid 1: a
// descendant of its keeper whose innermost pid is 1.
func (l *lab) hostInit(h *host) (int, error) {
	if h.Keeper.alive() {
		for _, nspawn := range children(h.Keeper.PID) {
			for _, pid := range children(nspawn) {
				if innerPID(pid) == 1 {
					return pid, nil
				}
			}
		}
	}
	return 0, fmt.Errorf("%s is not up", h.Name)
}

// children returns the direct children of pid. It reads every process's parent:
// /proc/PID/task/TID/children is not in every kernel.
func children(pid int) []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range files {
		b, _ := os.ReadFile(f)
		i := strings.LastIndexByte(string(b), ')')
		if i < 0 {
			continue
		}
		if p := strings.Fields(string(b[i+1:])); len(p) > 1 && p[1] == strconv.Itoa(pid) {
			if n, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids
}

func innerPID(pid int) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "NSpid:"); ok {
			f := strings.Fields(rest)
			if len(f) > 1 {
				n, _ := strconv.Atoi(f[len(f)-1])
				return n
			}
		}
	}
	return 0
}

func mounted(path string) bool {
	b, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 4 && f[4] == path {
			return true
		}
	}
	return false
}
