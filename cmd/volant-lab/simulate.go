package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"volant/controller/fleet"
	"volant/hostagent/sim"
)

type simulateCmd struct {
	dirFlag
	Agents int  `help:"How many." default:"100"`
	Memory bool `help:"Keep no journal on disk."`
}

// Help is shown by --help.
func (simulateCmd) Help() string {
	return `Runs until it is interrupted. DIR gets inventory.ini and, in state, the agents' pins:
  VOLANT_STATE_DIR=DIR/state volant playbook -i DIR/inventory.ini pings.yml
The agents serve every controller and listen on loopback only.`
}

// Run implements the command.
func (c *simulateCmd) Run(ctx context.Context) error {
	if err := sim.RaiseLimit(); err != nil {
		return err
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	agents := filepath.Join(c.Dir, "agents")
	defer func() { _ = os.RemoveAll(agents) }()
	s, err := sim.Start(sim.Options{Agents: c.Agents, Dir: agents, Memory: c.Memory})
	if err != nil {
		return err
	}
	defer s.Close()
	state := filepath.Join(c.Dir, "state")
	var inv strings.Builder
	inv.WriteString("[lab]\n")
	for i, a := range s.Agents {
		// The port stands for an SSH server's, and makes each a host of its own.
		fmt.Fprintf(&inv, "s%05d ansible_host=127.0.0.1 ansible_port=%d ansible_user=sim\n", i+1, a.Addr.Port)
		if err := fleet.SavePin(state, "127.0.0.1", a.Addr.Port, "sim", a.Key, a.Addr.String()); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(c.Dir, "inventory.ini"), []byte(inv.String()), 0o644); err != nil {
		return err
	}
	fmt.Printf("lab: %d agents simulated; try: VOLANT_STATE_DIR=%s volant playbook -i %s/inventory.ini SITE.yml\n", c.Agents, state, c.Dir)
	<-ctx.Done()
	return nil
}
