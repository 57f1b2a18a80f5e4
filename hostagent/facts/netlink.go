package facts

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"volant/wire/value"
)

// netAddress is an address of an interface as the kernel has it.
type netAddress struct {
	device, label string
	ip            netip.Addr
	prefix        int
	broadcast     string // empty when there is none
	scope         string
	secondary     bool
}

// scopes are the kernel's names of address scopes.
var scopes = map[uint8]string{unix.RT_SCOPE_UNIVERSE: "global", unix.RT_SCOPE_SITE: "site", unix.RT_SCOPE_LINK: "link", unix.RT_SCOPE_HOST: "host", unix.RT_SCOPE_NOWHERE: "nowhere"}

// addresses lists the addresses of all interfaces in the kernel's order.
func addresses() ([]netAddress, error) {
	msgs, err := dump(syscall.RTM_GETADDR, syscall.AF_UNSPEC)
	if err != nil {
		return nil, err
	}
	names := map[int]string{}
	ifs, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("listing interfaces: %w", err)
	}
	for _, i := range ifs {
		names[i.Index] = i.Name
	}
	var out []netAddress
	for _, m := range msgs {
		if m.Header.Type != syscall.RTM_NEWADDR || len(m.Data) < syscall.SizeofIfAddrmsg {
			continue
		}
		family, prefix, flags, scope := m.Data[0], int(m.Data[1]), uint32(m.Data[2]), m.Data[3]
		index := int(binary.NativeEndian.Uint32(m.Data[4:8]))
		attrs, err := syscall.ParseNetlinkRouteAttr(&m)
		if err != nil {
			return nil, fmt.Errorf("reading an address: %w", err)
		}
		a := netAddress{device: names[index], prefix: prefix, scope: scopes[scope]}
		if a.scope == "" {
			a.scope = strconv.Itoa(int(scope))
		}
		a.label = a.device
		var local, peer netip.Addr
		for _, at := range attrs {
			switch at.Attr.Type {
			case unix.IFA_ADDRESS:
				peer, _ = netip.AddrFromSlice(at.Value)
			case unix.IFA_LOCAL:
				local, _ = netip.AddrFromSlice(at.Value)
			case unix.IFA_BROADCAST:
				b, _ := netip.AddrFromSlice(at.Value)
				a.broadcast = b.String()
			case unix.IFA_LABEL:
				a.label = strings.TrimRight(string(at.Value), "\x00")
			case unix.IFA_FLAGS:
				if len(at.Value) >= 4 {
					flags = binary.NativeEndian.Uint32(at.Value)
				}
			}
		}
		a.ip = peer
		if local.IsValid() {
			a.ip = local
			if peer.IsValid() && peer != local && family == syscall.AF_INET {
				// ip writes "A peer B/N": the reference reads A alone.
				a.prefix, a.broadcast = 32, ""
			}
		}
		if !a.ip.IsValid() || a.device == "" {
			continue
		}
		a.secondary = flags&unix.IFA_F_SECONDARY != 0
		out = append(out, a)
	}
	return out, nil
}

// localRoutes are the addresses and networks that lead to the host itself.
func localRoutes() (*value.Dict, error) {
	out := value.NewDict(2)
	for _, f := range []struct {
		name   string
		family int
		bits   uint8
	}{{"ipv4", syscall.AF_INET, 32}, {"ipv6", syscall.AF_INET6, 128}} {
		msgs, err := dump(syscall.RTM_GETROUTE, f.family)
		if err != nil {
			return nil, err
		}
		list, seen := value.ListOf(), map[string]bool{}
		for _, m := range msgs {
			if m.Header.Type != syscall.RTM_NEWROUTE || len(m.Data) < syscall.SizeofRtMsg {
				continue
			}
			bits, tableID, kind := m.Data[1], uint32(m.Data[4]), m.Data[7]
			flags := binary.NativeEndian.Uint32(m.Data[8:12])
			attrs, err := syscall.ParseNetlinkRouteAttr(&m)
			if err != nil {
				return nil, fmt.Errorf("reading a route: %w", err)
			}
			var dst netip.Addr
			for _, at := range attrs {
				switch at.Attr.Type {
				case unix.RTA_DST:
					dst, _ = netip.AddrFromSlice(at.Value)
				case unix.RTA_TABLE:
					if len(at.Value) >= 4 {
						tableID = binary.NativeEndian.Uint32(at.Value)
					}
				}
			}
			if kind != unix.RTN_LOCAL || tableID != unix.RT_TABLE_LOCAL || !dst.IsValid() || flags&unix.RTM_F_CLONED != 0 {
				continue
			}
			text := dst.String()
			if bits != f.bits {
				text += "/" + strconv.Itoa(int(bits))
			}
			if !seen[text] {
				seen[text] = true
				list.Items = append(list.Items, text)
			}
		}
		out.Set(f.name, list)
	}
	return out, nil
}

func dump(what, family int) ([]syscall.NetlinkMessage, error) {
	raw, err := syscall.NetlinkRIB(what, family)
	if err != nil {
		return nil, fmt.Errorf("asking the kernel: %w", err)
	}
	msgs, err := syscall.ParseNetlinkMessage(raw)
	if err != nil {
		return nil, fmt.Errorf("reading the kernel's answer: %w", err)
	}
	return msgs, nil
}
