package facts

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"volant/wire/rx"
	"volant/wire/value"
)

// interfaceTypes by the kernel's number.
var interfaceTypes = map[string]string{"1": "ether", "32": "infiniband", "512": "ppp", "772": "loopback", "65534": "tunnel"}

// network describes interfaces, addresses and default routes; where there is
// no ip command it says nothing, as the reference does.
func network(r *run) (*value.Dict, error) {
	ip := r.tool("ip")
	if ip == "" {
		return value.NewDict(0), nil
	}
	var default4, default6 *value.Dict
	var wg sync.WaitGroup
	wg.Go(func() { default4 = r.defaultRoute(ip, "-4", "8.8.8.8") })
	wg.Go(func() { default6 = r.defaultRoute(ip, "-6", "2404:6800:400a:800::1012") })
	addrs, err := addresses()
	if err != nil {
		return nil, &HandBack{Reason: fmt.Sprintf("asking the kernel for addresses: %v", err)}
	}
	local, err := localRoutes()
	if err != nil {
		return nil, &HandBack{Reason: fmt.Sprintf("asking the kernel for routes: %v", err)}
	}
	wg.Wait()
	n := &netFacts{
		run: r, interfaces: value.NewDict(8), default4: default4, default6: default6,
		all4: value.ListOf(), all6: value.ListOf(),
	}
	dir, err := os.Open("/sys/class/net")
	if err != nil {
		return nil, fmt.Errorf("listing interfaces: %w", err)
	}
	names, err := dir.Readdirnames(-1) // unsorted, as glob has them
	dir.Close()
	if err != nil {
		return nil, fmt.Errorf("listing interfaces: %w", err)
	}
	ethtool := r.tool("ethtool")
	for _, name := range names {
		path := "/sys/class/net/" + name
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			continue
		}
		d, mac, err := device(path, name)
		if err != nil {
			return nil, err
		}
		n.interfaces.Set(name, d)
		for _, secondary := range []bool{false, true} {
			for _, a := range addrs {
				if a.device == name && a.secondary == secondary {
					n.address(name, mac, a)
				}
			}
		}
		if ethtool != "" {
			if err := r.ethtool(ethtool, name, n.interfaces.Lookup(name).(*value.Dict)); err != nil {
				return nil, err
			}
		}
	}
	out := value.NewDict(n.interfaces.Len() + 6)
	list := value.ListOf()
	for k, v := range n.interfaces.All() {
		name := strings.ReplaceAll(k.(string), ":", "_")
		list.Items = append(list.Items, name)
		out.Set(name, v)
	}
	out.Update(value.DictOf("interfaces", list, "default_ipv4", default4, "default_ipv6", default6,
		"all_ipv4_addresses", n.all4, "all_ipv6_addresses", n.all6, "locally_reachable_ips", local))
	return out, nil
}

// defaultRoute is how the kernel would reach target.
func (r *run) defaultRoute(ip, family, target string) *value.Dict {
	if a, err := netip.ParseAddr(target); err == nil {
		if d, ok := routeTo(a); ok {
			return d
		}
	}
	return r.ipRoute(ip, family, target)
}

// ipRoute asks the program.
func (r *run) ipRoute(ip, family, target string) *value.Dict {
	d := value.NewDict(10)
	out, _ := r.command(ip, family, "route", "get", target)
	first, _, _ := strings.Cut(out, "\n")
	words := strings.Fields(first)
	if len(words) == 0 || words[0] != target {
		return d
	}
	for i := 0; i+1 < len(words); i++ {
		switch next := words[i+1]; words[i] {
		case "dev":
			d.Set("interface", next)
		case "src":
			d.Set("address", next)
		case "via":
			if next != target {
				d.Set("gateway", next)
			}
		}
	}
	return d
}

// device is what /sys says of an interface.
func device(path, name string) (d *value.Dict, mac any, err error) {
	d = value.DictOf("device", name)
	in := func(parts ...string) string { return filepath.Join(append([]string{path}, parts...)...) }
	mac = read(in("address"), "")
	if mac != "" && mac != "00:00:00:00:00:00" {
		d.Set("macaddress", mac)
	}
	if s := read(in("mtu"), ""); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, nil, fmt.Errorf("reading the mtu of %s: %w", name, err)
		}
		d.Set("mtu", n)
	}
	if exists(in("operstate")) {
		d.Set("active", read(in("operstate"), "") != "down")
	}
	if p, err := filepath.EvalSymlinks(in("device", "driver", "module")); err == nil {
		d.Set("module", filepath.Base(p))
	}
	if exists(in("type")) {
		kind, ok := interfaceTypes[read(in("type"), "")]
		if !ok {
			kind = "unknown"
		}
		d.Set("type", kind)
	}
	if exists(in("bridge")) {
		d.Set("type", "bridge")
		members := value.ListOf()
		if dir, err := os.Open(in("brif")); err == nil {
			ports, _ := dir.Readdirnames(-1) // unsorted, as glob has them
			dir.Close()
			members = value.Strings(ports...)
		}
		d.Set("interfaces", members)
		if exists(in("bridge", "bridge_id")) {
			d.Set("id", read(in("bridge", "bridge_id"), ""))
		}
		if exists(in("bridge", "stp_state")) {
			d.Set("stp", read(in("bridge", "stp_state"), "") == "1")
		}
	}
	if exists(in("bonding")) {
		bond(d, in)
	}
	if exists(in("bonding_slave")) {
		d.Set("perm_macaddress", read(in("bonding_slave", "perm_hwaddr"), ""))
	}
	if target, err := os.Readlink(in("device")); err == nil {
		d.Set("pciid", filepath.Base(target))
	}
	if s := read(in("speed"), ""); s != "" {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			d.Set("speed", n)
		}
	}
	if s := read(in("flags"), ""); s != "" {
		n, err := strconv.ParseInt(strings.TrimPrefix(s, "0x"), 16, 64)
		if err != nil {
			return nil, nil, fmt.Errorf("reading the flags of %s: %w", name, err)
		}
		d.Set("promisc", n&0x100 > 0)
	}
	return d, mac, nil
}

