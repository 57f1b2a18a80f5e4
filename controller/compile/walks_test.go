package compile

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"volant/controller/fault"
)

// TestWalks compares Cursor with what the reference's play iterator did over
// random blocks: testdata/walks.json has, for each playbook, the tasks that
// failed, those behind which errors were cleared or the host ended, and per
// step met its name, whether a rescue list would catch a failure, and for
// failures whether the host then counted as failed.
func TestWalks(t *testing.T) {
	var cases []struct {
		Playbook         string
		Fail, Clear, End []string
		Log              [][]any
		Failed           bool
	}
	data, err := os.ReadFile("testdata/walks.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		file := filepath.Join(t.TempDir(), "site.yml")
		if err := os.WriteFile(file, []byte(c.Playbook), 0o644); err != nil {
			t.Fatal(err)
		}
		l := newLoader(nil, fault.Discard)
		pb, err := l.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Finish(pb.Plays[0]); err != nil {
			t.Fatal(err)
		}
		plan, err := Compile(l, pb.Plays[0], Options{})
		if err != nil {
			t.Fatal(err)
		}
		cur := plan.NewCursor("h1")
		var log [][]any
		for s := cur.Take(); s != nil; s = cur.Take() {
			if s == plan.Setup || s.Task.Implicit {
				continue
			}
			name := s.Task.RawName()
			met := []any{name, cur.Rescuing()}
			if slices.Contains(c.Fail, name) {
				cur.Fail()
				met = append(met, cur.Failed())
			}
			if slices.Contains(c.Clear, name) {
				cur.ClearErrors()
			}
			if slices.Contains(c.End, name) {
				cur.End()
			}
			log = append(log, met)
		}
		if got, want := fmt.Sprint(log, cur.Failed()), fmt.Sprint(c.Log, c.Failed); got != want {
			t.Errorf("case %d\n%s\nfail %v clear %v end %v\nwant %s\ngot  %s", i, c.Playbook, c.Fail, c.Clear, c.End, want, got)
		}
	}
}
