package template

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCSVRows(t *testing.T) {
	for in, want := range map[string][][]string{
		"a,b\nc,d\n":         {{"a", "b"}, {"c", "d"}},
		"a,b\r\n\r\nc,d":     {{"a", "b"}, {"c", "d"}},
		`"a ""b""",c`:        {{`a "b"`, "c"}},
		"x,\"y\"@z,1\n\"q\"": {{"x", "y@z", "1"}, {"q"}},
		`a "b",c`:            {{`a "b"`, "c"}},
		"\"a\nb\",c\n":       {{"a\nb", "c"}},
		",\n":                {{"", ""}},
		`""`:                 {{""}},
		"a\rb":               {{"a"}, {"b"}},
		"\"open":             {{"open"}},
	} {
		var got [][]string
		csvRows(in, ',', func(row []string) bool { got = append(got, row); return true })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
	}
}
