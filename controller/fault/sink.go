package fault

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// Sink takes what a loader has to tell the operator besides its result.
// Whoever shows messages implements it; Console is the plain one.
type Sink interface {
	// Warning shows a warning; one with the same text is shown once.
	Warning(err error)
	// Deprecated shows a deprecation, unless those are turned off.
	Deprecated(d Deprecation)
	// Verbose shows msg when -v was given at least level times.
	Verbose(level int, msg string)
}

// Deprecation is a message about something a later release takes away.
type Deprecation struct {
	Error
	Version string // of ansible-core in which it goes
	// Plugin names what deprecates, such as "ini inventory plugin"; "" is
	// ansible-core itself.
	Plugin string
}

// Text is the message with the sentence on when it goes.
func (d Deprecation) Text() string {
	from := "ansible-core"
	if d.Plugin != "" {
		from = d.Plugin + " in ansible-core"
	}
	msg := strings.TrimSpace(d.Msg)
	if !strings.HasSuffix(msg, ".") && !strings.HasSuffix(msg, "!") && !strings.HasSuffix(msg, "?") {
		msg += "."
	}
	return fmt.Sprintf("%s This feature will be removed from %s version %s.", msg, from, d.Version)
}

// Discard is a Sink that drops everything.
var Discard Sink = discard{}

type discard struct{}

func (discard) Warning(error)         {}
func (discard) Deprecated(Deprecation) {}
func (discard) Verbose(int, string)    {}

// Console is a Sink that writes to the terminal's two streams, each warning
// once. It is safe for concurrent use.
type Console struct {
	Out, Err  io.Writer
	Verbosity int
	// NoDeprecations leaves deprecations out.
	NoDeprecations bool
	// Paint colours a message of the given kind ("warning", "deprecated",
	// "error", "verbose"); nil leaves it plain.
	Paint func(kind, text string) string

	mu   sync.Mutex // guards seen and the order of lines
	seen map[string]bool
}

var _ Sink = (*Console)(nil)

func (c *Console) write(w io.Writer, kind, text string, once bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if once {
		if c.seen[text] {
			return
		}
		if c.seen == nil {
			c.seen = map[string]bool{}
		}
		c.seen[text] = true
	}
	if c.Paint != nil {
		text = c.Paint(kind, text)
	}
	_, _ = io.WriteString(w, text)
}

// Warning implements Sink.
func (c *Console) Warning(err error) { c.write(c.Err, "warning", "[WARNING]: "+Verbose(err), true) }

// Deprecated implements Sink.
func (c *Console) Deprecated(d Deprecation) {
	if c.NoDeprecations {
		return
	}
	e := d.Error
	e.Msg = d.Text()
	c.write(c.Err, "deprecated", "[DEPRECATION WARNING]: "+Verbose(&e), true)
}

// Verbose implements Sink.
func (c *Console) Verbose(level int, msg string) {
	if c.Verbosity >= level {
		c.write(c.Out, "verbose", strings.TrimRight(msg, "\n")+"\n", false)
	}
}

// Fatal shows the error that ends a program.
func (c *Console) Fatal(err error) { c.write(c.Err, "error", "[ERROR]: "+Verbose(err), true) }

// Warn tells sink a warning that is only a text.
func Warn(sink Sink, format string, args ...any) {
	sink.Warning(&Error{Msg: fmt.Sprintf(format, args...)})
}
