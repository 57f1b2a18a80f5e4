// Command volant-agent is the agent on a managed host.
//
//	volant-agent enrol      read a controller's wishes on stdin (package bootstrap/enrol), see that an agent serves it
//	volant-agent bridge     pass a controller's datagrams on from an SSH session
//	volant-agent serve      run the agent of a home until SIGTERM
//	volant-agent worker     speak frames on stdin and stdout, as another user's helper of an agent
//	volant-agent install    put this binary into a home and start it
//	volant-agent status     what serves, whom, since when
//	volant-agent keys       list or revoke the controllers an agent serves
//	volant-agent uninstall  end the agent and remove everything
//	volant-agent version    release and protocol of this binary
package main

import (
	"fmt"
	"io"
	"log"
	"os"

	"github.com/alecthomas/kong"

	"volant/cmd/internal/manual"
	"volant/cmd/internal/private"
	"volant/cores"
	"volant/wire"
)

type cli struct {
	Enrol     enrolCmd     `cmd:"" help:"Enrol the controller described on standard input; for the bootstrap over SSH."`
	Serve     serveCmd     `cmd:"" help:"Serve links until SIGTERM."`
	Bridge    bridgeCmd    `cmd:"" hidden:"" help:"Pass datagrams between standard input and output and the agent of a home."`
	Worker    workerCmd    `cmd:"" help:"Run sub-tasks for an agent over standard input and output."`
	Job       jobCmd       `cmd:"" hidden:"" help:"Run a background job that standard input describes."`
	Install   installCmd   `cmd:"" help:"Put this binary into a home and start it."`
	Status    statusCmd    `cmd:"" help:"Show what serves a home."`
	Keys      keysCmd      `cmd:"" help:"List or revoke the controllers that an agent serves."`
	Uninstall uninstallCmd `cmd:"" help:"End the agent and remove everything it keeps."`
	Version   versionCmd   `cmd:"" help:"Show the release and the protocol."`
	Manual    manualCmd    `cmd:"" hidden:"" help:"Write the manual."`
}

func main() {
	private.Keep()
	cores.Few()
	log.SetOutput(io.Discard) // quic-go writes there about socket buffers; our own log does, too
	var c cli
	k, err := kong.New(&c, kong.Name("volant-agent"), kong.Description("The Volant agent of a managed host."), kong.Help(manual.Printer(pages)), kong.UsageOnError())
	if err != nil {
		fmt.Fprintln(os.Stderr, "volant-agent:", err)
		os.Exit(1)
	}
	ctx, err := k.Parse(os.Args[1:])
	k.FatalIfErrorf(err)
	if err := ctx.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "volant-agent:", err)
		os.Exit(1)
	}
}

type manualCmd struct{ manual.Cmd }

// Run implements the command.
func (c *manualCmd) Run(ctx *kong.Context) error {
	return c.Write(os.Stdout, ctx.Kong, pages, wire.Release())
}
