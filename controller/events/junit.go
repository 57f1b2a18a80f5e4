package events

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"volant/controller/fault"
	"volant/wire/rx"
	"volant/wire/value"
)

// JUnitOptions are the settings of the junit callback.
type JUnitOptions struct {
	Dir                      string
	ClassPerFile             bool   // task_class
	RelativeTo               string // task_relative_path, empty for none
	OutOfTree                *string
	FailOnChange, FailIgnore bool
	HideSetup, HideArgs      bool
	Prefix                   string
}

// JUnit writes a report of the tasks of each playbook as JUnit XML.
type JUnit struct {
	d    *Display
	opt  JUnitOptions
	name string // of the playbook
	play string
	list []*junitTask
	byID map[uint64]*junitTask
}

type junitTask struct {
	name, path, play, action string
	begin                    time.Time
	hosts                    []*junitHost
}

type junitHost struct {
	name, status, text string
	result             *Result
	end                time.Time
}

// NewJUnit returns the callback.
func NewJUnit(d *Display, opt JUnitOptions) *JUnit {
	return &JUnit{d: d, opt: opt, byID: map[uint64]*junitTask{}}
}

// Event implements Callback.
func (c *JUnit) Event(e Event) {
	switch e := e.(type) {
	case PlaybookStart:
		base := filepath.Base(e.Path)
		c.name = strings.TrimSuffix(base, filepath.Ext(base))
	case PlayStart:
		c.play = e.Play.Name
	case TaskStart:
		c.start(e.Task)
	case Result:
		c.result(e)
	case Include:
		c.included(e)
	case StatsReady:
		if err := c.report(); err != nil {
			c.d.Note("junit: %s", err)
		}
	}
}

func (c *JUnit) start(t *Task) {
	if c.byID[t.ID] != nil {
		return
	}
	name := strings.TrimSpace(t.Name)
	if !t.NoLogSet && !c.opt.HideArgs && t.Args != nil {
		if args := t.Args(); args != "" {
			name += " " + args
		}
	}
	j := &junitTask{name: name, path: t.Path, play: c.play, action: t.Action, begin: time.Now()}
	c.byID[t.ID] = j
	c.list = append(c.list, j)
}

func (c *JUnit) result(r Result) {
	j := c.byID[r.Task.ID]
	if j == nil {
		return
	}
	status := "ok"
	switch r.Status {
	case Unreachable:
		return
	case Skipped:
		status = "skipped"
	case Failed:
		if !r.IgnoreErrors || c.opt.FailIgnore {
			status = "failed"
		}
	}
	if c.opt.FailOnChange && status == "ok" && value.Truth(r.Value.Lookup("changed")) {
		status = "failed"
	}
	switch {
	case status == "failed" && strings.Contains(j.name, "EXPECTED FAILURE"):
		status = "ok"
	case strings.Contains(j.name, "TOGGLE RESULT") && status == "failed":
		status = "ok"
	case strings.Contains(j.name, "TOGGLE RESULT") && status == "ok":
		status = "failed"
	}
	if strings.HasPrefix(j.name, c.opt.Prefix) || status == "failed" {
		j.hosts = append(j.hosts, &junitHost{name: r.Host, status: status, result: &r, end: time.Now()})
	}
}

func (c *JUnit) included(e Include) {
	// The include's own task is the last one started.
	if len(c.list) == 0 {
		return
	}
	j := c.list[len(c.list)-1]
	text := fmt.Sprintf("%s (hosts=%s)", e.File, strings.Join(e.Hosts, ", "))
	for _, h := range j.hosts {
		if h.name == "include" {
			h.text += "\n" + text
			return
		}
	}
	j.hosts = append(j.hosts, &junitHost{name: "include", status: "included", text: text, end: time.Now()})
}

var yamlLine = rx.Lazy(`\.yml:[0-9]+$`)

func (c *JUnit) class(path string) string {
	if c.opt.RelativeTo != "" && path != "" {
		if rel, err := filepath.Rel(c.opt.RelativeTo, path); err == nil {
			path = rel
		}
	}
	if c.opt.OutOfTree != nil && strings.HasPrefix(path, "../") {
		path = *c.opt.OutOfTree + filepath.Base(path)
	}
	if c.opt.ClassPerFile {
		path = yamlLine.ReplaceAllString(path, "")
	}
	return path
}

