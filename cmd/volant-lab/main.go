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

	"volant/cmd/internal/manual"
	"volant/wire"
)

type cli struct {
	Process processCmd `cmd:"" help:"SSH servers on loopback; no root needed."`
	Systemd systemdCmd `cmd:"" help:"Debian hosts with systemd; needs root."`
	Status  statusCmd  `cmd:"" help:"Say what is up."`
	Exec    execCmd    `cmd:"" help:"Run a command on a host, as root where the lab has root, without SSH."`
	Shape   shapeCmd   `cmd:"" help:"Make a host's network slow or lossy, or cut it; systemd labs."`
	Reboot  rebootCmd  `cmd:"" help:"Reboot a host; its address and files stay."`
	Sshd    sshdCmd    `cmd:"" help:"Stop, start or restart the SSH servers; logins that are open stay or go as with a real one."`
	Down    downCmd    `cmd:"" help:"Stop everything the lab started and remove its hosts."`

	Simulate simulateCmd `cmd:"" help:"Many agents on loopback that answer every module as ping does, to measure the controller."`

	ServeProcess serveProcessCmd `cmd:"" hidden:""`
	SuperviseOne superviseCmd    `cmd:"" hidden:""`
	ServePackage servePackageCmd `cmd:"" hidden:""`
	RelayFrames  relayCmd        `cmd:"" hidden:""`
	Manual       manualCmd       `cmd:"" hidden:"" help:"Write the manual."`
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
	parser, err := newParser(ctx, &c, defaultDir())
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

func newParser(ctx context.Context, c *cli, dir string) (*kong.Kong, error) {
	return kong.New(c, kong.Name("volant-lab"), kong.Vars{"dir": dir}, kong.Help(manual.Printer(pages)),
		kong.BindTo(ctx, (*context.Context)(nil)))
}

type manualCmd struct{ manual.Cmd }

// Run implements the command.
func (c *manualCmd) Run(ctx context.Context) error {
	var any cli
	k, err := newParser(ctx, &any, "~/.local/state/volant-lab")
	if err != nil {
		return err
	}
	return c.Write(os.Stdout, k, pages, wire.Release())
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
