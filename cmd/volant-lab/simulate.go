package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"volant/controller/fleet"
	"volant/hostagent/sim"
)

// Of the descriptors a process may have, each agent needs two, a socket and a
// lock; and the process some of its own.
const (
	simDescriptors = 2
	simSpare       = 100
)

type simulateCmd struct {
	dirFlag
	Agents int  `help:"How many." default:"100"`
	Memory bool `help:"Keep no journal on disk."`
	First  int  `help:"Number of the first; the process is one of several then: it prints its hosts and ends with its standard input." hidden:""`
}

// Help is shown by --help.
func (simulateCmd) Help() string {
	return `Runs until it is interrupted. DIR gets inventory.ini and, in state, the agents' pins:
  VOLANT_STATE_DIR=DIR/state volant playbook -i DIR/inventory.ini pings.yml
The agents serve every controller and listen on loopback only. Where one process
may not have the descriptors for all of them, further ones have the rest.`
}

// Run implements the command. Agents that this process has no room for are those
// of a child, which has a child in its turn.
func (c *simulateCmd) Run(ctx context.Context) error {
	limit, err := sim.RaiseLimit()
	if err != nil {
		return err
	}
	here := min(c.Agents, (limit-simSpare)/simDescriptors)
	if c.Agents < 1 || here < 1 {
		return fmt.Errorf("%d agents cannot be simulated with %d descriptors", c.Agents, limit)
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	first, agents := max(c.First, 1), filepath.Join(c.Dir, "agents")
	if c.First == 0 {
		defer func() { _ = os.RemoveAll(agents) }()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var rest *simRest
	if more := c.Agents - here; more > 0 {
		if rest, err = c.startRest(first+here, more); err != nil {
			return err
		}
		defer rest.close()
	}
	s, err := sim.Start(sim.Options{Agents: here, Dir: filepath.Join(agents, strconv.Itoa(first)), Memory: c.Memory})
	if err != nil {
		return err
	}
	defer s.Close()
	state := filepath.Join(c.Dir, "state")
	var hosts strings.Builder
	for i, a := range s.Agents {
		// The port stands for an SSH server's, and makes each a host of its own.
		fmt.Fprintf(&hosts, "s%05d ansible_host=127.0.0.1 ansible_port=%d ansible_user=sim\n", first+i, a.Addr.Port)
		if err := fleet.SavePin(state, "127.0.0.1", a.Addr.Port, "sim", a.Key, a.Addr.String()); err != nil {
			return err
		}
	}
	if rest != nil {
		if err := rest.hosts(&hosts); err != nil {
			return err
		}
	}
	if c.First > 0 {
		fmt.Println(hosts.String()) // an empty line ends them
		go func() {                 // ends with the process
			defer cancel()
			_, _ = io.Copy(io.Discard, os.Stdin)
		}()
	} else {
		if err := os.WriteFile(filepath.Join(c.Dir, "inventory.ini"), []byte("[lab]\n"+hosts.String()), 0o644); err != nil {
			return err
		}
		fmt.Printf("lab: %d agents simulated; try: VOLANT_STATE_DIR=%s volant playbook -i %s/inventory.ini SITE.yml\n", c.Agents, state, c.Dir)
	}
	if rest == nil {
		<-ctx.Done()
		return nil
	}
	return rest.wait(ctx)
}

// simRest is a child that simulates what its parent has no room for. It ends when
// its standard input does, also where the parent was killed.
type simRest struct {
	cmd *exec.Cmd
	in  io.Closer
	out *bufio.Reader
}

func (c *simulateCmd) startRest(first, n int) (*simRest, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"simulate", "--dir", c.Dir, "--agents", strconv.Itoa(n), "--first", strconv.Itoa(first)}
	if c.Memory {
		args = append(args, "--memory")
	}
	cmd := exec.Command(self, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &simRest{cmd: cmd, in: in, out: bufio.NewReader(out)}, nil
}

var errRestEnded = errors.New("a process that simulates a part of the agents ended")

// hosts appends the inventory lines of the child's agents once they run.
func (r *simRest) hosts(to *strings.Builder) error {
	for {
		line, err := r.out.ReadString('\n')
		if err != nil {
			return errRestEnded
		}
		if line == "\n" {
			return nil
		}
		to.WriteString(line)
	}
}

// wait returns when ctx ends; before that, when the child does.
func (r *simRest) wait(ctx context.Context) error {
	over := make(chan struct{})
	go func() { // ends with the child
		defer close(over)
		_, _ = io.Copy(io.Discard, r.out)
	}()
	select {
	case <-ctx.Done():
		return nil
	case <-over:
	}
	select {
	case <-ctx.Done(): // a terminal interrupts both
		return nil
	case <-time.After(200 * time.Millisecond):
		return errRestEnded
	}
}

func (r *simRest) close() {
	_ = r.in.Close()
	_ = r.cmd.Wait()
}
