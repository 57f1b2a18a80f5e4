package fleet

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"volant/bootstrap"
	"volant/bootstrap/enrol"
	"volant/wire"
	"volant/wire/session"
)

const (
	callTimeout  = 1500 * time.Millisecond // for a known agent to answer before SSH is asked
	crowding     = 50 * time.Millisecond   // more of it for every handshake that goes on beside it
	dialTimeout  = 10 * time.Second        // for an agent that SSH just spoke to; a silent one fails after 5 s
	dialBudget   = 12 * time.Second        // for all tries: a storm may refuse a dial after it seemed to succeed
	resolveAfter = 2 * time.Second
	besideAfter  = 500 * time.Millisecond // without a reply, before the next way is tried beside
	recall       = 24 * time.Hour         // before an agent that only SSH reaches is called again
	waySSH       = "ssh"
	sshEvery     = 3 // while a link is lost, every third attempt asks SSH
)

// dialer builds links to a remote agent: call it where its pin is known, else
// go over SSH. Its methods are called by one attempt at a time.
//
//	pin known   call --answer--> up
//	              | no reply for a while: SSH beside it
//	              v
//	            SSH: see that an agent serves --> call --answer--> up
//	                                                | no reply for a while: a bridge beside it
//	                                                v
//	                                              bridge --> up, remembered
type dialer struct {
	f      *Fleet
	target Target
	key    linkKey

	once sync.Once // loads pin
	// What lost a race may still end while the next attempt begins.
	pin   atomic.Pointer[pin]
	asked atomic.Bool // whether the agent's release was looked at
	// refused says that something just saw nothing listen at the agent's port.
	refused atomic.Bool
	// renew makes the next build go to SSH first; restart also replaces the agent.
	renew, restart atomic.Bool
}

func (d *dialer) build(ctx context.Context, attempt int) (*live, error) {
	d.load()
	if d.target.Transient == enrol.TransientAlways {
		return d.transient(ctx)
	}
	var callErr error
	renew := d.renew.Swap(false)
	if p := d.pin.Load(); p != nil && p.Address != "" && !renew && d.sameAddress(ctx) {
		lv, err := d.meet(ctx, attempt)
		var failed *callFailed
		switch {
		case err == nil && !d.outdated(lv):
			return lv, nil
		case err == nil:
			return d.upgrade(ctx, lv)
		case !errors.As(err, &failed):
			return nil, err
		}
		callErr = failed.err
		d.f.log.Info("Agent does not answer", "host", d.target.Name, "address", d.pin.Load().Address, "err", callErr)
		if attempt%sshEvery == 1 { // the first and then now and then: SSH costs more than a datagram
			return nil, &callError{callErr}
		}
	}
	if d.target.Transient == enrol.TransientAbsent {
		return d.transient(ctx)
	}
	ssh, info, err := d.bootstrap(ctx, callErr)
	if err != nil {
		return nil, err
	}
	return d.callOrBridge(ctx, ssh, info)
}

// load reads the pin, once.
func (d *dialer) load() {
	d.once.Do(func() {
		p, err := d.f.pins.load(d.key)
		if d.pin.Store(p); err != nil {
			d.f.log.Warn("Pin cannot be used", "host", d.target.Name, "err", err)
		}
	})
}

// callFailed says that calling gave nothing and SSH is to be asked.
type callFailed struct{ err error }

func (e *callFailed) Error() string { return e.err.Error() }

// meet calls the pinned agent. When it does not answer for a while, and this
// is an attempt that may ask SSH, that begins beside the call: the first that
// is up wins.
func (d *dialer) meet(ctx context.Context, attempt int) (*live, error) {
	if d.refused.Swap(false) {
		return nil, &callFailed{errRefused}
	}
	mayAsk := attempt%sshEvery != 1 && d.target.Transient == ""
	if p := d.pin.Load(); p.Way == waySSH && mayAsk && time.Since(p.Called) < recall {
		d.f.viaSSH(d.target.Name, p.Address) // known to be the only way: not tried every time
		return nil, &callFailed{errors.New("it did not answer before")}
	}
	if !mayAsk {
		lv, err := d.call(ctx, callTimeout, nil)
		if err != nil {
			return nil, &callFailed{err}
		}
		return lv, nil
	}
	return d.race(ctx, func(ctx context.Context, began func()) (*live, error) {
		lv, err := d.callNow(ctx, dialTimeout, nil, began)
		if err != nil {
			return nil, &callFailed{err}
		}
		return lv, nil
	}, func(ctx context.Context) (*live, error) {
		ssh, info, err := d.bootstrap(ctx, errSilent)
		if err != nil {
			return nil, err
		}
		return d.callOrBridge(ctx, ssh, info)
	})
}

