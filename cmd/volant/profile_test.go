package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"volant/controller/events"
	"volant/wire/value"
)

// TestProfile: what tasks asked of hosts, and how, as text and as JSON.
func TestProfile(t *testing.T) {
	copies := &events.Task{ID: 1, Name: "copy it", Action: "copy", Path: "/site.yml:3"}
	skips := &events.Task{ID: 2, Name: "no", Action: "debug"}
	feed := func(p *profile) string {
		p.Event(events.PlaybookStart{})
		for _, host := range []string{"h1", "h2"} {
			p.Event(events.SubTask{Host: host, Path: "native", RoundTrips: 1})
			p.Event(events.SubTask{Host: host, Path: "python (handed back: validate)", RoundTrips: 2, Sent: 12_000_000})
			p.Event(events.SubTask{Host: host, RoundTrips: 1, Received: 5})
			o := &events.Outcome{Value: value.NewDict(0), Status: events.OK}
			o.Timing.Wire, o.Timing.Host, o.Timing.Total = time.Second, 2*time.Second, 3*time.Second
			p.Event(events.Result{Host: host, Task: copies, Outcome: o})
		}
		p.Event(events.StepDone{Task: copies, Hosts: 2, Wall: 4 * time.Second})
		p.Event(events.Result{Host: "h1", Task: skips, Outcome: &events.Outcome{Value: value.NewDict(0), Status: events.Skipped}})
		var out bytes.Buffer
		p.report(&out)
		return out.String()
	}
	text := feed(newProfile("text"))
	for _, want := range []string{"copy it", "native, 2 times", "python (handed back: validate), 2 times", "no answer, 2 times",
		"6 sub-tasks, 8 round trips, 24 MB sent, 10 bytes received", "skipped"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	var doc struct {
		Hosts map[string]map[string]float64
		Tasks []struct {
			Name, Action, Path string
			Hosts, SubTasks    int `json:"-"`
			Sub                int `json:"sub_tasks"`
			Trips              int `json:"round_trips"`
			Bytes              map[string]int
			Ways               map[string]int
			Wall               float64
		}
	}
	if err := json.Unmarshal([]byte(feed(newProfile("json"))), &doc); err != nil {
		t.Fatal(err)
	}
	one := doc.Tasks[0]
	if one.Sub != 6 || one.Trips != 8 || one.Bytes["sent"] != 24_000_000 || one.Bytes["received"] != 10 || one.Ways["native"] != 2 ||
		one.Action != "copy" || one.Wall != 4 || doc.Hosts["h1"]["barrier"] != 1 || doc.Hosts["h2"]["wire"] != 1 {
		t.Errorf("%+v", doc)
	}
	if newProfile("") != nil {
		t.Error("a profile nobody asked for")
	}
}
