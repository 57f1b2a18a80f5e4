package session

import (
	"net"

	"golang.org/x/sys/unix"
)

// receiveBuffer is the size of the socket's receive buffer as the kernel gave
// it; 0 when it cannot be known. The kernel doubles what it is asked for; root
// may have more than the system's limit.
func receiveBuffer(udp *net.UDPConn) (size int) {
	raw, err := udp.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if n, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF); err == nil && n/2 < wantBuffer {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, wantBuffer) // root's alone
		}
		if n, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF); err == nil {
			size = n / 2
		}
	})
	return size
}