func bond(d *value.Dict, in func(...string) string) {
	first := func(name string) any {
		if f := strings.Fields(read(in("bonding", name), "")); len(f) > 0 {
			return f[0]
		}
		return ""
	}
	d.Set("type", "bonding")
	d.Set("slaves", value.Strings(strings.Fields(read(in("bonding", "slaves"), ""))...))
	d.Set("mode", first("mode"))
	d.Set("miimon", first("miimon"))
	d.Set("lacp_rate", first("lacp_rate"))
	if primary := read(in("bonding", "primary"), ""); primary != "" {
		d.Set("primary", primary)
		if exists(in("bonding", "all_slaves_active")) {
			d.Set("all_slaves_active", read(in("bonding", "all_slaves_active"), "") == "1")
		}
	}
}

// netFacts collects addresses as the reference's reading of ip's output does.
type netFacts struct {
	run                *run
	interfaces         *value.Dict
	default4, default6 *value.Dict
	all4, all6         *value.List
}

func (n *netFacts) address(device string, mac any, a netAddress) {
	own := n.interfaces.Lookup(device).(*value.Dict)
	kind, ok := own.Get("type")
	if !ok {
		kind = "unknown"
	}
	if a.ip.Is6() {
		list, ok := own.Lookup("ipv6").(*value.List)
		if !ok {
			list = value.ListOf()
			own.Set("ipv6", list)
		}
		prefix, scope := strconv.Itoa(a.prefix), a.scope
		list.Items = append(list.Items, value.DictOf("address", a.ip.String(), "prefix", prefix, "scope", scope))
		if addr, _ := n.default6.Str("address"); addr == a.ip.String() {
			n.default6.Update(value.DictOf("prefix", prefix, "scope", scope, "macaddress", mac, "mtu", own.Lookup("mtu"), "type", kind))
		}
		if a.ip.String() != "::1" {
			n.all6.Items = append(n.all6.Items, a.ip.String())
		}
		return
	}
	netmask, base := maskOf(a.ip, a.prefix)
	entry := func() *value.Dict {
		return value.DictOf("address", a.ip.String(), "broadcast", a.broadcast, "netmask", netmask, "network", base, "prefix", strconv.Itoa(a.prefix))
	}
	label := a.label
	if label != device {
		n.interfaces.Set(label, value.NewDict(2))
	}
	under := n.interfaces.Lookup(label).(*value.Dict)
	more := func(d *value.Dict) *value.List {
		l, ok := d.Lookup("ipv4_secondaries").(*value.List)
		if !ok {
			l = value.ListOf()
			d.Set("ipv4_secondaries", l)
		}
		return l
	}
	if !a.secondary && !under.Has("ipv4") {
		under.Set("ipv4", entry())
	} else {
		l := more(under)
		l.Items = append(l.Items, entry())
	}
	if a.secondary {
		l := more(own)
		if label != device {
			l.Items = append(l.Items, entry())
		}
	}
	if addr, _ := n.default4.Str("address"); addr == a.ip.String() {
		n.default4.Update(value.DictOf("broadcast", a.broadcast, "netmask", netmask, "network", base, "prefix", strconv.Itoa(a.prefix),
			"macaddress", mac, "mtu", own.Lookup("mtu"), "type", kind, "alias", label))
	}
	if !strings.HasPrefix(a.ip.String(), "127.") {
		n.all4.Items = append(n.all4.Items, a.ip.String())
	}
}

// maskOf returns netmask and network of an IPv4 address as text.
func maskOf(ip netip.Addr, bits int) (mask, network string) {
	m := ^uint32(0)
	if bits < 32 {
		m = ^(^uint32(0) >> bits)
	}
	b := ip.As4()
	addr := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	text := func(v uint32) string {
		return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}).String()
	}
	return text(m), text(addr & m)
}

var (
	timestamping = rx.Lazy(`SOF_TIMESTAMPING_(\w+)`)
	rxFilter     = rx.Lazy(`HWTSTAMP_FILTER_(\w+)`)
	ptpClock     = rx.Lazy(`PTP Hardware Clock: (\d+)`)
)

// ethtool adds features and timestamping of an interface.
func (r *run) ethtool(bin, device string, d *value.Dict) error {
	if out, ok := r.command(bin, "-k", device); ok {
		features := value.NewDict(64)
		for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
			if line == "" || strings.HasSuffix(line, ":") {
				continue
			}
			k, v, ok := strings.Cut(line, ": ")
			if !ok {
				return fmt.Errorf("ethtool printed %q", line)
			}
			if v != "" {
				features.Set(strings.ReplaceAll(strings.TrimSpace(k), "-", "_"), strings.TrimSpace(v))
			}
		}
		d.Set("features", features)
	}
	if out, ok := r.command(bin, "-T", device); ok {
		lower := func(re *rx.Pattern) *value.List {
			l := value.ListOf()
			for _, m := range re.FindAllStringSubmatch(out, -1) {
				l.Items = append(l.Items, strings.ToLower(m[1]))
			}
			return l
		}
		d.Set("timestamping", lower(timestamping))
		d.Set("hw_timestamp_filters", lower(rxFilter))
		if m := ptpClock.FindStringSubmatch(out); m != nil {
			n, _ := strconv.ParseInt(m[1], 10, 64)
			d.Set("phc_index", n)
		}
	}
	return nil
}
