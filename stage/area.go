package stage

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Area is where one process keeps its staging directories. It is named after
// the process and holds a lock while the process lives; what is not locked is
// somebody's leftover and is removed by the next process that opens an area
// beside it.
type Area struct {
	parent string

	mu   sync.Mutex // guards what follows
	dir  string
	lock *os.File
	free []*Dir
}

// OpenArea makes an area below parent and sweeps what dead processes left there.
func OpenArea(parent string) (*Area, error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, fmt.Errorf("making the staging area: %w", err)
	}
	sweep(parent)
	a := &Area{parent: parent}
	if err := a.open(); err != nil {
		return nil, err
	}
	return a, nil
}

// open makes the area's directory. The caller holds mu, or is alone.
func (a *Area) open() error {
	if err := os.MkdirAll(a.parent, 0o700); err != nil {
		return fmt.Errorf("making the staging area: %w", err)
	}
	// Locked before it gets its final name, so that no sweep sees it unlocked.
	tmp, err := os.MkdirTemp(a.parent, "new-")
	if err != nil {
		return fmt.Errorf("making the staging area: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(tmp, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("making the staging area: %w", err)
	}
	fmt.Fprintf(lock, "%d %s\n", os.Getpid(), ProcessStart(os.Getpid()))
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return fmt.Errorf("locking the staging area: %w", err)
	}
	dir := filepath.Join(a.parent, fmt.Sprintf("%d-%s-%s", os.Getpid(), ProcessStart(os.Getpid()), randomName()))
	if err := os.Rename(tmp, dir); err != nil {
		lock.Close()
		return fmt.Errorf("making the staging area: %w", err)
	}
	if a.lock != nil {
		_ = a.lock.Close()
	}
	a.dir, a.lock = dir, lock
	return nil
}

// Close removes the area and everything in it.
func (a *Area) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := os.RemoveAll(a.dir)
	if cerr := a.lock.Close(); err == nil {
		err = cerr
	}
	return err
}

// Dir is the staging directory of one sub-task at a time, mode 0700.
type Dir struct {
	path string
	area *Area
	used bool // its path was given away
}

// Get returns an empty directory that no one else has.
func (a *Area) Get() (*Dir, error) {
	a.mu.Lock()
	if n := len(a.free); n > 0 {
		d := a.free[n-1]
		a.free = a.free[:n-1]
		a.mu.Unlock()
		return d, nil
	}
	defer a.mu.Unlock()
	path, err := a.fresh()
	if err != nil {
		return nil, err
	}
	return &Dir{path: path, area: a}, nil
}

// fresh makes a directory, and the area anew where somebody removed it. The
// caller holds mu.
func (a *Area) fresh() (string, error) {
	// Named as the reference names its own, for whoever filters listings by it.
	now := time.Now()
	name := fmt.Sprintf("ansible-tmp-%d.%06d-%d-%d", now.Unix(), now.Nanosecond()/1000, os.Getpid(), randomNumber())
	err := os.Mkdir(filepath.Join(a.dir, name), 0o700)
	if errors.Is(err, os.ErrNotExist) {
		if err = a.open(); err == nil {
			err = os.Mkdir(filepath.Join(a.dir, name), 0o700)
		}
	}
	if err != nil {
		return "", fmt.Errorf("making a staging directory: %w", err)
	}
	return filepath.Join(a.dir, name), nil
}

// Path is where it is. Who does not ask for it leaves nothing there, which
// spares looking for it: most sub-tasks stage nothing.
func (d *Dir) Path() string {
	if d.used {
		return d.path
	}
	d.used = true
	if _, err := os.Lstat(d.path); errors.Is(err, os.ErrNotExist) { // removed by somebody while it was idle
		d.area.mu.Lock()
		defer d.area.mu.Unlock()
		if path, err := d.area.fresh(); err == nil {
			d.path = path
		}
	}
	return d.path
}

// Put removes what the sub-task left and keeps the directory for the next one.
// A directory that cannot be emptied, or that was replaced, is not used again.
func (d *Dir) Put() {
	if !d.used {
		d.area.give(d)
		return
	}
	entries, err := os.ReadDir(d.path)
	for _, e := range entries {
		if rerr := os.RemoveAll(filepath.Join(d.path, e.Name())); rerr != nil {
			err = rerr
		}
	}
	st, serr := os.Lstat(d.path)
	if err != nil || serr != nil || st.Mode() != os.ModeDir|0o700 {
		_ = os.RemoveAll(d.path)
		return
	}
	d.used = false
	d.area.give(d)
}

func (a *Area) give(d *Dir) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.free = append(a.free, d)
}

// Create makes a new file in the directory: .source with suffix behind it, as
// modules that look at the extension expect. A suffix that begins with a slash
// is the whole name.
func (d *Dir) Create(suffix string) (*os.File, error) {
	if len(suffix) > 200 || strings.ContainsAny(suffix[min(1, len(suffix)):], "/\x00") {
		suffix = ""
	}
	name, whole := strings.CutPrefix(suffix, "/")
	if !whole {
		name = ".source" + suffix
	} else if name == "" || name == "." || name == ".." {
		name = ".source"
	}
	f, err := createNew(filepath.Join(d.Path(), name))
	if !errors.Is(err, os.ErrExist) {
		return f, err
	}
	if !whole {
		return createNew(filepath.Join(d.Path(), randomName()+suffix))
	}
	sub := filepath.Join(d.Path(), randomName())
	if err := os.Mkdir(sub, 0o700); err != nil {
		return nil, fmt.Errorf("making a staging directory: %w", err)
	}
	return createNew(filepath.Join(sub, name))
}

func createNew(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

func sweep(parent string) {
	entries, _ := os.ReadDir(parent)
	for _, e := range entries {
		path := filepath.Join(parent, e.Name())
		if strings.HasPrefix(e.Name(), "new-") {
			if st, err := e.Info(); err != nil || time.Since(st.ModTime()) < time.Minute {
				continue // being made
			}
		}
		lock, err := os.Open(filepath.Join(path, "lock"))
		if err == nil {
			busy := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
			if busy {
				lock.Close()
				continue
			}
			_ = os.RemoveAll(path)
			lock.Close()
			continue
		}
		_ = os.RemoveAll(path)
	}
}

func randomNumber() uint64 {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return uint64(b[0])<<40 | uint64(b[1])<<32 | uint64(b[2])<<24 | uint64(b[3])<<16 | uint64(b[4])<<8 | uint64(b[5])
}

func randomName() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return hex.EncodeToString(b[:])
}

// ProcessStart is the start time of a process in the kernel's ticks since
// boot: with the pid it names a process for ever. Empty when there is none.
func ProcessStart(pid int) string {
	if fields := processStat(pid); len(fields) >= 20 {
		return fields[19]
	}
	return ""
}

// Zombie tells whether a process has ended and its parent has not noticed yet.
func Zombie(pid int) bool {
	fields := processStat(pid)
	return len(fields) > 0 && (fields[0] == "Z" || fields[0] == "X")
}

// processStat are the fields of /proc/PID/stat behind the name; none when there
// is no such process.
func processStat(pid int) []string {
	f, err := os.Open(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return nil
	}
	// The name in parentheses may hold anything, parentheses included.
	return strings.Fields(string(b)[strings.LastIndexByte(string(b), ')')+1:])
}
