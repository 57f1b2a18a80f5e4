package hostagent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Home is the agent's directory on a host:
//
//	key            the agent's Ed25519 key, bound to machine-id
//	keys           controller keys it serves, with their leases
//	port           UDP port, chosen once
//	login.json     the environment of a login, from the last SSH contact
//	agent.json     who serves now: pid, start time, port, version
//	lock           held by the serving process; enrol.lock by who starts one
//	log            of the serving process, bounded
//	serve.json     how the last enrolment wanted it to listen
//	became.json    whom its workers became, so that their caches go with it
//	link           local socket for controllers that come through SSH
//	journal/       one file per session, and the journal's id
//	cache/         union files and their layouts
//	staging/       one area per process
type Home string

func (h Home) path(name string) string { return filepath.Join(string(h), name) }

// DefaultHome is where an agent of that user lives.
func DefaultHome(uid int, home string) Home {
	if uid == 0 {
		return "/var/lib/volant-agent"
	}
	return Home(filepath.Join(home, ".local/share/volant-agent"))
}

// Open makes the directory, private to its user. A directory of somebody
// else, or one that others may write to, is refused.
func (h Home) Open() error {
	if !filepath.IsAbs(string(h)) {
		return fmt.Errorf("agent home %q is not absolute", string(h))
	}
	if err := os.MkdirAll(string(h), 0o700); err != nil {
		return fmt.Errorf("making the agent's home: %w", err)
	}
	st, err := os.Lstat(string(h))
	if err != nil {
		return fmt.Errorf("opening the agent's home: %w", err)
	}
	switch uid, ok := owner(st); {
	case !st.IsDir():
		return fmt.Errorf("agent home %s is not a directory", h)
	case ok && uid != os.Getuid():
		return fmt.Errorf("agent home %s belongs to another user", h)
	case st.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("agent home %s can be written by others", h)
	}
	return nil
}

// WorkerConfig completes cfg for a worker: its cache and staging are its own
// user's, below that user's home or else in a fresh private directory.
func WorkerConfig(cfg Config) (Config, func(), error) {
	dir, err := os.UserHomeDir()
	if os.Getuid() == 0 || err == nil && dir != "" && dir != "/" {
		h := DefaultHome(os.Getuid(), dir)
		if h.Open() == nil && h.writable() {
			cfg.CacheDir, cfg.StagingDir = h.path("cache"), h.path("staging")
			return cfg, func() {}, nil
		}
	}
	tmp, err := os.MkdirTemp("", workerPrefix) // 0700 and a random name
	if err != nil {
		return cfg, nil, fmt.Errorf("finding a place for a worker's files: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(tmp, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return cfg, nil, fmt.Errorf("finding a place for a worker's files: %w", err)
	}
	_ = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	sweepWorkers(filepath.Dir(tmp))
	cfg.CacheDir, cfg.StagingDir = filepath.Join(tmp, "cache"), filepath.Join(tmp, "staging")
	return cfg, func() {
		_ = os.RemoveAll(tmp)
		lock.Close()
	}, nil
}

// workerPrefix begins the names of directories of workers without a home.
const workerPrefix = "volant-worker-files-"

// sweepWorkers removes what workers of this user that were killed left in dir.
func sweepWorkers(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, workerPrefix+"*"))
	for _, path := range left {
		st, err := os.Lstat(path)
		if err != nil || !st.IsDir() || time.Since(st.ModTime()) < time.Minute {
			continue // young ones may not be locked yet
		}
		if uid, ok := owner(st); !ok || uid != os.Getuid() {
			continue
		}
		lock, err := os.Open(filepath.Join(path, "lock"))
		if err != nil {
			continue
		}
		if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.RemoveAll(path)
		}
		lock.Close()
	}
}

func (h Home) writable() bool {
	f, err := os.CreateTemp(string(h), "probe-")
	if err != nil {
		return false
	}
	_, err = f.WriteString("x")
	cerr := f.Close()
	return errors.Join(err, cerr, os.Remove(f.Name())) == nil
}

// writeFile replaces path by content, whole or not at all, mode 0600.
func writeFile(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return fmt.Errorf("writing %s: %w", filepath.Base(path), err)
	}
	_, err = f.Write(content)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("writing %s: %w", filepath.Base(path), err)
	}
	return nil
}
