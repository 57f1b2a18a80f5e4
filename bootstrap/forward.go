package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"

	"golang.org/x/crypto/ssh/agent"
)

// Forwarder is what a Session may also be: it can lend a host the user's ssh-agent.
type Forwarder interface {
	// Forward returns the path of a socket on the host behind which the user's
	// ssh-agent is, until gone is closed, at the latest with the Session.
	Forward(ctx context.Context) (socket string, gone <-chan struct{}, err error)
}

var _ Forwarder = (*Client)(nil)

// Forwards says whether the user's ssh-agent is to be lent to the host, as
// ForwardAgent or -A ask for, and there is one.
func Forwards(o Options) bool {
	if len(o.Command) > 0 {
		return false
	}
	shared := cmp.Or(o.Shared, new(Shared))
	if !mentionsForwarding(o, shared) { // asked for every host: most need no more than this
		return false
	}
	s, err := resolve(o, shared)
	return err == nil && s.forward != ""
}

// mentionsForwarding says whether anything sets ForwardAgent for the host.
func mentionsForwarding(o Options, shared *Shared) bool {
	var args sshArgs
	for _, text := range []string{o.SSHArgs, o.CommonArgs, o.ExtraArgs} {
		if parseArgs(text, &args) != nil {
			return false
		}
	}
	configs, err := loadConfigs(o, args.configFile, shared)
	l := lookup{args: args.options, alias: o.Host, configs: configs}
	return err == nil && l.first("ForwardAgent") != ""
}

// forwarded is the socket that ForwardAgent names.
func (s *settings) forwarded(v string, getenv func(string) (string, bool), expand func(string) string) string {
	switch name, variable := strings.CutPrefix(v, "$"); {
	case v == "" || v == "no" || v == "false":
		return ""
	case yes(v):
		return s.authSock
	case variable && getenv == nil:
		return ""
	case variable:
		socket, _ := getenv(name)
		return socket
	}
	return expand(v)
}

// socketMark begins the line that names the socket.
const socketMark = "volant-ssh-agent "

// Forward implements Forwarder. The socket is the session's in which it was asked
// for, which therefore stays.
func (c *Client) Forward(ctx context.Context) (socket string, gone <-chan struct{}, err error) {
	st, err := c.streamOn(ctx, c.forwarding, `printf '`+socketMark+`%s\n' "$SSH_AUTH_SOCK"; exec cat`, nil)
	if err != nil {
		return "", nil, err
	}
	line, out, err := st.until(ctx, socketMark)
	if err != nil {
		st.free()
		return "", nil, hostError(KindStart, err, "The ssh-agent cannot be lent to this host: %s", said(out))
	}
	socket = strings.TrimSpace(strings.TrimPrefix(line, socketMark))
	if socket == "" || strings.ContainsAny(socket, "\x00\n") {
		st.free()
		return "", nil, hostError(KindStart, nil, "The host takes no ssh-agent (AllowAgentForwarding)")
	}
	end := make(chan struct{})
	go func() { // ends with the session
		_, _ = io.Copy(io.Discard, st)
		close(end)
	}()
	return socket, end, nil
}

// forwarding asks for the agent on a channel that is not used yet. The system's
// ssh does so by itself.
func (c *Client) forwarding(ch channel) error {
	n, ok := ch.(nativeChannel)
	if !ok {
		return nil
	}
	over, ok := c.ssh.(native)
	if !ok || c.s.forward == "" {
		return errors.New("there is no ssh-agent")
	}
	if err := agent.ForwardToRemote(over.c, c.s.forward); err != nil {
		return err
	}
	return agent.RequestAgentForwarding(n.s)
}
