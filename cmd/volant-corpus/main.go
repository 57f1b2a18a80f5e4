// Command volant-corpus runs recorded behaviour of the reference against this
// implementation and says what differs.
package main

import (
	"fmt"
	"os"

	"github.com/alecthomas/kong"

	"volant/cmd/internal/manual"
	"volant/wire"
)

type cli struct {
	Templating templatingCmd `cmd:"" help:"Render recorded templates and compare the results."`
	Manual     manual.Cmd    `cmd:"" hidden:"" help:"Write the manual."`
}

func main() {
	var c cli
	k := kong.Parse(&c, kong.Name("volant-corpus"), kong.Help(manual.Printer(pages)), kong.UsageOnError())
	if k.Command() == "manual" {
		if err := c.Manual.Write(os.Stdout, k.Kong, pages, wire.Release()); err != nil {
			fmt.Fprintln(os.Stderr, "volant-corpus:", err)
			os.Exit(2)
		}
		return
	}
	failed, err := c.Templating.run(k.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "volant-corpus:", err)
		os.Exit(2)
	}
	if failed > 0 {
		os.Exit(1)
	}
}
