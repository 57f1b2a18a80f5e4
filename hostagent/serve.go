package hostagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"volant/hostagent/become"
	"volant/stage"
	"volant/wire"
	"volant/wire/session"
)

const (
	lockWait  = 10 * time.Second // for the agent before us to let go
	firstPort = 20000
	portTries = 200
)

// Serving describes the agent that serves a home; it is kept in agent.json.
type Serving struct {
	PID      int       `json:"pid"`
	Start    string    `json:"start"` // start time of the process
	Exe      string    `json:"exe"`
	Version  string    `json:"version"`
	Protocol int       `json:"protocol"`
	Port     int       `json:"port"` // 0: no socket
	Listen   string    `json:"listen,omitempty"`
	Agent    []byte    `json:"agent"` // its public key
	Since    time.Time `json:"since"`
	Unit     string    `json:"unit,omitempty"` // "system" or "user" unit that keeps it alive
}

// ServeOptions say how an agent listens.
type ServeOptions struct {
	Port   int    // 0: the one kept in the home, else a free one above 20000
	Listen string // address to bind; empty: all; "none": no socket
	// Unit is the systemd unit it runs in, "system" or "user". Its port and
	// address are then those that the last enrolment left in the home.
	Unit string
	// Handover, when it fires, makes way for a successor: what Succeed starts.
	Handover <-chan os.Signal
	Succeed  func() error
	// Ready is called once the agent listens.
	Ready func(Serving)
}

// Serve runs the agent of a home until ctx ends. Then its port and lock are
// free at once, and what runs is finished without a link, its results
// journalled. cfg's directories and login are filled in.
func (h Home) Serve(ctx context.Context, cfg Config, opt ServeOptions) error {
	if err := h.Open(); err != nil {
		return err
	}
	if opt.Unit != "" {
		w := h.loadWishes()
		opt.Port, opt.Listen = w.Port, w.Listen
	}
	lock, err := h.lock(ctx, "lock", lockWait)
	if err != nil {
		return err
	}
	defer lock.Close()
	key, err := h.loadKey(MachineHash())
	if err != nil {
		return err
	}
	id, err := session.NewIdentity(key)
	if err != nil {
		return err
	}
	cfg.CacheDir, cfg.StagingDir, cfg.JournalDir = h.path("cache"), h.path("staging"), h.path("journal")
	runner := cfg.Runner
	cfg.Login = h.loginSource(func() { _ = runner.Close() })
	if _, err := sweepJournals(cfg.JournalDir, time.Now(), BootID(), uptime(), nil); err != nil {
		return err
	}
	a, err := New(cfg)
	if err != nil {
		return err
	}
	defer a.Close()
	s := Serving{
		PID: os.Getpid(), Start: stage.ProcessStart(os.Getpid()), Version: cfg.Version, Protocol: wire.Version,
		Agent: id.Public(), Listen: opt.Listen, Since: time.Now().UTC().Truncate(time.Second), Unit: opt.Unit,
	}
	s.Exe, _ = Executable()
	g := &gate{home: h}
	a.allow = g.allow
	in, err := h.openSockets(a, id, g, opt)
	if err != nil {
		return err
	}
	s.Port = in.port()
	if err := h.saveServing(s); err != nil {
		return errors.Join(err, in.close())
	}
	a.log.Info("Agent serves", "port", s.Port, "version", s.Version, "pid", s.PID)
	if opt.Ready != nil {
		opt.Ready(s)
	}
	go a.exec.store.Prune(stage.MaxStoreBytes, stage.MaxStoreAge) // once; ends by itself
	ctx, end := context.WithCancel(ctx)
	defer end()
	handover := make(chan struct{})
	go func() { // ends with ctx
		select {
		case <-opt.Handover:
			close(handover)
			end()
		case <-ctx.Done():
		}
	}()
	var conns sync.WaitGroup
	in.accept(ctx, a, id, g, &conns)
	lock.Close() // a successor may start now
	a.log.Info("Agent ends", "running", a.Running())
	select {
	case <-handover:
		if opt.Succeed != nil {
			if err := opt.Succeed(); err != nil {
				a.log.Error("Successor cannot be started", "err", err)
			}
		}
	default:
	}
	conns.Wait()
	return nil
}

