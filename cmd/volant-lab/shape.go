package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

type shapeCmd struct {
	dirFlag
	Host  string  `arg:"" help:"Which host, such as h1."`
	Delay int     `help:"Milliseconds each packet to the host waits." placeholder:"MS"`
	Loss  float64 `help:"Percentage of packets to the host that get lost." placeholder:"PCT"`
	Down  bool    `help:"Cut the cable." xor:"link"`
	Up    bool    `help:"Mend the cable." xor:"link"`
}

// Run shapes the traffic towards the host; without --delay and --loss it is as before.
func (c *shapeCmd) Run(ctx context.Context) error {
	if c.Delay < 0 || c.Delay > 60_000 || c.Loss < 0 || c.Loss > 100 {
		return errors.New("--delay is 0 to 60000 milliseconds, --loss 0 to 100 percent")
	}
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
	_ = command(ctx, "tc", "qdisc", "del", "dev", h.Link, "root").Run() // fails when there is none
	if c.Delay == 0 && c.Loss == 0 {
		return nil
	}
	out, err := command(ctx, "tc", "qdisc", "add", "dev", h.Link, "root", "netem",
		"delay", fmt.Sprintf("%dms", c.Delay), "loss", fmt.Sprintf("%g%%", c.Loss)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("this kernel cannot delay or lose packets (tc netem: %s); --down and --up work everywhere", strings.TrimSpace(string(out)))
	}
	return nil
}
