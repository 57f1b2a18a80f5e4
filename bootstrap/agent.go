package bootstrap

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"volant/wire/shlex"
)

// ErrNoAgent says that no agent is installed for the login account.
var ErrNoAgent = errors.New("no agent is installed")

// agentScript finds the agent where the probe would have put it and runs it.
// ARGUMENTS is replaced by quoted words.
const agentScript = `u=$(id -u); r=; [ "$u" = 0 ] && r=/var/lib/volant-agent; ` +
	`for d in "$VOLANT_AGENT_HOME" "$r" "$HOME/.local/share/volant-agent" /var/tmp/volant-agent-"$u"-* /dev/shm/volant-agent-"$u"-* /tmp/volant-agent-"$u"-*; do ` +
	`[ -n "$d" ] && [ -O "$d" ] && [ -x "$d/bin/volant-agent" ] && { echo; echo VOLANT-AGENT; exec "$d/bin/volant-agent" ARGUMENTS --home "$d"; }; done; echo; echo VOLANT-NO-AGENT`

// Agent runs the agent program that is installed for the login account with
// these arguments, and gives what it printed; ErrNoAgent when there is none.
func (c *Client) Agent(ctx context.Context, args ...string) (Output, error) {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = shlex.Quote(a)
	}
	out, err := c.script(ctx, probeWithin, strings.ReplaceAll(agentScript, "ARGUMENTS", strings.Join(words, " ")), nil)
	if err != nil {
		return out, err
	}
	if _, rest, ok := bytes.Cut(out.Stdout, []byte("\nVOLANT-AGENT\n")); ok {
		out.Stdout = rest
		return out, nil
	}
	if bytes.Contains(out.Stdout, []byte("VOLANT-NO-AGENT")) {
		return out, ErrNoAgent
	}
	return out, hostError(KindNoise, nil, "The login shell of %s on this host does not run commands as it should: %s", c.s.user, said(out))
}