// acceptAll serves connections until ctx ends.
func (a *Agent) acceptAll(ctx context.Context, l *session.Listener, conns *sync.WaitGroup) {
	for {
		conn, err := l.Accept(ctx)
		if err != nil {
			if ctx.Err() == nil {
				a.log.Error("Listening ended", "err", err)
			}
			return
		}
		conns.Go(func() { // ends with the connection and its sub-tasks
			if err := a.ServeConn(ctx, conn); err != nil {
				a.log.Info("Link refused", "remote", conn.RemoteAddr(), "err", err)
			}
		})
	}
}

// lock takes one of the home's locks: "lock" is the serving agent's, "enrol.lock"
// that of whoever starts one.
func (h Home) lock(ctx context.Context, name string, wait time.Duration) (*os.File, error) {
	f, err := os.OpenFile(h.path(name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the agent's home: %w", err)
	}
	deadline := time.Now().Add(wait)
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			f.Close()
			return nil, fmt.Errorf("locking the agent's home: another process holds %s: %w", name, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// bind opens the UDP socket: the port asked for, else the one kept, else a
// free one above 20000 that is kept from then on.
func (h Home) bind(opt ServeOptions) (*net.UDPConn, error) {
	ip := net.ParseIP(opt.Listen)
	if opt.Listen != "" && ip == nil {
		return nil, fmt.Errorf("agent_listen is not an address: %q", opt.Listen)
	}
	open := func(port int) (*net.UDPConn, error) {
		return net.ListenUDP("udp", &net.UDPAddr{IP: ip, Port: port})
	}
	keep := func(c *net.UDPConn) (*net.UDPConn, error) {
		port := c.LocalAddr().(*net.UDPAddr).Port
		if err := writeFile(h.path("port"), []byte(strconv.Itoa(port)+"\n")); err != nil {
			c.Close()
			return nil, err
		}
		return c, nil
	}
	if opt.Port != 0 {
		c, err := open(opt.Port)
		if err != nil {
			return nil, fmt.Errorf("binding agent_port: %w", err)
		}
		return keep(c)
	}
	if b, err := os.ReadFile(h.path("port")); err == nil {
		if port, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && port > 0 && port < 65536 {
			if c, err := open(port); err == nil {
				return c, nil
			}
		}
	}
	var last error
	for range portTries {
		c, err := open(firstPort + rand.IntN(65536-firstPort))
		if err == nil {
			return keep(c)
		}
		last = err
	}
	return nil, fmt.Errorf("finding a free UDP port: %w", last)
}

func (h Home) saveServing(s Serving) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("recording the agent: %w", err)
	}
	return writeFile(h.path("agent.json"), b)
}

// Serving returns the agent that serves the home now, or nil.
func (h Home) Serving() *Serving {
	b, err := os.ReadFile(h.path("agent.json"))
	if err != nil {
		return nil
	}
	s := new(Serving)
	if json.Unmarshal(b, s) != nil || !alive(s.PID, s.Start) {
		return nil
	}
	f, err := os.Open(h.path("lock"))
	if err != nil {
		return nil
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		return nil // it let go: it is ending
	}
	return s
}

// Stop ends the serving agent and waits until its lock is free.
func (h Home) Stop(ctx context.Context, s *Serving) error {
	if !alive(s.PID, s.Start) {
		return nil
	}
	signal := unix.SIGTERM
	if s.Unit != "" { // its unit would start it again: it does so itself, with what is installed now
		signal = unix.SIGUSR2
	}
	if err := unix.Kill(s.PID, signal); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("ending the agent: %w", err)
	}
	if s.Unit != "" {
		return h.succeeded(ctx, s)
	}
	lock, err := h.lock(ctx, "lock", lockWait)
	if err != nil {
		return err
	}
	return lock.Close()
}

// succeeded waits until another agent than s serves.
func (h Home) succeeded(ctx context.Context, s *Serving) error {
	for end := time.Now().Add(startTimeout); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if n := h.Serving(); n != nil && n.PID != s.PID {
			return nil
		}
	}
	return fmt.Errorf("the agent in its unit made no way for another; see its log in %s", h.path("log"))
}

// Remove deletes the home and everything in it, and the copy of the program
// that workers of other users ran; its agent must have ended.
func (h Home) Remove() error {
	if filepath.Clean(string(h)) == string(filepath.Separator) {
		return errors.New("refusing to remove the root directory")
	}
	return errors.Join(become.RemoveCopy(become.Config{Dir: string(h)}), os.RemoveAll(string(h)))
}
