package fleet

import (
	"context"
	"strings"
	"sync"
	"time"

	"volant/bootstrap"
	"volant/wire"
)

// lendAgain is how long after a failure a host is asked again to take the user's
// ssh-agent.
const lendAgain = time.Minute

// lender lends a host the user's ssh-agent where ForwardAgent asks for it. That
// takes an SSH session, which is held for the run, as ssh holds one for a task.
type lender struct {
	wanted sync.Once
	wants  bool

	mu     sync.Mutex // guards what follows; held while SSH is asked
	held   heldLogin
	socket string
	gone   <-chan struct{}
	failed time.Time
}

// lent is the socket on the host, "" for none.
func (d *dialer) lent(ctx context.Context) string {
	l := &d.lend
	l.wanted.Do(func() {
		o := d.target.SSH
		if o.Shared == nil {
			o.Shared = d.f.shared
		}
		l.wants = bootstrap.Forwards(o)
	})
	if !l.wants {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.socket != "" {
		select {
		case <-l.gone:
			l.socket = ""
		default:
			return l.socket
		}
	}
	if time.Since(l.failed) < lendAgain {
		return ""
	}
	socket, err := d.lendNow(ctx)
	if err != nil {
		if ctx.Err() == nil {
			l.failed = time.Now()
			d.f.warn("Tasks on " + d.target.Name + " have no ssh-agent: " + err.Error())
		}
		return ""
	}
	l.socket = socket
	return socket
}

func (d *dialer) lendNow(ctx context.Context) (string, error) {
	release, err := acquire(ctx, d.f.ssh)
	if err != nil {
		return "", err
	}
	defer release()
	ssh, err := d.login(ctx)
	if err != nil {
		return "", err
	}
	f, ok := ssh.(bootstrap.Forwarder)
	if !ok {
		return "", ssh.Close()
	}
	socket, gone, err := f.Forward(ctx)
	if err != nil {
		_ = ssh.Close()
		return "", err
	}
	d.lend.gone = gone
	d.lend.held.keep(ssh)
	return socket, nil
}

// running are the natives that run programs of anybody's choice.
var running = map[string]bool{"command": true, "shell": true, "raw": true, "git": true}

// usesAgent tells whether a sub-task may ask an ssh-agent for anything: whoever
// becomes another user loses it, as sudo takes it away, and most natives never
// would, which spares them the login.
func usesAgent(t *wire.Task) bool {
	if t.Become != nil {
		return false
	}
	return !t.Native || running[t.Module[strings.LastIndexByte(t.Module, '.')+1:]]
}

// withAgent is an environment with the user's ssh-agent in it.
func withAgent(env []wire.EnvVar, socket string) []wire.EnvVar {
	return append([]wire.EnvVar{{Name: "SSH_AUTH_SOCK", Value: socket}}, env...)
}
