package events

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"volant/wire/value"
)

// Minimal is the callback of ad hoc runs.
type Minimal struct {
	d   *Display
	fmt Format
}

// NewMinimal returns the callback; it writes to d.
func NewMinimal(d *Display, f Format) *Minimal { return &Minimal{d: d, fmt: f} }

// noJSON are the modules whose output is shown as it is.
var noJSON = map[string]bool{"command": true, "win_command": true, "shell": true, "win_shell": true, "raw": true}

func rawOutput(t *Task) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(t.Action, "ansible.builtin."), "ansible.legacy.")
	return noJSON[name]
}

func plainOutput(host string, shown *value.Dict, caption string) string {
	rc := "-1"
	if v, ok := shown.Get("rc"); ok {
		rc = pyText(v)
	}
	out := fmt.Sprintf("%s | %s | rc=%s >>\n", host, caption, rc)
	for _, k := range []string{"stdout", "stderr", "msg"} {
		s, _ := shown.Str(k)
		out += s
	}
	return out + "\n"
}

// Event implements Callback.
func (c *Minimal) Event(e Event) {
	switch e := e.(type) {
	case Result:
		c.result(e)
	case FileDiff:
		if diff, ok := e.Value.Get("diff"); ok && value.Truth(diff) {
			c.d.Print(c.fmt.diff(c.d, diff), "")
		}
	}
}

func (c *Minimal) result(e Result) {
	shown := Shown(e.Task, e.Outcome)
	problems(c.d, e.Outcome, shown, false)
	switch e.Status {
	case Failed:
		if rawOutput(e.Task) && !shown.Has("module_stderr") {
			c.d.Print(plainOutput(e.Host, shown, "FAILED"), "error")
			return
		}
		c.d.Print(fmt.Sprintf("%s | FAILED! => %s", e.Host, c.fmt.result(c.d, shown, 4)), "error")
	case Skipped:
		c.d.Print(e.Host+" | SKIPPED", "skip")
	case Unreachable:
		c.d.Print(fmt.Sprintf("%s | UNREACHABLE! => %s", e.Host, c.fmt.result(c.d, shown, 4)), "unreachable")
	default:
		cleanResult(e.Task, shown)
		state, color := "SUCCESS", "ok"
		if value.Truth(shown.Lookup("changed")) {
			state, color = "CHANGED", "changed"
		}
		if rawOutput(e.Task) && !shown.Has("ansible_job_id") {
			c.d.Print(plainOutput(e.Host, shown, state), color)
			return
		}
		c.d.Print(fmt.Sprintf("%s | %s => %s", e.Host, state, c.fmt.result(c.d, shown, 4)), color)
	}
}

// Oneline is the callback of `ansible --one-line`.
type Oneline struct {
	d   *Display
	fmt Format
}

// NewOneline returns the callback; it writes to d.
func NewOneline(d *Display, f Format) *Oneline {
	d.Deprecate(Deprecation{Msg: "The oneline callback plugin is deprecated.", Version: "2.23", Collection: "ansible.builtin"})
	return &Oneline{d: d, fmt: f}
}

func (c *Oneline) line(host string, shown *value.Dict, caption string) string {
	flat := func(k string) string {
		s, _ := shown.Str(k)
		return strings.ReplaceAll(strings.ReplaceAll(s, "\n", "\\n"), "\r", "\\r")
	}
	rc := "-1"
	if v, ok := shown.Get("rc"); ok {
		rc = pyText(v)
	}
	out := fmt.Sprintf("%s | %s | rc=%s | (stdout) %s", host, caption, rc, flat("stdout"))
	if s, _ := shown.Str("stderr"); s != "" {
		out += " (stderr) " + flat("stderr")
	}
	return out
}

// Event implements Callback.
func (c *Oneline) Event(e Event) {
	r, ok := e.(Result)
	if !ok {
		return
	}
	shown := Shown(r.Task, r.Outcome)
	dump := func() string { return strings.ReplaceAll(c.fmt.result(c.d, shown, 0), "\n", "") }
	switch r.Status {
	case Failed:
		if shown.Has("exception") {
			if rawOutput(r.Task) && !shown.Has("module_stderr") {
				c.d.Print(c.line(r.Host, shown, "FAILED"), "error")
			} else {
				text, _ := shown.Str("exception")
				lines := strings.Split(strings.TrimSpace(text), "\n")
				msg := "An exception occurred during task execution. To see the full traceback, use -vvv. The error was: " + lines[len(lines)-1]
				if c.d.Verbosity >= 3 {
					msg = "An exception occurred during task execution. The full traceback is:\n" + strings.ReplaceAll(text, "\n", "")
				}
				c.d.Print(msg, "error")
			}
		}
		c.d.Print(fmt.Sprintf("%s | FAILED! => %s", r.Host, dump()), "error")
	case Skipped:
		c.d.Print(r.Host+" | SKIPPED", "skip")
	case Unreachable:
		msg, _ := shown.Str("msg")
		c.d.Print(fmt.Sprintf("%s | UNREACHABLE!: %s", r.Host, msg), "unreachable")
	default:
		state, color := "SUCCESS", "ok"
		if value.Truth(shown.Lookup("changed")) {
			state, color = "CHANGED", "changed"
		}
		if rawOutput(r.Task) && !shown.Has("ansible_job_id") {
			c.d.Print(c.line(r.Host, shown, state), color)
			return
		}
		c.d.Print(fmt.Sprintf("%s | %s => %s", r.Host, state, dump()), color)
	}
}

// Tree writes each host's last result to a file of its name below a directory.
type Tree struct {
	d   *Display
	fmt Format
	dir string
}

// NewTree returns the callback; it writes below dir.
func NewTree(d *Display, f Format, dir string) *Tree {
	d.Deprecate(Deprecation{Msg: "The tree callback plugin is deprecated.", Version: "2.23", Collection: "ansible.builtin"})
	return &Tree{d: d, fmt: f, dir: dir}
}

// Event implements Callback.
func (c *Tree) Event(e Event) {
	r, ok := e.(Result)
	if !ok || r.Status == Skipped {
		return
	}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		c.d.Warn(Warning{Msg: fmt.Sprintf("Unable to access or create the configured directory '%s'.", c.dir), Cause: err})
	}
	// A host's name must not lead out of the directory.
	name := strings.ReplaceAll(r.Host, string(filepath.Separator), "_")
	if name == "." || name == ".." {
		name = "_" + name
	}
	text := c.fmt.result(c.d, Shown(r.Task, r.Outcome), unset)
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o644); err != nil {
		c.d.Warn(Warning{Msg: fmt.Sprintf("Unable to write to '%s''s file.", r.Host), Cause: err})
	}
}
