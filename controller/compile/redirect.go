package compile

import (
	"os"
	"path/filepath"
	"strings"

	"volant/controller/yaml"
	"volant/wire/value"
)

// maxRuntime bounds ansible-core's routing file, which has 300 KB.
const maxRuntime = 8 << 20

// movedLookup is where ansible-core's routing sends a lookup that left it, or
// "". A collection that is not there is warned of, as in the reference.
func (c *Catalog) movedLookup(name string) string {
	if c.Union == nil || strings.Contains(name, ".") {
		return ""
	}
	if c.moved == nil {
		c.moved = map[string]string{}
		c.readMoved(filepath.Join(c.Union.Core().Path, "config", "ansible_builtin_runtime.yml"))
	}
	to := c.moved[name]
	c.warnMissing(to)
	return to
}

func (c *Catalog) readMoved(path string) {
	if st, err := os.Stat(path); err != nil || st.Size() > maxRuntime {
		return
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return
	}
	doc, err := yaml.LoadYAML(data, yaml.Options{File: path})
	if err != nil {
		return
	}
	top, _ := doc.(*value.Dict)
	routing, _ := top.Lookup("plugin_routing").(*value.Dict)
	lookups, _ := routing.Lookup("lookup").(*value.Dict)
	for k, v := range lookups.All() {
		name, _ := value.Text(k)
		route, _ := v.(*value.Dict)
		if to, ok := route.Str("redirect"); ok {
			c.moved[name] = to
		}
	}
}
