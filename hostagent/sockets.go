package hostagent

import (
	"context"
	"errors"
	"net"
	"sync"

	"volant/wire/session"
)

// sockets are where controllers come in: through SSH by a socket in the home,
// and by QUIC unless the agent was told to listen nowhere.
type sockets struct {
	local *net.UnixListener // nil where it cannot be had
	ep    *session.Endpoint
	quic  *session.Listener // nil with ep
}

func (h Home) openSockets(a *Agent, id *session.Identity, g *gate, opt ServeOptions) (in *sockets, err error) {
	in = &sockets{}
	if in.local, err = h.listenLocal(); err != nil {
		if opt.Listen == "none" {
			return nil, err
		}
		a.log.Warn("Controllers cannot come through SSH", "err", err)
	}
	if opt.Listen == "none" {
		return in, nil
	}
	udp, err := h.bind(opt)
	if err != nil {
		return nil, errors.Join(err, in.close())
	}
	in.ep = session.NewEndpoint(udp, id)
	if n := in.ep.BufferShortfall(); n > 0 {
		a.log.Warn("The kernel allows less UDP buffer than wanted (net.core.rmem_max); large transfers are slower", "missing_bytes", n)
	}
	if in.quic, err = in.ep.Listen(g.allow); err != nil {
		return nil, errors.Join(err, in.close())
	}
	return in, nil
}

// port is the UDP port, 0 without one.
func (in *sockets) port() int {
	if in.ep == nil {
		return 0
	}
	return in.ep.Addr().Port
}

// accept takes controllers in until ctx ends, then closes: links end, and
// sub-tasks go on. What it leaves to end is counted in conns.
func (in *sockets) accept(ctx context.Context, a *Agent, id *session.Identity, g *gate, conns *sync.WaitGroup) {
	if in.local != nil {
		conns.Go(func() { a.acceptLocal(ctx, in.local, id, g, conns) }) // ends with local
	}
	if in.quic == nil {
		<-ctx.Done()
	} else {
		a.acceptAll(ctx, in.quic, conns)
	}
	_ = in.close()
}

func (in *sockets) close() error {
	var err error
	if in.ep != nil {
		err = in.ep.Close()
	}
	return errors.Join(err, closeLocal(in.local))
}

func closeLocal(l *net.UnixListener) error {
	if l == nil {
		return nil
	}
	return l.Close()
}
