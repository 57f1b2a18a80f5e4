package compile

import (
	"path/filepath"
	"strings"

	"volant/wire/value"
)

// movedLookup is where ansible-core's routing sends a lookup that left it, or
// "". A collection that is not there is warned of, as in the reference.
func (c *Catalog) movedLookup(name string) string {
	if c.Union == nil || c.Files == nil || strings.Contains(name, ".") {
		return ""
	}
	c.mu.Lock()
	if c.moved == nil {
		c.moved = c.readMoved()
	}
	to := c.moved[name]
	c.mu.Unlock()
	c.warnMissing(to)
	return to
}

func (c *Catalog) readMoved() map[string]string {
	out := map[string]string{}
	doc, _, err := c.Files.LoadFile(filepath.Join(c.Union.Core().Path, "config", "ansible_builtin_runtime.yml"))
	if err != nil {
		return out // no routing, then
	}
	top, _ := doc.(*value.Dict)
	routing, _ := top.Lookup("plugin_routing").(*value.Dict)
	lookups, _ := routing.Lookup("lookup").(*value.Dict)
	for k, v := range lookups.All() {
		name, _ := value.Text(k)
		route, _ := v.(*value.Dict)
		if to, ok := route.Str("redirect"); ok {
			out[name] = to
		}
	}
	return out
}
