package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

type shapeCmd struct {
	dirFlag
	Host  string  `arg:"" help:"Which host, such as h1."`
	Delay int     `help:"Milliseconds each packet to the host waits." placeholder:"MS"`
	Loss  float64 `help:"Percentage of packets to the host that get lost." placeholder:"PCT"`
	Down  bool    `help:"Cut the cable." xor:"link"`
	Up    bool    `help:"Mend the cable." xor:"link"`
}

// Help says what it does to what.
func (shapeCmd) Help() string {
	return `Shapes the packets on their way to the host; without --delay and --loss they travel as before.
tc's netem does it where the kernel has it, else a process of the lab.
--down and --up cut and mend the cable and leave delay and loss as they are.`
}

// Run shapes the traffic towards the host.
func (c *shapeCmd) Run(ctx context.Context) error {
	if c.Delay < 0 || c.Delay > 60_000 || c.Loss < 0 || c.Loss > 100 {
		return errors.New("--delay is 0 to 60000 milliseconds, --loss 0 to 100 percent")
	}
	unlock, err := lock(filepath.Join(c.Dir, ".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	l, err := loadLab(c.Dir)
	if err != nil {
		return err
	}
	h, err := l.find(c.Host)
	if err != nil {
		return err
	}
	if l.Kind != "systemd" {
		return errors.New("hosts of a process lab share the loopback: only a systemd lab can shape one")
	}
	switch {
	case c.Down:
		return ip(ctx, "link", "set", h.Link, "down")
	case c.Up:
		return ip(ctx, "link", "set", h.Link, "up")
	}
	if err := l.unshape(ctx, h); err != nil {
		return err
	}
	if c.Delay == 0 && c.Loss == 0 {
		return nil
	}
	if command(ctx, "tc", "qdisc", "add", "dev", h.Link, "root", "netem",
		"delay", fmt.Sprintf("%dms", c.Delay), "loss", fmt.Sprintf("%g%%", c.Loss)).Run() == nil {
		return nil
	}
	return l.relay(ctx, h, c.Delay, c.Loss)
}

// unshape takes delay and loss away again.
func (l *lab) unshape(ctx context.Context, h *host) error {
	_ = command(ctx, "tc", "qdisc", "del", "dev", h.Link, "root").Run() // fails when there is none
	if h.Relay == nil {
		return nil
	}
	h.Relay.end(2 * time.Second)
	h.Relay = nil
	if err := l.save(); err != nil {
		return err
	}
	return ip(ctx, "link", "set", h.Link, "master", l.Bridge)
}

// relay puts a process between the host's cable and the bridge.
func (l *lab) relay(ctx context.Context, h *host, delay int, loss float64) error {
	tap := "vt" + strings.TrimPrefix(h.Link, "vb-vl")
	// Off the bridge this end is this machine's own, which must not answer there in the bridge's place.
	conf := filepath.Join("/proc/sys/net/ipv4/conf", h.Link)
	if err := os.WriteFile(filepath.Join(conf, "arp_ignore"), []byte("8"), 0); err != nil {
		return fmt.Errorf("this kernel has no netem, and the lab's own relay cannot be set up: %w", err)
	}
	_ = os.WriteFile(filepath.Join("/proc/sys/net/ipv6/conf", h.Link, "disable_ipv6"), []byte("1"), 0) // absent without IPv6
	log := "relay-" + h.Name + ".log"
	_ = os.Remove(l.path("run", log))
	var err error
	if h.Relay, err = l.startDaemon(log, "relay-frames", "--link", h.Link, "--tap", tap,
		"--delay", strconv.Itoa(delay), "--loss", strconv.FormatFloat(loss, 'g', -1, 64)); err != nil {
		return err
	}
	if err := l.save(); err != nil {
		return err
	}
	for range 100 {
		if b, _ := os.ReadFile(l.path("run", log)); strings.Contains(string(b), "ready") {
			return errors.Join(ip(ctx, "link", "set", h.Link, "nomaster"), ip(ctx, "link", "set", tap, "master", l.Bridge), ip(ctx, "link", "set", tap, "up"))
		}
		if !h.Relay.alive() {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	b, _ := os.ReadFile(l.path("run", log))
	return errors.Join(fmt.Errorf("this kernel has no netem, and the lab's own relay did not start: %s", lastLines(b, 2)), l.unshape(ctx, h))
}
