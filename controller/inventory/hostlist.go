package inventory

import (
	"context"
	"errors"
	"os"
	"strings"

	"volant/controller/fault"
	"volant/wire/value"
)

func isHostList(_ *Inventory, source string) bool {
	_, err := os.Lstat(source)
	return err != nil && strings.Contains(source, ",")
}

// parseHostList reads "host1,host2:port,".
func parseHostList(_ context.Context, inv *Inventory, source string) error {
	return inv.list(source, func(h string) ([]string, int, error) {
		host, port, err := parseAddress(h, false)
		return []string{host}, port, err
	})
}

// parseAdvancedList is parseHostList with ranges.
func parseAdvancedList(_ context.Context, inv *Inventory, source string) error {
	return inv.list(source, expandHosts)
}

func (inv *Inventory) list(source string, read func(string) ([]string, int, error)) error {
	for _, h := range strings.Split(source, ",") {
		if h = strings.TrimSpace(h); h == "" {
			continue
		}
		hosts, port, err := read(h)
		if bad := (*valueError)(nil); errors.As(err, &bad) {
			return fault.New(fault.Parser, value.Pos{}, "Invalid data from string, could not parse: %s", bad.Error()).Because(bad.error)
		}
		if err != nil {
			inv.opt.Sink.Verbose(3, "Unable to parse address from hostname, leaving unchanged: "+err.Error())
			hosts, port = []string{h}, 0
		}
		for _, host := range hosts {
			if inv.hosts[host] == nil {
				if err := inv.addHost(host, "ungrouped", port); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
