package jinja

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

// addRecorded seeds a fuzz target with recorded templates and odd ones.
func addRecorded(f *testing.F) {
	f.Helper()
	for _, name := range []string{"testdata/recorded.jsonl", "testdata/language.jsonl"} {
		file, err := os.Open(name)
		if err != nil {
			f.Fatal(err)
		}
		for lines := bufio.NewScanner(file); lines.Scan(); {
			var c struct{ Template string }
			if json.Unmarshal(lines.Bytes(), &c) == nil {
				f.Add(c.Template)
			}
		}
		file.Close()
	}
	for _, s := range []string{"{%", "{{ '", "{#", "{% raw -%}x{%- endraw %}", "#% if x\n## c\n#% endif", "<% a %><$ b $>", "{{ 1_0 }}\r\n{%- if x +%}\r", "a\x00\xff{{ '\\", "{{ a ~}}"} {
		f.Add(s)
	}
}

// variants are options that a template can ask for.
var variants = []Options{
	{}, {TrimBlocks: true, LstripBlocks: true}, {LineStatement: "#%", LineComment: "##", KeepTrailingNewline: true},
	{BlockStart: "<%", BlockEnd: "%>", VariableStart: "<$", VariableEnd: "$>", CommentStart: "<#", CommentEnd: "#>", NewlineSequence: "\r\n"},
	{EscapeBackslashes: true},
}

// FuzzLexer checks that any text ends in one last token, that lines only go
// on, and that no more text comes out than went in.
func FuzzLexer(f *testing.F) {
	addRecorded(f)
	f.Fuzz(func(t *testing.T, src string) {
		for _, o := range variants {
			set := o.settings()
			for _, state := range []string{"", "variable"} {
				toks := lex(src, state, set)
				line, data := 1, 0
				for _, k := range toks {
					if k.line < line {
						t.Fatalf("%+v: line %d after %d", o, k.line, line)
					}
					line = k.line
					if k.kind == kData {
						data += len(k.text)
					}
				}
				if n := strings.Count(src, "\n") + strings.Count(src, "\r") + 1; line > n {
					t.Fatalf("%+v: line %d of %d", o, line, n)
				}
				if data > len(src)*2 { // a newline may become two bytes
					t.Fatalf("%+v: %d bytes of text out of %d", o, data, len(src))
				}
				if len(toks) == 0 || toks[len(toks)-1].kind != kEOF && toks[len(toks)-1].kind != kError {
					t.Fatalf("%+v: the last token is not the end", o)
				}
			}
		}
	})
}

// FuzzParser checks that errors name a line of the text and that what is an
// expression alone is one in a template.
func FuzzParser(f *testing.F) {
	addRecorded(f)
	f.Fuzz(func(t *testing.T, src string) {
		for _, o := range variants {
			set := o.settings()
			_, err := parse(src, "", set)
			located(t, src, err)
			_, err = parseExpr(src, set)
			located(t, src, err)
			if err == nil && o == (Options{}) && !strings.Contains(src, "}}") {
				if _, err := parse("{{ "+src+" }}", "", set); err != nil {
					t.Fatalf("an expression, but not in a template: %v", err)
				}
			}
		}
	})
}

func located(t *testing.T, src string, err error) {
	t.Helper()
	var syntax *SyntaxError
	switch {
	case err == nil:
	case !errors.As(err, &syntax):
		t.Fatalf("%T: %v", err, err)
	case syntax.Line < 1 || syntax.Line > strings.Count(src, "\n")+strings.Count(src, "\r")+1 || syntax.Msg == "":
		t.Fatalf("line %d: %q", syntax.Line, syntax.Msg)
	}
}