type junitCase struct {
	b                     strings.Builder
	total                 time.Duration
	tests, failures, errs int
	skipped               int
}

// escaped are the characters that Python's minidom writes otherwise.
var escaped = strings.NewReplacer("&", "&amp;", "<", "&lt;", "\"", "&quot;", ">", "&gt;")

// escape makes text of s for an element or an attribute; what XML cannot hold
// becomes the replacement character.
func escape(s string) string {
	return escaped.Replace(strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff {
			return 0xfffd
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd")))
}

// tracebacks stands for those of an error and what caused it: there are none.
func tracebacks(err error) string {
	const missing = "(traceback missing)\n"
	out := missing
	for depth := 0; err != nil && depth < 32; depth++ {
		reason := "The above exception was the direct cause of the following exception:"
		e, ok := err.(*fault.Error) //nolint:errorlint // link by link
		if !ok {
			break
		}
		if e.Msg == "Module failed" || e.Msg == "Module failed." {
			return missing + "\nThe above target exception was the direct cause of the following controller exception:\n\n" + out
		}
		if err = e.Cause; err != nil {
			out = missing + "\n" + reason + "\n\n" + out
		}
	}
	return out
}

// report writes the tasks so far.
func (c *JUnit) report() error {
	all := &junitCase{}
	format := Format{DiffContext: 3}
	for _, t := range c.list {
		if c.opt.HideSetup && (t.action == "setup" || strings.HasSuffix(t.action, ".setup")) {
			continue
		}
		for _, h := range t.hosts {
			c.testCase(all, &format, t, h)
		}
	}
	attrs := fmt.Sprintf(`disabled="0" errors="%d" failures="%d"`, all.errs, all.failures)
	secs := fmt.Sprintf("%.9f", all.total.Seconds())
	out := fmt.Sprintf("<?xml version=\"1.0\" ?>\n<testsuites %s tests=\"%d\" time=\"%s\">\n\t<testsuite %s name=\"%s\" skipped=\"%d\" tests=\"%d\" time=\"%s\">\n%s\t</testsuite>\n</testsuites>\n",
		attrs, all.tests, secs, attrs, escape(c.name), all.skipped, all.tests, secs, all.b.String())
	if err := os.MkdirAll(c.opt.Dir, 0o755); err != nil {
		return err
	}
	file := filepath.Join(c.opt.Dir, fmt.Sprintf("%s-%.7f.xml", c.name, float64(time.Now().UnixNano())/1e9))
	return os.WriteFile(file, []byte(out), 0o644)
}

func (c *JUnit) testCase(all *junitCase, f *Format, t *junitTask, h *junitHost) {
	took := h.end.Sub(t.begin)
	all.total += took
	all.tests++
	fmt.Fprintf(&all.b, "\t\t<testcase classname=\"%s\" name=\"%s\" time=\"%.9f\"", escape(c.class(t.path)),
		escape(fmt.Sprintf("[%s] %s: %s", h.name, t.play, t.name)), took.Seconds())
	body := func(text string) { fmt.Fprintf(&all.b, ">\n\t\t\t%s\n\t\t</testcase>\n", text) }
	if h.result == nil {
		body("<system-out>" + escape(h.text) + "</system-out>")
		return
	}
	shown := Shown(h.result.Task, h.result.Outcome)
	dump := f.result(c.d, shown, 0)
	switch h.status {
	case "ok":
		body("<system-out>" + escape(dump) + "</system-out>")
	case "skipped":
		all.skipped++
		msg := "skipped"
		if s, ok := shown.Str("skip_reason"); ok {
			msg = s
		}
		body("<skipped>" + escape(msg) + "</skipped>")
	default:
		if h.result.Err != nil {
			all.errs++
			body(fmt.Sprintf(`<error message="%s" type="error">%s</error>`, escape(fault.Brief(h.result.Err)), escape(tracebacks(h.result.Err))))
			return
		}
		all.failures++
		msg, ok := shown.Str("msg")
		if !ok {
			msg = "rc=" + pyText(shown.Lookup("rc"))
		}
		body(fmt.Sprintf(`<failure message="%s" type="failure">%s</failure>`, escape(msg), escape(dump)))
	}
}
