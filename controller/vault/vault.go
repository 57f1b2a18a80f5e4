// Package vault reads and writes Ansible Vault files and strings (format 1.1
// and 1.2, AES256) and finds the secrets for them: password files, scripts and
// prompts.
package vault

import (
	"sync"

	"volant/wire/value"
)

// Secret is a password with the vault id it belongs to.
type Secret struct {
	ID  string // "default" when none was given
	Key []byte
	// Source is the file the password came from, "" when prompted.
	Source string
}

// Vault decrypts with a list of secrets, in order. It is safe for concurrent
// use; derived keys are kept, so that many values under one password cost one
// derivation each salt.
type Vault struct {
	secrets []Secret
	// MatchID tries only secrets whose id the data names (VAULT_ID_MATCH).
	MatchID bool

	mu   sync.Mutex // guards keys
	keys map[string]derived
}

type derived struct{ cipher, hmac, iv []byte }

// New returns a Vault with these secrets.
func New(secrets ...Secret) *Vault { return &Vault{secrets: secrets} }

// Secrets are the secrets in order.
func (v *Vault) Secrets() []Secret { return v.secrets }

// IsEncrypted reports whether data begins with a vault header.
func IsEncrypted(data []byte) bool { return false }

// Decrypt returns the text of an encrypted file; file is for messages.
func (v *Vault) Decrypt(data []byte, file string) ([]byte, error) { return nil, nil }

// DecryptString returns the text of an inline encrypted value written at pos.
func (v *Vault) DecryptString(ciphertext string, pos value.Pos) (string, error) { return "", nil }

// Encrypt writes plain under secret; id "" leaves the vault id out (format
// 1.1), and salt nil draws one.
func Encrypt(plain []byte, secret Secret, id string, salt []byte) ([]byte, error) { return nil, nil }
