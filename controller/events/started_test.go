package events_test

import (
	"strings"
	"testing"

	"volant/controller/events"
)

// TestStartOnHosts: what starts on a host is a task, or a handler.
func TestStartOnHosts(t *testing.T) {
	var out strings.Builder
	c := events.NewDefault(events.NewDisplay(&out, &out, nil), events.DefaultOptions{ShowPerHostStart: true})
	c.Event(events.HostStart{Host: "h1", Task: &events.Task{Name: "r : a"}})
	c.Event(events.HostStart{Host: "h1", Task: &events.Task{Name: "b", Handler: true}})
	if want := " [started TASK: r : a on h1]\n [started HANDLER: b on h1]\n"; out.String() != want {
		t.Errorf("shown: %q, want %q", out.String(), want)
	}
}
