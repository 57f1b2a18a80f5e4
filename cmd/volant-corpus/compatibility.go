package main

import (
	"fmt"
	"io"

	"volant/controller/template"
)

type compatibilityCmd struct{}

// run writes the table that docs/COMPATIBILITY.md holds.
func (compatibilityCmd) run(out io.Writer) {
	kind := ""
	for _, r := range template.Compatibility(template.Reference()) {
		if r.Kind != kind {
			kind = r.Kind
			fmt.Fprintf(out, "\n| %s | here | what differs |\n| --- | --- | --- |\n", kind)
		}
		have := "yes"
		if !r.Ours {
			have = "no"
		}
		fmt.Fprintf(out, "| `%s` | %s | %s |\n", r.Name, have, r.Differs)
	}
}