var errSilent = errors.New("it does not answer")

// race runs first, and beside it second once first has gone without an answer
// for besideAfter since it began. The first that succeeds wins and the other is
// ended. When first fails before second began, its error is returned; else
// second's.
func (d *dialer) race(ctx context.Context, first func(ctx context.Context, began func()) (*live, error), second func(context.Context) (*live, error)) (*live, error) {
	type end struct {
		lv  *live
		err error
	}
	ctx1, stop1 := context.WithCancel(ctx)
	ctx2, stop2 := context.WithCancel(ctx)
	defer stop1()
	defer stop2()
	began := make(chan struct{})
	ends1, ends2 := make(chan end, 1), make(chan end, 1)
	d.f.wg.Go(func() { // ends with its context at the latest
		lv, err := first(ctx1, sync.OnceFunc(func() { close(began) }))
		ends1 <- end{lv, err}
	})
	// reap closes what came second.
	reap := func(c chan end) {
		d.f.wg.Go(func() { // ends with the attempt that was just cancelled
			if e := <-c; e.lv != nil {
				_ = e.lv.conn.Close(session.CodeReconnect, "another way was faster")
			}
		})
	}
	var e1 end
	select {
	case e1 = <-ends1:
		return e1.lv, e1.err
	case <-began:
	}
	timer := time.NewTimer(besideAfter + time.Duration(len(d.f.dials))*crowding)
	defer timer.Stop()
	select {
	case e1 = <-ends1:
		return e1.lv, e1.err
	case <-timer.C:
	}
	d.f.wg.Go(func() { // ends with its context at the latest
		lv, err := second(ctx2)
		ends2 <- end{lv, err}
	})
	select {
	case e1 = <-ends1:
		if e1.err == nil {
			stop2()
			reap(ends2)
			return e1.lv, nil
		}
		e2 := <-ends2
		return e2.lv, e2.err
	case e2 := <-ends2:
		if e2.err == nil {
			stop1()
			reap(ends1)
			return e2.lv, nil
		}
		if e1 = <-ends1; e1.err == nil {
			return e1.lv, nil
		}
		return nil, e2.err
	}
}

// outdated tells whether the agent is of another release than the one this
// controller carries, and not newer. It is asked once in a run.
func (d *dialer) outdated(lv *live) bool {
	if d.f.cfg.Binaries == nil || d.asked.Swap(true) {
		return false
	}
	ours := d.f.cfg.Binaries.Version()
	if lv.hello.Agent != ours {
		return !wire.NewerRelease(lv.hello.Agent, ours)
	}
	// Builds of one release may differ while somebody works on it.
	if g, ok := d.f.cfg.Binaries.(bootstrap.Digester); ok && lv.hello.Digest != "" {
		if sum, err := g.Digest(lv.hello.Arch); err == nil {
			return !strings.HasPrefix(sum, lv.hello.Digest)
		}
	}
	return false
}

// upgrade replaces the agent over SSH; where that cannot be done the old one
// serves on: it speaks our protocol.
func (d *dialer) upgrade(ctx context.Context, lv *live) (*live, error) {
	d.f.log.Info("Agent is of another release", "host", d.target.Name, "agent", lv.hello.Agent)
	ssh, info, err := d.bootstrap(ctx, nil)
	if err != nil {
		d.f.log.Warn("Agent could not be replaced", "host", d.target.Name, "err", err)
		if lv.alive() {
			return lv, nil
		}
		return nil, err
	}
	_ = lv.conn.Close(session.CodeReconnect, "replaced by a newer agent")
	return d.callOrBridge(ctx, ssh, info)
}

