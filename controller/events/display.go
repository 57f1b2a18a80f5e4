package events

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"golang.org/x/text/width"

	"volant/controller/fault"
)

// Display writes to the terminal as the reference's display object: coloured
// lines, banners, and warnings, deprecations and errors once each. It is safe
// for use by several goroutines.
type Display struct {
	Verbosity int
	Columns   int  // width of banners, at least 79
	Color     bool // whether to colour at all
	// Colors maps an event ("ok", "changed", ...) to a colour name.
	Colors map[string]string
	// Deprecations says whether deprecation warnings are shown.
	Deprecations bool
	VerboseErr   bool // verbose lines go to standard error

	mu       sync.Mutex
	out, err io.Writer
	log      io.Writer
	seen     map[string]struct{}
}

// NewDisplay returns a Display without colours that writes to out and err; log
// receives a copy without colours and may be nil.
func NewDisplay(out, err, log io.Writer) *Display {
	return &Display{
		Columns: 79, Deprecations: true, Colors: defaultColors,
		out: out, err: err, log: log, seen: map[string]struct{}{},
	}
}

var _ fault.Sink = (*Display)(nil)

// defaultColors are the colours of the reference's configuration defaults.
var defaultColors = map[string]string{
	"ok": "green", "changed": "yellow", "skip": "cyan", "unreachable": "bright red", "error": "red",
	"warn": "bright purple", "debug": "dark gray", "verbose": "blue", "deprecate": "purple",
	"highlight": "white", "included": "cyan", "diff_add": "green", "diff_remove": "red", "diff_lines": "cyan",
}

// codes are the terminal sequences of the colour names.
var codes = map[string]string{
	"black": "0;30", "bright gray": "0;37", "blue": "0;34", "white": "1;37", "green": "0;32", "bright blue": "1;34",
	"cyan": "0;36", "bright green": "1;32", "red": "0;31", "bright cyan": "1;36", "purple": "0;35",
	"bright red": "1;31", "yellow": "0;33", "bright purple": "1;35", "dark gray": "1;30", "bright yellow": "1;33",
	"magenta": "0;35", "bright magenta": "1;35", "normal": "0",
}

// Paint colours text for an event when colours are on.
func (d *Display) Paint(text, event string) string {
	code, ok := codes[d.Colors[event]]
	if !d.Color || !ok || event == "" {
		return text
	}
	parts := strings.Split(text, "\n")
	for i, p := range parts {
		parts[i] = "\x1b[" + code + "m" + p + "\x1b[0m"
	}
	return strings.Join(parts, "\n")
}

// Print shows msg on standard output in the colour of event.
func (d *Display) Print(msg, event string) { d.print(msg, event, false) }

// PrintErr shows msg on standard error.
func (d *Display) PrintErr(msg, event string) { d.print(msg, event, true) }

func (d *Display) print(msg, event string, stderr bool) {
	msg = strings.ReplaceAll(msg, "\r\n", "\n")
	text := d.Paint(strings.TrimSuffix(msg, "\n"), event) + "\n"
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.out
	if stderr {
		w = d.err
	}
	// A reader that went away must not stop the run: write errors are dropped.
	_, _ = io.WriteString(w, text)
	if d.log != nil {
		_, _ = io.WriteString(d.log, strings.TrimLeft(msg, "\n")+"\n")
	}
}

// Verbose shows msg when -v was given at least level times.
func (d *Display) Verbose(level int, msg string) {
	if d.Verbosity >= level {
		d.print(msg, "verbose", d.VerboseErr)
	}
}

// Banner shows msg and stars up to the terminal's width.
func (d *Display) Banner(msg, event string) {
	msg = strings.TrimSpace(msg)
	d.Print("\n"+msg+" "+strings.Repeat("*", max(3, d.Columns-textWidth(msg))), event)
}

