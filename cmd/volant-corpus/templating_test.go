package main

import (
	"strings"
	"testing"
)

// testdata/recorded.jsonl holds generated templates with what ansible-core
// 2.19.12 makes of them.
func TestRecorded(t *testing.T) {
	var out strings.Builder
	c := templatingCmd{Base: "testdata/base.json", Files: []string{"testdata/recorded.jsonl"}, Verbose: true}
	failed, err := c.run(&out)
	if err != nil {
		t.Fatal(err)
	}
	if failed > 0 {
		t.Error(out.String())
	}
}
