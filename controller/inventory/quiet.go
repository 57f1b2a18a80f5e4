package inventory

import "volant/controller/fault"

// Any reports whether patterns select a host now, without telling anybody of
// what they do not match: hosts may yet be added. Like what changes the
// inventory, it is for one goroutine at a time.
func (inv *Inventory) Any(patterns ...string) bool {
	sink := inv.opt.Sink
	inv.opt.Sink = fault.Discard
	defer func() { inv.opt.Sink = sink }()
	hosts, err := inv.Select(patterns...)
	return err == nil && len(hosts) > 0
}
