package events

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"volant/controller/fault"
	"volant/wire/value"
)

func TestDump(t *testing.T) {
	v := value.DictOf("b", value.ListOf(int64(1), 1.5, nil, true), "a", value.DictOf(), "c", "é\n\x01\"")
	for _, tt := range []struct {
		name   string
		indent int
		sort   bool
		want   string
	}{
		{"one line, sorted", -1, true, `{"a": {}, "b": [1, 1.5, null, true], "c": "é\n\u0001\""}`},
		{"as written", -1, false, `{"b": [1, 1.5, null, true], "a": {}, "c": "é\n\u0001\""}`},
		{"indented", 4, true, "{\n    \"a\": {},\n    \"b\": [\n        1,\n        1.5,\n        null,\n        true\n    ],\n    \"c\": \"é\\n\\u0001\\\"\"\n}"},
		{"lines only", 0, true, "{\n\"a\": {},\n\"b\": [\n1,\n1.5,\nnull,\ntrue\n],\n\"c\": \"é\\n\\u0001\\\"\"\n}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Dump(v, tt.indent, tt.sort)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFloatText(t *testing.T) {
	for f, want := range map[float64]string{1: "1.0", 0.1: "0.1", 1e16: "1e+16", 1e-5: "1e-05", 123456789.5: "123456789.5", 1e15: "1000000000000000.0"} {
		if got := floatText(f); got != want {
			t.Errorf("floatText(%g) = %s, want %s", f, got, want)
		}
	}
}

func TestUnifiedDiff(t *testing.T) {
	a := splitLines("1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	b := splitLines("1\n2\n3\n4\nfive\n6\n7\n8\n9\nten\n")
	// Recorded from Python's difflib.unified_diff with n=1.
	want := "--- a\n+++ b\n@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6\n@@ -9 +9,2 @@\n 9\n+ten\n"
	if diff := cmp.Diff(want, strings.Join(unifiedDiff(a, b, "a", "b", 1), "")); diff != "" {
		t.Error(diff)
	}
	if got := unifiedDiff(a, a, "a", "b", 3); got != nil {
		t.Errorf("equal texts differ: %q", got)
	}
	if got := strings.Join(unifiedDiff(nil, splitLines("x\n"), "a", "b", 3), ""); got != "--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n" {
		t.Errorf("from nothing: %q", got)
	}
}

func TestSplitLines(t *testing.T) {
	got := splitLines("a\r\nb\rc\x0bd\u2028e")
	if diff := cmp.Diff([]string{"a\r\n", "b\r", "c\x0b", "d\u2028", "e"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestDisplay(t *testing.T) {
	var out, errs strings.Builder
	d := NewDisplay(&out, &errs, nil)
	d.Banner("PLAY [x]", "")
	d.Note("one")
	d.Note("one")
	d.Verbose(1, "hidden")
	d.Error(errors.New("bad"), true)
	if want := "\nPLAY [x] " + strings.Repeat("*", 71) + "\n"; out.String() != want {
		t.Errorf("out %q, want %q", out.String(), want)
	}
	if want := "[WARNING]: one\n[ERROR]: bad\n"; errs.String() != want {
		t.Errorf("err %q, want %q", errs.String(), want)
	}
	d.Debug("hidden")
	d.Debugging = true
	out.Reset()
	d.Debug("shown")
	if ok, _ := regexp.MatchString(`^ *\d+ \d+\.\d{5}: shown\n$`, out.String()); !ok {
		t.Errorf("debug %q", out.String())
	}
	d.Color = true
	if got := d.Paint("a\nb", "ok"); got != "\x1b[0;32ma\x1b[0m\n\x1b[0;32mb\x1b[0m" {
		t.Errorf("painted %q", got)
	}
	if w := textWidth("日本é"); w != 5 {
		t.Errorf("width %d, want 5", w)
	}
}

func TestDeprecation(t *testing.T) {
	var out, errs strings.Builder
	d := NewDisplay(&out, &errs, nil)
	d.Deprecate(Deprecation{Msg: "Old", Version: "2.23", Collection: "ansible.builtin", Help: "Use new."})
	want := "[WARNING]: Deprecation warnings can be disabled by setting `deprecation_warnings=False` in ansible.cfg.\n" +
		"[DEPRECATION WARNING]: Old. This feature will be removed from ansible-core version 2.23. Use new.\n"
	if diff := cmp.Diff(want, errs.String()); diff != "" {
		t.Error(diff)
	}
	p := Deprecation{Msg: "x", Plugin: "y", PluginType: "module", Collection: "a.b", Date: "2030-01-01"}
	if got := p.Text(); got != "x. This feature will be removed from module 'y' in collection 'a.b' in a release after 2030-01-01." {
		t.Error(got)
	}
}

// run shows events in the default callback.
func run(opt DefaultOptions, es ...Event) (string, string) {
	var out, errs strings.Builder
	opt.ShowOK, opt.ShowSkipped, opt.DiffContext = true, true, 3
	c := NewDefault(NewDisplay(&out, &errs, nil), opt)
	for _, e := range es {
		c.Event(e)
	}
	return out.String(), errs.String()
}

func TestDefaultResults(t *testing.T) {
	task := &Task{ID: 1, Name: "t", Action: "command"}
	loop := &Task{ID: 2, Name: "l", Action: "command", Loop: true}
	quiet := &Task{ID: 3, Name: "q", Action: "command", NoLog: true}
	away := &Task{ID: 4, Name: "d", Action: "command", DelegateTo: "other"}
	res := func(kv ...any) *Outcome { return &Outcome{Value: value.DictOf(kv...)} }
	bad := res("failed", true, "msg", "no", "_ansible_x", int64(1))
	bad.Status, bad.Err = Failed, &fault.Error{Msg: "Task failed.", Cause: &fault.Error{Msg: "no"}}
	hidden := res("failed", true, "changed", false, "msg", "secret")
	hidden.Status = Failed
	for _, tt := range []struct {
		name string
		e    []Event
		want string
	}{
		{"changed", []Event{Result{Host: "h", Task: task, Outcome: res("changed", true)}}, "changed: [h]\n"},
		{"ok", []Event{Result{Host: "h", Task: task, Outcome: res("changed", false)}}, "ok: [h]\n"},
		{"delegated", []Event{Result{Host: "h", Task: away, Outcome: res("changed", false)}}, "ok: [h -> other]\n"},
		{"failed", []Event{Result{Host: "h", Task: task, IgnoreErrors: true, Outcome: bad}},
			"[ERROR]: Task failed: no\nfatal: [h]: FAILED! => {\"msg\": \"no\"}\n...ignoring\n"},
		{"no_log", []Event{Result{Host: "h", Task: quiet, Outcome: hidden}},
			"fatal: [h]: FAILED! => {\"censored\": \"the output has been hidden due to the fact that 'no_log: true' was specified for this result\", \"changed\": false}\n"},
		{"item", []Event{
			Item{Host: "h", Task: loop, Outcome: res("changed", true, "item", int64(1), "_ansible_item_label", int64(1))},
			Result{Host: "h", Task: loop, Outcome: res("changed", true, "results", value.ListOf())},
		}, "changed: [h] => (item=1)\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, _ := run(DefaultOptions{}, tt.e...)
			lines := strings.SplitN(out, "\n", 3)
			if len(lines) < 3 || !strings.HasPrefix(lines[1], "TASK [") {
				t.Fatalf("no banner in %q", out)
			}
			if diff := cmp.Diff(tt.want, lines[2]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRecap(t *testing.T) {
	s := NewStats()
	*s.Host("b") = Counts{OK: 3, Changed: 1, Rescued: 1}
	s.Host("a").Failed = 1
	s.SetCustom("", "k", int64(1))
	s.UpdateCustom("", "k", int64(2))
	out, _ := run(DefaultOptions{ShowCustomStats: true}, StatsReady{Stats: s})
	want := "\nPLAY RECAP " + strings.Repeat("*", 69) + "\n" +
		"a                          : ok=0    changed=0    unreachable=0    failed=1    skipped=0    rescued=0    ignored=0   \n" +
		"b                          : ok=3    changed=1    unreachable=0    failed=0    skipped=0    rescued=1    ignored=0   \n" +
		"\n\nCUSTOM STATS:  " + strings.Repeat("*", 66) + "\n\n\tRUN: { \"k\": 3}\n\n"
	want = strings.Replace(want, "CUSTOM STATS:  "+strings.Repeat("*", 66), "CUSTOM STATS: "+strings.Repeat("*", 66), 1)
	if diff := cmp.Diff(want, out); diff != "" {
		t.Error(diff)
	}
}

func TestStripInternal(t *testing.T) {
	clean := value.DictOf("a", int64(1))
	if StripInternal(clean) != any(clean) {
		t.Error("a clean dict is copied")
	}
	d := value.DictOf("_ansible_x", true, "l", value.ListOf(value.DictOf("_ansible_y", 1, "z", int64(2))))
	if got := Dump(StripInternal(d), -1, true); got != `{"l": [{"z": 2}]}` {
		t.Error(got)
	}
	if d.Len() != 2 {
		t.Error("the result itself was changed")
	}
}
