package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"volant/controller/fault"
)

func TestPanicIsOneLine(t *testing.T) {
	for _, tt := range []struct {
		name  string
		args  []string
		stack bool
	}{
		{"quiet", []string{"site.yml"}, false},
		{"verbose", []string{"-vv", "site.yml"}, false},
		{"every detail", []string{"-vvv", "site.yml"}, true},
		{"every detail, apart", []string{"-v", "--verbose", "-v"}, true},
		{"not an option", []string{"--", "-vvv"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			p := &process{stdin: os.Stdin, stdout: &out, stderr: &out, args: tt.args}
			err := guarded(func() error {
				var none []string
				return errors.New(none[len(tt.args)])
			})
			if code := p.code(context.Background(), fmt.Errorf("wrapped: %w", err)); code != codeUnexpected {
				t.Errorf("exit %d", code)
			}
			if got := strings.Contains(out.String(), "goroutine"); got != tt.stack {
				t.Errorf("stack shown: %v\n%s", got, out.String())
			}
			if !strings.Contains(out.String(), "index out of range") || !strings.Contains(out.String(), "report it") {
				t.Errorf("said %q", out.String())
			}
		})
	}
	if b := new(fault.Bug); errors.As(guarded(func() error { return nil }), &b) {
		t.Error("a bug without a panic")
	}
}
