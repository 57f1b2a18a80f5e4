package modules

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"volant/wire/value"
)

type waitForArgs struct {
	Host    string   `arg:"host,default=127.0.0.1"`
	Timeout int64    `arg:"timeout,default=300"`
	Connect int64    `arg:"connect_timeout,default=5"`
	Delay   int64    `arg:"delay,default=0"`
	Port    *int64   `arg:"port"`
	States  []string `arg:"active_connection_states,default="`
	Path    *string  `arg:"path,type=path"`
	Search  *string  `arg:"search_regex"`
	State   string   `arg:"state,default=started,choices=absent|drained|present|started|stopped"`
	Exclude []string `arg:"exclude_hosts"`
	Sleep   int64    `arg:"sleep,default=1"`
	Msg     *string  `arg:"msg"`
}

// tcpStates are the states a connection can be in for active_connection_states.
var tcpStates = map[string]bool{"ESTABLISHED": true, "SYN_SENT": true, "SYN_RECV": true, "FIN_WAIT1": true, "FIN_WAIT2": true, "TIME_WAIT": true}

// waitForRule completes a default that a tag cannot hold.
var waitForRule = option("active_connection_states", func(o *optionSpec) {
	o.Default = value.ListOf("ESTABLISHED", "FIN_WAIT1", "FIN_WAIT2", "SYN_RECV", "SYN_SENT", "TIME_WAIT")
})

// waitRun is one run of wait_for.
type waitRun struct {
	*call
	a     *waitForArgs
	start time.Time
}

// waitFor waits for a port or path; for text in either, and for connections to
// end, the Python module does.
func waitFor(ctx context.Context, c *call, a *waitForArgs) (Result, error) {
	if c.Check {
		return nil, c.noCheck()
	}
	port, path := a.Port != nil && *a.Port != 0, a.Path != nil && *a.Path != ""
	if a.Search != nil || a.State == "drained" {
		return nil, handBack("more than a port or path is waited for")
	}
	for _, s := range a.States {
		if !tcpStates[s] {
			return nil, handBack("another connection state")
		}
	}
	if a.Timeout < 0 || a.Delay < 0 || a.Sleep < 0 || a.Connect <= 0 || a.Timeout > 1e9 || a.Delay > 1e9 || a.Sleep > 1e9 || a.Connect > 1e9 {
		return nil, handBack("an unusual time")
	}
	switch {
	case port && path:
		return nil, fail("port and path parameter can not both be passed to wait_for", "elapsed", int64(0))
	case path && a.State == "stopped":
		return nil, fail("state=stopped should only be used for checking a port in the wait_for module", "elapsed", int64(0))
	case a.Exclude != nil:
		return nil, fail("exclude_hosts should only be with state=drained", "elapsed", int64(0))
	}
	w := &waitRun{c, a, time.Now()}
	if err := pause(ctx, a.Delay); err != nil {
		return nil, err
	}
	var err error
	switch {
	case !port && !path:
		err = pause(ctx, a.Timeout)
	case path:
		err = w.loop(ctx, w.pathReady)
	default:
		err = w.loop(ctx, w.portReady)
	}
	if err != nil {
		return nil, err
	}
	return value.DictOf("state", a.State, "port", c.params.Lookup("port"), "search_regex", nil, "match_groups", value.ListOf(),
		"match_groupdict", value.NewDict(0), "path", opt(a.Path), "elapsed", w.elapsed()), nil
}

func pause(ctx context.Context, seconds int64) error {
	if seconds == 0 {
		return ctx.Err()
	}
	t := time.NewTimer(time.Duration(seconds) * time.Second)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *waitRun) elapsed() int64 { return int64(time.Since(w.start)/time.Second) % 86400 }

func (w *waitRun) fail(text string) error {
	if w.a.Msg != nil && *w.a.Msg != "" {
		text = *w.a.Msg
	}
	return fail(text, "elapsed", w.elapsed())
}

// absent reports whether it is waited for something to go.
func (w *waitRun) absent() bool { return w.a.State == "absent" || w.a.State == "stopped" }

func (w *waitRun) loop(ctx context.Context, ready func(ctx context.Context, left time.Duration) (bool, error)) error {
	end := w.start.Add(time.Duration(w.a.Timeout) * time.Second)
	for left := time.Until(end); left > 0; left = time.Until(end) {
		ok, err := ready(ctx, left)
		if err != nil {
			return err
		}
		if ok {
			return nil
		}
		if err := pause(ctx, w.a.Sleep); err != nil {
			return err
		}
	}
	if w.a.Path != nil && *w.a.Path != "" {
		if w.absent() {
			return w.fail("Timeout when waiting for " + *w.a.Path + " to be absent.")
		}
		return w.fail("Timeout when waiting for file " + *w.a.Path)
	}
	where := fmt.Sprintf("%s:%d", w.a.Host, *w.a.Port)
	if w.absent() {
		return w.fail("Timeout when waiting for " + where + " to stop.")
	}
	return w.fail("Timeout when waiting for " + where)
}

func (w *waitRun) pathReady(context.Context, time.Duration) (bool, error) {
	p := w.p(*w.a.Path)
	if w.absent() {
		return unix.Access(p, unix.F_OK) != nil, nil
	}
	var st syscall.Stat_t
	err := syscall.Stat(p, &st)
	if no := errnoOf(err); err != nil && no != syscall.ENOENT {
		return false, w.fail("Failed to stat " + *w.a.Path + ", " + strerror(no))
	}
	return err == nil, nil
}

func (w *waitRun) portReady(ctx context.Context, left time.Duration) (bool, error) {
	limit := time.Duration(w.a.Connect) * time.Second
	if !w.absent() {
		limit = min(limit, left.Truncate(time.Second)+time.Second)
	}
	d := net.Dialer{Timeout: limit}
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(w.a.Host, strconv.FormatInt(*w.a.Port, 10)))
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err == nil {
		conn.Close()
	}
	return (err == nil) != w.absent(), nil
}
