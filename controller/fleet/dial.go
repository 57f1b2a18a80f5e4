package fleet

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"volant/bootstrap"
	"volant/bootstrap/enrol"
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
	held    heldLogin
	lend    lender
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
	switch {
	case err == nil && lv.udp == nil: // it lives as long as the link
	case err == nil && info.Session && info.Started: // else it ends with whoever started it
		d.f.log.Info("Agent ends with its login, which is kept open", "host", d.target.Name)
		d.held.keep(ssh)
	default:
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

// end lets go of what was kept for the run.
func (d *dialer) end() {
	d.held.end()
	d.lend.held.end()
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
func (localBuilder) lent(context.Context) string                        { return "" }
func (localBuilder) end()                                               {}
func (localBuilder) nobody()                                            {}
func (localBuilder) anew(*live)                                         {}
