package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"volant/bootstrap"
	"volant/bootstrap/enrol"
	"volant/controller/fleet"
)

// sshProcess is SSH to a process's home: commands run as the SSH server runs
// them, with pipes.
type sshProcess struct {
	p       *process
	address string // UDP address to tell; empty: the agent's own
	logins  atomic.Int32
}

func (s *sshProcess) dial(context.Context, bootstrap.Options) (bootstrap.Session, error) {
	s.logins.Add(1)
	return s, nil
}

func (s *sshProcess) EnsureAgent(_ context.Context, _ bootstrap.Binaries, e bootstrap.Enrolment) (bootstrap.AgentInfo, error) {
	b, err := json.Marshal(e)
	if err != nil {
		return bootstrap.AgentInfo{}, err
	}
	cmd := s.p.command("enrol")
	cmd.Stdin = bytes.NewReader(append(b, '\n'))
	out, err := cmd.Output()
	if err != nil {
		return bootstrap.AgentInfo{}, err
	}
	rep, err := enrol.ParseReply(string(out))
	if err != nil || rep.Error != "" {
		return bootstrap.AgentInfo{}, errors.Join(err, errors.New(rep.Error))
	}
	s.p.mu.Lock()
	s.p.rep = rep
	s.p.mu.Unlock()
	info := bootstrap.AgentInfo{Reply: rep, HostKeyOK: true}
	if rep.Port != 0 {
		info.DialAddress = net.JoinHostPort("127.0.0.1", strconv.Itoa(rep.Port))
		if s.address != "" {
			info.DialAddress = s.address
		}
	}
	return info, nil
}

// pipe runs a command and returns its pipes, once its output has come to mark.
func (s *sshProcess) pipe(input []byte, mark string, args ...string) (string, io.ReadWriteCloser, error) {
	cmd := s.p.command(args...)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		return "", nil, err
	}
	_, _ = in.Write(input)
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			_ = cmd.Wait()
			return "", nil, err
		}
		if strings.HasPrefix(line, mark) {
			return line, &piped{Reader: r, Writer: in, in: in, cmd: cmd}, nil
		}
	}
}

type piped struct {
	io.Reader
	io.Writer
	in  io.Closer
	cmd *exec.Cmd
}

// Close ends the command as the end of an SSH connection does: its pipes break.
func (p *piped) Close() error {
	_ = p.in.Close()
	go func() { _ = p.cmd.Wait() }() // ends with the command
	return nil
}

func (s *sshProcess) Bridge(context.Context, string) (io.ReadWriteCloser, error) {
	_, rw, err := s.pipe(nil, enrol.BridgeMark, "bridge")
	return rw, err
}

func (s *sshProcess) Transient(ctx context.Context, bins bootstrap.Binaries, e bootstrap.Enrolment) (bootstrap.AgentInfo, io.ReadWriteCloser, error) {
	b, err := json.Marshal(e)
	if err != nil {
		return bootstrap.AgentInfo{}, nil, err
	}
	line, rw, err := s.pipe(append(b, '\n'), strings.TrimSpace(enrol.Mark), "enrol")
	if err != nil {
		return bootstrap.AgentInfo{}, nil, err
	}
	rep, err := enrol.ParseReply(line)
	if err == nil && rep.Error != "" {
		err = errors.New(rep.Error)
	}
	if err == nil && !rep.Transient {
		_ = rw.Close()
		info, err := s.EnsureAgent(ctx, bins, e)
		return info, nil, err
	}
	return bootstrap.AgentInfo{Reply: rep, HostKeyOK: true}, rw, err
}

func (s *sshProcess) Run(context.Context, string, io.Reader) (bootstrap.Output, error) {
	return bootstrap.Output{}, nil
}
func (s *sshProcess) Close() error { return nil }

// fleet makes a fleet that logs in through s.
func (s *sshProcess) fleet(t *testing.T, change ...func(*fleet.Config)) *fleet.Fleet {
	return newFleet(t, sshTo{}, append([]func(*fleet.Config){quick, func(c *fleet.Config) { c.Dial = s.dial }}, change...)...)
}

