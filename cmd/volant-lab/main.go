// Command volant-lab makes hosts to try, test and measure Volant on: SSH servers
// in this process's own directories (no root needed), or real Debian hosts with
// systemd in their own namespaces (root).
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

const description = `Hosts to try, test and measure Volant on.

Two kinds of lab:
  process   SSH servers on loopback ports, each with its own HOME. No root needed,
            up in a moment. The hosts share this machine's files and users.
  systemd   Debian hosts with systemd as pid 1, sshd, python3 and sudo, each in its
            own namespaces with its own address. Needs root; the first one takes a
            minute to fetch Debian.

A lab lives in one directory, given by --dir, and several can be up at once.
"up" writes there what a client needs:
  inventory.ini   hosts h1..hN in group lab, usable by volant and ansible-playbook
  ssh_config      ssh -F DIR/ssh_config h1
  keys/           the login key, and known_hosts
  lab.json        what is up

Examples:
  volant-lab process up --hosts 3 --dir /tmp/lab
  volant playbook -i /tmp/lab/inventory.ini site.yml
  volant-lab exec --dir /tmp/lab h1 'systemctl is-system-running'
  volant-lab shape --dir /tmp/lab h1 --delay 50 --loss 1
  volant-lab down --dir /tmp/lab`

type cli struct {
	Process processCmd `cmd:"" help:"SSH servers on loopback; no root needed."`
	Systemd systemdCmd `cmd:"" help:"Debian hosts with systemd; needs root."`
	Status  statusCmd  `cmd:"" help:"Say what is up."`
	Exec    execCmd    `cmd:"" help:"Run a command on a host, as root where the lab has root, without SSH."`
	Shape   shapeCmd   `cmd:"" help:"Make a host's network slow or lossy, or cut it; systemd labs."`
	Reboot  rebootCmd  `cmd:"" help:"Reboot a host; its address and files stay."`
	Sshd    sshdCmd    `cmd:"" help:"Stop, start or restart the SSH servers; logins that are open stay or go as with a real one."`
	Down    downCmd    `cmd:"" help:"Stop everything the lab started and remove its hosts."`

	Simulate simulateCmd `cmd:"" help:"Many agents in this process that answer every module as ping does, to measure the controller."`

	ServeProcess serveProcessCmd `cmd:"" hidden:""`
	SuperviseOne superviseCmd    `cmd:"" hidden:""`
	ServePackage servePackageCmd `cmd:"" hidden:""`
	RelayFrames  relayCmd        `cmd:"" hidden:""`
}

// dirFlag is the flag every command has.
type dirFlag struct {
	Dir string `help:"Directory of the lab." type:"path" default:"${dir}" env:"VOLANT_LAB_DIR" placeholder:"DIR"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

// run parses args, runs the command and returns the exit status: 0 done,
// 1 it did not work, 2 the command line is wrong; exec gives the command's own.
func run(ctx context.Context, args []string) int {
	var c cli
	parser, err := kong.New(&c, kong.Name("volant-lab"), kong.Description(description),
		kong.Vars{"dir": defaultDir()}, kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)))
	if err != nil {
		fmt.Fprintln(os.Stderr, "volant-lab:", err)
		return 1
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	k, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "volant-lab:", err)
		return 2
	}
	err = k.Run()
	var code exitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	default:
		fmt.Fprintln(os.Stderr, "volant-lab:", err)
		return 1
	}
}

// exitCode is the status of a command that exec ran.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func defaultDir() string {
	if d := os.Getenv("XDG_STATE_HOME"); d != "" {
		return d + "/volant-lab"
	}
	if h, err := os.UserHomeDir(); err == nil {
		return h + "/.local/state/volant-lab"
	}
	return "volant-lab"
}
