package execute

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"volant/wire/value"
)

// What a host sends beside the answer to a command line does not get in: the
// executor acts on some keys.
func TestAnswerOfALine(t *testing.T) {
	res, err := answered(value.DictOf("rc", int64(3), "stdout", "a\nb\n", "stderr", int64(7), "add_host", value.DictOf("host_name", "x"),
		"add_group", "x", "_ansible_no_log", true, "ansible_facts", value.DictOf("a", 1), "failed", true, "stdout_lines", "x"))
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, k := range res.Keys() {
		s, _ := value.Text(k)
		keys = append(keys, s)
	}
	if d := cmp.Diff([]string{"rc", "stdout", "stderr", "stdout_lines", "stderr_lines"}, keys); d != "" {
		t.Error(d)
	}
	if s, _ := res.Str("stderr"); s != "" {
		t.Errorf("stderr is %q", s)
	}
	for _, rc := range []any{nil, "0", true, 1.5} {
		if _, err := answered(value.DictOf("rc", rc)); err == nil {
			t.Errorf("rc %v was taken", rc)
		}
	}
}
