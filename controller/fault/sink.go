package fault

import (
	"fmt"
	"strings"
)

// Sink takes what a loader has to tell the operator besides its result.
// Whoever shows messages implements it.
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

func (discard) Warning(error)          {}
func (discard) Deprecated(Deprecation) {}
func (discard) Verbose(int, string)    {}

// Warn tells sink a warning that is only a text.
func Warn(sink Sink, format string, args ...any) {
	sink.Warning(&Error{Msg: fmt.Sprintf(format, args...)})
}
