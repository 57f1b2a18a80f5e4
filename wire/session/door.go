package session

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
)

// Bounds on peers that have not proved a key yet. A packet from nowhere costs a
// lookup; beyond calmStarts a second the address has to answer a Retry, for
// which nothing is kept, before a handshake begins.
const (
	calmStarts   = 32  // handshakes begun in a second before addresses must be shown to be real
	maxHalfOpen  = 512 // handshakes going on, of all addresses
	maxHalfOpen1 = 64  // of one address; many may sit behind it
)

// door counts handshakes that are not over.
type door struct {
	mu     sync.Mutex // guards what follows
	half   int
	from   map[netip.Addr]int
	second int64 // the one that starts counts
	starts int
	// refused is how many were turned away, since the beginning.
	refused uint64
}

// halfOpen is one handshake at the door.
type halfOpen struct {
	d    *door
	addr netip.Addr
	once sync.Once
}

type halfOpenKey struct{}

// doubtful decides whether an address must be shown to be real first. It is
// called for every first packet, so it only counts.
func (d *door) doubtful(net.Addr) bool {
	now := time.Now().Unix()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.second != now {
		d.second, d.starts = now, 0
	}
	d.starts++
	return d.starts > calmStarts || d.half > calmStarts
}

var errCrowd = errors.New("too many handshakes at once")

// enter lets a handshake begin, or refuses it. It is over with ctx, or when
// passed is called on what the context carries.
func (d *door) enter(ctx context.Context, info *quic.ClientInfo) (context.Context, error) {
	h := &halfOpen{d: d}
	if udp, ok := info.RemoteAddr.(*net.UDPAddr); ok {
		h.addr = udp.AddrPort().Addr().Unmap()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.half >= maxHalfOpen || d.from[h.addr] >= maxHalfOpen1 {
		d.refused++
		return nil, errCrowd
	}
	if d.from == nil {
		d.from = map[netip.Addr]int{}
	}
	d.half++
	d.from[h.addr]++
	context.AfterFunc(ctx, h.over)
	return context.WithValue(ctx, halfOpenKey{}, h), nil
}

// over takes the handshake off the count.
func (h *halfOpen) over() {
	h.once.Do(func() {
		h.d.mu.Lock()
		defer h.d.mu.Unlock()
		h.d.half--
		if h.d.from[h.addr]--; h.d.from[h.addr] <= 0 {
			delete(h.d.from, h.addr)
		}
	})
}

// passed says that the peer of a connection proved its key.
func passed(ctx context.Context) {
	if h, ok := ctx.Value(halfOpenKey{}).(*halfOpen); ok {
		h.over()
	}
}
