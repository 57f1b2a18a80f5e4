package inventory

import (
	"maps"

	"volant/controller/fault"
)

// Any reports whether patterns select a host now, without telling anybody of
// what they do not match: hosts may yet be added, and who asks for the hosts
// themselves is still told. Like what changes the inventory, it is for one
// goroutine at a time.
func (inv *Inventory) Any(patterns ...string) bool {
	inv.mu.Lock()
	sink, known := inv.opt.Sink, maps.Clone(inv.patterns)
	inv.mu.Unlock()
	inv.opt.Sink = fault.Discard
	defer func() {
		inv.mu.Lock()
		inv.opt.Sink, inv.patterns = sink, known
		inv.mu.Unlock()
	}()
	hosts, err := inv.Select(patterns...)
	return err == nil && len(hosts) > 0
}
