// Command volant-corpus runs recorded behaviour of the reference against this
// implementation and says what differs.
package main

import (
	"fmt"
	"os"

	"github.com/alecthomas/kong"
)

type cli struct {
	Templating    templatingCmd    `cmd:"" help:"Render recorded templates and compare the results."`
	Compatibility compatibilityCmd `cmd:"" help:"List the reference's filters, tests and lookups and what differs, as Markdown."`
}

func main() {
	var c cli
	k := kong.Parse(&c, kong.Name("volant-corpus"), kong.Description("Compare recorded reference behaviour with ours."), kong.UsageOnError())
	if k.Command() == "compatibility" {
		c.Compatibility.run(k.Stdout)
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
