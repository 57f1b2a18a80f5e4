package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"volant/bootstrap"
	"volant/wire"
	"volant/wire/session"
)

const (
	callTimeout  = 1500 * time.Millisecond // for a known agent to answer before SSH is asked
	crowding     = 50 * time.Millisecond   // more of it for every handshake that goes on beside it
	dialTimeout  = 10 * time.Second        // for an agent that SSH just spoke to; a silent one fails after 5 s
	dialBudget   = 12 * time.Second        // for all tries: a storm may refuse a dial after it seemed to succeed
	resolveAfter = 2 * time.Second
	sshEvery     = 3 // while a link is lost, every third attempt asks SSH
)

// dialer builds links to a remote agent: call it where its pin is known, else
// go over SSH. Its methods are called by one attempt at a time.
type dialer struct {
	f      *Fleet
	target Target
	key    linkKey

	once  sync.Once // loads pin
	pin   *pin
	asked bool // whether the agent's release was looked at
}

func (d *dialer) build(ctx context.Context, attempt int) (*live, error) {
	d.once.Do(func() {
		var err error
		if d.pin, err = d.f.pins.load(d.key); err != nil {
			d.f.log.Warn("Pin cannot be used", "host", d.target.Name, "err", err)
		}
	})
	var callErr error
	if d.pin != nil && d.pin.Address != "" && d.sameAddress(ctx) {
		lv, err := d.call(ctx, callTimeout)
		if err == nil {
			if !d.outdated(lv) {
				return lv, nil
			}
			return d.upgrade(ctx, lv)
		}
		callErr = err
		d.f.log.Info("Agent does not answer", "host", d.target.Name, "address", d.pin.Address, "err", err)
		if attempt%sshEvery == 1 { // the first and then now and then: SSH costs more than a datagram
			return nil, &callError{err}
		}
	}
	if err := d.bootstrap(ctx, callErr); err != nil {
		return nil, err
	}
	return d.callStarted(ctx)
}

// outdated tells whether the agent is of another release than the one this
// controller carries, and not newer. It is asked once in a run.
func (d *dialer) outdated(lv *live) bool {
	if d.f.cfg.Binaries == nil || d.asked {
		return false
	}
	d.asked = true
	ours := d.f.cfg.Binaries.Version()
	return lv.hello.Agent != ours && !wire.NewerRelease(lv.hello.Agent, ours)
}

// upgrade replaces the agent over SSH; where that cannot be done the old one
// serves on: it speaks our protocol.
func (d *dialer) upgrade(ctx context.Context, lv *live) (*live, error) {
	d.f.log.Info("Agent is of another release", "host", d.target.Name, "agent", lv.hello.Agent)
	if err := d.bootstrap(ctx, nil); err != nil {
		d.f.log.Warn("Agent could not be replaced", "host", d.target.Name, "err", err)
		if lv.alive() {
			return lv, nil
		}
	}
	_ = lv.conn.Close(session.CodeReconnect, "replaced by a newer agent")
	return d.callStarted(ctx)
}

