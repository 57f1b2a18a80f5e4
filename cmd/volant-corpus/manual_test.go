package main

import (
	"flag"
	"os"
	"testing"

	"github.com/alecthomas/kong"

	"volant/cmd/internal/manual"
)

var update = flag.Bool("update", false, "write the generated parts of docs")

func TestCommandsDocument(t *testing.T) {
	var c cli
	k, err := kong.New(&c, kong.Name("volant-corpus"))
	if err != nil {
		t.Fatal(err)
	}
	const file = "../../docs/COMMANDS.md"
	text := manual.Text(k, pages)
	if *update {
		if err := manual.Replace(file, "volant-corpus", text); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if part, ok := manual.Part(string(b), "volant-corpus"); !ok || part != text {
		t.Errorf("%s is not what the code says; make golden writes it anew", file)
	}
}
