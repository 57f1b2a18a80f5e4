package template

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"volant/wire/value"
)

var execLookups = map[string]*Lookup{
	"pipe":  {Run: pipeLookup, Runs: true},
	"lines": {Run: linesLookup, Runs: true},
}

// Bounds on a command a lookup runs.
const (
	maxCommandOutput = 64 << 20
	commandGrace     = 2 * time.Second // between TERM and KILL when the task ends
)

var errCommandOutput = errors.New("output is larger than the limit of 64 MiB")

// limitWriter keeps output up to a limit.
type limitWriter struct {
	buf  bytes.Buffer
	over bool
}

func (w *limitWriter) Write(p []byte) (int, error) {
	if w.buf.Len()+len(p) > maxCommandOutput {
		w.over = true
		return 0, errCommandOutput
	}
	return w.buf.Write(p)
}

// shell runs a command as the reference does: /bin/sh, in the playbook's
// directory, its errors on our own stderr. It ends with ctx, all of its
// process group.
func (s *Scope) shell(ctx context.Context, command string) (out []byte, rc int, err error) {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Dir = s.opt.Basedir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = commandGrace
	cmd.Stderr = os.Stderr
	if s.e.opt.Environ != nil {
		cmd.Env = s.e.opt.Environ
	}
	w := &limitWriter{}
	cmd.Stdout = w
	err = cmd.Run()
	if ctx.Err() != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // whatever ignored TERM
		return nil, 0, ctx.Err()
	}
	if w.over {
		return nil, 0, errCommandOutput
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return w.buf.Bytes(), -int(ws.Signal()), nil
		}
		return w.buf.Bytes(), exit.ExitCode(), nil
	}
	return w.buf.Bytes(), 0, err
}

func pipeLookup(l *LookupCall) ([]any, error) {
	var out []any
	for _, term := range l.Terms {
		command := value.Str(term)
		data, rc, err := l.Scope.shell(l.Scope.ctx, command)
		if err != nil {
			return nil, err
		}
		if rc != 0 {
			return nil, failf("lookup_plugin.pipe(%s) returned %d", command, rc)
		}
		out = append(out, strings.TrimRightFunc(string(data), pySpace))
	}
	return out, nil
}

func linesLookup(l *LookupCall) ([]any, error) {
	var out []any
	for _, term := range l.Terms {
		command, ok := value.Text(term)
		if !ok {
			return nil, value.TypeErrorf("'%s' object is not iterable", lazyName(term))
		}
		data, rc, err := l.Scope.shell(l.Scope.ctx, command)
		if err != nil {
			return nil, err
		}
		if rc != 0 {
			return nil, failf("lookup_plugin.lines(%s) returned %d", command, rc)
		}
		for _, line := range splitLines(string(data)) {
			out = append(out, line)
		}
	}
	return out, nil
}

// splitLines is bytes.splitlines: a final newline starts no line.
func splitLines(s string) []string {
	var out []string
	for s != "" {
		i := strings.IndexAny(s, "\r\n")
		if i < 0 {
			return append(out, s)
		}
		out = append(out, s[:i])
		if s[i] == '\r' && i+1 < len(s) && s[i+1] == '\n' {
			i++
		}
		s = s[i+1:]
	}
	return out
}

// readAll reads at most limit bytes.
func readAll(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, failf("response is larger than the limit of %d bytes", limit)
	}
	return data, err
}
