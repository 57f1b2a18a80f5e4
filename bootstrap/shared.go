package bootstrap

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/kevinburke/ssh_config"
	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"
)

// Shared holds what many Dials read: ssh_config files, known_hosts databases.
// Its zero value is ready; one per run is meant. It is safe for concurrent use.
type Shared struct {
	mu      sync.Mutex // guards the maps, and additions to known_hosts files
	configs map[string]*ssh_config.Config
	known   map[string]*knownhosts.HostKeyDB

	oddMu sync.Mutex // guards odd
	odd   map[string]*configScan

	keyMu sync.Mutex // guards keys; held while the user is asked, so that nobody is asked twice
	keys  map[string]*unlocked
}

func (s *Shared) config(file string) (*ssh_config.Config, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.configs[file]; ok {
		return c, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	c, err := ssh_config.DecodeBytes(b)
	if err != nil {
		return nil, err
	}
	if s.configs == nil {
		s.configs = map[string]*ssh_config.Config{}
	}
	s.configs[file] = c
	return c, nil
}

// hostKeys returns the database of these files. Absent files and, as in ssh,
// lines that are no known_hosts lines are skipped.
func (s *Shared) hostKeys(files []string) (*knownhosts.HostKeyDB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := strings.Join(files, "\x00")
	if db, ok := s.known[id]; ok {
		return db, nil
	}
	var there []string
	for _, f := range files {
		if _, err := os.Stat(f); err == nil {
			there = append(there, f)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("reading known hosts: %w", err)
		}
	}
	db, err := knownhosts.NewDB(there...)
	if err != nil {
		if db, err = tolerant(there); err != nil {
			return nil, fmt.Errorf("reading known hosts: %w", err)
		}
	}
	if s.known == nil {
		s.known = map[string]*knownhosts.HostKeyDB{}
	}
	s.known[id] = db
	return db, nil
}

// tolerant reads files without the lines that do not parse.
func tolerant(files []string) (*knownhosts.HostKeyDB, error) {
	tmp, err := os.CreateTemp("", "known_hosts-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(b) {
			if _, _, _, _, _, err := ssh.ParseKnownHosts(line); err == nil {
				if _, err := fmt.Fprintf(tmp, "%s\n", bytes.TrimRight(line, "\r\n")); err != nil {
					return nil, err
				}
			}
		}
	}
	return knownhosts.NewDB(tmp.Name())
}

// remember notes a new host key in the first of files.
func (s *Shared) remember(files []string, address string, key ssh.PublicKey, hash bool) error {
	if len(files) == 0 || files[0] == os.DevNull {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := strings.LastIndexByte(files[0], '/'); i > 0 {
		if err := os.MkdirAll(files[0][:i], 0o700); err != nil {
			return fmt.Errorf("noting host key: %w", err)
		}
	}
	f, err := os.OpenFile(files[0], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("noting host key: %w", err)
	}
	name := xknownhosts.Normalize(address)
	if hash {
		name = xknownhosts.HashHostname(name)
	}
	_, err = fmt.Fprintln(f, name+" "+strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))))
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("noting host key: %w", err)
	}
	delete(s.known, strings.Join(files, "\x00")) // read anew by the next Dial
	return nil
}
