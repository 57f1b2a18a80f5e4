package main

import (
	"flag"
	"os"
	"testing"

	"volant/cmd/internal/manual"
)

var update = flag.Bool("update", false, "write the generated parts of docs")

func TestCommandsDocument(t *testing.T) {
	var c cli
	k, err := newParser(t.Context(), &c, "~/.local/state/volant-lab")
	if err != nil {
		t.Fatal(err)
	}
	const file = "../../docs/COMMANDS.md"
	text := manual.Text(k, pages)
	if *update {
		if err := manual.Replace(file, "volant-lab", text); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if part, ok := manual.Part(string(b), "volant-lab"); !ok || part != text {
		t.Errorf("%s is not what the code says; make golden writes it anew", file)
	}
}
