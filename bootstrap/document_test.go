package bootstrap

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the matrix in docs/COMPATIBILITY.md")

const (
	matrixBegin = "<!-- begin situations: written by make golden -->\n"
	matrixEnd   = "<!-- end situations -->\n"
)

// TestMatrixDocument: docs/COMPATIBILITY.md has every situation that TestMatrix
// tries.
func TestMatrixDocument(t *testing.T) {
	var b strings.Builder
	b.WriteString(matrixBegin + "\n| | situation | outcome |\n| --- | --- | --- |\n")
	last := ""
	for _, s := range situations {
		group := ""
		if s.group != last {
			group, last = s.group, s.group
		}
		note := ""
		if s.native {
			note = " (our own client)"
		}
		if s.elsewhere != "" {
			note = " (" + s.elsewhere + ")"
		}
		fmt.Fprintf(&b, "| %s | %s | %s%s |\n", group, s.name, s.outcome, note)
	}
	b.WriteString("\n" + matrixEnd)
	const file = "../docs/COMPATIBILITY.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(text), matrixBegin)
	_, after, ok2 := strings.Cut(rest, matrixEnd)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the matrix", file)
	}
	want := before + b.String() + after
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(text) {
		t.Errorf("%s does not have the situations as they are tried: go test ./bootstrap -run Document -update", file)
	}
}
