package execute_test

import (
	"strings"
	"testing"
)

// TestPort: what is no port is refused as it is written, not as far as it can be
// read.
func TestPort(t *testing.T) {
	for written, want := range map[string]int{"2222": 2222, "' 2222 '": 2222, "2222.0": 2222, "22x": -1, "'2 2'": -1, "''": -1, "65536": -1, "-1": -1, "22.5": -1} {
		s := &scripted{answer: good}
		code, out, err := run(t.Context(), t, "a ansible_port="+written+"\n", pings, s)
		if err != nil {
			t.Fatal(err)
		}
		if want < 0 {
			if code == 0 || !strings.Contains(out, "Invalid value") || !strings.Contains(out, "ansible_port") {
				t.Errorf("%s: %d\n%s", written, code, out)
			}
			continue
		}
		if got := s.target.SSH.Port; code != 0 || got != want {
			t.Errorf("%s: code %d, port %d\n%s", written, code, got, out)
		}
	}
}
