package python

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"volant/hostagent/proc"
)

// extraPackages lists the packages below ansible that the extra directory
// adds to, and whether it replaces files of the core's.
func extraPackages(base, extra string) (packages []string, isolate bool) {
	root := filepath.Join(extra, "ansible")
	_ = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return filepath.SkipDir
		}
		rel, err := filepath.Rel(extra, path)
		if err != nil {
			return filepath.SkipDir
		}
		if d.IsDir() {
			if d.Name() == "__pycache__" || rel == filepath.Join("ansible", "modules") {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(base, rel, "__init__.py")); err == nil {
				packages = append(packages, strings.ReplaceAll(rel, "/", "."))
			}
			return nil
		}
		if d.Name() != "__init__.py" && strings.HasSuffix(rel, ".py") {
			if _, err := os.Stat(filepath.Join(base, rel)); err == nil {
				isolate = true
			}
		}
		return nil
	})
	return packages, isolate
}

// layouts remembers extraPackages per pair of directories, which never change.
var layouts sync.Map // [2]string -> layout

type layout struct {
	packages []string
	isolate  bool
}

func layoutOf(base, extra string) layout {
	k := [2]string{base, extra}
	if l, ok := layouts.Load(k); ok {
		return l.(layout)
	}
	var l layout
	l.packages, l.isolate = extraPackages(base, extra)
	layouts.Store(k, l)
	return l
}

// run forks one child and waits for it.
func (s *server) run(ctx context.Context, r *Request, forked func(int), output func(int, []byte)) (Output, error) {
	args, err := moduleArgs(r.Args)
	if err != nil {
		return Output{}, fmt.Errorf("encoding module arguments: %w", err)
	}
	l := layoutOf(r.BaseDir, r.ExtraDir)
	req := &spawnRequest{
		Path: filepath.Join(r.ExtraDir, filepath.FromSlash(r.File)), FQN: r.FQN, Extra: r.ExtraDir,
		Isolate: l.isolate, Packages: l.packages, Args: string(args), Cwd: rawStr(r.Cwd), Umask: r.Umask, Memory: r.MaxMemory, NoFile: max(r.MaxFiles, 0),
	}
	if req.Packages == nil {
		req.Packages = []string{}
	}
	for _, kv := range r.Environ {
		if k, v, ok := strings.Cut(kv, "="); ok && k != "" {
			req.Env = append(req.Env, [2]rawStr{rawStr(k), rawStr(v)})
		}
	}
	stdin, err := openStdin(r.Stdin)
	if err != nil {
		return Output{}, err
	}
	defer stdin.Close()
	outs, closeOurs, err := newStreams(r.MaxOutput, output)
	if err != nil {
		return Output{}, err
	}
	defer outs.close()
	events, forget, err := s.submit(req, stdin, outs.w[0], outs.w[1])
	closeOurs()
	if err != nil {
		return Output{}, err
	}
	defer s.release()
	defer forget()
	outs.start()
	return s.wait(ctx, events, outs, forked)
}

// wait follows one child's events to its end.
func (s *server) wait(ctx context.Context, events <-chan event, outs *streams, forked func(int)) (Output, error) {
	pid := 0
	gone := make(chan struct{})
	cancelled := ctx.Done()
	for {
		select {
		case e, ok := <-events:
			switch {
			case !ok && pid == 0:
				return Output{}, errGone
			case !ok: // the server died under its child: the child's end is not known
				close(gone)
				out := outs.finish()
				out.RC = 1
				return out, fmt.Errorf("the Python server ended while the module ran")
			case e.Stale:
				return Output{}, errStale
			case e.Error != "":
				return Output{}, fmt.Errorf("starting the module: %s", e.Error)
			case e.Status != nil:
				close(gone)
				out := outs.finish()
				out.RC = *e.Status
				out.Work = time.Duration(e.Work * float64(time.Second))
				if ctx.Err() != nil {
					return out, ctx.Err()
				}
				return out, nil
			case e.PID > 0:
				pid = e.PID
				if forked != nil {
					forked(pid)
				}
			}
		case <-cancelled:
			if pid == 0 {
				cancelled = nil
				// The pid is on its way: the child is ended as soon as it is known.
				select {
				case e, ok := <-events:
					if !ok || e.PID == 0 {
						return Output{}, ctx.Err()
					}
					pid = e.PID
				case <-time.After(proc.KillGrace):
					return Output{}, ctx.Err()
				}
			}
			cancelled = nil
			go proc.KillGroup(pid, gone) // ends after the grace at the latest
		}
	}
}

// lingering is how long a stream may stay open and quiet after the child
// ended: a daemon it left behind holds the other end.
const lingering = 200 * time.Millisecond

// streams are both output pipes of a child.
type streams struct {
	c [2]*proc.Capture
	w [2]*os.File
}

func newStreams(max int64, output func(int, []byte)) (*streams, func(), error) {
	s := new(streams)
	for i := range s.c {
		var piece func([]byte)
		if output != nil {
			piece = func(b []byte) { output(i+1, b) }
		}
		var err error
		if s.c[i], s.w[i], err = proc.NewCapture(max, piece); err != nil {
			s.close()
			return nil, nil, err
		}
	}
	return s, func() {
		s.w[0].Close()
		s.w[1].Close()
	}, nil
}

func (s *streams) start() {
	for _, c := range s.c {
		go c.Read() // ends with the stream, or when Finish gives up waiting
	}
}

func (s *streams) finish() Output {
	var out Output
	var cut [2]bool
	out.Stdout, cut[0] = s.c[0].Finish(lingering)
	out.Stderr, cut[1] = s.c[1].Finish(lingering)
	out.Truncated = cut[0] || cut[1]
	return out
}

// close releases what finish did not: after an early error.
func (s *streams) close() {
	for i := range s.c {
		if s.c[i] != nil {
			s.c[i].Close()
		}
		if s.w[i] != nil {
			s.w[i].Close()
		}
	}
}

// openStdin gives the bytes as a file to read: an unlinked temporary when
// there are any, else /dev/null.
func openStdin(b []byte) (*os.File, error) {
	if len(b) == 0 {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return nil, fmt.Errorf("opening the module's input: %w", err)
		}
		return f, nil
	}
	f, err := os.CreateTemp("", "stdin-")
	if err != nil {
		return nil, fmt.Errorf("writing the module's input: %w", err)
	}
	os.Remove(f.Name())
	if _, err = f.Write(b); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("writing the module's input: %w", err)
	}
	return f, nil
}
