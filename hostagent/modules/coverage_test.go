package modules

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCoverage keeps the words of docs/COMPATIBILITY.md beside the table.
func TestCoverage(t *testing.T) {
	if d := cmp.Diff(slices.Sorted(maps.Keys(Table)), slices.Sorted(maps.Keys(Coverage))); d != "" {
		t.Errorf("Table and Coverage name other modules (-Table +Coverage):\n%s", d)
	}
}
