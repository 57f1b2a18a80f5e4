package hostagent

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// DefaultLease is how long an enrolment lasts without SSH.
const DefaultLease = 30 * 24 * time.Hour

// Controller is a controller key that the agent serves, on lease.
type Controller struct {
	Key     ed25519.PublicKey `json:"key"`
	Name    string            `json:"name,omitempty"`
	Renewed time.Time         `json:"renewed"` // last SSH contact
	Expires time.Time         `json:"expires"`
}

// maxControllers bounds the list.
const maxControllers = 256

func (h Home) readControllers() ([]Controller, error) {
	b, err := os.ReadFile(h.path("keys"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the controllers' keys: %w", err)
	}
	var list []Controller
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, fmt.Errorf("reading the controllers' keys: %w", err)
	}
	return list, nil
}

// changeControllers rewrites the list under a lock, so that enrolments at the
// same moment do not undo each other.
func (h Home) changeControllers(change func([]Controller) []Controller) error {
	lock, err := os.OpenFile(h.path("keys.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("locking the controllers' keys: %w", err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("locking the controllers' keys: %w", err)
	}
	list, err := h.readControllers()
	if err != nil {
		list = nil // damaged: whoever has SSH access enrols again
	}
	b, err := json.MarshalIndent(change(list), "", "  ")
	if err != nil {
		return fmt.Errorf("writing the controllers' keys: %w", err)
	}
	return writeFile(h.path("keys"), b)
}

// Grant serves key from now on for ttl, renewing what it had.
func (h Home) Grant(key ed25519.PublicKey, name string, ttl time.Duration) error {
	if ttl <= 0 {
		ttl = DefaultLease
	}
	now := time.Now().UTC().Truncate(time.Second)
	return h.changeControllers(func(list []Controller) []Controller {
		var out []Controller
		for _, c := range list {
			if !c.Key.Equal(key) && now.Before(c.Expires) {
				out = append(out, c)
			}
		}
		if len(out) >= maxControllers {
			out = out[1:]
		}
		return append(out, Controller{Key: key, Name: name, Renewed: now, Expires: now.Add(ttl)})
	})
}

// Revoke stops serving the keys that match says.
func (h Home) Revoke(match func(Controller) bool) error {
	return h.changeControllers(func(list []Controller) []Controller {
		out := []Controller{}
		for _, c := range list {
			if !match(c) {
				out = append(out, c)
			}
		}
		return out
	})
}

// Controllers lists the keys and their leases.
func (h Home) Controllers() ([]Controller, error) { return h.readControllers() }

var errNotServed = errors.New("this agent does not serve that key")

// gate decides which keys may connect. It reads the list again when it changed.
type gate struct {
	home Home

	mu    sync.Mutex // guards what follows
	mtime time.Time
	size  int64
	list  []Controller
	// What the account's files were when they last let it in, and the day.
	accounts [2]stamp
	today    int64
}

// stamp is what changes when a file is written or replaced.
type stamp struct {
	mtime time.Time
	size  int64
	inode uint64
}

func stampOf(path string) (s stamp) {
	if st, err := os.Stat(path); err == nil {
		s.mtime, s.size = st.ModTime(), st.Size()
		if sys, ok := st.Sys().(*syscall.Stat_t); ok {
			s.inode = sys.Ino
		}
	}
	return s
}

// allow tells whether a controller is served. It is asked within a handshake and
// for every sub-task, so it reads only what has changed.
func (g *gate) allow(key ed25519.PublicKey) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	st, err := os.Stat(g.home.path("keys"))
	if err != nil {
		return errNotServed
	}
	if !st.ModTime().Equal(g.mtime) || st.Size() != g.size {
		list, err := g.home.readControllers()
		if err != nil {
			return errNotServed
		}
		g.list, g.mtime, g.size = list, st.ModTime(), st.Size()
	}
	now := time.Now()
	for _, c := range g.list {
		if c.Key.Equal(key) && now.Before(c.Expires) {
			return g.account(now.Unix() / 86400)
		}
	}
	return errNotServed
}

// account refuses when the agent's account may not log in today. The caller
// holds mu.
func (g *gate) account(today int64) error {
	now := [2]stamp{stampOf("/etc/passwd"), stampOf("/etc/shadow")}
	if now == g.accounts && today == g.today {
		return nil
	}
	passwd, _ := os.ReadFile("/etc/passwd")
	shadow, _ := os.ReadFile("/etc/shadow") // root only; others rely on passwd
	if !loginAllowed(string(passwd), string(shadow), os.Getuid(), today) {
		return errors.New("the account of this agent may not log in any more")
	}
	g.accounts, g.today = now, today
	return nil
}
