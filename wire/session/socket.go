package session

import (
	"net"
	"net/netip"
)

// socket sends without an allocation for every packet: net.UDPConn makes
// itself a new address each time it is given a *net.UDPAddr.
type socket struct{ *net.UDPConn }

// WriteMsgUDP implements quic.OOBCapablePacketConn.
func (s socket) WriteMsgUDP(b, oob []byte, addr *net.UDPAddr) (n, oobn int, err error) {
	if addr == nil {
		return s.UDPConn.WriteMsgUDP(b, oob, nil)
	}
	to := addr.AddrPort() // net.IP has IPv4 in 16 bytes too, which a socket of IPv4 does not take
	return s.WriteMsgUDPAddrPort(b, oob, netip.AddrPortFrom(to.Addr().Unmap(), to.Port()))
}
