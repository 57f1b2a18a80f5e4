package fleet

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// pin is what is remembered of an agent: one file per (address, SSH port, user).
type pin struct {
	Host      string            `json:"host"` // as dialled over SSH
	Port      int               `json:"port"`
	User      string            `json:"user"`
	Agent     ed25519.PublicKey `json:"agent"`              // its key
	Address   string            `json:"address"`            // host:port of its UDP socket
	HostKey   []byte            `json:"host_key,omitempty"` // the SSH host key that vouched for it
	HostKeyOK bool              `json:"host_key_ok"`        // that key was verified
	Home      string            `json:"home,omitempty"`
	Version   string            `json:"version,omitempty"`
	Enrolled  time.Time         `json:"enrolled"`
	Way       string            `json:"way,omitempty"`   // "ssh": calls were not answered
	Called    time.Time         `json:"called,omitzero"` // when that was
}

// pinStore keeps pins below the state directory, 0600. Without a directory
// nothing is kept.
type pinStore struct{ dir string }

// file is a readable name made unambiguous by a hash.
func (s pinStore) file(k linkKey) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%s", k.host, k.port, k.user))
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(".-_@", r) {
			return r
		}
		return '_'
	}, k.user+"@"+k.host)
	return filepath.Join(s.dir, "pins", name[:min(len(name), 80)]+"-"+hex.EncodeToString(sum[:6])+".json")
}

// load returns the pin of k, nil when there is none that can be used.
func (s pinStore) load(k linkKey) (*pin, error) {
	if s.dir == "" {
		return nil, nil
	}
	b, err := os.ReadFile(s.file(k))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading a pin: %w", err)
	}
	p := new(pin)
	if err := json.Unmarshal(b, p); err != nil {
		return nil, fmt.Errorf("reading a pin: %w", err)
	}
	if p.Host != k.host || p.Port != k.port || p.User != k.user || len(p.Agent) != ed25519.PublicKeySize {
		return nil, errors.New("reading a pin: it is of another link")
	}
	return p, nil
}

// save replaces the pin of k.
func (s pinStore) save(k linkKey, p *pin) error {
	if s.dir == "" {
		return nil
	}
	p.Host, p.Port, p.User = k.host, k.port, k.user
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("writing a pin: %w", err)
	}
	path := s.file(k)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("writing a pin: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-") // 0600
	if err != nil {
		return fmt.Errorf("writing a pin: %w", err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // nothing is there once it was renamed
	_, err = f.Write(append(b, '\n'))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("writing a pin: %w", err)
	}
	return nil
}

// RemovePin forgets an agent.
func RemovePin(stateDir, host string, port int, user string) error {
	if err := os.Remove(pinStore{dir: stateDir}.file(linkKey{host: host, port: port, user: user})); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing a pin: %w", err)
	}
	return nil
}

// SavePin records an agent that was introduced in another way than over SSH,
// as simulated ones are: where it is, and its key. host, port and user are
// those of the SSH login that it stands for.
func SavePin(stateDir, host string, port int, user string, agent ed25519.PublicKey, address string) error {
	return pinStore{dir: stateDir}.save(linkKey{host: host, port: port, user: user},
		&pin{Agent: agent, Address: address, Enrolled: time.Now().UTC().Truncate(time.Second)})
}
