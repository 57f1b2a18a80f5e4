package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// chooseNetwork gives the lab a bridge name and a /24 that nothing here uses yet.
// The caller holds the network lock until the bridge exists.
func (l *lab) chooseNetwork() error {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return fmt.Errorf("reading the machine's addresses: %w", err)
	}
	used := func(subnet string) bool {
		_, want, _ := net.ParseCIDR(subnet + ".0/24")
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && (want.Contains(n.IP) || n.Contains(want.IP)) {
				return true
			}
		}
		return false
	}
	id := l.ID
	for i := 0; exists("/sys/class/net/vl" + id + "br"); i++ { // another directory with the same short name
		id = labID(fmt.Sprintf("%s#%d", l.Dir, i))
	}
	l.ID, l.Bridge = id, "vl"+id+"br"
	var first byte
	fmt.Sscanf(id, "%2x", &first)
	for i := range 256 {
		subnet := fmt.Sprintf("10.77.%d", (int(first)+i)%256)
		if !used(subnet) {
			l.Subnet = subnet
			return nil
		}
	}
	return fmt.Errorf("no free network: all of 10.77.0.0/16 is in use on this machine")
}

func (l *lab) gateway() string { return l.Subnet + ".1" }

// startBridge makes the lab's bridge. It has no uplink and no IPv6: what runs in
// a host reaches the other hosts and this machine's address on it, no further.
func (l *lab) startBridge(ctx context.Context) error {
	if !exists("/sys/class/net/" + l.Bridge) {
		if err := ip(ctx, "link", "add", l.Bridge, "type", "bridge", "stp_state", "0", "forward_delay", "0"); err != nil {
			return err
		}
		_ = os.WriteFile(filepath.Join("/proc/sys/net/ipv6/conf", l.Bridge, "disable_ipv6"), []byte("1"), 0) // absent without IPv6
		if err := ip(ctx, "addr", "add", l.gateway()+"/24", "dev", l.Bridge); err != nil {
			return err
		}
	}
	return ip(ctx, "link", "set", l.Bridge, "up")
}

func ip(ctx context.Context, args ...string) error {
	out, err := command(ctx, "ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// cgroupRoots are the hierarchies a host's systemd wants a group of its own in:
// the unified one, and on machines that have both the one named systemd. Without
// it all hosts would share one group and stop each other's services.
func cgroupRoots() []string {
	var roots []string
	for _, d := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd"} {
		if exists(filepath.Join(d, "cgroup.procs")) {
			roots = append(roots, d)
		}
	}
	if len(roots) == 0 {
		roots = []string{"/sys/fs/cgroup"}
	}
	return roots
}