// callStarted dials an agent that SSH just spoke to.
func (d *dialer) callStarted(ctx context.Context) (*live, error) {
	var err error
	until := time.Now().Add(dialBudget)
	for try := 1; time.Now().Before(until); try++ {
		var lv *live
		if lv, err = d.call(ctx, dialTimeout); err == nil {
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
	return nil, &callError{fmt.Errorf("the agent runs but does not answer on UDP %s (is a firewall between?): %w", d.pin.Address, err)}
}

// callError says that an agent did not answer, as the reference speaks of a
// host that cannot be reached.
type callError struct{ err error }

func (e *callError) Error() string { return "Failed to connect to the host via ssh: " + e.err.Error() }
func (e *callError) Unwrap() error { return e.err }

// sameAddress tells whether the host's name still stands for the address the
// agent was met at. A name that only ssh_config knows is taken as it is.
func (d *dialer) sameAddress(ctx context.Context) bool {
	host, _, err := net.SplitHostPort(d.pin.Address)
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
func (d *dialer) call(ctx context.Context, timeout time.Duration) (lv *live, err error) {
	release, err := acquire(ctx, d.f.dials)
	if err != nil {
		return nil, err
	}
	defer release()
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
	addr, err := net.ResolveUDPAddr("udp", d.pin.Address)
	if err != nil {
		return nil, fmt.Errorf("dialling the agent: %w", err)
	}
	e, err := d.f.endpoint(addr.IP)
	if err != nil {
		return nil, err
	}
	ctx, stop := untilRefused(ctx, addr)
	defer stop()
	conn, err := e.Dial(ctx, addr, d.pin.Agent)
	if err != nil {
		if errors.Is(context.Cause(ctx), errRefused) {
			err = fmt.Errorf("dialling %s: %w", addr, errRefused)
		}
		return nil, err
	}
	lv, err = d.f.goLive(ctx, conn)
	if err != nil {
		_ = conn.Close(session.CodeProtocol, err.Error())
		return nil, err
	}
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
		c, err := net.DialUDP("udp", nil, addr)
		if err != nil {
			return
		}
		defer c.Close()
		defer context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Now()) })()
		for range 3 { // a datagram too short to be QUIC: ignored where an agent is
			if _, err = c.Write([]byte{0}); err != nil {
				break
			}
			_ = c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
			if _, err = c.Read(make([]byte, 1)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) || ctx.Err() != nil {
				break
			}
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
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

// bootstrap gets an agent running over SSH and pins its key.
func (d *dialer) bootstrap(ctx context.Context, callErr error) (err error) {
	release, err := acquire(ctx, d.f.ssh)
	if err != nil {
		return err
	}
	defer release()
	begin := time.Now()
	defer func() {
		outcome := "ok"
		if err != nil {
			outcome = "failed"
		}
		d.f.cfg.Metrics.Connected("bootstrap", outcome, time.Since(begin))
	}()
	d.asked = true // what SSH finds or installs is current
	ssh, err := d.f.cfg.Dial(ctx, d.target.SSH)
	if err != nil {
		return err
	}
	defer ssh.Close()
	e := d.target.Enrol
	e.Controller, e.Name, e.Protocol = d.f.id.Public(), d.f.cfg.Name, wire.Version
	var ve *versionError
	if errors.As(callErr, &ve) {
		e.Restart = true
	}
	info, err := ssh.EnsureAgent(ctx, d.f.cfg.Binaries, e)
	if err != nil {
		return err
	}
	if info.Protocol < wire.MinVersion || info.Protocol > wire.Version+1 {
		return &bootstrap.Error{Kind: bootstrap.KindStart, Msg: fmt.Sprintf(
			"the agent on the host (%s) speaks protocol %d, this controller %d to %d", info.Version, info.Protocol, wire.MinVersion, wire.Version)}
	}
	if info.Port == 0 {
		return &bootstrap.Error{Kind: bootstrap.KindConfig, Msg: "The agent on this host opens no port (agent_listen is none), and this controller knows no other way to it"}
	}
	d.repin(info)
	return nil
}

// repin remembers what SSH vouched for. Only an SSH host key that verified
// replaces another agent's pin in silence.
func (d *dialer) repin(info bootstrap.AgentInfo) {
	p := &pin{
		Agent: info.Agent, Address: info.DialAddress, HostKey: info.HostKey, HostKeyOK: info.HostKeyOK,
		Home: info.Home, Version: info.Version, Enrolled: time.Now().UTC().Truncate(time.Second),
	}
	if d.pin != nil && !d.pin.Agent.Equal(p.Agent) && !info.HostKeyOK {
		d.f.log.Warn("Agent's key changed and the SSH host key was not checked", "host", d.target.Name)
	}
	d.pin = p
	if err := d.f.pins.save(d.key, p); err != nil {
		d.f.log.Warn("Pin cannot be kept", "host", d.target.Name, "err", err)
	}
}

// localBuilder makes the link to the session inside this process.
type localBuilder struct{ f *Fleet }

func (b localBuilder) build(ctx context.Context, _ int) (*live, error) {
	begin := time.Now()
	conn, err := b.f.cfg.Local(ctx)
	if err != nil {
		return nil, err
	}
	lv, err := b.f.goLive(ctx, conn)
	if err != nil {
		_ = conn.Close(session.CodeProtocol, err.Error())
		return nil, err
	}
	b.f.cfg.Metrics.Connected("local", "ok", time.Since(begin))
	return lv, nil
}
