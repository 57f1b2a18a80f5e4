package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lab is what is up in one directory; it is kept in DIR/lab.json.
type lab struct {
	Kind    string    `json:"kind"` // "process" or "systemd"
	ID      string    `json:"id"`   // derived from the directory: part of machine and bridge names
	Dir     string    `json:"dir"`
	Created time.Time `json:"created"`
	Hosts   []host    `json:"hosts"`
	Server  *process  `json:"server,omitempty"` // process: the SSH servers; systemd: the package proxy

	Bridge  string   `json:"bridge,omitempty"`
	Subnet  string   `json:"subnet,omitempty"`  // "10.77.5": the first three numbers
	Mirror  string   `json:"mirror,omitempty"`  // Debian mirror behind the proxy
	Image   string   `json:"image,omitempty"`   // lower layer of the hosts
	Machine string   `json:"machine,omitempty"` // mark in the environment of all that a process lab starts
	Env     []string `json:"env,omitempty"`     // more variables of a process lab's logins
}

// host is one lab host.
type host struct {
	Name    string   `json:"name"`
	Address string   `json:"address"`
	Port    int      `json:"port"`
	Machine string   `json:"machine,omitempty"` // systemd: machine name
	Link    string   `json:"link,omitempty"`    // systemd: this side of its network cable
	Keeper  *process `json:"keeper,omitempty"`  // systemd: the process that keeps it up
	Relay   *process `json:"relay,omitempty"`   // systemd: the process that delays and loses its packets
}

// process names a process so that a later one with the same pid is not taken for it.
type process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks after boot
}

// alive says whether exactly that process still runs.
func (p *process) alive() bool {
	if p == nil || p.PID <= 0 {
		return false
	}
	start, state, err := startTime(p.PID)
	return err == nil && start == p.Start && state != 'Z'
}

// end sends TERM, waits up to patience, then KILL; only to that very process.
func (p *process) end(patience time.Duration) {
	if !p.alive() {
		return
	}
	_ = syscall.Kill(p.PID, syscall.SIGTERM)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if !p.alive() {
			return
		}
	}
	if p.alive() {
		_ = syscall.Kill(p.PID, syscall.SIGKILL)
	}
}

// identify records the process with this pid.
func identify(pid int) (*process, error) {
	start, _, err := startTime(pid)
	if err != nil {
		return nil, err
	}
	return &process{PID: pid, Start: start}, nil
}

// startTime reads fields 22 and 3 of /proc/PID/stat; the name in field 2 may hold anything.
func startTime(pid int) (start uint64, state byte, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	i := strings.LastIndexByte(string(b), ')')
	if i < 0 {
		return 0, 0, errors.New("reading stat: no name")
	}
	f := strings.Fields(string(b[i+1:]))
	if len(f) < 20 {
		return 0, 0, errors.New("reading stat: too short")
	}
	start, err = strconv.ParseUint(f[19], 10, 64)
	return start, f[0][0], err
}

// labID derives the lab's short name from its directory.
func labID(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:2])
}

// loadLab reads DIR/lab.json. errNoLab when there is none.
func loadLab(dir string) (*lab, error) {
	b, err := os.ReadFile(filepath.Join(dir, "lab.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s: start one with `volant-lab process up --dir %s`", errNoLab, dir, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("reading lab: %w", err)
	}
	l := new(lab)
	if err := json.Unmarshal(b, l); err != nil {
		return nil, fmt.Errorf("reading %s/lab.json: %w", dir, err)
	}
	l.Dir = dir
	return l, nil
}

var errNoLab = errors.New("no lab")

// save writes lab.json in one step.
func (l *lab) save() error {
	b, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(l.Dir, "lab.json"), string(b)+"\n", 0o644)
}

// path joins names below the lab's directory.
func (l *lab) path(names ...string) string {
	return filepath.Join(append([]string{l.Dir}, names...)...)
}

// find returns the host called name.
func (l *lab) find(name string) (*host, error) {
	for i := range l.Hosts {
		if l.Hosts[i].Name == name {
			return &l.Hosts[i], nil
		}
	}
	return nil, fmt.Errorf("no host %s in this lab; it has h1 to h%d", name, len(l.Hosts))
}

// lock holds DIR/.lock until unlocked, so that two commands on one lab take turns.
func lock(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}

// writeFile writes content beside path, then renames it there.
func writeFile(path, content string, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp := fmt.Sprintf("%s.%d.tmp", path, os.Getpid())
	if err := os.WriteFile(tmp, []byte(content), mode); err != nil {
		return err
	}
	if err := os.Chmod(tmp, mode); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
