package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"volant/wire/session"
)

// callFailed says that calling gave nothing and SSH is to be asked.
type callFailed struct{ err error }

func (e *callFailed) Error() string { return e.err.Error() }

var errSilent = errors.New("it does not answer")

// callStarted dials an agent that SSH just spoke to.
func (d *dialer) callStarted(ctx context.Context, began func()) (*live, error) {
	var err error
	until := time.Now().Add(dialBudget)
	for try := 1; time.Now().Before(until); try++ {
		var lv *live
		if lv, err = d.callNow(ctx, dialTimeout, nil, began); err == nil {
			return lv, nil
		}
		if errors.Is(err, session.ErrPin) || errors.Is(err, session.ErrNotServed) {
			break // not a matter of patience
		}
		select {
		case <-time.After(min(time.Duration(try)*50*time.Millisecond, time.Second)):
		case <-ctx.Done():
			return nil, &callError{err}
		}
	}
	return nil, &callError{fmt.Errorf("the agent runs but does not answer on UDP %s (is a firewall between?): %w", d.pin.Load().Address, err)}
}

// callError says that an agent did not answer, as the reference speaks of a
// host that cannot be reached.
type callError struct{ err error }

func (e *callError) Error() string { return "Failed to connect to the host via ssh: " + e.err.Error() }
func (e *callError) Unwrap() error { return e.err }

// sameAddress tells whether the host's name still stands for the address the
// agent was met at. A name that only ssh_config knows is taken as it is.
func (d *dialer) sameAddress(ctx context.Context) bool {
	host, _, err := net.SplitHostPort(d.pin.Load().Address)
	if err != nil {
		return false
	}
	if host == d.key.host {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, resolveAfter)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupHost(ctx, d.key.host)
	return err != nil || slices.Contains(addrs, host)
}

// call dials the pinned agent and waits for its first frame.
func (d *dialer) call(ctx context.Context, timeout time.Duration, still func() bool) (lv *live, err error) {
	return d.callNow(ctx, timeout, still, func() {})
}

// callNow is call that says when its turn has come.
func (d *dialer) callNow(ctx context.Context, timeout time.Duration, still func() bool, began func()) (lv *live, err error) {
	p := d.pin.Load()
	release, err := acquire(ctx, d.f.dials)
	if err != nil {
		return nil, err
	}
	defer release()
	began()
	begin := time.Now()
	defer func() {
		outcome := "ok"
		if err != nil {
			outcome = "failed"
		}
		d.f.cfg.Metrics.Connected("call", outcome, time.Since(begin))
	}()
	ctx, cancel := context.WithTimeout(ctx, timeout+time.Duration(len(d.f.dials))*crowding)
	defer cancel()
	addr, err := net.ResolveUDPAddr("udp", p.Address)
	if err != nil {
		return nil, fmt.Errorf("dialling the agent: %w", err)
	}
	e, err := d.f.endpoint(addr.IP)
	if err != nil {
		return nil, err
	}
	ctx, stop := untilRefused(ctx, addr)
	defer stop()
	conn, err := e.Dial(ctx, addr, p.Agent)
	if err != nil {
		if errors.Is(context.Cause(ctx), errRefused) {
			err = fmt.Errorf("dialling %s: %w", addr, errRefused)
		}
		return nil, err
	}
	lv, err = d.f.goLive(ctx, conn, still)
	if err != nil {
		_ = conn.Close(session.CodeProtocol, err.Error())
		return nil, err
	}
	lv.udp = addr
	d.f.cfg.Metrics.RoundTrip(conn.RTT())
	return lv, nil
}

// errRefused says that nothing listens at the agent's address.
var errRefused = errors.New("nothing listens there")

// probeAfter is how long an agent may take before it is asked whether anything
// listens at its port at all.
const probeAfter = 100 * time.Millisecond

// untilRefused ends the context early when the host says that the port is
// closed: QUIC's shared socket is not told, a socket connected to the port is.
func untilRefused(ctx context.Context, addr *net.UDPAddr) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	timer := time.AfterFunc(probeAfter, func() {
		defer close(done)
		if knock(ctx, addr) {
			cancel(errRefused)
		}
	})
	return ctx, func() {
		cancel(nil)
		if !timer.Stop() {
			<-done
		}
	}
}

// knocks are how often it is asked whether anything listens: a kernel says no
// six times at first and once a second from then on, and what QUIC sent again
// may have used that up.
const knocks = 26

// knock tells whether the host says that nothing listens at the address. It
// takes at most a second and a half; no news is no answer.
func knock(ctx context.Context, addr *net.UDPAddr) bool {
	c, err := net.DialUDP("udp", nil, addr)
	if err != nil {
		return false
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Now()) })()
	for range knocks { // a datagram too short to be QUIC: ignored where an agent is
		if _, err = c.Write([]byte{0}); err != nil {
			break
		}
		_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if _, err = c.Read(make([]byte, 1)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) || ctx.Err() != nil {
			break
		}
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
