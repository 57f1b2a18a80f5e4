package main

import (
	"bytes"
	"crypto/ed25519"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"volant/controller/fleet"
)

// TestTwoControllers work on one agent at once, each with its own session.
func TestTwoControllers(t *testing.T) {
	p := startProcess(t)
	a, b := &sshProcess{p: p}, &sshProcess{p: p}
	la, lb := linkOf(t, a.fleet(t), target("h")), linkOf(t, b.fleet(t), target("h"))
	pid := p.last().PID
	var wg sync.WaitGroup
	for _, l := range []fleet.Link{la, lb} {
		wg.Go(func() {
			for range 20 {
				if _, err := l.Run(t.Context(), task("sleep", "ms", int64(5))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if la.Info().PID != lb.Info().PID || int(la.Info().PID) != pid {
		t.Errorf("agents %d and %d, enrolled %d", la.Info().PID, lb.Info().PID, pid)
	}
}

// TestClone: a home copied to another machine makes itself a new key and serves
// nobody it served before; the controller learns the new key over SSH only.
func TestClone(t *testing.T) {
	p := startProcess(t)
	s := &sshProcess{p: p}
	state := t.TempDir()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	same := func(c *fleet.Config) { c.StateDir, c.Key = state, key }
	f := s.fleet(t, same)
	run(t, linkOf(t, f, target("h")), task("echo"))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	original := p.last()
	kill(t, original.PID)
	path := filepath.Join(p.home, "key")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(b, []byte(original.Machine), []byte(strings.Repeat("0", len(original.Machine))), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	other, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	clone := p.enrol(other)
	if clone.Agent.Equal(original.Agent) {
		t.Error("a clone has the original's key")
	}
	if out, _ := p.command("keys").CombinedOutput(); strings.Count(string(out), "serves") != 1 {
		t.Errorf("a clone serves whom the original did: %s", out)
	}
	before := s.logins.Load()
	run(t, linkOf(t, s.fleet(t, same), target("h")), task("echo"))
	if s.logins.Load() == before {
		t.Error("a changed key was accepted without SSH")
	}
}

// TestStateIsPrivate: nothing that either side keeps can be read by others.
func TestStateIsPrivate(t *testing.T) {
	p := startProcess(t)
	s := &sshProcess{p: p}
	state := t.TempDir()
	l := linkOf(t, s.fleet(t, func(c *fleet.Config) { c.StateDir = state }), target("h"))
	q := task("cat")
	q.Files = append(q.Files, memFile("src", "", []byte("secret")))
	run(t, l, q)
	seen := 0
	for _, dir := range []string{p.home, filepath.Join(state, "pins")} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			st, err := d.Info()
			if err != nil {
				return err
			}
			if seen++; st.Mode().Perm()&0o077 != 0 && d.Name() != "bin" && path != dir && !strings.Contains(path, "/cache/") {
				t.Errorf("%s has mode %v", path, st.Mode())
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if seen < 12 {
		t.Errorf("only %d files looked at", seen)
	}
}
