package hostagent

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
)

// keyFile is the agent's key and the machine it was made on.
type keyFile struct {
	Seed    []byte `json:"seed"`
	Machine string `json:"machine"` // hash of machine-id
}

// MachineHash is a hash of the machine's id; empty where it has none.
func MachineHash() string {
	for _, path := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if b, err := os.ReadFile(path); err == nil && len(strings.TrimSpace(string(b))) >= 16 {
			sum := sha256.Sum256(append([]byte("volant machine\x00"), strings.TrimSpace(string(b))...))
			return hex.EncodeToString(sum[:16])
		}
	}
	return ""
}

// loadKey returns the agent's key, made when there is none. A home that was
// cloned from another machine forgets its key, its controllers and its
// journal: it must be enrolled anew.
func (h Home) loadKey(machine string) (ed25519.PrivateKey, error) {
	var k keyFile
	b, err := os.ReadFile(h.path("key"))
	switch {
	case err == nil && json.Unmarshal(b, &k) == nil && len(k.Seed) == ed25519.SeedSize && k.Machine == machine:
		return ed25519.NewKeyFromSeed(k.Seed), nil
	case err == nil: // of another machine, or damaged
		for _, name := range []string{"keys", "journal"} {
			if err := os.RemoveAll(h.path(name)); err != nil {
				return nil, fmt.Errorf("forgetting a cloned identity: %w", err)
			}
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("reading the agent's key: %w", err)
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("making the agent's key: %w", err)
	}
	if b, err = json.Marshal(keyFile{Seed: key.Seed(), Machine: machine}); err != nil {
		return nil, fmt.Errorf("making the agent's key: %w", err)
	}
	return key, writeFile(h.path("key"), b)
}

// noLogin are shells of accounts nobody may log in to.
var noLogin = map[string]bool{"nologin": true, "false": true}

// loginAllowed tells whether the account of uid may still log in, as far as
// passwd and (where it can be read) shadow say.
func loginAllowed(passwd, shadow string, uid int, today int64) bool {
	var name string
	for line := range strings.Lines(passwd) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) == 7 && f[2] == fmt.Sprint(uid) {
			name = f[0]
			if noLogin[filepath.Base(f[6])] {
				return false
			}
			break
		}
	}
	for line := range strings.Lines(shadow) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) >= 8 && f[0] == name && f[7] != "" {
			var expires int64
			if _, err := fmt.Sscan(f[7], &expires); err == nil && expires >= 0 && today >= expires {
				return false
			}
		}
	}
	return true
}