// textWidth is the number of terminal cells of s.
func textWidth(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case r < 0x20, r >= 0x300 && r <= 0x36f, r >= 0x200b && r <= 0x200f, r >= 0xfe00 && r <= 0xfe0f:
		case r < 0x7f:
			n++
		default:
			switch width.LookupRune(r).Kind() {
			case width.EastAsianWide, width.EastAsianFullwidth:
				n += 2
			default:
				n++
			}
		}
	}
	return n
}

// first reports whether text was not shown before.
func (d *Display) first(text string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.seen[text]; ok {
		return false
	}
	d.seen[text] = struct{}{}
	return true
}

// Warn shows a warning once.
func (d *Display) Warn(w Warning) {
	e := &fault.Error{Msg: w.Msg, Help: w.Help, Pos: w.Pos, Excerpt: w.Excerpt, Cause: w.Cause}
	if text := "[WARNING]: " + fault.Verbose(e); d.first(text) {
		d.PrintErr(text, "warn")
	}
}

// Warning shows an error's text as a warning, once.
func (d *Display) Warning(err error) {
	if text := "[WARNING]: " + fault.Verbose(err); d.first(text) {
		d.PrintErr(text, "warn")
	}
}

// Note shows a plain warning once.
func (d *Display) Note(format string, args ...any) {
	d.Warn(Warning{Msg: fmt.Sprintf(format, args...)})
}

// Error shows an error block once, on standard error when stderr is set.
func (d *Display) Error(err error, stderr bool) {
	if text := "[ERROR]: " + fault.Verbose(err); d.first(text) {
		d.print(text, "error", stderr)
	}
}

// Deprecated shows a deprecation of the controller's own.
func (d *Display) Deprecated(p fault.Deprecation) {
	e := p.Error
	e.Msg = p.Text()
	d.deprecated(&e)
}

// Deprecate shows a deprecation once, after the hint how to turn them off.
func (d *Display) Deprecate(p Deprecation) {
	d.deprecated(&fault.Error{Msg: p.Text(), Help: p.Help, Pos: p.Pos})
}

func (d *Display) deprecated(e *fault.Error) {
	if !d.Deprecations {
		return
	}
	d.Note("Deprecation warnings can be disabled by setting `deprecation_warnings=False` in ansible.cfg.")
	if text := "[DEPRECATION WARNING]: " + fault.Verbose(e); d.first(text) {
		d.PrintErr(text, "deprecate")
	}
}

// Text is the deprecation's message with the sentence about its removal.
func (p Deprecation) Text() string {
	var parts []string
	parts = append(parts, "This feature will be removed")
	who := ""
	switch {
	case p.PluginType == "":
	case p.Plugin == "":
		who = fmt.Sprintf("the %s API", pluginType(p.PluginType))
	default:
		who = fmt.Sprintf("%s '%s'", pluginType(p.PluginType), p.Plugin)
	}
	if p.Collection != "" && who != "" {
		who += " in"
	}
	from := ""
	switch p.Collection {
	case "":
	case "ansible.builtin":
		from = "ansible-core"
	default:
		from = "collection '" + p.Collection + "'"
	}
	if who != "" || from != "" {
		parts = append(parts, "from")
	}
	for _, s := range []string{who, from} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	switch {
	case p.Collection == "":
		parts = append(parts, "in the future")
	case p.Date != "":
		parts = append(parts, "in a release after "+p.Date)
	case p.Version != "":
		parts = append(parts, "version "+p.Version)
	default:
		parts = append(parts, "in a future release")
	}
	return sentences(p.Msg, strings.Join(parts, " ")+".")
}

func pluginType(t string) string {
	if t == "module" {
		return t
	}
	return t + " plugin"
}

func sentences(a, b string) string {
	end := func(s string) string {
		s = strings.TrimSpace(s)
		if s != "" && !strings.ContainsAny(s[len(s)-1:], "!?.") {
			s += "."
		}
		return s
	}
	return strings.TrimSpace(end(a) + " " + end(b))
}
