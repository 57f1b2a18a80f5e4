package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// superviseCmd keeps one host up: it is the process recorded as the host's keeper.
type superviseCmd struct {
	dirFlag
	Host string `required:""`
}

// rebooted is the status systemd-nspawn ends with when the host rebooted and
// nspawn itself may not restart it (--keep-unit).
const rebooted = 133

// Run starts the host, again whenever it reboots, and ends it on a signal.
func (c *superviseCmd) Run(ctx context.Context) error {
	l, err := loadLab(c.Dir)
	if err != nil {
		return err
	}
	// The keeper is started before it is recorded, so only the name is looked up here.
	machine, root := "vl"+l.ID+c.Host, l.path("hosts", c.Host, "root")
	for _, cg := range cgroupRoots() {
		dir := filepath.Join(cg, "volant-lab", machine)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("making control group: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
			return fmt.Errorf("entering control group: %w", err)
		}
	}
	for ctx.Err() == nil {
		cmd := exec.CommandContext(ctx, "systemd-nspawn", "-q", "-b", "-D", root, "--machine="+machine, "--hostname="+c.Host,
			"--register=no", "--keep-unit", "--network-bridge="+l.Bridge, "--resolv-conf=off", "--timezone=off",
			"--link-journal=no", "--console=pipe")
		cmd.Env = append(os.Environ(), "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // asks the host to power off
		cmd.WaitDelay = 8 * time.Second
		err := cmd.Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == rebooted {
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	return nil
}

// startDaemon runs this program again in a session of its own, with its output in run/LOG.
func (l *lab) startDaemon(log string, args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(l.path("run"), 0o755); err != nil {
		return nil, err
	}
	out, err := os.OpenFile(l.path("run", log), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", args[0], err)
	}
	p, err := identify(cmd.Process.Pid)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", args[0], err)
	}
	go func() { _ = cmd.Wait() }() // reaps it when it ends before this command does
	return p, nil
}

// openLab reads the lab in dir or begins one of this kind.
func openLab(dir, kind string) (*lab, error) {
	l, err := loadLab(dir)
	if errors.Is(err, errNoLab) {
		return &lab{Kind: kind, ID: labID(dir), Dir: dir, Created: time.Now().UTC()}, nil
	}
	if err == nil && l.Kind != kind {
		return nil, fmt.Errorf("%s already holds a %s lab: use another --dir, or `volant-lab down --dir %s` first", dir, l.Kind, dir)
	}
	return l, err
}
