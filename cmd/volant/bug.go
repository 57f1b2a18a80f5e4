package main

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"volant/controller/fault"
)

// guarded runs a command and turns a panic of its goroutine into an error.
func guarded(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &fault.Bug{Doing: "running the command", Panic: p, Stack: debug.Stack()}
		}
	}()
	return do()
}

// bug shows a fault of our own: a line, and the stack where every detail was
// asked for.
func (p *process) bug(b *fault.Bug, args []string) int {
	p.show(errors.New(b.Error()))
	if detailed(args) {
		fmt.Fprintf(p.stderr, "%s\n", b.Stack)
	}
	return codeUnexpected
}

// detailed tells whether the options of a command hold -vvv or more.
func detailed(args []string) bool {
	n := 0
	for _, a := range args {
		switch {
		case a == "--":
			return n >= 3
		case a == "--verbose":
			n++
		case len(a) > 1 && a[0] == '-' && strings.Trim(a[1:], "v") == "":
			n += len(a) - 1
		}
	}
	return n >= 3
}
