package facts

import (
	"encoding/binary"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"

	"volant/wire/value"
)

// routeTo asks the kernel how it would reach target, as `ip route get` does;
// false where ip may say more than is read here.
func routeTo(target netip.Addr) (*value.Dict, bool) {
	m, err := askRoute(target)
	d := value.NewDict(10)
	switch err {
	case nil:
	case syscall.ENETUNREACH, syscall.EHOSTUNREACH:
		return d, true
	default:
		return nil, false
	}
	if len(m.Data) < syscall.SizeofRtMsg {
		return nil, false
	}
	if m.Data[7] != unix.RTN_UNICAST {
		return d, true // the line begins with another word
	}
	attrs, err := syscall.ParseNetlinkRouteAttr(m)
	if err != nil {
		return nil, false
	}
	for _, at := range attrs {
		switch at.Attr.Type {
		case unix.RTA_OIF:
			if len(at.Value) < 4 {
				return nil, false
			}
			i, err := net.InterfaceByIndex(int(binary.NativeEndian.Uint32(at.Value)))
			if err != nil {
				return nil, false
			}
			d.Set("interface", i.Name)
		case unix.RTA_PREFSRC, unix.RTA_GATEWAY:
			a, ok := netip.AddrFromSlice(at.Value)
			switch {
			case !ok:
				return nil, false
			case at.Attr.Type == unix.RTA_PREFSRC:
				d.Set("address", a.String())
			case a != target:
				d.Set("gateway", a.String())
			}
		case unix.RTA_VIA, unix.RTA_MULTIPATH, unix.RTA_ENCAP, unix.RTA_NEWDST:
			return nil, false
		}
	}
	return d, true
}

// askRoute is one RTM_GETROUTE and its answer.
func askRoute(target netip.Addr) (*syscall.NetlinkMessage, error) {
	family := byte(unix.AF_INET)
	if target.Is6() {
		family = unix.AF_INET6
	}
	dst := target.AsSlice()
	msg := make([]byte, unix.NLMSG_HDRLEN, 64)
	msg = append(msg, family, byte(len(dst)*8), 0, 0, 0, 0, 0, 0)
	msg = binary.NativeEndian.AppendUint32(msg, unix.RTM_F_LOOKUP_TABLE)
	msg = binary.NativeEndian.AppendUint16(msg, uint16(unix.SizeofRtAttr+len(dst)))
	msg = binary.NativeEndian.AppendUint16(msg, unix.RTA_DST)
	msg = append(msg, dst...)
	binary.NativeEndian.PutUint32(msg, uint32(len(msg)))
	binary.NativeEndian.PutUint16(msg[4:], unix.RTM_GETROUTE)
	binary.NativeEndian.PutUint16(msg[6:], unix.NLM_F_REQUEST)

	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2}); err != nil {
		return nil, err
	}
	if err := unix.Sendto(fd, msg, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	buf := make([]byte, 16<<10)
	n, _, err := unix.Recvfrom(fd, buf, 0)
	if err != nil {
		return nil, err
	}
	answers, err := syscall.ParseNetlinkMessage(buf[:n])
	if err != nil || len(answers) != 1 {
		return nil, syscall.EPROTO
	}
	a := &answers[0]
	switch a.Header.Type {
	case unix.RTM_NEWROUTE:
		return a, nil
	case unix.NLMSG_ERROR:
		if len(a.Data) >= 4 {
			if no := -int32(binary.NativeEndian.Uint32(a.Data)); no > 0 {
				return nil, syscall.Errno(no)
			}
		}
	}
	return nil, syscall.EPROTO
}
