package compile

import (
	"os"
	"path/filepath"
	"strings"

	"volant/controller/fault"
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
	ns := strings.SplitN(to, ".", 3)
	if len(ns) == 3 && c.collection(ns[0]+"."+ns[1]) == "" && c.Sink != nil {
		missing := "ansible_collections." + ns[0]
		if c.Union.NamespaceInstalled(ns[0]) {
			missing += "." + ns[1]
		}
		c.Sink.Warning(&fault.Error{Msg: "Error loading plugin '" + to + "': No module named '" + missing + "'"})
	}
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
