package fleet

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"volant/bootstrap"
	"volant/cores"
	"volant/wire"
	"volant/wire/session"
)

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
	defer cores.All()() // keys, and the agent to be sent
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
	if !f.spawn(func() { // ends with the connection
		<-conn.Context().Done()
		time.Sleep(closeGrace) // for the last packet, which says why
		_ = e.Close()
	}) {
		_ = e.Close()
		return nil, errOver
	}
	return lv, nil
}

// closeGrace is how long a tunnel outlives its connection.
const closeGrace = 50 * time.Millisecond