func linkOf(t *testing.T, f *fleet.Fleet, tg fleet.Target) fleet.Link {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l, err := f.Link(ctx, tg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestWays: an agent that UDP does not reach is met through SSH, whatever
// direction is blocked; that is said once and remembered.
func TestWays(t *testing.T) {
	p := startProcess(t)
	s := &sshProcess{p: p}
	if _, err := s.EnsureAgent(t.Context(), nil, bootstrap.Enrolment{Controller: make([]byte, 32)}); err != nil {
		t.Fatal(err)
	}
	rel := newRelay(t, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: p.last().Port})
	s.address = rel.addr()
	state := t.TempDir()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	var warnings atomic.Int32
	same := func(c *fleet.Config) {
		c.StateDir, c.Key = state, key
		c.Warn = func(text string) {
			if !strings.Contains(text, "through SSH") {
				t.Errorf("warned of %q", text)
			}
			warnings.Add(1)
		}
	}
	for name, block := range map[string]*atomic.Bool{"to the agent": &rel.cut, "from the agent": &rel.mute} {
		t.Run(name, func(t *testing.T) {
			defer os.RemoveAll(filepath.Join(state, "pins"))
			block.Store(true)
			defer block.Store(false)
			warnings.Store(0)
			for _, remembered := range []bool{false, true} {
				f := s.fleet(t, same)
				begin, dials := time.Now(), rel.dials.Load()
				l := linkOf(t, f, target("h"))
				for range 3 {
					run(t, l, task("echo"))
				}
				if took := time.Since(begin); took > 30*time.Second {
					t.Errorf("took %v", took)
				}
				if called := rel.dials.Load() != dials; called == remembered {
					t.Errorf("remembered %v, and called %v", remembered, called)
				}
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if n := warnings.Load(); n != 2 { // once a run
				t.Errorf("warned %d times in two runs", n)
			}
		})
	}
	t.Run("none", func(t *testing.T) { // no port at all, and no warning: it is as wanted
		defer os.RemoveAll(filepath.Join(state, "pins"))
		warnings.Store(0)
		tg := target("h")
		tg.Enrol.Listen = "none"
		l := linkOf(t, s.fleet(t, same), tg)
		q := task("cat")
		q.Files = append(q.Files, memFile("src", "", bytes.Repeat([]byte("0123456789abcdef"), 1<<16)))
		if a := run(t, l, q); a.Result.Lookup("size") != int64(1<<20) {
			t.Errorf("got %v", a.Result.Dict)
		}
		if p.last().Port != 0 || warnings.Load() != 0 {
			t.Errorf("port %d, %d warnings", p.last().Port, warnings.Load())
		}
		t.Run("agent killed", func(t *testing.T) {
			kill(t, p.last().PID)
			begin := time.Now()
			run(t, l, task("echo"))
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("the next task came after %v", took)
			}
		})
	})
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// TestTransient: an agent that ends with the run and leaves only its cache.
func TestTransient(t *testing.T) {
	p := startProcess(t)
	s := &sshProcess{p: p}
	tg := target("h")
	tg.Transient = enrol.TransientAlways
	f := s.fleet(t)
	l := linkOf(t, f, tg)
	run(t, l, task("echo"))
	info := l.Info()
	if !info.Transient || info.JournalID == "" {
		t.Errorf("%+v", info)
	}
	t.Run("killed within a task", func(t *testing.T) {
		kill := func() { _ = syscall.Kill(int(info.PID), syscall.SIGKILL) }
		if _, err := l.Run(t.Context(), onceAsleep(task("sleep", "ms", int64(120000)), kill)); !errors.Is(err, fleet.ErrLost) {
			t.Errorf("got %v", err)
		}
		run(t, l, task("echo"))
	})
	pid := int(l.Info().PID)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); syscall.Kill(pid, 0) == nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the agent outlives its run")
		}
	}
	var left []string
	_ = filepath.WalkDir(p.home, func(path string, d os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(p.home, path); err == nil && rel != "." && rel != "cache" && !strings.HasPrefix(rel, "cache/") && !strings.HasPrefix(rel, "staging") {
			left = append(left, rel)
		}
		return nil
	})
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	t.Run("where none serves", func(t *testing.T) {
		tg := target("h")
		tg.Transient = enrol.TransientAbsent
		if l := linkOf(t, s.fleet(t), tg); !l.Info().Transient {
			t.Error("an agent was installed")
		}
		if _, err := s.EnsureAgent(t.Context(), nil, bootstrap.Enrolment{Controller: make([]byte, 32)}); err != nil {
			t.Fatal(err)
		}
		if l := linkOf(t, s.fleet(t), tg); l.Info().Transient {
			t.Error("the agent that serves was not used")
		}
	})
}

// TestKilledIsNoticed: an agent that died while nothing ran costs the next
// task little.
func TestKilledIsNoticed(t *testing.T) {
	p := startProcess(t)
	s := &sshProcess{p: p}
	f := s.fleet(t, func(c *fleet.Config) { c.Silence = time.Minute })
	l := linkOf(t, f, target("h"))
	run(t, l, task("echo"))
	kill(t, p.last().PID)
	begin := time.Now()
	run(t, l, task("echo"))
	if took := time.Since(begin); took > 30*time.Second { // long before it counts as silent
		t.Errorf("the next task came after %v", took)
	}
	t.Run("frozen", func(t *testing.T) { // nothing answers, but somebody listens: waited for, and it runs once
		pid := p.last().PID
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) { // until it took effect
			if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); bytes.Contains(b, []byte(") T ")) {
				break
			}
		}
		begin := time.Now()
		time.AfterFunc(2500*time.Millisecond, func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
		run(t, l, task("echo"))
		if took := time.Since(begin); took < 2*time.Second || took > 40*time.Second {
			t.Errorf("took %v", took)
		}
	})
	t.Run("reset", func(t *testing.T) {
		before, logins := p.last().PID, s.logins.Load()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := l.Reset(ctx); err != nil {
			t.Fatal(err)
		}
		run(t, l, task("echo"))
		if s.logins.Load() == logins {
			t.Error("SSH was not asked")
		}
		if os.Getuid() != 0 && p.last().PID == before {
			t.Error("the agent is the old one")
		}
	})
}
