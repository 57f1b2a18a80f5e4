package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// relayCmd carries the frames between a host's cable and the bridge in place of
// the kernel, late or not at all: for kernels without netem. The host's end of
// the cable is taken off the bridge and a tap device put there instead:
//
//	host ==veth== LINK --packet socket--> relay --tap--> bridge
//	host ==veth== LINK <--packet socket-- relay <--tap-- bridge   (delayed, lost)
//
// Both ends speak virtio headers, so offloaded checksums and segments survive.
type relayCmd struct {
	Link  string  `required:""`
	Tap   string  `required:""`
	Delay int     `required:""`
	Loss  float64 `required:""`
}

const (
	maxFrame   = 10 + 14 + 4 + 65535 // virtio header, ethernet, VLAN tag, the largest segment
	queueLimit = 4000                // frames on their way; more are dropped, as netem does
)

// Run relays until a signal. The tap disappears with this process.
func (c *relayCmd) Run(ctx context.Context) error {
	tap, err := openTap(c.Tap)
	if err != nil {
		return fmt.Errorf("opening tap device: %w", err)
	}
	link, err := openLink(c.Link)
	if err != nil {
		return fmt.Errorf("opening %s: %w", c.Link, err)
	}
	context.AfterFunc(ctx, func() { tap.Close(); link.Close() })
	fmt.Println("ready") // in the log
	var both sync.WaitGroup
	both.Go(func() { pass(link, tap) })                                                // from the host: as it comes
	both.Go(func() { c.passLate(tap, link, time.Duration(c.Delay)*time.Millisecond) }) // to the host
	both.Wait()
	return nil
}

// pass copies frames; it ends when from is closed.
func pass(from, to *os.File) {
	buf := make([]byte, maxFrame)
	for {
		n, err := from.Read(buf)
		if errors.Is(err, os.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // the cable is cut, or gone with its host
			continue
		}
		_, _ = to.Write(buf[:n]) // a frame that cannot be sent is a frame lost
	}
}

type lateFrame struct {
	due  time.Time
	data []byte
}

// passLate copies frames after a delay, without some; it ends when from is closed.
func (c *relayCmd) passLate(from, to *os.File, delay time.Duration) {
	queue := make(chan lateFrame, queueLimit)
	var sender sync.WaitGroup
	sender.Go(func() { // ends when the queue is closed
		for f := range queue {
			time.Sleep(time.Until(f.due))
			_, _ = to.Write(f.data)
		}
	})
	defer sender.Wait()
	defer close(queue)
	buf := make([]byte, maxFrame)
	for {
		n, err := from.Read(buf)
		if errors.Is(err, os.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if rand.Float64()*100 < c.Loss {
			continue
		}
		select {
		case queue <- lateFrame{time.Now().Add(delay), append([]byte(nil), buf[:n]...)}:
		default:
		}
	}
}

func openTap(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	req, err := unix.NewIfreq(name)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, req); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func openLink(name string) (*os.File, error) {
	ifc, err := net.InterfaceByName(name)
	if err != nil {
		return nil, err
	}
	const all = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8 // network byte order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1),
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20),
		unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP,
			&unix.PacketMreq{Ifindex: int32(ifc.Index), Type: unix.PACKET_MR_PROMISC}),
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: ifc.Index}),
	)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}
