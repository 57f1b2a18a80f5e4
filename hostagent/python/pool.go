package python

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"volant/wire"
	"volant/wire/pyjson"
	"volant/wire/value"
)

// Options of a Pool.
type Options struct {
	Dir  string        // private directory of this user, for server.py
	Idle time.Duration // a server without work ends after this; 0: 15 minutes
	Max  int           // servers kept at most; 0: 4
	// Children bounds how many modules run at once; 0: twice the CPUs, at least
	// 8, for most of a module's time is often waiting. Beside others a module
	// also waits until MinFree bytes of memory are available; 0: 64 MiB.
	Children int
	MinFree  int64
	Log      *slog.Logger
}

// Pool keeps the warm servers of one user, one per interpreter and core. It is
// safe for concurrent use.
type Pool struct {
	opt    Options
	script string
	slots  chan struct{} // one for each module that may run

	mu      sync.Mutex // guards servers
	servers map[key]*entry
}

type key struct{ interpreter, base string }

// entry is a server or the wait for one.
type entry struct {
	s    *server
	err  error
	done chan struct{}
}

// NewPool returns an empty pool; nothing is started or written yet.
func NewPool(opt Options) *Pool {
	if opt.Idle == 0 {
		opt.Idle = 15 * time.Minute
	}
	if opt.Max == 0 {
		opt.Max = 4
	}
	if opt.Children == 0 {
		opt.Children = max(8, 2*runtime.NumCPU())
	}
	if opt.MinFree == 0 {
		opt.MinFree = 64 << 20
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Pool{opt: opt, servers: make(map[key]*entry), slots: make(chan struct{}, opt.Children)}
}

// Close ends every server. Children that still run are not touched.
func (p *Pool) Close() error {
	p.mu.Lock()
	all := p.servers
	p.servers = make(map[key]*entry)
	p.mu.Unlock()
	for _, e := range all {
		<-e.done
		if e.s != nil {
			e.s.control.Close()
			<-e.s.done
		}
	}
	return nil
}

// writeScript puts server.py where the interpreter can read it.
func (p *Pool) writeScript() (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.script != "" {
		if _, err := os.Stat(p.script); err == nil {
			return p.script, nil
		}
	}
	if err := os.MkdirAll(p.opt.Dir, 0o700); err != nil {
		return "", fmt.Errorf("making the Python server's directory: %w", err)
	}
	f, err := os.CreateTemp(p.opt.Dir, ".server-*")
	if err != nil {
		return "", fmt.Errorf("writing the Python server: %w", err)
	}
	defer os.Remove(f.Name()) // gone already when all went well
	_, err = f.Write(serverSource)
	err = errors.Join(err, f.Close())
	script := filepath.Join(p.opt.Dir, "server.py")
	if err = errors.Join(err, os.Rename(f.Name(), script)); err != nil {
		return "", fmt.Errorf("writing the Python server: %w", err)
	}
	p.script = script
	return script, nil
}

// get returns a server for the request, starting one when there is none.
func (p *Pool) get(ctx context.Context, r *Request) (*server, bool, error) {
	script, err := p.writeScript()
	if err != nil {
		return nil, false, err
	}
	k := key{r.Interpreter, r.BaseHash}
	for {
		p.mu.Lock()
		e := p.servers[k]
		cold := e == nil
		if cold {
			p.evict()
			e = &entry{done: make(chan struct{})}
			p.servers[k] = e
		}
		p.mu.Unlock()
		if cold {
			e.s, e.err = startServer(ctx, r.Interpreter, script, r.BaseDir, p.opt.Idle, r.Environ)
			if e.err != nil {
				p.drop(k, e)
			}
			close(e.done)
			return e.s, true, e.err
		}
		select {
		case <-e.done:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
		if e.err != nil {
			p.drop(k, e)
			if errors.Is(e.err, context.Canceled) || errors.Is(e.err, context.DeadlineExceeded) {
				continue // the one who started it gave up; we have not
			}
			return nil, false, e.err
		}
		if _, _, gone := e.s.busy(); gone {
			p.drop(k, e)
			continue
		}
		return e.s, false, nil
	}
}

func (p *Pool) drop(k key, e *entry) {
	p.mu.Lock()
	if p.servers[k] == e {
		delete(p.servers, k)
	}
	p.mu.Unlock()
}

// evict retires the server that was idle longest when the pool is full. The
// caller holds mu.
func (p *Pool) evict() {
	for len(p.servers) >= p.opt.Max {
		var oldest key
		var found *server
		var when time.Time
		for k, e := range p.servers {
			select {
			case <-e.done:
			default:
				continue
			}
			if e.s == nil {
				continue
			}
			n, used, gone := e.s.busy()
			if gone {
				delete(p.servers, k)
				found = nil
				break
			}
			if n == 0 && (found == nil || used.Before(when)) {
				oldest, found, when = k, e.s, used
			}
		}
		if found == nil {
			return
		}
		delete(p.servers, oldest)
		found.retire()
	}
}

// moduleArgs is what basic reads its parameters from.
func moduleArgs(args *value.Dict) ([]byte, error) {
	return pyjson.Encode(value.DictOf("ANSIBLE_MODULE_ARGS", args))
}

func appendJSONString(b []byte, s string) []byte { return pyjson.AppendString(b, s) }

// Run runs a new-style Python module in a child of a warm server, and every
// other module as a process of its own. forked is called with the process
// group, output with pieces of both streams (1 or 2) as they come; both may be
// nil. When ctx ends the group gets TERM, then KILL. An error means that
// nothing was run, or is ctx's, or a *wire.Fault for output beyond the limit.
func (p *Pool) Run(ctx context.Context, r *Request, forked func(pgid int), output func(stream int, b []byte)) (Output, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return Output{}, ctx.Err()
	}
	defer func() { <-p.slots }()
	if err := p.room(ctx); err != nil {
		return Output{}, err
	}
	out, err := p.run(ctx, r, forked, output)
	if err == nil && out.Truncated {
		err = &wire.Fault{Code: wire.FaultTooLarge, Text: "The module's output is larger than max_result allows.", Started: true}
	}
	return out, err
}

// room waits, beside other modules, until there is memory for one more. Alone
// none waits: the memory may be short for good.
func (p *Pool) room(ctx context.Context) error {
	for len(p.slots) > 1 && available() < p.opt.MinFree {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// available is how much memory can be had without swapping; plenty where the
// kernel does not say.
func available() int64 {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return math.MaxInt64
	}
	_, rest, found := strings.Cut(string(b), "MemAvailable:")
	f := strings.Fields(rest)
	if !found || len(f) == 0 {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil {
		return math.MaxInt64
	}
	return n << 10
}

func (p *Pool) run(ctx context.Context, r *Request, forked func(pgid int), output func(stream int, b []byte)) (Output, error) {
	if r.Style != StylePython {
		return runProcess(ctx, r, forked, output)
	}
	for try := 0; ; try++ {
		s, cold, err := p.get(ctx, r)
		if err != nil {
			var failed *startError
			if errors.As(err, &failed) {
				return failed.Output, nil
			}
			return Output{}, err
		}
		out, err := s.run(ctx, r, forked, output)
		out.Cold = cold
		if (errors.Is(err, errStale) || errors.Is(err, errGone)) && try < 3 {
			p.mu.Lock()
			if e := p.servers[key{r.Interpreter, r.BaseHash}]; e != nil && e.s == s {
				delete(p.servers, key{r.Interpreter, r.BaseHash})
			}
			p.mu.Unlock()
			s.retire()
			continue
		}
		return out, err
	}
}
