package metrics

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func sample() *Controller {
	c := NewController("1.2.3", 1)
	c.RunStarted("site.yml", time.Unix(1000, 0))
	c.PlayStarted()
	c.TaskDone("copy", "changed", 3*time.Millisecond)
	for _, p := range []string{"queue", "render", "wire", "host", "barrier"} {
		c.TaskPhase(p, time.Millisecond)
	}
	c.SubTask("stat", "native", "ok", 90*time.Microsecond, 10*time.Microsecond)
	c.ActionDid("copy", 2, 42, 0)
	c.ActionDid("copy", 1, 0, 0)
	c.ActionDid("fetch", 1, 0, 7)
	c.Connected("call", "ok", time.Millisecond)
	c.RoundTrip(85 * time.Microsecond)
	c.Reconnected()
	c.Links(1)
	c.Slots(2)
	c.Union("sent", 3, 1000)
	c.Union("spared", 100, 50000)
	c.Staged("sent", 42)
	c.Dropped("output")
	c.Skew(-time.Second)
	c.HostEnded("site.yml", "h1", map[string]int{"changed": 3})
	c.RunEnded("site.yml", 2*time.Second, 2, map[string]int{"ok": 3, "failed": 1})
	return c
}

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "volant.prom")
	if err := sample().WriteFile(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`volant_run_exit_code{playbook="site.yml"} 2`,
		`volant_run_hosts{playbook="site.yml",status="failed"} 1`,
		`volant_host_tasks{host="h1",playbook="site.yml",status="changed"} 3`,
		`volant_tasks_total{action="copy",status="changed"} 1`,
		`volant_subtasks_total{module="stat",outcome="ok",path="native"} 1`,
		`volant_subtask_seconds_bucket{path="native",phase="wire",le="0.0001"} 1`,
		`volant_union_bytes_total{what="spared"} 50000`,
		`volant_action_subtasks_total{action="copy"} 2`,
		`volant_action_round_trips_total{action="copy"} 3`,
		`volant_action_staged_bytes_total{action="copy",what="sent"} 42`,
		`volant_action_staged_bytes_total{action="fetch",what="received"} 7`,
		`volant_build_info{protocol="1",version="1.2.3"} 1`,
		`volant_clock_skew_seconds_sum 1`,
	} {
		if !strings.Contains(string(text), want+"\n") {
			t.Errorf("missing %s", want)
		}
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestNilMeasuresNothing(t *testing.T) {
	var c *Controller
	c.RunStarted("x", time.Now())
	c.TaskDone("a", "ok", 1)
	c.HostEnded("x", "h", map[string]int{"ok": 1})
	c.RunEnded("x", 1, 0, nil)
}

// TestDocumented holds docs/METRICS.md to the names there are.
func TestDocumented(t *testing.T) {
	doc, err := os.ReadFile("../docs/METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	families, err := sample().registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, f := range families {
		have[f.GetName()] = true
		if strings.HasPrefix(f.GetName(), "volant_") && !strings.Contains(string(doc), "`"+f.GetName()+"`") {
			t.Errorf("docs/METRICS.md does not list %s", f.GetName())
		}
	}
	for _, name := range regexp.MustCompile("`(volant_[a-z_]+)`").FindAllStringSubmatch(string(doc), -1) {
		if !have[name[1]] {
			t.Errorf("docs/METRICS.md lists %s, which is not there", name[1])
		}
	}
}
