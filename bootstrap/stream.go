package bootstrap

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"volant/bootstrap/enrol"
	"volant/wire/shlex"
)

// bridgeWithin bounds the wait for the agent's end of a bridge.
const bridgeWithin = 20 * time.Second

// Bridge implements Session.
func (c *Client) Bridge(ctx context.Context, home string) (io.ReadWriteCloser, error) {
	st, err := c.stream(ctx, "exec "+shlex.Quote(home+"/bin/volant-agent")+" bridge --home "+shlex.Quote(home), nil)
	if err != nil {
		return nil, err
	}
	if _, out, err := st.until(ctx, enrol.BridgeMark); err != nil {
		st.Close()
		return nil, hostError(KindStart, err, "The agent on this host cannot be reached through SSH: %s", said(out))
	}
	return st, nil
}

// Transient implements Session.
//
//	the agent's program is there   two channels: probe, then the agent
//	it is not                      three: probe, upload, the agent
func (c *Client) Transient(ctx context.Context, bins Binaries, e Enrolment) (AgentInfo, io.ReadWriteCloser, error) {
	if e.Transient == "" {
		e.Transient = enrol.TransientAlways
	}
	info := AgentInfo{HostKey: c.hostKey, HostKeyOK: c.verified}
	request, err := json.Marshal(e)
	if err != nil {
		return info, nil, hostError(KindConfig, err, "encoding the enrolment: %v", err)
	}
	p, _, err := c.probe(ctx, bins, request, ":")
	if err != nil {
		return info, nil, err
	}
	info.Python = p.python
	bin, err := c.choose(bins, p)
	if err != nil {
		return info, nil, err
	}
	if !p.installed {
		if _, err := c.upload(ctx, bin, p, request, uploadOnly); err != nil {
			return info, nil, err
		}
		info.Installed = true
	}
	program := shlex.Quote(p.home + "/bin/volant-agent-" + short(bin))
	st, err := c.stream(ctx, "exec "+program+" enrol --home "+shlex.Quote(p.home), append(request, '\n'))
	if err != nil {
		return info, nil, err
	}
	line, out, err := st.until(ctx, strings.TrimSpace(enrol.Mark))
	if err == nil {
		out.Stdout = []byte(line)
	}
	if err = c.accept(&info, out); err != nil {
		st.Close()
		return info, nil, err
	}
	if !info.Transient { // an agent serves already
		st.free()
		return info, nil, nil
	}
	return info, st, nil
}

// stream is the standard input and output of a command on the host.
type stream struct {
	c      *Client
	sess   channel
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *bounded
	once   sync.Once
}

// stream starts a one-line shell script on the host, as Client.script does, and
// writes input to it.
func (c *Client) stream(ctx context.Context, script string, input []byte) (*stream, error) {
	return c.streamOn(ctx, func(channel) error { return nil }, script, input)
}

// streamOn is stream on a channel that is made ready first.
func (c *Client) streamOn(ctx context.Context, ready func(channel) error, script string, input []byte) (*stream, error) {
	if strings.ContainsAny(script, "\n\x00") {
		return nil, hostError(KindConfig, nil, "A directory on this host has a newline in its name")
	}
	stop := context.AfterFunc(ctx, func() { _ = c.ssh.Close() }) // a host that does not answer must not hold us
	defer stop()
	sess, err := c.ssh.open()
	if err != nil {
		return nil, opening(err)
	}
	if err := ready(sess); err != nil {
		sess.Close()
		return nil, opening(err)
	}
	st := &stream{c: c, sess: sess, stderr: &bounded{limit: maxChatter, full: func() {}}}
	in, out, err := sess.start(`exec /bin/sh -c 'IFS= read -r l && eval "$l"'`, st.stderr)
	if err == nil {
		st.in, st.out = in, bufio.NewReaderSize(out, 64<<10)
		_, err = in.Write(append([]byte(script+"\n"), input...))
	}
	if err != nil {
		sess.Close()
		return nil, viaSSH(KindConnect, err, "starting the agent: %v", err)
	}
	return st, nil
}

// until skips what the host prints up to the line that begins with mark, and
// returns that; what follows is left unread. When it does not come, out is what
// was printed.
func (st *stream) until(ctx context.Context, mark string) (line string, out Output, err error) {
	ctx, cancel := context.WithTimeout(ctx, bridgeWithin)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = st.sess.Close() })
	defer stop()
	var seen bytes.Buffer
	for seen.Len() < maxChatter {
		b, err := st.out.ReadSlice('\n')
		seen.Write(b)
		if bytes.HasPrefix(b, []byte(mark)) && err == nil {
			return string(b), Output{}, nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			return "", Output{Stdout: seen.Bytes(), Stderr: st.stderr.Bytes(), Code: -1}, err
		}
	}
	return "", Output{Stdout: seen.Bytes()[:1024], Code: -1}, errors.New("too much output")
}

// Read implements io.Reader.
func (st *stream) Read(p []byte) (int, error) { return st.out.Read(p) }

// Write implements io.Writer.
func (st *stream) Write(p []byte) (int, error) { return st.in.Write(p) }

// free ends the command and keeps the connection.
func (st *stream) free() { _ = st.sess.Close() }

// Close ends the command and the connection: the connection is closed first,
// since one that is dead would hold up everything that is written to it.
func (st *stream) Close() (err error) {
	st.once.Do(func() { err = st.c.Close() })
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
