package fault

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"volant/wire/value"
)

func TestTexts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "site.yml")
	if err := os.WriteFile(file, []byte("- hosts: all\n  tasks:\n    - debug:\n\tmsg: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(line, col int) value.Pos { return value.Pos{File: file, Line: line, Column: col} }
	for _, tt := range []struct {
		name           string
		err            error
		brief, verbose string
	}{
		{"plain", errors.New(" bad "), "bad", "bad\n"},
		{"joined", &Error{Msg: "Outer.", Cause: &Error{Msg: "inner"}}, "Outer: inner", "Outer: inner\n"},
		{"said already", &Error{Msg: "Outer: inner", Cause: &Error{Msg: "inner"}}, "Outer: inner", "Outer: inner\n"},
		{"not followed", &Error{Msg: "Outer.", Cause: errors.New("inner"), NoFollow: true}, "Outer.", "Outer.\n"},
		{"help", &Error{Msg: "Bad.", Help: "Do good."}, "Bad.", "Bad. Do good.\n"},
		{"value", &Error{Msg: "Bad.", Excerpt: "a  b"}, "Bad.", "Bad.\nOrigin: <unknown>\n\na b\n\n"},
		{"option", &Error{Msg: "Bad.", Excerpt: "x", Pos: value.Pos{File: "<CLI option '-a'>"}}, "Bad.", "Bad.\nOrigin: <CLI option '-a'>\n\nx\n\n"},
		{"place", &Error{Msg: "Bad.", Pos: at(3, 7)}, "Bad.",
			"Bad.\nOrigin: " + file + ":3:7\n\n1 - hosts: all\n2   tasks:\n3     - debug:\n        ^ column 7\n\n"},
		{"line", &Error{Msg: "Bad.", Pos: at(1, 0)}, "Bad.", "Bad.\nOrigin: " + file + ":1\n\n1 - hosts: all\n  ^^^^^^^^^^^^\n\n"},
		{"tab", &Error{Msg: "Bad.", Pos: at(4, 2)}, "Bad.",
			"Bad.\nOrigin: " + file + ":4:2\n\n2   tasks:\n3     - debug:\n4  msg: x\n   ^ column 2\n\n"},
		{"too short", &Error{Msg: "Bad.", Pos: at(9, 1)}, "Bad.", "Bad.\nOrigin: " + file + ":9:1\n\n(source not shown: file truncated)\n\n"},
		{"gone", &Error{Msg: "Bad.", Pos: value.Pos{File: "/nosuch/f", Line: 1}}, "Bad.", "Bad.\nOrigin: /nosuch/f:1\n\n(source not shown: FileNotFoundError)\n\n"},
		{"two places", &Error{Msg: "Outer.", Pos: at(1, 1), Cause: &Error{Msg: "inner", Excerpt: "v"}}, "Outer: inner",
			"Outer: inner\n\nOuter.\nOrigin: " + file + ":1:1\n\n1 - hosts: all\n  ^ column 1\n\n<<< caused by >>>\n\ninner\nOrigin: <unknown>\n\nv\n\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.brief, Brief(tt.err)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.verbose, Verbose(tt.err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestKinds(t *testing.T) {
	err := fmt.Errorf("reading: %w", &Error{Msg: "x", Cause: &Error{Kind: Undefined, Msg: "y"}})
	if KindOf(err) != Undefined || !Is(err, Undefined) || Is(err, Parser) {
		t.Errorf("kind of %v is %v", err, KindOf(err))
	}
}

func TestChainIsBounded(t *testing.T) {
	var err error = errors.New("end")
	for i := range 50 {
		err = &Error{Msg: fmt.Sprintf("m%d", i), Cause: err}
	}
	if got := Brief(err); !strings.HasSuffix(got, "Maximum depth exceeded, omitting further events.") {
		t.Error(got)
	}
}

func TestShorten(t *testing.T) {
	long := strings.Repeat("word ", 40)
	if got := Shorten(long); len(got) > maxWidth || !strings.HasSuffix(got, "[...]") {
		t.Errorf("%d: %q", len(got), got)
	}
}
