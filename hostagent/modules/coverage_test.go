package modules

import "testing"

// TestCoverage keeps the words of docs/COMPATIBILITY.md beside the table.
func TestCoverage(t *testing.T) {
	for name := range Coverage {
		if Table[name] == nil {
			t.Errorf("Coverage has %s, which is no native module", name)
		}
	}
	for name := range Table {
		if Coverage[name].Native == "" {
			t.Errorf("Coverage does not say what %s does natively", name)
		}
	}
}
