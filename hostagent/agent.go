package hostagent

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"volant/hostagent/become"
	"volant/stage"
	"volant/wire"
)

// quietAfter is how long after its last session an agent gives unused memory
// back to the system.
const quietAfter = time.Minute

// maxSessions bounds the sessions an agent serves at once.
const maxSessions = 1024

// Config is what an agent is made of.
type Config struct {
	Runner     Runner
	Version    string // release of the agent
	Digest     string // see wire.Hello
	Transient  bool   // it ends with the run
	CacheDir   string // kept between runs
	StagingDir string // staging areas of this and earlier processes
	JournalDir string // empty: nothing is kept on disk (local sessions)
	Login      func() Login
	// Start starts workers under other users; nil: become is not possible.
	Start  become.Starter
	Become become.Config
	Log    *slog.Logger // nil discards
}

// Agent serves links: sessions, their sub-tasks and workers.
type Agent struct {
	cfg       Config
	exec      *executor
	log       *slog.Logger
	bootID    string
	journalID string
	user      string
	skipped   atomic.Uint64 // messages of unknown kinds
	running   atomic.Int64  // sub-tasks
	workers   *workerPool
	// allow tells whether a controller's key is served; nil: whoever has a link is.
	allow func(ed25519.PublicKey) error

	mu       sync.Mutex // guards what follows
	sessions map[sessionKey]*agentSession
	quiet    *time.Timer              // gives memory back some time after the last link
	swept    time.Time                // when journals were last looked through
	limits   map[*agentSession]uint64 // max_result per session
	closed   bool
}

// New makes an agent. Close it to end its workers and remove its staging area.
func New(cfg Config) (*Agent, error) {
	a := &Agent{cfg: cfg, log: cfg.Log, sessions: map[sessionKey]*agentSession{}, limits: map[*agentSession]uint64{}}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.bootID = BootID()
	if u, err := user.Current(); err == nil {
		a.user = u.Username
	}
	// An agent without a journal vouches for nothing before its own time.
	a.journalID = randomID()
	if cfg.JournalDir != "" {
		id, err := journalID(cfg.JournalDir)
		if err != nil {
			return nil, err
		}
		a.journalID = id
	}
	x, err := newExecutor(cfg, a.log)
	if err != nil {
		return nil, err
	}
	a.exec = x
	a.workers = newWorkerPool(a)
	return a, nil
}

func newExecutor(cfg Config, log *slog.Logger) (*executor, error) {
	store, err := stage.OpenStore(cfg.CacheDir)
	if err != nil {
		return nil, err
	}
	area, err := stage.OpenArea(cfg.StagingDir)
	if err != nil {
		return nil, err
	}
	login := cfg.Login
	if login == nil {
		l := CurrentLogin()
		login = func() Login { return l }
	}
	return &executor{runner: cfg.Runner, area: area, store: store, cache: cfg.CacheDir, login: login, log: log}, nil
}

// session returns the session of key with l as its link, made when it is new.
func (a *Agent) session(key sessionKey, w *wire.Welcome, l *link) (*agentSession, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, errors.New("the agent ends")
	}
	s := a.sessions[key]
	if s == nil {
		if len(a.sessions) >= maxSessions {
			return nil, errors.New("too many sessions on this agent")
		}
		var err error
		if s, err = a.newSession(key, w.SessionKey); err != nil {
			return nil, err
		}
		s.exec.maxFile = int64(min(w.MaxFile, wire.MaxBlob))
		a.sessions[key] = s
	}
	if a.quiet != nil {
		a.quiet.Stop()
	}
	a.limits[s] = wire.MaxResult
	if w.MaxResult > 0 && w.MaxResult < wire.MaxResult {
		a.limits[s] = w.MaxResult
	}
	return s, s.attach(l)
}

func (a *Agent) maxResult(s *agentSession) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.limits[s]
}

// end ends a session: after Goodbye, or when nobody used it for long.
func (a *Agent) end(s *agentSession, goodbye bool) {
	a.mu.Lock()
	if a.sessions[s.key] == s {
		delete(a.sessions, s.key)
	}
	delete(a.limits, s)
	if len(a.sessions) == 0 && a.cfg.JournalDir != "" && !a.closed {
		a.quiet = time.AfterFunc(quietAfter, debug.FreeOSMemory)
	}
	keep := map[string]bool{}
	for k := range a.sessions {
		keep[k.String()+journalSuffix] = true
	}
	sweep := a.cfg.JournalDir != "" && time.Since(a.swept) > time.Hour
	if sweep {
		a.swept = time.Now()
	}
	a.mu.Unlock()
	if sweep {
		id, err := sweepJournals(a.cfg.JournalDir, time.Now(), BootID(), uptime(), keep)
		if err != nil {
			a.log.Warn("Old journals cannot be removed", "err", err)
		}
		if id != "" {
			a.mu.Lock()
			a.journalID = id
			a.mu.Unlock()
		}
	}
	s.close(goodbye)
}

// reset ends what is warm for a controller, whatever run it came with.
func (a *Agent) reset(controller string) {
	a.workers.closeIf(func(k workerKey) bool { return k.controller == controller })
	if err := a.cfg.Runner.Close(); err != nil {
		a.log.Warn("Warm servers could not be ended", "err", err)
	}
}

// vouches is the id of the journals there are.
func (a *Agent) vouches() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.journalID
}

// Running is the number of sub-tasks that run now.
func (a *Agent) Running() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, s := range a.sessions {
		s.mu.Lock()
		n += len(s.jobs)
		s.mu.Unlock()
	}
	return n
}

// Close ends every session, keeping journals whose results nobody collected.
func (a *Agent) Close() error {
	a.mu.Lock()
	a.closed = true
	if a.quiet != nil {
		a.quiet.Stop()
	}
	all := make([]*agentSession, 0, len(a.sessions))
	for _, s := range a.sessions {
		all = append(all, s)
	}
	a.mu.Unlock()
	for _, s := range all {
		a.end(s, false)
	}
	a.workers.closeAll()
	err := a.exec.runner.Close()
	return errors.Join(err, a.exec.area.Close())
}

// BootID is the kernel's id of this boot; empty where there is none.
func BootID() string {
	f, err := os.Open("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, 64))
	return strings.TrimSpace(string(b))
}

// journalID is the random id of the journal directory: a new one when the
// directory was lost, so that nothing is sent again on the word of an empty journal.
func journalID(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making the journal: %w", err)
	}
	path := filepath.Join(dir, "id")
	if b, err := os.ReadFile(path); err == nil && len(b) == 32 {
		return string(b), nil
	}
	id := randomID()
	return id, writeFile(path, []byte(id))
}

func randomID() string {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // never fails, see crypto/rand
	return hex.EncodeToString(raw[:])
}
