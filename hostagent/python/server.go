package python

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

//go:embed server.py
var serverSource []byte

// errStale says that the server must be replaced before it can run this.
var errStale = errors.New("packages changed since the Python server started")

// errGone says that the server ended.
var errGone = errors.New("the Python server ended")

// server is one warm Python process. Its reader goroutine ends when the
// process closes its end of the control socket.
type server struct {
	cmd     *exec.Cmd
	control *net.UnixConn
	stderr  *tail

	write sync.Mutex // guards writing to control

	mu      sync.Mutex // guards what follows
	next    int
	waiting map[int]chan event
	gone    error // set when the reader ended
	used    time.Time
	retired bool

	ready   chan event
	done    chan struct{} // closed when the process was waited for
	Version string
}

// event is one line from the server.
type event struct {
	ID         int     `json:"id"`
	PID        int     `json:"pid"`
	Status     *int    `json:"status"`
	Work       float64 `json:"work"`
	Stale      bool    `json:"stale"`
	Error      string  `json:"error"`
	Ready      bool    `json:"ready"`
	Version    string  `json:"version"`
	Executable string  `json:"executable"`
}

// spawnRequest is what server.py reads; see there.
type spawnRequest struct {
	ID       int         `json:"id"`
	Path     string      `json:"path"`
	FQN      string      `json:"fqn"`
	Extra    string      `json:"extra"`
	Isolate  bool        `json:"isolate"`
	Packages []string    `json:"packages"`
	Args     string      `json:"args"`
	Env      [][2]rawStr `json:"env"`
	Cwd      rawStr      `json:"cwd"`
	Umask    int         `json:"umask"`
	Memory   int64       `json:"memory"`
	NoFile   int64       `json:"nofile"`
}

// tail keeps the last bytes written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

const tailSize = 64 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if len(t.b) > tailSize {
		t.b = append([]byte(nil), t.b[len(t.b)-tailSize:]...)
	}
	return len(p), nil
}

func (t *tail) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]byte(nil), t.b...)
}

// startError is how an interpreter failed to become a server: what it printed,
// as if the module had been run by it.
type startError struct{ Output Output }

func (e *startError) Error() string {
	return fmt.Sprintf("the Python server did not start (rc %d): %s", e.Output.RC, e.Output.Stderr)
}

// startServer runs script with the interpreter and waits until it has
// imported what modules share.
func startServer(ctx context.Context, interpreter, script, base string, idle time.Duration, environ []string) (*server, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("making the control socket: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "control")
	defer theirs.Close() // for an early return; closing twice does no harm
	ours := os.NewFile(uintptr(pair[0]), "control")
	conn, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		return nil, fmt.Errorf("using the control socket: %w", err)
	}
	s := &server{
		control: conn.(*net.UnixConn), stderr: new(tail), waiting: make(map[int]chan event),
		ready: make(chan event, 1), done: make(chan struct{}), used: time.Now(),
	}
	argv := commandLine(interpreter, environ, script, base, fmt.Sprint(int(idle.Seconds())))
	// The server outlives the request that started it: no CommandContext.
	s.cmd = exec.Command(argv[0], argv[1:]...)
	s.cmd.Env = serverEnviron(environ)
	s.cmd.Dir = "/"
	s.cmd.ExtraFiles = []*os.File{theirs}
	s.cmd.Stdout, s.cmd.Stderr = s.stderr, s.stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	s.cmd.WaitDelay = time.Second // a child that kept its stderr must not hold Wait
	err = s.cmd.Start()
	theirs.Close() // so that the end of the process ends reading
	if err != nil {
		s.control.Close()
		return nil, &startError{notFound(interpreter, err)}
	}
	go s.read() // ends when the process ends or Close closes the socket
	go func() { // ends with the process
		_ = s.cmd.Wait()
		close(s.done)
	}()
	select {
	case e, ok := <-s.ready:
		if ok {
			s.Version = e.Version
			return s, nil
		}
		<-s.done
		rc := s.cmd.ProcessState.ExitCode()
		return nil, &startError{Output{RC: rc, Stderr: s.stderr.Bytes()}}
	case <-ctx.Done():
		s.kill()
		return nil, ctx.Err()
	}
}

func (s *server) kill() {
	s.control.Close()
	_ = s.cmd.Process.Kill()
}

// read dispatches the server's lines until it ends.
func (s *server) read() {
	sc := bufio.NewScanner(s.control)
	announced := false
	for sc.Scan() {
		var e event
		if json.Unmarshal(sc.Bytes(), &e) != nil {
			break
		}
		if e.Ready {
			if !announced {
				announced = true
				s.ready <- e
			}
			continue
		}
		s.mu.Lock()
		ch := s.waiting[e.ID]
		s.mu.Unlock()
		if ch != nil {
			select {
			case ch <- e:
			default: // more lines than the protocol has: nobody waits for them
			}
		}
	}
	s.mu.Lock()
	s.gone = errGone
	for _, ch := range s.waiting {
		close(ch)
	}
	s.waiting = nil
	s.mu.Unlock()
	if !announced {
		close(s.ready)
	}
}

// submit sends a request with the child's standard streams and returns its
// events: a pid, then a status; or stale, or an error; closed when the server
// ends.
func (s *server) submit(req *spawnRequest, stdin, stdout, stderr *os.File) (<-chan event, func(), error) {
	s.mu.Lock()
	if s.gone != nil {
		s.mu.Unlock()
		return nil, nil, s.gone
	}
	s.next++
	req.ID = s.next
	ch := make(chan event, 4)
	s.waiting[req.ID] = ch
	s.used = time.Now()
	s.mu.Unlock()
	forget := func() {
		s.mu.Lock()
		delete(s.waiting, req.ID)
		s.used = time.Now()
		s.mu.Unlock()
	}
	body, err := json.Marshal(req)
	if err != nil {
		forget()
		return nil, nil, fmt.Errorf("encoding a request: %w", err)
	}
	rights := unix.UnixRights(int(stdin.Fd()), int(stdout.Fd()), int(stderr.Fd()))
	head := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	s.write.Lock()
	_, _, err = s.control.WriteMsgUnix(head, rights, nil)
	if err == nil {
		_, err = s.control.Write(body)
	}
	s.write.Unlock()
	if err != nil {
		forget()
		return nil, nil, errGone
	}
	return ch, forget, nil
}

// busy reports how many children run, and when the server was last used.
func (s *server) busy() (int, time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting), s.used, s.gone != nil
}

// retire lets the server end once its children have: it is no longer used for
// new ones, and the socket is closed when the last is done.
func (s *server) retire() {
	s.mu.Lock()
	s.retired = true
	idle := len(s.waiting) == 0
	s.mu.Unlock()
	if idle {
		s.control.Close()
	}
}

func (s *server) release() {
	s.mu.Lock()
	end := s.retired && len(s.waiting) == 0
	s.mu.Unlock()
	if end {
		s.control.Close()
	}
}
