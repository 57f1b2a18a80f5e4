package events

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/text/width"

	"volant/controller/fault"
	"volant/wire/rx"
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
	Debugging    bool // whether Debug shows anything

	// LogVerbosity is as Verbosity for the log; 0 is that of the display.
	LogVerbosity int

	mu       sync.Mutex
	out, err io.Writer
	log      Log
	seen     map[string]struct{}
	progress string // what is shown below the last line, see Progress
	muted    bool
}

// Log receives what is shown, without colours, with the level of Python's
// logging: "INFO", "WARNING" or "ERROR".
type Log interface{ Line(level, msg string) }

// NewDisplay returns a Display without colours that writes to out and err; log
// receives a copy and may be nil.
func NewDisplay(out, err io.Writer, log Log) *Display {
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
	if !d.Color || event == "" {
		return text
	}
	code := colorCode(d.Colors[event])
	if code == "" {
		return text
	}
	parts := strings.Split(text, "\n")
	for i, p := range parts {
		parts[i] = "\x1b[" + code + "m" + p + "\x1b[0m"
	}
	return strings.Join(parts, "\n")
}

// numbered are the colours of a terminal with 256 of them.
var numbered = rx.Lazy(`^(?:color([0-9]+)|rgb([0-5])([0-5])([0-5])|gray([0-9]+))$`)

// colorCode is the terminal's code of a colour's name, empty for none.
func colorCode(name string) string {
	if c, ok := codes[name]; ok {
		return c
	}
	m := numbered.FindStringSubmatch(name)
	if m == nil {
		return ""
	}
	n := func(i int) int { v, _ := strconv.Atoi(m[i]); return v } // digits, or none: 0
	switch {
	case m[1] != "":
		return "38;5;" + m[1]
	case m[2] != "":
		return fmt.Sprintf("38;5;%d", 16+36*n(2)+6*n(3)+n(4))
	}
	return fmt.Sprintf("38;5;%d", 232+n(5))
}

// painted are the sequences that Paint writes.
var painted = rx.Lazy("\x1b\\[[0-9;]*m")

// Print shows msg on standard output in the colour of event.
func (d *Display) Print(msg, event string) { d.print(msg, event, false, levelInfo) }

// PrintErr shows msg on standard error.
func (d *Display) PrintErr(msg, event string) { d.print(msg, event, true, levelInfo) }

// The levels of a Log.
const (
	levelInfo    = "INFO"
	levelWarning = "WARNING"
	levelError   = "ERROR"
)

func (d *Display) print(msg, event string, stderr bool, level string) {
	msg = strings.ReplaceAll(msg, "\r\n", "\n")
	if !utf8.ValidString(msg) {
		msg = strings.ToValidUTF8(msg, "?")
		d.Warn(Warning{Msg: `Non UTF-8 encoded data replaced with "?" while displaying text to stdout/stderr.`})
	}
	text := d.Paint(strings.TrimSuffix(msg, "\n"), event) + "\n"
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.muted {
		return
	}
	w := d.out
	if stderr {
		w = d.err
	}
	d.clear()
	// A reader that went away must not stop the run: write errors are dropped.
	_, _ = io.WriteString(w, text)
	d.draw()
	if d.log != nil && msg != "" {
		d.log.Line(level, painted.ReplaceAllString(strings.TrimLeft(msg, "\n"), ""))
	}
}

// Mute keeps what is to be shown from being shown, or ends that: it was shown
// before, by the process whose run is resumed.
func (d *Display) Mute(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.muted = on
}

// Progress shows text below everything else on standard error, which must be a
// terminal, until the next call; empty text ends it.
func (d *Display) Progress(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clear()
	d.progress = text
	d.draw()
}

func (d *Display) clear() {
	if d.progress != "" {
		_, _ = io.WriteString(d.err, "\r\x1b[K")
	}
}

func (d *Display) draw() {
	if d.progress != "" {
		_, _ = io.WriteString(d.err, d.progress)
	}
}

// Verbose shows msg when -v was given at least level times.
func (d *Display) Verbose(level int, msg string) {
	switch {
	case d.Verbosity >= level:
		d.print(msg, "verbose", d.VerboseErr, levelInfo)
	case d.log != nil && d.LogVerbosity >= level:
		d.log.Line(levelInfo, msg)
	}
}

// Debug shows msg with this process and the time before it, as the reference
// does with its setting DEFAULT_DEBUG.
func (d *Display) Debug(msg string) {
	if d.Debugging {
		now := float64(time.Now().UnixMicro()) / 1e6
		d.print(fmt.Sprintf("%6d %0.5f: %s", os.Getpid(), now, msg), "debug", false, levelInfo)
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

// Warn shows a warning once, without white space around it.
func (d *Display) Warn(w Warning) {
	e := &fault.Error{Msg: strings.TrimSpace(w.Msg), Help: w.Help, Pos: w.Pos, Excerpt: w.Excerpt, Cause: w.Cause}
	if text := "[WARNING]: " + fault.Verbose(e); d.first(text) {
		d.print(text, "warn", true, levelWarning)
	}
}

// Warning shows an error's text as a warning, once.
func (d *Display) Warning(err error) {
	if text := "[WARNING]: " + fault.Verbose(err); d.first(text) {
		d.print(text, "warn", true, levelWarning)
	}
}

// Note shows a plain warning once.
func (d *Display) Note(format string, args ...any) {
	d.Warn(Warning{Msg: fmt.Sprintf(format, args...)})
}

// Error shows an error block once, on standard error when stderr is set.
func (d *Display) Error(err error, stderr bool) {
	if text := "[ERROR]: " + fault.Verbose(err); d.first(text) {
		d.print(text, "error", stderr, levelError)
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
