package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"volant/controller/template/difftest"
)

// refused is a command line that ansible-core refuses, and what it says.
type refused struct {
	Command string
	Args    []string
	Error   string
}

// says is what a command shows on standard error under ansible-core's name.
func says(t *testing.T, command string, columns int, args ...string) (string, int) {
	t.Helper()
	name := ""
	for alias, sub := range aliases {
		if sub == command {
			name = alias
		}
	}
	var errs bytes.Buffer
	dir := t.TempDir()
	p := &process{name: name, command: command, find: find, stdout: &bytes.Buffer{}, stderr: &errs, dir: dir, home: dir,
		getenv: func(n string) (string, bool) {
			switch n {
			case "COLUMNS":
				return strconv.Itoa(columns), true
			case "ANSIBLE_DEPRECATION_WARNINGS":
				return "0", true
			}
			return "", false
		}}
	code := p.code(context.Background(), find(command)(context.Background(), p, args))
	return errs.String(), code
}

// The words of a refusal, recorded from ansible-core.
func TestRefusedCommandLines(t *testing.T) {
	f, err := os.Open("testdata/refused.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var c refused
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		got, code := says(t, c.Command, 80, c.Args...)
		if !strings.HasPrefix(got, "usage: ") || !strings.HasSuffix(got, "\n"+c.Error+"\n") || code != 2 {
			t.Errorf("%s %q: %d %s\nwant %s", c.Command, c.Args, code, got, c.Error)
		}
	}
	if n < 200 {
		t.Errorf("%d command lines", n)
	}
}

// The usage, folded for terminals of several widths, recorded from
// ansible-core. File names are the command and the width.
func TestUsages(t *testing.T) {
	a, err := txtar.ParseFile("testdata/usages.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		words := strings.Fields(f.Name)
		columns, err := strconv.Atoi(words[len(words)-1])
		if err != nil {
			t.Fatal(err)
		}
		got, _ := says(t, aliases[words[0]], columns, append(words[1:len(words)-1], "--verbose=1")...)
		i := strings.LastIndex(strings.TrimSuffix(got, "\n"), "\n") + 1
		if got[:i] != string(f.Data) {
			t.Errorf("%s:\n%s\nwant\n%s", f.Name, got, f.Data)
		}
	}
}

// Generated command lines, refused by the ansible-core that is installed.
func TestCommandLinesBesideTheReference(t *testing.T) {
	python := referencePython(t)
	seed := "11"
	out, err := exec.CommandContext(t.Context(), python, "testdata/commandlines.py", "400", seed).Output()
	if err != nil {
		t.Fatalf("the generator: %v", err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var c refused
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if got, code := says(t, c.Command, 80, c.Args...); got != c.Error || code != 2 {
			t.Errorf("%s %q: %d\n%s\nwant\n%s", c.Command, c.Args, code, got, c.Error)
		}
	}
}

// referencePython is the Python of the ansible-core that VOLANT_ANSIBLE_CORE or
// PATH names, where that is the reference's release.
func referencePython(t *testing.T) string {
	t.Helper()
	python, err := difftest.Python()
	if errors.Is(err, difftest.ErrNoReference) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), python, "-c", "import ansible.release as r; print(r.__version__)").Output()
	if err != nil || !strings.HasPrefix(string(out), "2.19.") {
		t.Skipf("ansible-core is %s, %v", out, err)
	}
	return python
}
