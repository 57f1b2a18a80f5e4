package hostagent

import (
	"encoding/json"
	"fmt"
	"os"
)

// wishes are how the last enrolment wanted the agent to listen; kept for an
// agent that a unit starts.
type wishes struct {
	Port   int    `json:"port,omitempty"`
	Listen string `json:"listen,omitempty"`
}

func (h Home) saveWishes(w wishes) error {
	b, err := json.Marshal(w)
	if err != nil {
		return fmt.Errorf("recording the enrolment: %w", err)
	}
	return writeFile(h.path("serve.json"), b)
}

// loadWishes reads them; none when they cannot be read.
func (h Home) loadWishes() (w wishes) {
	if b, err := os.ReadFile(h.path("serve.json")); err == nil {
		_ = json.Unmarshal(b, &w)
	}
	return w
}
