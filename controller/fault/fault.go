// Package fault is the one shape of error the controller shows to users: a
// message, the place in a file the operator wrote, a hint, and a cause that has
// the same. Every controller package that refuses something the operator wrote
// returns a *Error; brief and verbose texts are the reference's.
package fault

import (
	"errors"
	"fmt"
	"strings"

	"volant/wire/value"
)

// Kind tells callers and the exit code apart; the text never depends on it.
type Kind int

// The kinds. Parser ends a run with exit code 4, Options with 5, the others
// with 1 when nobody handles them.
const (
	Generic   Kind = 0
	Parser    Kind = 1 // a playbook or data file could not be used
	Options   Kind = 2 // wrong option or value on the command line
	Undefined Kind = 3 // a template used a variable that has no value
	Template  Kind = 4 // any other failure of a template
	NotFound  Kind = 5 // a controller file is missing
	Omitted   Kind = 6 // a template gave omit where a value is needed
)

// Error is one link of a chain of messages.
type Error struct {
	Kind Kind
	// Class is the reference's name for this exception where it has one
	// (AnsibleTemplateSyntaxError); no text depends on it.
	Class string
	Msg   string // this link's own message, without its cause's
	// Pos is where the operator wrote what went wrong; zero when unknown. A
	// File that does not begin with a slash is a description such as
	// "<CLI option '-e'>" and is shown without an excerpt.
	Pos value.Pos
	// Excerpt is the text of the value at fault, shown shortened below the
	// origin when Pos names no file. With a zero Pos the origin is "<unknown>"
	// then; without an Excerpt there is no origin at all.
	Excerpt string
	Help    string
	// Cause is shown after this link; NoFollow leaves it out of the texts.
	Cause    error
	NoFollow bool
	// Parts are errors of their own that this link sums up, each shown whole
	// below it.
	Parts []error
	// During says that the error came up while another, not shown, was handled:
	// its text is then never joined with that of the link it caused.
	During bool
	// AsIs keeps the white space around Msg, as it is in what a module said.
	AsIs bool
	// Redacted shows the origin without the lines around it.
	Redacted bool
}

// New makes an Error of a kind at pos.
func New(kind Kind, pos value.Pos, format string, args ...any) *Error {
	return &Error{Kind: kind, Pos: pos, Msg: fmt.Sprintf(format, args...)}
}

// Because sets the cause and returns e.
func (e *Error) Because(cause error) *Error {
	e.Cause = cause
	return e
}

// WithHelp sets the hint and returns e.
func (e *Error) WithHelp(help string) *Error {
	e.Help = help
	return e
}

// Error is the brief text: the messages of the chain joined by colons.
func (e *Error) Error() string { return Brief(e) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether err's chain has a link of that kind.
func Is(err error, kind Kind) bool {
	for err != nil {
		if e, ok := err.(*Error); ok && e.Kind == kind { //nolint:errorlint // every link is looked at
			return true
		}
		err = errors.Unwrap(err)
	}
	return false
}

// KindOf is the kind of the first link that has one other than Generic.
func KindOf(err error) Kind {
	for err != nil {
		if e, ok := err.(*Error); ok && e.Kind != Generic { //nolint:errorlint // every link is looked at
			return e.Kind
		}
		err = errors.Unwrap(err)
	}
	return Generic
}

// link is the chain as the texts need it.
type link struct {
	msg, context, help string
	apart              bool // never joined with the link in front
	parts              []error
	next               *link
}

// maxDepth bounds a chain of causes.
const maxDepth = 10

func chain(err error, depth int) *link {
	if depth > maxDepth {
		return &link{msg: "Maximum depth exceeded, omitting further events."}
	}
	e, ok := err.(*Error) //nolint:errorlint // the outermost link only
	if !ok {
		var inner *Error
		if !errors.As(err, &inner) {
			return &link{msg: strings.TrimSpace(err.Error())}
		}
		// A wrapping in Go's way adds context to the text: keep the text, and
		// what the link inside knows.
		l := chain(inner, depth+1)
		l.msg, l.next = strings.TrimSpace(err.Error()), nil
		return l
	}
	l := &link{msg: strings.TrimSpace(e.Msg), context: e.context(), help: e.Help, apart: e.During || len(e.Parts) > 0, parts: e.Parts}
	if e.AsIs {
		l.msg = e.Msg
	}
	if e.Cause != nil && !e.NoFollow {
		l.next = chain(e.Cause, depth+1)
	}
	return l
}

// Brief joins the messages of a chain, leaving out what a link repeats of the
// one it caused.
func Brief(err error) string {
	if err == nil {
		return ""
	}
	var parts []string
	for l := chain(err, 0); l != nil; l = l.next {
		parts = append(parts, l.msg)
	}
	return join(parts)
}

// join puts messages together from the innermost outwards.
func join(parts []string) string {
	msg := parts[len(parts)-1]
	for i := len(parts) - 2; i >= 0; i-- {
		if strings.HasSuffix(parts[i], msg) {
			msg = parts[i]
		} else {
			msg = strings.TrimRight(parts[i], ". ") + ": " + msg
		}
	}
	return msg
}

// Verbose is the text of an `[ERROR]: ` block: every link with its origin, the
// lines around it and its hint, ending in one newline or, when it has several
// lines, in two.
func Verbose(err error) string {
	text := strings.TrimSpace(verbose(err, 0))
	if strings.Contains(text, "\n") {
		return text + "\n\n"
	}
	return text + "\n"
}

func verbose(err error, depth int) string {
	var segments []string
	for l := chain(err, 0); l != nil; {
		messages := []string{l.msg}
		next := l.next
		for next != nil && !next.apart {
			if (next.context != "" || next.help != "") && (next.context != l.context || next.help != l.help) {
				break
			}
			messages = append(messages, next.msg)
			next = next.next
		}
		segments = append(segments, lines(join(messages), l.help, l.context)+"\n"+parts(l.parts, depth+1))
		if next != nil {
			segments = append(segments, "\n<<< caused by >>>\n\n")
		}
		l = next
	}
	text := strings.Join(segments, "")
	if len(segments) > 1 {
		text = Brief(err) + "\n\n" + text
	}
	return text
}

// parts are the texts of errors that another sums up, in a frame.
func parts(errs []error, depth int) string {
	if len(errs) == 0 || depth > maxDepth {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n")
	for i, err := range errs {
		fmt.Fprintf(&b, "+--[ Sub-Event %d of %d ]---\n| \n", i+1, len(errs))
		for line := range strings.SplitSeq(verbose(err, depth), "\n") {
			b.WriteString("| " + line + "\n")
		}
	}
	b.WriteString("+--[ End Sub-Event ]---\n")
	return b.String()
}

func lines(msg, help, context string) string {
	if help != "" && context == "" && !strings.Contains(msg, "\n") && !strings.Contains(help, "\n") {
		return msg + " " + help
	}
	if context != "" {
		msg += "\n" + context
	}
	if help != "" {
		msg += "\n\n" + help
	}
	return msg
}
