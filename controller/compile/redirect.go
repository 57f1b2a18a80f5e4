package compile

import (
	"path/filepath"
	"strings"

	"volant/wire/value"
)

// movedLookup is where ansible-core's routing sends a lookup that left it, or
// "". A collection that is not there is warned of, as in the reference.
func (c *Catalog) movedLookup(name string) string {
	to := c.Routed("lookup", name)
	c.warnMissing(to)
	return to
}

// Routed is where ansible-core's routing sends a filter, test or lookup that
// left it, or "".
func (c *Catalog) Routed(kind, name string) string {
	if c.Union == nil || c.Files == nil || strings.Contains(name, ".") {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.moved == nil {
		c.moved = c.readMoved()
	}
	return c.moved[kind+" "+name]
}

func (c *Catalog) readMoved() map[string]string {
	out := map[string]string{}
	doc, _, err := c.Files.LoadFile(filepath.Join(c.Union.Core().Path, "config", "ansible_builtin_runtime.yml"))
	if err != nil {
		return out // no routing, then
	}
	top, _ := doc.(*value.Dict)
	routing, _ := top.Lookup("plugin_routing").(*value.Dict)
	for _, kind := range []string{"filter", "lookup", "test"} {
		routes, _ := routing.Lookup(kind).(*value.Dict)
		for k, v := range routes.All() {
			name, _ := value.Text(k)
			route, _ := v.(*value.Dict)
			if to, ok := route.Str("redirect"); ok {
				out[kind+" "+name] = to
			}
		}
	}
	return out
}
