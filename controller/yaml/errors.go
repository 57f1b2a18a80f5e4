package yaml

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	yamlv4 "go.yaml.in/yaml/v4"

	"volant/controller/fault"
	"volant/wire/rx"
	"volant/wire/value"
)

// failed begins the message of every error, as AnsibleYAMLParserError's does.
const failed = "YAML parsing failed: "

// Hints the reference gives with a syntax error it thinks it knows.
const (
	helpTemplate = "\nFor example:\n\n    raw: {{ some_var }}\n\nShould be:\n\n    raw: \"{{ some_var }}\"\n"
	helpColon    = "\nFor example:\n\n    raw: echo 'name: ansible'\n\nShould be:\n\n    raw: \"echo 'name: ansible'\"\n"
	helpQuotes   = "\nFor example:\n\n    raw: \"foo\" in bar\n\nShould be:\n\n    raw: '\"foo\" in bar'\n"
	helpInside   = "\nFor example:\n\n    raw: \"foo\" in \"bar\"\n\nShould be:\n\n    raw: '\"foo\" in \"bar\"'\n"
)

var (
	unquotedTemplate = rx.Lazy(`^\s*(?:-\s+)*(?:[\pL\pN_\s]+:\s+)?(\{\{.*\}\})`)
	valueOfLine      = rx.Lazy(`^\s*(?:-\s+)*(?:[\pL\pN_\s\[\]{}]+:\s+)?(.*)$`)
	quotedValue      = rx.Lazy(`^\s*('[^']*'|"[^"]*")\s*$`)
	bareColon        = rx.Lazy(`:($| )`)
	quotedStart      = rx.Lazy(`^\s*(?:-\s+)*(?:[\pL\pN_\s]+:\s+)?(["'].*?\s*)$`)
)

// wrap turns what the parser or constructor said into the reference's error.
// Like the reference it looks at the line in question for common mistakes and
// says those instead (ansible/_internal/_yaml/_errors.py).
func (o *Options) wrap(err error, data []byte) error {
	e := &fault.Error{Kind: fault.Parser, Class: "AnsibleYAMLParserError", Pos: value.Pos{File: o.File}, Redacted: o.Redacted, NoFollow: true}
	m := markedOf(err)
	e.Cause = &SyntaxError{text: err.Error()}
	if m != nil {
		e.Cause = &SyntaxError{text: m.python()}
	}
	if m == nil {
		e.Msg = failed + strings.Join(strings.Fields(err.Error()), " ")
		return e
	}
	e.Pos.Line, e.Pos.Column = m.line, m.column
	target := ""
	if strings.HasPrefix(o.File, "/") && !o.Redacted {
		target = lineOf(data, m.line)
	}
	if !m.own && target != "" {
		if msg, help, column := diagnose(target); msg != "" {
			e.Msg, e.Help, e.Pos.Column = failed+msg, help, column
			return e
		}
	}
	msg := strings.TrimSpace(m.context + " " + m.problem)
	if r, size := utf8.DecodeRuneInString(msg); size > 0 {
		msg = string(unicode.ToUpper(r)) + msg[size:]
	}
	if !strings.HasSuffix(msg, ".") {
		msg += "."
	}
	e.Msg = failed + strings.Join(strings.Fields(msg), " ")
	return e
}

// markedOf finds the place and parts of err, or nil when it has no place.
func markedOf(err error) *errMarked {
	var m *errMarked
	if errors.As(err, &m) {
		return m
	}
	var le *yamlv4.LoadError
	if !errors.As(err, &le) || le.Mark.Line == 0 {
		return nil
	}
	m = &errMarked{context: le.ContextMsg, problem: le.Message, line: le.Mark.Line, column: le.Mark.Column,
		contextLine: le.ContextMark.Line, contextColumn: le.ContextMark.Column}
	// Where go-yaml's words are not libyaml's.
	switch {
	case strings.HasPrefix(m.problem, "unknown anchor "):
		m.problem = "found undefined alias"
	case m.problem == "did not find expected hexadecimal number":
		m.context, m.problem = "while parsing a quoted scalar", "did not find expected hexdecimal number"
	case m.problem == "found unknown escape character":
		m.context = "while parsing a quoted scalar"
	case strings.HasPrefix(m.problem, "found character '\\'' that is not allowed in a YAML tag"):
		m.context, m.problem = "while scanning a tag", "did not find expected whitespace or line break"
	}
	return m
}

func lineOf(data []byte, n int) string {
	text := string(data)
	for i := 1; ; i++ {
		line, rest, more := cutLine(text)
		if i == n {
			return line
		}
		if !more {
			return ""
		}
		text = rest
	}
}

func cutLine(s string) (line, rest string, more bool) {
	i := strings.IndexAny(s, "\r\n")
	if i < 0 {
		return s, "", false
	}
	line, rest = s[:i], s[i+1:]
	if s[i] == '\r' {
		rest = strings.TrimPrefix(rest, "\n")
	}
	return line, rest, true
}

// diagnose looks at the line an error is in for a mistake people make often.
// column counts characters from 1.
func diagnose(line string) (msg, help string, column int) {
	at := func(byteIndex int) int { return utf8.RuneCountInString(line[:byteIndex]) + 1 }
	if i := strings.IndexByte(line, '\t'); i >= 0 {
		return "Tabs are usually invalid in YAML.", "", at(i)
	}
	if m := unquotedTemplate.FindStringSubmatchIndex(line); m != nil {
		return "This may be an issue with missing quotes around a template block.", helpTemplate, at(m[2])
	}
	if !strings.HasPrefix(strings.TrimLeftFunc(line, unicode.IsSpace), ":") {
		if m := valueOfLine.FindStringSubmatchIndex(line); m != nil {
			fragment := line[m[2]:m[3]]
			if quotedValue.MatchString(fragment) {
				fragment = strings.Repeat(".", len(fragment))
			}
			if c := bareColon.FindStringIndex(fragment); c != nil {
				return "Colons in unquoted values must be followed by a non-space character.", helpColon, at(m[2] + c[0])
			}
		}
	}
	if m := quotedStart.FindStringSubmatchIndex(line); m != nil {
		suspect := line[m[2]:m[3]]
		first, last := suspect[0], suspect[len(suspect)-1]
		switch {
		case first != last:
			return "Values starting with a quote must end with the same quote.", helpQuotes, at(m[2])
		case strings.Count(line, string(first)) > 2:
			return "Values starting with a quote must end with the same quote, and not contain that quote.", helpInside, at(m[2])
		}
	}
	return "", "", 0
}

// SyntaxError is the cause of an error of this package: what PyYAML itself
// says, which the from_yaml filter shows as it is.
type SyntaxError struct{ text string }

// Error is Python's str of the YAMLError.
func (e *SyntaxError) Error() string { return e.text }

// python is the str of a MarkedYAMLError from PyYAML's C parser.
func (m *errMarked) python() string {
	var lines []string
	at := func(line, column int) string {
		return fmt.Sprintf("  in \"<unicode string>\", line %d, column %d", line, column)
	}
	if m.context != "" {
		lines = append(lines, m.context)
		if m.contextLine != 0 && (m.contextLine != m.line || m.contextColumn != m.column) {
			lines = append(lines, at(m.contextLine, m.contextColumn))
		}
	}
	if m.problem != "" {
		lines = append(lines, m.problem)
	}
	return strings.Join(append(lines, at(m.line, m.column)), "\n")
}