// callOrBridge meets an agent that SSH just spoke to: by a call, or where UDP
// does not pass, through that SSH connection, which it takes over.
func (d *dialer) callOrBridge(ctx context.Context, ssh bootstrap.Session, info bootstrap.AgentInfo) (*live, error) {
	bridge := func(ctx context.Context) (*live, error) { return d.bridge(ctx, ssh, info.Home) }
	var lv *live
	var err error
	p := d.pin.Load()
	switch known := p.Way == waySSH && time.Since(p.Called) < recall; {
	case info.Port == 0: // agent_listen is none
		lv, err = bridge(ctx)
	case known:
		if lv, err = bridge(ctx); err == nil {
			break
		}
		fallthrough
	default:
		if lv, err = d.race(ctx, d.callStarted, bridge); err != nil {
			break
		}
		if lv.udp != nil {
			d.remember("")
			break
		}
		d.remember(waySSH)
		d.f.viaSSH(d.target.Name, p.Address)
	}
	if err != nil || lv.udp != nil { // else it lives as long as the link
		_ = ssh.Close()
	}
	return lv, err
}

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

// bridge reaches the agent of a home through SSH. The connection ends with it.
func (d *dialer) bridge(ctx context.Context, ssh bootstrap.Session, home string) (*live, error) {
	rw, err := ssh.Bridge(ctx, home)
	if err != nil {
		return nil, err
	}
	return d.f.tunnel(ctx, rw, d.pin.Load().Agent)
}

// tunnel makes a link over a stream, which ends with it.
func (f *Fleet) tunnel(ctx context.Context, rw io.ReadWriteCloser, agent ed25519.PublicKey) (lv *live, err error) {
	begin := time.Now()
	defer func() {
		outcome := "ok"
		if err != nil {
			outcome = "failed"
		}
		f.cfg.Metrics.Connected("ssh", outcome, time.Since(begin))
	}()
	e := session.NewTunnel(rw, f.id)
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := e.Dial(ctx, session.TunnelAddr, agent)
	if err == nil {
		if lv, err = f.goLive(ctx, conn, nil); err != nil {
			_ = conn.Close(session.CodeProtocol, err.Error())
		}
	}
	if err != nil {
		_ = e.Close()
		return nil, err
	}
	f.wg.Go(func() { // ends with the connection
		<-conn.Context().Done()
		time.Sleep(closeGrace) // for the last packet, which says why
		_ = e.Close()
	})
	return lv, nil
}

// closeGrace is how long a tunnel outlives its connection.
const closeGrace = 50 * time.Millisecond

// transient starts an agent for this run over SSH, or, when that is wanted only
// where none serves, meets the one that does.
func (d *dialer) transient(ctx context.Context) (*live, error) {
	release, err := acquire(ctx, d.f.ssh)
	if err != nil {
		return nil, err
	}
	defer release()
	ssh, err := d.login(ctx)
	if err != nil {
		return nil, err
	}
	e := d.enrolment()
	e.Transient = d.target.Transient
	info, rw, err := ssh.Transient(ctx, d.f.cfg.Binaries, e)
	if err == nil {
		err = d.speaks(info)
	}
	if err != nil {
		_ = ssh.Close()
		return nil, err
	}
	d.asked.Store(true)
	if rw == nil { // one serves
		d.repin(info)
		return d.callOrBridge(ctx, ssh, info)
	}
	lv, err := d.f.tunnel(ctx, rw, info.Agent)
	if err != nil {
		_ = ssh.Close()
	}
	return lv, err
}

// beside dials the agent anew while an old connection is suspected; still tells
// whether it is.
func (d *dialer) beside(ctx context.Context, still func() bool) (*live, error) {
	d.load()
	if p := d.pin.Load(); p == nil || p.Address == "" || d.target.Transient == enrol.TransientAlways {
		return nil, errSilent
	}
	return d.call(ctx, callTimeout, still)
}

// nobody says that nothing listens at the agent's port any more.
func (d *dialer) nobody() { d.refused.Store(true) }

