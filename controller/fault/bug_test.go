package fault

import (
	"strings"
	"testing"
)

func TestBugIsOneLine(t *testing.T) {
	b := &Bug{Doing: "task copy on web1", Panic: "index out of range", Stack: []byte("goroutine 1 [running]:\nmain.main()")}
	got := b.Error()
	for _, want := range []string{"task copy on web1", "index out of range", "report it"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if strings.Contains(got, "\n") || strings.Contains(got, "goroutine") {
		t.Errorf("more than a line: %q", got)
	}
}
