package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

type downCmd struct {
	dirFlag
	Keep bool `help:"Keep the hosts' files, for another up."`
}

// Run ends what lab.json names, each process only if it is still that very one.
func (c *downCmd) Run(ctx context.Context) error {
	if !exists(filepath.Join(c.Dir, "lab.json")) {
		return nil
	}
	unlock, err := lock(filepath.Join(c.Dir, ".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	l, err := loadLab(c.Dir)
	if errors.Is(err, errNoLab) {
		return nil
	}
	if err != nil {
		return err
	}
	var wait sync.WaitGroup
	for i := range l.Hosts { // all at once: each shuts its own systemd down
		h := &l.Hosts[i]
		wait.Go(func() { h.Relay.end(time.Second); h.Keeper.end(12 * time.Second) })
	}
	wait.Wait()
	l.Server.end(5 * time.Second)
	if l.Kind == "process" {
		l.endMarked()
	}
	var problems []error
	for _, h := range l.Hosts {
		root := l.path("hosts", h.Name, "root")
		if l.Kind == "systemd" && mounted(root) {
			if err := unmount(root); err != nil {
				problems = append(problems, fmt.Errorf("unmounting %s: %w", root, err))
				continue
			}
		}
		for _, cg := range cgroupRoots() {
			if l.Kind == "systemd" {
				removeGroups(filepath.Join(cg, "volant-lab", h.Machine))
			}
		}
		if !c.Keep {
			problems = append(problems, os.RemoveAll(l.path("hosts", h.Name)))
		}
	}
	if l.Bridge != "" && exists("/sys/class/net/"+l.Bridge) {
		problems = append(problems, ip(ctx, "link", "del", l.Bridge))
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	if c.Keep {
		return nil
	}
	for _, name := range []string{"lab.json", "inventory.ini", "inventory-ops.ini", "inventory-root.ini", "ssh_config", "ops.password", "keys", "run", "hosts", ".lock"} {
		if err := os.RemoveAll(l.path(name)); err != nil {
			return err
		}
	}
	_ = os.Remove(l.Dir) // stays when the user put something there
	return nil
}

func unmount(path string) error {
	var err error
	for range 50 { // the last process of the host may still be going
		if err = syscall.Unmount(path, 0); !errors.Is(err, syscall.EBUSY) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

// removeGroups removes a control group and those below it, leaves first.
func removeGroups(dir string) {
	var dirs []string
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, p)
		}
		return nil
	})
	slices.Reverse(dirs)
	for _, d := range dirs {
		_ = os.Remove(d) // one in use stays
	}
	_ = os.Remove(filepath.Dir(dir))
}

type statusCmd struct {
	dirFlag
	JSON bool `help:"As JSON." name:"json"`
}

type hostStatus struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Port    int    `json:"port"`
	State   string `json:"state"` // "running", "degraded", "starting", "up" (process lab), "down"
	PID     int    `json:"pid,omitempty"`
}

// Run prints what is up.
func (c *statusCmd) Run(ctx context.Context) error {
	l, err := loadLab(c.Dir)
	if err != nil {
		return err
	}
	var all []hostStatus
	for i := range l.Hosts {
		h := &l.Hosts[i]
		s := hostStatus{Name: h.Name, Address: h.Address, Port: h.Port, State: "down"}
		if l.Kind == "process" {
			if l.Server.alive() && sshAnswers(h) {
				s.State, s.PID = "up", l.Server.PID
			}
		} else if pid, err := l.hostInit(h); err == nil {
			out, _ := l.inside(ctx, h, "systemctl", "is-system-running").Output()
			s.State, s.PID = strings.TrimSpace(string(out)), pid
			if s.State == "" {
				s.State = "starting"
			}
		}
		all = append(all, s)
	}
	if c.JSON {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(map[string]any{"kind": l.Kind, "dir": l.Dir, "bridge": l.Bridge, "subnet": l.Subnet, "hosts": all})
	}
	fmt.Printf("%s lab in %s, %d hosts\n", l.Kind, l.Dir, len(all))
	if l.Bridge != "" {
		fmt.Printf("bridge %s %s/24, packages from %s\n", l.Bridge, l.gateway(), l.Mirror)
	}
	for _, s := range all {
		fmt.Printf("%-5s %s:%d  %s", s.Name, s.Address, s.Port, s.State)
		if s.PID != 0 {
			fmt.Printf("  pid %d", s.PID)
		}
		fmt.Println()
	}
	return nil
}

type execCmd struct {
	dirFlag
	Host    string   `arg:"" help:"Which host, such as h1."`
	Command []string `arg:"" passthrough:"" help:"A command and its arguments; a single one goes through sh -c."`
}

// Run runs the command and ends with its status.
func (c *execCmd) Run(ctx context.Context) error {
	l, err := loadLab(c.Dir)
	if err != nil {
		return err
	}
	h, err := l.find(c.Host)
	if err != nil {
		return err
	}
	args := c.Command
	if args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 1 {
		args = []string{"/bin/sh", "-c", args[0]}
	}
	var cmd *exec.Cmd
	if l.Kind == "systemd" {
		cmd = l.inside(ctx, h, args...)
	} else {
		cmd = command(ctx, args[0], args[1:]...)
		cmd.Env, cmd.Dir = l.environment(h), l.path("hosts", h.Name, "home")
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if exit.ExitCode() >= 0 {
			return exitCode(exit.ExitCode())
		}
		return exitCode(128 + int(exit.Sys().(syscall.WaitStatus).Signal()))
	}
	return err
}

type rebootCmd struct {
	dirFlag
	Host string `arg:"" help:"Which host, such as h1."`
	Wait bool   `help:"Return when it is up again." default:"true" negatable:""`
}

// Run reboots the host as its own root would.
func (c *rebootCmd) Run(ctx context.Context) error {
	l, err := loadLab(c.Dir)
	if err != nil {
		return err
	}
	h, err := l.find(c.Host)
	if err != nil {
		return err
	}
	if l.Kind != "systemd" {
		return errors.New("hosts of a process lab are this machine: they cannot be rebooted")
	}
	before, err := l.hostInit(h)
	if err != nil {
		return err
	}
	if out, err := l.inside(ctx, h, "systemctl", "reboot").CombinedOutput(); err != nil && ctx.Err() == nil {
		if pid, perr := l.hostInit(h); perr == nil && pid == before {
			return fmt.Errorf("rebooting %s: %w: %s", h.Name, err, out)
		}
	}
	for c.Wait && ctx.Err() == nil {
		if pid, err := l.hostInit(h); err == nil && pid != before {
			return l.waitHost(ctx, h)
		}
		if !h.Keeper.alive() {
			return fmt.Errorf("%s ended instead of rebooting; see %s", h.Name, l.path("run", h.Name+".log"))
		}
		time.Sleep(50 * time.Millisecond)
	}
	return ctx.Err()
}
