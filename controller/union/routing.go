package union

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxRuntime bounds a meta/runtime.yml; ansible-core's own has 300 KB.
const maxRuntime = 8 << 20

// route is what a collection's routing says of one name.
type route struct {
	Redirect   string  `yaml:"redirect" json:"r,omitempty"`
	Tombstone  *notice `yaml:"tombstone" json:"t,omitempty"`
	Deprecated *notice `yaml:"deprecation" json:"d,omitempty"`
	Action     string  `yaml:"action_plugin" json:"a,omitempty"`
}

// notice is a deprecation or a tombstone.
type notice struct {
	Date    string `yaml:"removal_date" json:"date,omitempty"`
	Version string `yaml:"removal_version" json:"version,omitempty"`
	Text    string `yaml:"warning_text" json:"text,omitempty"`
}

// routing is the part of a meta/runtime.yml that concerns modules.
type routing struct {
	Modules     map[string]*route `json:"m,omitempty"`
	ModuleUtils map[string]*route `json:"u,omitempty"`
	Actions     map[string]*route `json:"c,omitempty"`
	Groups      map[string][]any  `json:"g,omitempty"`
}

// readRouting parses the file; a missing one gives an empty routing.
func readRouting(path string) (*routing, error) {
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return new(routing), nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading collection metadata: %w", err)
	}
	if st.Size() > maxRuntime {
		return nil, fmt.Errorf("reading collection metadata: %s has more than %d bytes", path, maxRuntime)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading collection metadata: %w", err)
	}
	var doc struct {
		Routing struct {
			Modules     map[string]*route `yaml:"modules"`
			ModuleUtils map[string]*route `yaml:"module_utils"`
			Actions     map[string]*route `yaml:"action"`
		} `yaml:"plugin_routing"`
		Groups map[string][]any `yaml:"action_groups"`
	}
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return nil, fmt.Errorf("reading collection metadata %s: %w", path, err)
	}
	return &routing{doc.Routing.Modules, doc.Routing.ModuleUtils, doc.Routing.Actions, doc.Groups}, nil
}

// removed is the text of a tombstone.
func (n *notice) removed(name, kind, collection string) string {
	msg := fmt.Sprintf("The '%s' %s has been removed.", name, kind)
	if text := strings.TrimSpace(n.Text); text != "" {
		msg += " " + text
		if !strings.ContainsRune(".!?", rune(text[len(text)-1])) {
			msg += "."
		}
	}
	msg += " This feature was removed from " + owner(collection)
	switch {
	case n.Date != "":
		msg += " in a release after " + n.Date
	case n.Version != "":
		msg += " version " + n.Version
	}
	return msg + "."
}

// owner is how messages name a collection.
func owner(collection string) string {
	if collection == "ansible.builtin" {
		return "ansible-core"
	}
	return "collection '" + collection + "'"
}
