package jinja

import "strings"

// kind is the kind of a token. Operators have their own text as kind, the
// others Jinja2's names, since both appear in its error messages.
type kind string

const (
	kData          kind = "data"
	kVariableBegin kind = "variable_begin"
	kVariableEnd   kind = "variable_end"
	kBlockBegin    kind = "block_begin"
	kBlockEnd      kind = "block_end"
	kName          kind = "name"
	kString        kind = "string"
	kInteger       kind = "integer"
	kFloat         kind = "float"
	kEOF           kind = "eof"
	kError         kind = "error"
)

type token struct {
	kind kind
	text string // of names, strings (unescaped), data
	num  any    // of numbers
	line int
	err  string // of kError: what the lexer has to say when the parser gets here
}

var kindNames = map[kind]string{
	kData: "template data / text", kVariableBegin: "begin of print statement", kVariableEnd: "end of print statement",
	kBlockBegin: "begin of statement block", kBlockEnd: "end of statement block", kEOF: "end of template",
}

func (k kind) String() string {
	if s, ok := kindNames[k]; ok {
		return s
	}
	return string(k)
}

func (t token) String() string {
	if t.kind == kName {
		return t.text
	}
	return t.kind.String()
}

// is reports whether t is what expr says: a kind, or "name:" and a word.
func (t token) is(expr string) bool {
	if word, ok := strings.CutPrefix(expr, "name:"); ok {
		return t.kind == kName && t.text == word
	}
	return string(t.kind) == expr
}

// describe is how messages call what expr says.
func describe(expr string) string {
	if word, ok := strings.CutPrefix(expr, "name:"); ok {
		return word
	}
	return kind(expr).String()
}

// operators, longest first.
var operators = []string{"**", "//", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".", ":", "|", ",", ";"}
