package events

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"volant/controller/fault"
	"volant/wire/value"
)

// A report escapes as Python's minidom does, counts what was ignored and changed
// as failed when asked to, and has no tracebacks but their frame.
func TestJUnitReport(t *testing.T) {
	dir := t.TempDir()
	c := NewJUnit(NewDisplay(os.Stderr, os.Stderr, nil), JUnitOptions{Dir: dir, FailOnChange: true})
	task := func(id uint64, name string) *Task {
		return &Task{ID: id, Name: name, Action: "command", Path: "site.yml:3"}
	}
	module := &fault.Error{Msg: "Task failed.", Cause: &fault.Error{Msg: "Module failed.", Cause: errors.New("rc"), NoFollow: true}}
	first, second, third := task(1, `say "a" & <b>`), task(2, "ignored"), task(3, "fails")
	for _, e := range []Event{
		PlaybookStart{Path: "site.yml"}, PlayStart{Play: &Play{Name: "web"}},
		TaskStart{Task: first}, Result{Host: "h1", Task: first, Outcome: &Outcome{Value: value.DictOf("changed", false, "out", "x\ny\x01")}},
		TaskStart{Task: second}, Result{Host: "h1", Task: second, IgnoreErrors: true, Outcome: &Outcome{Status: Failed, Value: value.DictOf("changed", true, "msg", "no"), Err: module}},
		TaskStart{Task: third}, Result{Host: "h1", Task: third, Outcome: &Outcome{Status: Failed, Value: value.DictOf("msg", "no"), Err: &fault.Error{Msg: "a.", Cause: &fault.Error{Msg: "b"}}}},
		StatsReady{Stats: NewStats()},
	} {
		c.Event(e)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "site-*.xml"))
	if len(files) != 1 {
		t.Fatal(files)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	const missing = "(traceback missing)\n"
	for _, want := range []string{
		`errors="2" failures="0"`, `name="[h1] web: say &quot;a&quot; &amp; &lt;b&gt;"`, `&quot;changed&quot;: false`,
		`type="error">` + missing + "\nThe above target exception was the direct cause of the following controller exception:\n\n" +
			missing + "\nThe above exception was the direct cause of the following exception:\n\n" + missing + "</error>",
		`type="error">` + missing + "\nThe above exception was the direct cause of the following exception:\n\n" + missing + "</error>",
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %s in\n%s", want, b)
		}
	}
}