// anew goes back to SSH, which renews what only a login gives: environment,
// groups and limits. An agent that is not root's has to be replaced for that.
func (d *dialer) anew(lv *live) {
	d.renew.Store(true)
	d.restart.Store(lv == nil || lv.hello.UID != 0)
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

// knock tells whether the host says that nothing listens at the address. It
// takes at most a second; no news is no answer.
func knock(ctx context.Context, addr *net.UDPAddr) bool {
	c, err := net.DialUDP("udp", nil, addr)
	if err != nil {
		return false
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
	return errors.Is(err, syscall.ECONNREFUSED)
}

// login logs in over SSH. It counts against the sessions at once only until then
// and while bootstrap works.
func (d *dialer) login(ctx context.Context) (bootstrap.Session, error) {
	return d.f.cfg.Dial(ctx, d.target.SSH)
}

func (d *dialer) enrolment() bootstrap.Enrolment {
	e := d.target.Enrol
	e.Controller, e.Name, e.Protocol = d.f.id.Public(), d.f.cfg.Name, wire.Version
	return e
}

// bootstrap gets an agent running over SSH and pins its key. The SSH connection
// is the caller's.
func (d *dialer) bootstrap(ctx context.Context, callErr error) (ssh bootstrap.Session, info bootstrap.AgentInfo, err error) {
	release, err := acquire(ctx, d.f.ssh)
	if err != nil {
		return nil, info, err
	}
	defer release()
	begin := time.Now()
	defer func() {
		outcome := "ok"
		if err != nil {
			outcome = "failed"
			if ssh != nil {
				_ = ssh.Close()
			}
		}
		d.f.cfg.Metrics.Connected("bootstrap", outcome, time.Since(begin))
	}()
	d.asked.Store(true) // what SSH finds or installs is current
	if ssh, err = d.login(ctx); err != nil {
		return nil, info, err
	}
	e := d.enrolment()
	var ve *versionError
	if e.Restart = e.Restart || d.restart.Load(); errors.As(callErr, &ve) {
		e.Restart = true
	}
	if info, err = ssh.EnsureAgent(ctx, d.f.cfg.Binaries, e); err != nil {
		return ssh, info, err
	}
	d.restart.Store(false)
	if err = d.speaks(info); err != nil {
		return ssh, info, err
	}
	d.repin(info)
	return ssh, info, nil
}

// speaks refuses an agent whose protocol is not ours.
func (d *dialer) speaks(info bootstrap.AgentInfo) error {
	if info.Protocol < wire.MinVersion || info.Protocol > wire.Version+1 {
		return &bootstrap.Error{Kind: bootstrap.KindStart, Msg: fmt.Sprintf(
			"the agent on the host (%s) speaks protocol %d, this controller %d to %d", info.Version, info.Protocol, wire.MinVersion, wire.Version)}
	}
	return nil
}

// repin remembers what SSH vouched for. Only an SSH host key that verified
// replaces another agent's pin in silence.
func (d *dialer) repin(info bootstrap.AgentInfo) {
	p := &pin{
		Agent: info.Agent, Address: info.DialAddress, HostKey: info.HostKey, HostKeyOK: info.HostKeyOK,
		Home: info.Home, Version: info.Version, Enrolled: time.Now().UTC().Truncate(time.Second),
	}
	old := d.pin.Load()
	if old != nil && old.Address == p.Address {
		p.Way, p.Called = old.Way, old.Called
	}
	if old != nil && !old.Agent.Equal(p.Agent) && !info.HostKeyOK {
		d.f.log.Warn("Agent's key changed and the SSH host key was not checked", "host", d.target.Name)
	}
	d.keepPin(p)
}

// remember notes which way the agent was met.
func (d *dialer) remember(way string) {
	p := *d.pin.Load()
	if p.Way == way && (way == "" || time.Since(p.Called) < recall) {
		return
	}
	p.Way, p.Called = way, time.Now().UTC().Truncate(time.Second)
	d.keepPin(&p)
}

func (d *dialer) keepPin(p *pin) {
	d.pin.Store(p)
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
	lv, err := b.f.goLive(ctx, conn, nil)
	if err != nil {
		_ = conn.Close(session.CodeProtocol, err.Error())
		return nil, err
	}
	b.f.cfg.Metrics.Connected("local", "ok", time.Since(begin))
	return lv, nil
}

func (localBuilder) beside(context.Context, func() bool) (*live, error) { return nil, errSilent }
func (localBuilder) nobody()                                            {}
func (localBuilder) anew(*live)                                         {}
