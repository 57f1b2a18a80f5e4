package bootstrap

import (
	"encoding/json"
	"testing"
	"testing/fstest"
)

// TestPackedIsReadOnce: installing many hosts at once keeps one copy of the agent.
func TestPackedIsReadOnce(t *testing.T) {
	z, d, err := Pack([]byte("an executable"), "1", 6)
	if err != nil {
		t.Fatal(err)
	}
	about, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	bins := FromFS(fstest.MapFS{
		"volant-agent-linux-amd64.gz":   {Data: z},
		"volant-agent-linux-amd64.json": {Data: about},
	}, "1")
	if _, err := bins.Open("arm64"); err == nil {
		t.Error("an agent that is not packed was opened")
	}
	a, err := bins.Open("amd64")
	if err != nil {
		t.Fatal(err)
	}
	b, err := bins.Open("amd64")
	if err != nil || &a.Gzip[0] != &b.Gzip[0] || a.SHA256 != d.SHA256 {
		t.Errorf("%+v and %+v, %v", a, b, err)
	}
}
