package modules

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"volant/hostagent/proc"
)

// command is a program to run as run_command does.
type command struct {
	argv  []string
	stdin []byte // nil: /dev/null
	dir   string
	env   []string // changes to the environment, KEY=VALUE
	live  bool     // output goes to Env.Output as it comes
	apart bool     // in a session of its own, as a daemon is started
	bare  bool     // env is the whole environment
}

// ran is how it went.
type ran struct {
	rc             int
	stdout, stderr []byte
}

// quiet is how long the streams of an ended command may be quiet before what
// still holds them open is left alone, as run_command does.
const quiet = time.Second

// processUmask is this process's umask, which never changes.
var processUmask = sync.OnceValue(func() int {
	b, err := os.ReadFile("/proc/self/status")
	if err == nil {
		for line := range strings.Lines(string(b)) {
			if v, ok := strings.CutPrefix(line, "Umask:"); ok {
				if n, err := strconv.ParseInt(strings.TrimSpace(v), 8, 32); err == nil {
					return int(n)
				}
			}
		}
	}
	return 0o22
})

// umask is the sub-task's.
func (e *Env) umask() uint32 {
	if e.Umask >= 0 {
		return uint32(e.Umask)
	}
	return uint32(processUmask())
}

// run starts a command and waits for it. An error is the *osError of starting
// it, or ctx's.
func (e *Env) run(ctx context.Context, c *command) (*ran, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	environ := append(e.Environ[:len(e.Environ):len(e.Environ)], c.env...)
	if c.bare {
		environ = c.env
	}
	path, ok := proc.Getenv(environ, "PATH")
	if !ok {
		path = proc.DefaultPath
	}
	file, err := proc.Find(c.argv[0], path)
	if err != nil {
		return nil, asOSError(err, c.argv[0], true)
	}
	dir := c.dir
	if dir == "" {
		dir = e.Cwd
	}
	argv := c.argv
	if e.Umask >= 0 && e.Umask != processUmask() {
		if _, err := os.Stat(at(dir, file)); err != nil || syscall.Access(at(dir, file), 1) != nil {
			return nil, asOSError(accessError(at(dir, file)), c.argv[0], true)
		}
		argv = append([]string{"/bin/sh", "-c", "umask " + strconv.FormatInt(int64(e.Umask), 8) + `; exec "$@"`, "sh", file}, argv[1:]...)
		file = "/bin/sh"
	}
	return e.start(ctx, c, &exec.Cmd{Path: file, Args: argv, Env: environ, Dir: dir})
}

func at(dir, file string) string {
	if strings.HasPrefix(file, "/") || dir == "" {
		return file
	}
	return dir + "/" + file
}

func accessError(path string) error {
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		return err
	}
	return syscall.EACCES
}

func (e *Env) start(ctx context.Context, c *command, cmd *exec.Cmd) (*ran, error) {
	var caps [2]*proc.Capture
	var ends [2]*os.File
	for i := range caps {
		var piece func([]byte)
		if c.live && e.Output != nil {
			piece = func(b []byte) { e.Output(i+1, b) }
		}
		var err error
		if caps[i], ends[i], err = proc.NewCapture(0, piece); err != nil {
			return nil, asOSError(err, c.argv[0], true)
		}
		defer caps[i].Close()
		defer ends[i].Close()
	}
	cmd.Stdout, cmd.Stderr = ends[0], ends[1]
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !c.apart, Setsid: c.apart}
	var in *os.File
	if c.stdin != nil {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, asOSError(err, c.argv[0], true)
		}
		defer r.Close()
		cmd.Stdin, in = r, w
	}
	err := cmd.Start()
	ends[0].Close()
	ends[1].Close()
	if err != nil {
		if in != nil {
			in.Close()
		}
		return nil, asOSError(err, c.argv[0], true)
	}
	if e.Forked != nil {
		e.Forked(cmd.Process.Pid)
	}
	if in != nil {
		go func() { // ends when the command has read it or closed its end
			_, _ = in.Write(c.stdin)
			in.Close()
		}()
	}
	go caps[0].Read() // both end with their stream or with Finish
	go caps[1].Read()
	gone := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { proc.KillGroup(cmd.Process.Pid, gone) })
	_ = cmd.Wait() // the state says it all
	close(gone)
	stop()
	r := &ran{rc: cmd.ProcessState.ExitCode()}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		r.rc = -int(ws.Signal())
	}
	linger := quiet
	if ctx.Err() != nil {
		linger = 0
	}
	var cut [2]bool
	r.stdout, cut[0] = caps[0].Finish(linger)
	r.stderr, cut[1] = caps[1].Finish(linger)
	e.truncated = e.truncated || cut[0] || cut[1]
	return r, ctx.Err()
}
